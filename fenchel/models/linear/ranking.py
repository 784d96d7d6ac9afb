"""Ranking: a score that puts rows in the order of their targets, fitted to all pairs of them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from fenchel.convex.certificate import Certificate
from fenchel.convex.convergence import NotCertified
from fenchel.convex.loss.hinge import Hinge, SquaredHinge
from fenchel.convex.loss.margin import Logistic, Margin
from fenchel.convex.penalty import L2
from fenchel.convex.ranking.objective import Ranking
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import Concatenated, MatrixDesign
from fenchel.data.intake import is_dask
from fenchel.data.pairs.target_tree import TargetPairs, group_codes
from fenchel.data.validation import check_weight, vector
from fenchel.models.array_namespace import fit_method
from fenchel.models.estimator import Estimator, as_numpy, is_remote, linear_scores, validated_blocks
from fenchel.models.progress import watch
from fenchel.models.rounding import round_solution
from fenchel.solve.centring import centred
from fenchel.solve.minimise import minimise

Floats = NDArray[np.float64]
SHARP = 1e-8  # the relative gap beyond which a better dual point is looked for
LOSSES: dict[str, Margin] = {
    "hinge": Hinge(),
    "logistic": Logistic(),
    "squared_hinge": SquaredHinge(),
}


class PairwiseRanker(Estimator):
    """Ranking: min over w of Σ sᵢsⱼ φ(zᵢ - zⱼ) / Σ sᵢsⱼ + α|w|²/2, z = Xw, over all pairs of rows
    with yᵢ > yⱼ in the same group.

    φ(t) = max(0, 1 - t) (hinge), log(1 + e^{-t}) (logistic), max(0, 1 - t)² (squared hinge)

    Ties in y make no pair, and there is no intercept, since it would cancel. The pairs are never
    listed: a pass sorts the scores and costs O(n log n), in memory O(n). Every fit carries
    `certificate_`, a proof of how far it is from the optimum. Rows may lie anywhere, but targets,
    groups, weights and scores are vectors of n numbers in this process.

    Parameters
    ----------
    loss : "hinge", "logistic" or "squared_hinge"
    alpha : float, default 0.001
        Strength of the penalty, above 0.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 500
    warm_start : bool
        Start from the last fit's coefficients.
    verbose : int
        1 shows the gap while fitting.

    Attributes
    ----------
    coef_ : array of d floats
    intercept_ : 0.0
    n_features_in_, feature_names_in_ : as in scikit-learn
    n_iter_ : int
    certificate_ : Certificate
        On the objective above.
    converged_ : bool
        Whether the certificate's relative gap is at most tol.
    history_ : tuple of Certificate
        One a step.

    Notes
    -----
    The sums of the hinge losses over pairs meet in a tree: targets are halved on the way down,
    scores merged on the way up. Those of the logistic loss use Chebyshev polynomials on panels of
    scores; their relative error, below 1e-13, is charged to the certificate. The hinge is replaced
    by its Moreau envelope, whose width shrinks until the gap of the hinge itself is closed.

    Reference: Herbrich, Graepel, Obermayer, 2000; Joachims, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import PairwiseRanker
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PairwiseRanker(loss="logistic").fit(X, y)
    >>> model.converged_, round(model.score(X, y), 2)
    (True, 0.75)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: str = "hinge",
        *,
        alpha: float = 1e-3,
        tol: float = 1e-6,
        max_iter: int = 500,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_method
    def fit(
        self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None
    ) -> PairwiseRanker:
        """Fit to rows X and targets y, pairs being made within each of `groups` (labels of any
        kind, one a row); y may be None if X carries its target (`scan`, dask)."""
        last = self.__dict__.get("coef_") if self.warm_start else None
        blocks, pairs = paired_rows(self, X, y, groups, sample_weight)
        problem = Ranking(LOSSES[self.loss], L2(self.alpha), _near_design(blocks), pairs)
        start = None
        if last is not None and len(last) == blocks.n_cols:
            start = (np.asarray(last, np.float64), 0.0)
        with watch(self.verbose, self.tol) as show:
            solution = minimise(
                problem, tol=self.tol, max_steps=self.max_iter, start=start, callback=show
            )
        solution = round_solution(problem, solution, blocks.dtype, self.tol)
        self.coef_ = np.ascontiguousarray(solution.point[0], dtype=blocks.dtype)
        self.intercept_ = 0.0
        self.certificate_ = solution.certificate
        self.history_ = solution.history
        self.converged_ = solution.converged
        self.n_iter_ = solution.steps
        return self

    def predict(self, X: Any) -> Any:
        """x·w for each row: the higher, the higher its place; a tensor for a tensor."""
        return linear_scores(self, X)

    def score(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> float:
        """The concordance index of the scores: see `concordance`."""
        check_is_fitted(self)
        _, pairs = paired_rows(self, X, y, groups, sample_weight, reset=False)
        return pairs.concordance(to_numpy(self.predict(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def concordance(y: Any, scores: Any, groups: Any = None, sample_weight: Any = None) -> float:
    """The share of pairs in the right order: Σ sᵢsⱼ(1[zᵢ > zⱼ] + 1[zᵢ = zⱼ]/2) / Σ sᵢsⱼ over pairs
    of rows with yᵢ > yⱼ in the same group.

    Ties in y make no pair, ties in the score count one half; for two values of y it is the area
    under the ROC curve. O(n log n).

    Examples
    --------
    >>> from fenchel import concordance
    >>> concordance([1, 2, 3], [0.1, 0.1, 0.7])
    0.8333333333333334
    """
    y = _target(y, _num_samples(as_numpy(y)))
    weight = _weight(sample_weight, len(y))
    z = vector(scores, "scores", len(y))
    return _pairs(y, groups, weight).concordance(to_numpy(z))


def paired_rows(
    estimator: Any, X: Any, y: Any, groups: Any, sample_weight: Any, *, reset: bool = True
) -> tuple[Blocks, TargetPairs]:
    """The rows as blocks, and their pairs."""
    if isinstance(sample_weight, Real):
        sample_weight = np.full(
            X.n_rows if isinstance(X, Blocks) else _num_samples(X), float(sample_weight)
        )
    beside = is_remote(X) and (y is None or is_dask(y))
    if y is None and not beside:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    lazy = is_dask(sample_weight)
    given = y if beside else None, sample_weight if lazy else None
    blocks = validated_blocks(estimator, X, *given, reset=reset)
    n = blocks.n_rows
    if n < 2:
        raise ValueError(f"ranking takes at least two rows, got n_samples={n}")
    weight = _weight(None if lazy else sample_weight, n)
    if beside or (is_remote(X) and weight is None):
        found, own = _beside(blocks, beside)
        y = found if beside else y
        weight = own if weight is None else weight
    return blocks, _pairs(_target(y, n), groups, weight)


def _target(y: Any, n: int) -> Floats:
    target = column_or_1d(as_numpy(y), warn=True)
    if target.dtype.kind in "USO":
        target = np.asarray(target, object)
        if any(isinstance(value, str) for value in target):
            raise ValueError("y holds strings, which have no order: pass numbers, such as grades")
    return np.asarray(to_numpy(vector(target, "y", n)), np.float64)


def _weight(weight: Any, n: int) -> Floats | None:
    return None if weight is None else np.asarray(check_weight(weight, n), np.float64)


def _beside(blocks: Blocks, target: bool) -> tuple[Floats | None, Floats | None]:
    """Target and weight that lie beside the rows, as vectors on the driver; target: whether there
    must be one."""
    if target and blocks.classes is not None:
        raise ValueError("y holds labels, which have no order: pass numbers, such as grades")

    def stat(block: Block) -> Concatenated:
        return Concatenated([(block.y, block.weight)])

    parts = blocks.reduce(stat)
    y, weight = (
        None if any(p is None for p in side) else np.concatenate([to_numpy(p) for p in side])
        for side in zip(*parts, strict=True)
    )
    if target and y is None:
        raise ValueError("ranking needs a target: pass y, or target= to scan")
    return y, weight


def _near_design(blocks: Blocks) -> MatrixDesign:
    """The rows with columns far from zero moved near it: no difference of two rows changes."""
    moved = centred(blocks)
    return MatrixDesign(blocks if moved is None else moved.rows)


def _pairs(y: Floats, groups: Any, weight: Floats | None) -> TargetPairs:
    codes = None if groups is None else group_codes(as_numpy(groups), len(y))
    pairs = TargetPairs.of(y, codes, weight)
    size = np.diff(pairs.starts)
    if groups is not None and (size < 2).any():
        row = int(pairs.order[pairs.starts[int(np.flatnonzero(size < 2)[0])]])
        label = np.asarray(as_numpy(groups))[row : row + 1].tolist()[0]
        raise ValueError(
            f"groups must hold at least 2 rows each, but group {label!r} has only row {row}: drop "
            "that row"
        )
    if not pairs.mass > 0.0:
        where = "y" if groups is None else "y within each of groups"
        raise ValueError(
            f"{where} must hold at least 2 different values, got only one: there is no pair to "
            "put in order"
        )
    return pairs


def certify_ranking(model: Any, X: Any, y: Any, groups: Any, sample_weight: Any) -> Certificate:
    """The gap of a fitted ranker, with the best dual point that the solver finds from there."""
    blocks, pairs = paired_rows(model, X, y, groups, sample_weight, reset=False)
    problem = Ranking(LOSSES[model.loss], L2(model.alpha), _near_design(blocks), pairs)
    point = (np.asarray(to_numpy(model.coef_), np.float64), 0.0)
    proof = problem.certify(point)
    if proof.relative_gap <= SHARP:
        return proof
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        best = minimise(problem, tol=SHARP, max_steps=500, start=point).certificate
    return proof if best.kind == "estimate" else replace(proof, bound=max(proof.bound, best.bound))
