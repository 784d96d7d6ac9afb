"""Kernel ridge regression with its penalty chosen by leaving each row out in turn."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import _raise_for_params
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.design.kernel import GramDesign
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import fitted_rows
from fenchel.models.cross_validation.leave_one_out_choice import LeaveOneOutChoice, penalty_grid
from fenchel.models.estimator import Estimator
from fenchel.models.kernel.kernel_rows import (
    KERNEL,
    RowsWithKernel,
    expansion_scores,
    kernel_rows,
    kernel_tags,
)
from fenchel.models.kernel.landmark_rows import LANDMARKS
from fenchel.models.kernel.ridge import KernelRidge, RidgeRows, certify_expansion, fit_expansion
from fenchel.models.kernel.ridge_landmarks import (
    DrawnLandmarks,
    certify_landmarks,
    fit_landmarks,
)
from fenchel.models.neighbours.scoring_rows import values_out
from fenchel.models.targets import target_rows
from fenchel.solve.least_squares.leave_one_out import DualLOO, check_room
from fenchel.solve.least_squares.result import unscale
from fenchel.solve.least_squares.ridge import each_target

Floats = NDArray[np.float64]


class KernelRidgeCV(LeaveOneOutChoice, MultiOutputMixin, RegressorMixin, Estimator, SelfCertified):
    """Kernel ridge regression with its penalty chosen among `alphas` by leaving out each row.

    The fit without row i misses it by eᵢ = cᵢ / (G⁻¹)ᵢᵢ, c = G⁻¹y, G = K + αS⁻¹. One
    eigendecomposition of S^½KS^½ gives all errors for every α; the chosen one is then solved and
    proved as by `KernelRidge`.

    Parameters
    ----------
    alphas : array, default (0.1, 1, 10)
        Penalties to try, positive.
    kernel, gamma, degree, coef0, kernel_params, tol : as in `KernelRidge`
        A kernel that is not positive semi-definite is refused.
    landmarks, random_state : as in `KernelRidge`
        With landmarks the errors are those of their functions: the landmarks stay where a row is
        left out. A Gram matrix of all rows takes the place of K, n m² / 2 products, and a pass
        gives the errors of the whole grid.
    scoring : str, callable or None
        None: the mean squared error, of residuals times √sᵢ where there are weights; with `cv`,
        R².
    cv : int, splitter, iterable or None
        None to leave one row out; else a grid search over `KernelRidge`, rows in memory.
    store_cv_results : bool
        Keep every row's error for every penalty in `cv_results_`, or its prediction where there is
        a scoring.
    alpha_per_target : bool
        Choose for each target on its own.

    Attributes
    ----------
    alpha_, best_score_ : the choice and its score, of every target with alpha_per_target
    cv_results_ : array of shape (n, n_alphas) or (n, n_targets, n_alphas), where it is stored
    dual_coef_, X_fit_, kernel_, storage_, certificate_, converged_, history_ : as in `KernelRidge`,
        of the fit with the chosen penalty; landmarks_, full_certificate_ with `landmarks`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Some 9 n³ products and 40 n² bytes. Where α is near the rounding of the largest eigenvalue, so
    are its errors.

    Reference: Golub, Heath and Wahba, Generalized cross-validation as a method for choosing a good
    ridge parameter, Technometrics 21 (1979).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import KernelRidgeCV
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(40.0 * X[:, 0])
    >>> model = KernelRidgeCV([1e-4, 1e-2, 1.0, 100.0], kernel="rbf", gamma=0.5).fit(X, y)
    >>> model.alpha_, model.converged_
    (0.01, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        **KERNEL,
        "tol": [Interval(Real, 0, None, closed="left")],
        **LANDMARKS,
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "store_cv_results": ["boolean"],
        "alpha_per_target": ["boolean"],
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        kernel: Any = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        tol: float = 1e-6,
        landmarks: Any = None,
        random_state: Any = None,
        scoring: Any = None,
        cv: Any = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.landmarks = landmarks
        self.random_state = random_state
        self.scoring = scoring
        self.cv = cv
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> KernelRidgeCV:
        """Fit to rows X and targets y; params go to the scorer where metadata routing is on."""
        _raise_for_params(params, self, "fit")
        alphas = penalty_grid(self.alphas, "neither" if self.cv is None else "left")
        for name in ("landmarks_", "full_certificate_"):
            self.__dict__.pop(name, None)
        if self.cv is not None:
            shared = KernelRidge().get_params()
            own = {name: value for name, value in self.get_params().items() if name in shared}
            self._search(KernelRidge(**own), X, y, sample_weight, alphas, params)
            return self
        blocks = target_rows(self, X, y, sample_weight)
        found = RidgeRows.of(blocks, dropped=self.landmarks is None)
        some = int(np.count_nonzero(found.s))
        if some < 2:
            raise ValueError(
                f"to leave one row out takes at least two with weight, got n_samples={some}"
            )
        if self.landmarks is not None:
            self._fit_landmarks(blocks, found, alphas, sample_weight, params)
            return self
        rows = kernel_rows(self, blocks)
        if not rows.convex:
            raise ValueError(
                f"kernel={self.kernel!r} is not positive semi-definite on these rows, so that no "
                "penalty of the grid has a best fit: choose a kernel that is"
            )
        check_room(len(found.y), "fit fewer rows, or KernelRidge with one alpha")
        design = GramDesign(rows.gram(found.members), found.y, found.s)
        left = DualLOO.of_gram(design.K, found.y, found.s, alphas)
        if self.scoring is None and not self.store_cv_results:
            scores, power = -left.squares(blocks) / blocks.n_rows, 2 * found.exponent
        else:
            errors = unscale(_errors(left, rows, found, blocks), found.exponent)
            scores, power = self._scored(blocks, errors, sample_weight, params), 0
        del left
        self._choose(scores, alphas, power, found.flat)
        fit_expansion(self, rows, found, self._chosen(found), blocks.dtype, design)
        return self

    def _fit_landmarks(
        self,
        blocks: Blocks,
        found: RidgeRows,
        alphas: Floats,
        sample_weight: Any,
        params: dict[str, Any],
    ) -> None:
        drawn = DrawnLandmarks.of(self, blocks, found)
        errors = drawn.left_out(found, alphas)
        if self.scoring is None and not self.store_cv_results:
            squares = np.einsum("i,ita,ita->ta", found.s, errors, errors)
            scores, power = -squares / blocks.n_rows, 2 * found.exponent
        else:
            gone = found.s == 0.0
            if gone.any():  # their targets are not in found
                y = to_numpy(to_float64(blocks.gather().y)).reshape(found.y.shape)
                errors[gone] += np.ldexp(y[gone], -found.exponent)[:, :, None]
            whole = unscale(errors, found.exponent)
            scores, power = self._scored(blocks, whole, sample_weight, params), 0
        self._choose(scores, alphas, power, found.flat)
        fit_landmarks(self, blocks, found, self._chosen(found), drawn)

    def predict(self, X: Any) -> Any:
        """Σ cⱼ k(x, xⱼ) for each row, as `KernelRidge.predict`."""
        check_is_fitted(self)
        return values_out(expansion_scores(self, X, self.dual_coef_), X)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The certificate of these coefficients, for the penalty that was chosen."""
        blocks = fitted_rows(self, X, y, sample_weight)
        found = RidgeRows.of(blocks, dropped=self.landmarks is None)
        alphas = self._chosen(found)
        if self.landmarks is not None:
            return certify_landmarks(self, blocks, found, alphas)
        return certify_expansion(self, kernel_rows(self, blocks), found, alphas)

    def _chosen(self, found: RidgeRows) -> Floats:
        return each_target(to_numpy(self.alpha_), found.y.shape[1])

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(self, super().__sklearn_tags__())


def _errors(left: DualLOO, rows: RowsWithKernel, found: RidgeRows, blocks: Blocks) -> Floats:
    """eᵢ of all rows, in the units of found.y; a row without weight is predicted by the fit."""
    if found.members is None:
        return left.errors(blocks)
    whole = blocks.gather()
    y = np.ldexp(to_numpy(to_float64(whole.y)).reshape(whole.n_rows, -1), -found.exponent)
    out = np.empty((*y.shape, len(left.alphas)))
    out[found.members] = left.errors(blocks)
    rest = np.setdiff1d(np.arange(len(y)), found.members)
    across = rows.among(rest, found.members)
    out[rest] = y[rest][:, :, None] - np.einsum("ij,jtk->itk", across, left.coefficients())
    return out
