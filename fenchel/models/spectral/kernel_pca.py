"""Kernel principal component analysis."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.intake import as_blocks
from fenchel.geometry.bandwidth import bandwidth_fault
from fenchel.geometry.distance import rows_in_order
from fenchel.geometry.kernel.named_kernel import GAMMAS, NAMES, WITH_GAMMA, named_kernel
from fenchel.geometry.kernel.vector_kernels import KernelFunction, Precomputed
from fenchel.models.array_namespace import as_known, fit_method
from fenchel.models.estimator import validated_blocks
from fenchel.models.spectral.centred.gram import mixed_pairs
from fenchel.models.spectral.centred.kernel_operator import (
    KernelTable,
    given_kernel,
    given_table,
    kernel_table,
    landmark_operator,
)
from fenchel.models.spectral.centred.negative import smallest_eigenvalue
from fenchel.models.spectral.centred.operators import factor_pairs
from fenchel.models.spectral.eigenfunctions import (
    DataOperator,
    SpectralMap,
    eigenfunctions,
    signed_by_functions,
)
from fenchel.models.spectral.output_rows import rows_out, working_type
from fenchel.models.spectral.pre_images import PreImages, refuse_fixed_point, ridge_coefficients
from fenchel.solve.eigen.leading import Eigenpairs, eigenpairs, subspace_iterations

Floats = NDArray[np.float64]
# Residuals that tol=0 asks for: in float64, and where float32 searches and float64 states.
DOUBLE, MIXED = 1e-10, 3e-7


class KernelPCA(SpectralMap):
    """Kernel principal component analysis: directions of largest variance among the features of a
    kernel.

        K̃ = J K J,   K̃ u = λ u,  |u| = 1,   J = I - 11'/n
        projection   zⱼ(x) = 1/√λⱼ Σᵢ uᵢⱼ k̃(x, xᵢ)
        sphered      zⱼ(x) = 1/λⱼ Σᵢ uᵢⱼ k̃(x, xᵢ)

    k̃(x, z) = κ̃(x)·κ̃(z), the kernel of features minus their mean over the rows of the fit.

    Parameters
    ----------
    n_components : int, optional
        k; None: all whose eigenvalue is not zero. At most the number of rows; columns beyond the
        rank are zero, which is said.
    kernel : str, kernel or function, default="linear"
        "linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed" (X is K, and new
        rows hold their values with the rows of the fit), a kernel such as
        ``fenchel.kernels.Gaussian(0.5)``, or a function of two rows. Of one that is not positive
        semi-definite the directions of negative eigenvalues are left out, with a warning.
    gamma : float, "scale", "auto", "median" or None
        Of the kernels by name; None and "auto": 1 / n_features.
    degree, coef0 : of the kernels with these names
    kernel_params : keywords of a function
    alpha, fit_inverse_transform : float, default=1.0; bool, default=False
        Whether pre-images are learned, by a ridge regression with the penalty α.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense": LAPACK; "arpack": block Krylov steps to `tol`; "randomized": so many steps, whose
        residual `certificate_` states; "auto": by the size.
    tol : float, default=0
        Residual |K̃u - λu| / |K̃| to reach; 0: 1e-10, or 3e-7 where K is so large that single
        precision searches the directions and double precision states them.
    max_iter, iterated_power : of "arpack"; of "randomized", "auto": 7 steps
    remove_zero_eig : bool, default=False
        Leave columns beyond the rank out.
    random_state : of the landmarks; None: the same ones at every fit
    copy_X, n_jobs : accepted
        Rows are never changed; `fenchel.threads` sets the number of threads.
    scaling : {"projection", "sphered"}, default="projection"
        See Notes.
    landmarks : int, optional
        Take the features of the kernel at so many rows (Nyström's approximation) in place of K:
        O(n) kernel values a landmark. They are drawn by random pivots of a Cholesky factor.
    pre_image : {"ridge", "fixed_point"}, default="ridge"
        What `inverse_transform` gives: the prediction of the ridge regression, as in scikit-learn,
        or, for Gaussian and linear kernels, a point whose features are nearer to those asked for.

    Attributes
    ----------
    embedding_ : array of shape (n, k)
        The coordinates of the rows.
    eigenvalues_ : array of shape (k,)
        λ, the largest first; zero beyond the rank.
    eigenvectors_ : array of shape (n, k): u; of weighted rows those of √s K̃ √s
    residuals_, multiplicities_ :
        |K̃u - λu| of each pair; sizes of groups of eigenvalues that are not told apart, inside which
        any rotation of the columns is as good.
    smallest_eigenvalue_ : float
        Of K̃ where the kernel may not be semi-definite, else 0.
    gamma_ : float
    X_fit_ : rows
        The rows with weight, or the landmarks; of "precomputed" their numbers.
    landmarks_ : array of int, with `landmarks`
    nystroem_error_ : float, with `landmarks`
        The trace of what the landmarks leave of K: no eigenvalue is too small by more.
    dual_coef_, X_transformed_fit_ : with `fit_inverse_transform`
        Of the ridge regression, and the projections that it was learned at.
    coefficients_, memory_ : what `transform` takes to place new rows
    certificate_ : Certificate
        Of kind "eigen": minus the sum of the eigenvalues, and the largest residual over |K̃|; with
        `landmarks`, `nystroem_error_` is charged too, and `fenchel.certify(model, X)` gives the
        residuals for K itself, whose values it makes once.
    converged_ : bool
        Whether the eigenproblem was solved to 1e-6, whatever landmarks leave.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    The unit direction of an eigenvector u of K̃ in the space of features is v = 1/√λ Σ uᵢ κ̃(xᵢ), for
    its length is u'K̃u / λ = 1. So the *projection* κ̃(x)·v has the factor 1/√λ, and over the rows
    Σᵢ zⱼ(xᵢ)² = λⱼ, zⱼ = √λⱼ uⱼ. The *sphered* (normalised) coordinate is that over √λ, factor 1/λ:
    zⱼ = uⱼ, Σᵢ zⱼ(xᵢ)² = 1 in every direction; times √(n - 1) it has the variance 1 of
    ``PCA(whiten=True)``. Lecture notes that give the projection the factor 1/λ mean the sphered
    coordinate, or eigenvectors of length √λ; and their K(x, xᵢ) is to be centred as K is.

    Weights count copies of rows. `transform` of the rows of the fit is `embedding_`.

    A pre-image x of coordinates z is to have features near to Ψ = Σ zⱼvⱼ + their mean. The ridge
    regression has the kernel itself on coordinates. The fixed point is that of Mika and others,
    from the ridge pre-image or the row of the fit with the nearest coordinates; a step is halved
    until |κ(x) - Ψ| does not grow. Of the linear kernel it is Ψ itself, the mean included.

    References
    ----------
    Schölkopf, Smola and Müller, Nonlinear component analysis as a kernel eigenvalue problem, Neural
    Computation 10 (1998). Mika and others, Kernel PCA and de-noising in feature spaces, NIPS 11
    (1999). Bakır, Weston and Schölkopf, Learning to find pre-images, NIPS 16 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import KernelPCA
    >>> t = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    >>> rings = np.concatenate([np.c_[np.cos(t), np.sin(t)], 3.0 * np.c_[np.cos(t), np.sin(t)]])
    >>> model = KernelPCA(1, kernel="rbf", gamma=0.3).fit(rings)
    >>> Z = model.embedding_[:, 0]
    >>> bool(Z[:60].min() > Z[60:].max() or Z[:60].max() < Z[60:].min())
    True
    >>> bool(np.allclose(model.transform(rings)[:, 0], Z)), model.certificate_.closed(1e-9)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions(set(NAMES)), KernelFunction, callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(GAMMAS)), None],
        "degree": [Interval(Real, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "scaling": [StrOptions({"projection", "sphered"})],
        "landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "pre_image": [StrOptions({"ridge", "fixed_point"})],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0.0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        scaling: str = "projection",
        landmarks: int | None = None,
        pre_image: str = "ridge",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.scaling = scaling
        self.landmarks = landmarks
        self.pre_image = pre_image

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelPCA:
        """Find the directions for the rows X, or the rows whose kernel matrix is X; y is ignored.

        sample_weight: how many copies of each row; one of weight zero is placed, and moves none.
        """
        if self.fit_inverse_transform and self._given:
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        blocks = validated_blocks(self, X, None, sample_weight)
        for name in ("landmarks_", "nystroem_error_", "dual_coef_", "X_transformed_fit_"):
            self.__dict__.pop(name, None)
        self.smallest_eigenvalue_ = 0.0
        if self.landmarks is None:
            table = self._table(blocks)
            self.gamma_ = self._gamma(table.kernel)
            made, pairs = self._decomposed(table, working_type(blocks))
        else:
            made, pairs = self._of_landmarks(blocks, int(self.landmarks))
        pairs = signed_by_functions(pairs, made.measure)
        sphered = np.where(pairs.values > 0.0, 1.0, 0.0) if self.scaling == "sphered" else None
        found = eigenfunctions(pairs, scale=sphered, measure=made.measure, error=made.error)
        some = np.asarray(found.coefficients.any(axis=0))
        vectors = pairs.vectors
        if self.n_components is None or self.remove_zero_eig:
            found, vectors, some = found.known(), vectors[:, some], some[some]
        elif found.rank < int(self.n_components):
            warn_outside(
                f"n_components={self.n_components} columns are asked, and the centred kernel "
                f"matrix has rank {found.rank}: the others are zero. Lower n_components, or set "
                "remove_zero_eig=True to leave them out",
                UserWarning,
            )
        self._record(found, made, blocks)
        self.eigenvalues_ = np.where(some, self.eigenvalues_, 0.0)
        self.eigenvectors_ = vectors
        if made.members is not None:
            self.eigenvectors_ = np.zeros(self.embedding_.shape)
            self.eigenvectors_[made.members] = vectors
        if self.fit_inverse_transform:
            self._learn(made, working_type(blocks))
        return self

    @property
    def _given(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def X_fit_(self) -> Any:
        """What `transform` compares new rows with."""
        check_is_fitted(self)
        return self.memory_.points

    def _kernel(self, blocks: Blocks) -> KernelFunction:
        asked: dict[str, Any] = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        kernel = named_kernel(self.kernel, blocks, parameters=self.kernel_params, **asked)
        fault = bandwidth_fault(kernel, blocks)
        if fault is not None:
            warn_outside(fault, UserWarning)
        return kernel

    def _gamma(self, kernel: Any) -> float:
        if isinstance(self.kernel, str) and self.kernel in WITH_GAMMA:
            return float(kernel.gamma)
        given = isinstance(self.gamma, int | float)
        return float(self.gamma) if given else 1.0 / self.n_features_in_  # type: ignore[arg-type]

    def _table(self, blocks: Blocks) -> KernelTable:
        if self._given:
            return given_table(given_kernel(blocks), blocks.gather())
        return kernel_table(self._kernel(blocks), blocks)

    def _operator(self, blocks: Blocks) -> DataOperator:
        """Of K itself, whatever a fit takes in its place."""
        own = self.memory_.kernel
        table = self._table(blocks) if self._given else kernel_table(own, blocks)
        return table.operator(int(self.coefficients_.shape[1]))

    def _decomposed(self, table: KernelTable, dtype: Any) -> tuple[DataOperator, Eigenpairs]:
        n = table.n
        if n < 2:
            raise ValueError(
                f"directions are found of at least 2 rows with weight, got n_samples={n}: add rows"
            )
        k = n if self.n_components is None else min(int(self.n_components), n)
        if table.linear:
            made = table.factored()
            k = min(k, *table.rows.shape) if self.n_components is None else k
            own = self.eigen_solver == "auto" and not self.tol
            return made, factor_pairs(made.A, k) if own else self._pairs(made.A, k)
        iterates = self.eigen_solver in ("auto", "arpack")
        if iterates and table.tiles_pay(k):
            gram = table.tiled()
            pairs = mixed_pairs(gram, k, float(self.tol) or MIXED, self.max_iter)
            return table.continued(gram), pairs
        made = table.matrix_in_memory()
        pairs = self._pairs(made.A, k)
        if not table.trusted:
            fault = f"kernel={self.kernel!r} is not positive semi-definite"
            self.smallest_eigenvalue_ = smallest_eigenvalue(made, pairs, dtype, fault, "its")
        return made, pairs

    def _pairs(self, A: Any, k: int) -> Eigenpairs:
        if self.eigen_solver == "randomized":
            steps = 7 if self.iterated_power == "auto" else int(self.iterated_power)
            return subspace_iterations(A, k, steps, 10)
        methods: dict[str, Any] = {"auto": "auto", "dense": "dense", "arpack": "krylov"}
        most = self.max_iter if self.eigen_solver == "arpack" else None
        method, tol = methods[self.eigen_solver], float(self.tol) or DOUBLE
        return eigenpairs(A, k, method=method, tol=tol, max_steps=most)

    def _of_landmarks(self, blocks: Blocks, count: int) -> tuple[DataOperator, Eigenpairs]:
        kernel = Precomputed(given_kernel(blocks)) if self._given else self._kernel(blocks)
        self.gamma_ = self._gamma(kernel)
        own = self.random_state is not None
        seed = check_random_state(self.random_state).randint(2**31) if own else 0
        k, random = self.n_components, np.random.default_rng(seed)
        made, self.landmarks_ = landmark_operator(kernel, blocks, count, k or 1, random)
        self.nystroem_error_ = math.ldexp(made.left, 2 * made.exponent)
        n, rank = made.A.R.shape
        return made, factor_pairs(made.A, max(rank, 1) if k is None else min(int(k), n))

    def _learn(self, made: DataOperator, dtype: Any) -> None:
        """The ridge regression of rows on their coordinates."""
        memory, s = self.memory_, made.measure
        if self.pre_image == "fixed_point":
            refuse_fixed_point(memory.kernel)
        if self.landmarks is None:
            Z = self.embedding_ if made.members is None else self.embedding_[made.members]
        else:
            Z, s = memory.extend(memory.points) @ self.coefficients_, None
        Z = (Z * self._unit).astype(dtype)
        dual = ridge_coefficients(memory.kernel, Z, memory.points, float(self.alpha), s)
        self.X_transformed_fit_, self.dual_coef_ = Z, dual.astype(dtype)

    @property
    def _unit(self) -> Floats:
        """Of each coordinate, in that of projections."""
        values = to_numpy(as_known(self.eigenvalues_))
        return np.sqrt(values) if self.scaling == "sphered" else np.ones(len(values))

    @property
    def inverse_transform(self) -> Callable[[Any], Any]:
        """Rows whose features are near to those of coordinates X (pre-images), with
        `fit_inverse_transform`."""
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and "
                "hence the inverse transform is not available."
            )
        return self._pre_images

    def _pre_images(self, X: Any) -> Any:
        check_is_fitted(self)
        blocks = as_blocks(as_known(X))
        k = self._n_features_out
        if blocks.n_cols != k:
            raise ValueError(f"X has {blocks.n_cols} columns, and the map has {k}")
        dtype = working_type(blocks)
        Z, dual = (to_numpy(as_known(part)) for part in (self.X_transformed_fit_, self.dual_coef_))
        unit, C = self._unit, to_numpy(as_known(self.coefficients_))
        learned = PreImages(self.memory_, C * unit, Z, dual, unit)
        of = learned.nearest if self.pre_image == "fixed_point" else learned.ridge
        return rows_out(X, blocks, lambda block: of(rows_in_order(to_numpy(block.X))).astype(dtype))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        tags.input_tags.sparse = isinstance(self.kernel, str | KernelFunction)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
