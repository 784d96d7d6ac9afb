"""Kernel ridge regression: least squares over the functions of a kernel's space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, Kind, warn_outside
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block
from fenchel.data.design.kernel import GramDesign, KernelDesign, KernelExpansion
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import fitted_rows
from fenchel.models.estimator import Estimator
from fenchel.models.kernel.kernel_rows import (
    KERNEL,
    RowsWithKernel,
    expansion_scores,
    kernel_rows,
    kernel_tags,
    warn_indefinite,
)
from fenchel.models.kernel.landmark_rows import LANDMARKS
from fenchel.models.kernel.ridge_landmarks import certify_landmarks, fit_landmarks
from fenchel.models.kernel.ridge_rows import RidgeRows
from fenchel.models.neighbours.scoring_rows import values_out
from fenchel.models.targets import target_rows
from fenchel.solve.gram.ridge_proof import ridge_certificate, squares_value
from fenchel.solve.gram.shifted_gram import ShiftedGram
from fenchel.solve.least_squares.ridge import each_target, squares_certificate
from fenchel.solve.least_squares.solve import least_squares

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class KernelRidge(MultiOutputMixin, RegressorMixin, Estimator, SelfCertified):
    """Kernel ridge regression: min over f = Σ cⱼ k(xⱼ, ·) of Σ sᵢ (yᵢ - f(xᵢ))² + α‖f‖².

    There is no intercept, as in scikit-learn. The equations (K + αS⁻¹)c = y are solved by a
    Cholesky factor in float32 and conjugate gradients in float64, or with a factor in float64 where
    α is small; the certificate says how far the coefficients are from the optimum, rounding
    included.

    Parameters
    ----------
    alpha : float or array of one for each target, default 1
        Strength of the penalty, not negative; 0 for least squares on the columns of K.
    kernel : str, kernel or function, default "linear"
        "linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed", a kernel such as
        ``fenchel.kernels.Gaussian(0.5)``, or a function of two rows. One that is not positive
        semi-definite, such as "sigmoid", is fitted with a warning: its equations are solved, and
        the certificate states no bound. With a kernel of strings, such as
        ``fenchel.kernels.Spectrum(3)``, each row of X is a string.
    gamma : float, "scale", "auto", "median" or None
        Of the kernels by name; None and "auto": 1 / n_features.
    degree, coef0 : of the kernels with these names
    kernel_params : dict or None
        Keywords of a function.
    tol : float, default 1e-6
        Relative duality gap to reach.
    landmarks : int, array of row numbers or None
        Fit f = Σ cⱼ k(zⱼ, ·) over so many rows z, drawn evenly, or over those given, to all n rows
        (Nyström's features), for n of which K cannot be held: passes over the rows, wherever they
        lie, whose kernel values are made anew. alpha must be above 0, the kernel semi-definite.
    random_state : int or RandomState
        Of the landmarks; None: the same ones at every fit.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, n_targets)
        Of landmarks, one for each of X_fit_.
    X_fit_ : the rows of the fit, or the landmarks; of "precomputed", the matrix K, or their rows
    kernel_ : the kernel with its parameters
    landmarks_ : array of int, with `landmarks`
        Their numbers, without those that are combinations of the others but for rounding.
    storage_ : str
        Whether K was kept in memory, and in which precision it was factored.
    certificate_ : Certificate
        On the objective above, summed over the targets; with `landmarks` among functions of these.
    full_certificate_ : Certificate, with `landmarks`, of at most 8 rows for each
        The same among all functions of the kernel: what the landmarks cost. Of more rows
        ``fenchel.certify(model, X, y)`` gives it, in n²/2 kernel values.
    converged_ : bool
    history_ : tuple of Certificate
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Of n rows a fit takes n³/3 products and 4 n² bytes, and 8 n² more where K is kept. With m
    landmarks it takes some ten passes of n m kernel values, q m³/2 products, q of 2 to 20, and a
    few times 8 m² bytes.

    Reference: Saunders, Gammerman and Vovk, Ridge regression learning algorithm in dual variables,
    ICML 1998; Rudi, Carratino and Rosasco, FALKON: an optimal large scale kernel method, NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import KernelRidge
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.5).fit(X, np.sin(X[:, 0]))
    >>> round(float(model.predict([[1.0]])[0]), 3), model.certificate_.relative_gap < 1e-6
    (0.842, True)
    >>> few = KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.5, landmarks=15)
    >>> few.fit(X, np.sin(X[:, 0])).full_certificate_.relative_gap < 1e-3
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        **KERNEL,
        "tol": [Interval(Real, 0, None, closed="left")],
        **LANDMARKS,
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        tol: float = 1e-6,
        landmarks: Any = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.landmarks = landmarks
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelRidge:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        blocks = target_rows(self, X, y, sample_weight)
        found = RidgeRows.of(blocks, dropped=self.landmarks is None)
        alphas = each_target(to_numpy(self.alpha), found.y.shape[1])
        for name in ("landmarks_", "full_certificate_"):
            self.__dict__.pop(name, None)
        if self.landmarks is not None:
            fit_landmarks(self, blocks, found, alphas)
            return self
        rows = kernel_rows(self, blocks)
        if not rows.convex:
            warn_indefinite(self)
        fit_expansion(self, rows, found, alphas, blocks.dtype)
        return self

    def predict(self, X: Any) -> Any:
        """Σ cⱼ k(x, xⱼ) for each row: shape (n,), or (n, n_targets), in X's precision; for
        "precomputed" X has a column for each row of the fit."""
        check_is_fitted(self)
        return values_out(expansion_scores(self, X, self.dual_coef_), X)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The certificate of these coefficients among all functions of the kernel, on the rows of
        the fit."""
        blocks = fitted_rows(self, X, y, sample_weight)
        found = RidgeRows.of(blocks, dropped=self.landmarks is None)
        alphas = each_target(to_numpy(self.alpha), found.y.shape[1])
        if self.landmarks is not None:
            return certify_landmarks(self, blocks, found, alphas)
        return certify_expansion(self, kernel_rows(self, blocks), found, alphas)

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(self, super().__sklearn_tags__())


def fit_expansion(
    estimator: Any,
    rows: RowsWithKernel,
    found: RidgeRows,
    alphas: Floats,
    dtype: Any,
    given: KernelExpansion | None = None,
) -> None:
    """Solves the equations and writes down what a fit says; given: the design, where it is made."""
    estimator.kernel_, estimator.X_fit_ = rows.outside, rows.X
    if not rows.convex:
        whole = GramDesign(rows.gram(found.members), found.y, found.s)
        design: KernelExpansion = whole
        c, estimator.storage_ = _stationary(whole, found, alphas)
    else:
        design = rows.design(found.y, found.s, found.members) if given is None else given
        c, estimator.storage_ = _solved(rows, design, found, alphas)
    keep_coefficients(estimator, Proof(rows, design, found, alphas), c, dtype)


def _solved(
    rows: RowsWithKernel, design: KernelExpansion, found: RidgeRows, alphas: Floats
) -> tuple[Floats, str]:
    c = np.zeros_like(found.y)
    told = []
    for alpha in np.unique(alphas):
        columns = np.flatnonzero(alphas == alpha)
        if alpha == 0.0:
            c[:, columns] = _least(rows, found, columns)[0]
            told.append("least squares on its columns")
            continue
        system = ShiftedGram(design, np.sqrt(found.s), float(alpha))
        solved = system.solve(found.y[:, columns])
        c[:, columns] = solved.c
        told.append(f"factored in {solved.precision}, {solved.steps} steps")
    storage = design.storage if isinstance(design, KernelDesign) else "the kernel matrix is kept"
    return c, "; ".join([storage, *dict.fromkeys(told)])


def _least(rows: RowsWithKernel, found: RidgeRows, columns: Numbers) -> tuple[Floats, Certificate]:
    """min Σ s (y - Kc)²: least squares on a table whose columns are those of K."""
    K = rows.gram(found.members)
    parts, certificates = [], []
    for k in columns:
        table = ArrayBlocks(Block(0, K, np.ascontiguousarray(found.y[:, k]), found.s), None)
        solved = least_squares(table, False)
        parts.append(solved.coef)
        certificates.append(squares_certificate(table, solved, False))
    return np.stack(parts, axis=1), reduce(Certificate.__add__, certificates)


def _stationary(design: GramDesign, found: RidgeRows, alphas: Floats) -> tuple[Floats, str]:
    """The equations of a kernel that is not semi-definite."""
    c = np.zeros_like(found.y)
    for alpha in np.unique(alphas):
        columns = np.flatnonzero(alphas == alpha)
        A = np.array(design.K)
        A.reshape(-1)[:: len(A) + 1] += alpha / found.s
        c[:, columns] = linalg.lstsq(A, found.y[:, columns], check_finite=False)[0]
    return c, "the kernel matrix is kept"


@dataclass(frozen=True, slots=True)
class Proof:
    """What certifies coefficients on the rows with weight, in the units of found.y."""

    rows: RowsWithKernel
    design: KernelExpansion
    found: RidgeRows
    alphas: Floats

    def of(self, c: Floats) -> Certificate:
        """The certificate of c (n, T), summed over the targets."""
        if not self.rows.convex:
            return self._stationary(c)
        found, alphas = self.found, self.alphas
        parts, some = [], alphas > 0.0
        if some.any():
            Kc = self.design.product(c[:, some])
            design = self.design
            sides = design.sizes(), found.y[:, some], found.s, alphas[some], c[:, some]
            parts.append(ridge_certificate(Kc, *sides, design.entry_error))
        if not some.all():
            columns = np.flatnonzero(~some)
            least = _least(self.rows, found, columns)[1]
            value, error = squares_value(self.design, found.y[:, columns], found.s, c[:, columns])
            # The bound is that of K as computed, which another K near it may go below.
            known = self.design.entry_error == 0.0 or least.bound == 0.0
            kind: Kind = "duality" if known and least.kind != "estimate" else "estimate"
            bound = max(least.bound - error, min(least.bound, 0.0))
            parts.append(Certificate(value, bound, kind, floor=least.floor))
        return reduce(Certificate.__add__, parts)

    def _stationary(self, c: Floats) -> Certificate:
        """What the equations of an indefinite kernel say: a residual and no bound."""
        y, s = self.found.y, self.found.s[:, None]
        Kc = self.design.product(c)
        value = float(np.sum(s * (y - Kc) ** 2) + np.sum(self.alphas * c * Kc))
        left = float(np.sqrt(np.sum(s * (y - Kc - self.alphas * c / s) ** 2)))
        size = float(np.sqrt(np.sum(s * y**2)))
        return Certificate(
            value, -math.inf, "stationary", residual=left / size if size > 0.0 else left
        )


def certify_expansion(
    estimator: Any, rows: RowsWithKernel, found: RidgeRows, alphas: Floats
) -> Certificate:
    """The certificate of a fitted estimator's dual_coef_ on the rows of its fit."""
    c = np.asarray(to_numpy(estimator.dual_coef_), np.float64).reshape(-1, found.y.shape[1])
    if len(c) != rows.n:
        raise ValueError(
            f"this {type(estimator).__name__} was fitted on {len(c)} rows and X has {rows.n}: pass "
            "the rows it was fitted on, in their order"
        )
    kept = c if found.members is None else c[found.members]
    if np.count_nonzero(kept) != np.count_nonzero(c):
        raise ValueError("rows without weight have coefficients: pass the weights of the fit")
    design = rows.design(found.y, found.s, found.members)
    proof = Proof(rows, design, found, alphas).of(np.ldexp(kept, -found.exponent))
    return found.objective(proof)


def keep_coefficients(estimator: Any, proof: Proof, c: Floats, dtype: Any) -> None:
    """dual_coef_ in the precision of the rows where the proof stays closed, and the proof."""
    tol, found = float(estimator.tol), proof.found
    certificate = proof.of(c)
    if dtype != np.float64 and certificate.closed(tol):
        single = c.astype(dtype).astype(np.float64)
        after = proof.of(single)
        if after.closed(tol):
            c, certificate = single, after
        else:
            dtype = np.dtype(np.float64)
    spread = found.spread(c, proof.rows.n)
    with np.errstate(over="ignore"):
        kept = spread.astype(dtype)
    kept = kept if np.isfinite(kept).all() else spread
    estimator.dual_coef_ = kept[:, 0] if found.flat else kept
    estimator.certificate_ = found.objective(certificate)
    estimator.history_ = (estimator.certificate_,)
    estimator.converged_ = certificate.closed(tol)
    if not estimator.converged_:
        warn_outside(
            f"{certificate.reached()}, asked tol={tol:.2g}: raise alpha, which rounding in this "
            "kernel matrix outweighs, scale the columns, or loosen tol"
        )
