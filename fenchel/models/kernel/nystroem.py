"""Nyström's features of a kernel as a transformer."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.kernel_tiles import kernel_product
from fenchel.geometry.kernel.named_kernel import GivenColumns, named_kernel
from fenchel.geometry.kernel.nystroem import NystroemFeatures
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.array_namespace import as_known, fit_method
from fenchel.models.estimator import Estimator, as_numpy, validated_blocks
from fenchel.models.kernel.kernel_rows import KERNEL, kernel_tags
from fenchel.models.spectral.output_rows import rows_out, working_type

Floats = NDArray[np.float64]


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Features whose inner products are nearly a kernel, from its values at some of the rows.

    φ(x) = k(Z, Z)^{-1/2} k(Z, x),  φ(x)·φ(z) ≈ k(x, z)

    Z are rows drawn evenly, and with them k is exact: φ(z)·φ(z') = k(z, z'). Elsewhere k - φ·φ is
    positive semi-definite. Directions of k(Z, Z) below 1e-10 of the largest, which rounding makes,
    are left out: `rank_` says how many there are.

    Parameters
    ----------
    kernel : str, kernel or function, default "rbf"
        "linear", "poly", "rbf", "laplacian", "cosine", "precomputed", a kernel such as
        ``fenchel.kernels.Gaussian(0.5)``, or a function of two rows. With a kernel of strings, such
        as ``fenchel.kernels.Spectrum(3)``, each row of X is a string. It must be positive
        semi-definite.
    gamma : float, "scale", "auto", "median" or None
        Of the kernels by name; None and "auto": 1 / n_features.
    coef0, degree : of the kernels with these names; None: 1 and 3
    kernel_params : dict or None
        Keywords of a function.
    n_components : int, default 100
        Rows of Z, and columns of φ; all rows, where there are fewer.
    random_state : int or RandomState
        Of the rows, which are scikit-learn's for the same number; None: those of 0 at every fit.
    n_jobs : ignored; see ``fenchel.threads``

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Z.
    component_indices_ : array (n_components,)
    normalization_ : array (n_components, n_components)
        k(Z, Z)^{-1/2} on its range, in float64.
    rank_ : int
        Of k(Z, Z), as far as float64 tells.
    kernel_ : the kernel with its parameters
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A fit takes m² kernel values and some 10 m³ products for m landmarks, and reads no other row; a
    row m values and m² products. Values are made in float64 and handed out in the type of X.

    Reference: Williams and Seeger, Using the Nyström method to speed up kernel machines, NIPS 13
    (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Nystroem
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> map = Nystroem(gamma=0.5, n_components=20, random_state=0).fit(X)
    >>> phi = map.transform(X)
    >>> phi.shape, bool(np.allclose(phi @ phi.T, np.exp(-0.5 * (X - X.T) ** 2), atol=1e-5))
    ((60, 20), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL,
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_method
    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Draw the landmarks from the rows X, or the rows of the matrix X; y is ignored."""
        blocks = validated_blocks(self, X)
        n = blocks.n_rows
        count = min(int(self.n_components), n)
        seed = 0 if self.random_state is None else self.random_state
        drawn = check_random_state(seed).permutation(n)[:count]
        points = blocks.take(drawn).X
        points = points if is_sparse(points) else as_numpy(points)
        kernel = self._kernel(blocks)
        K = kernel.tile(points, drawn[:, None]) if self._given else _values(kernel, points)
        features = NystroemFeatures.of(kernel, points, K)
        self.kernel_ = kernel
        self.components_ = points
        self.component_indices_ = drawn
        self.normalization_ = features.inverse_root
        self.rank_ = int(features.basis.shape[1])
        return self

    @property
    def _given(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _kernel(self, blocks: Blocks) -> KernelFunction:
        if self._given:
            if blocks.n_cols != blocks.n_rows:
                raise ValueError(
                    "a precomputed kernel must be a square matrix, got "
                    f"({blocks.n_rows}, {blocks.n_cols})"
                )
            return GivenColumns()
        kernel = named_kernel(
            self.kernel,
            blocks,
            gamma=self.gamma,
            degree=3 if self.degree is None else self.degree,
            coef0=1.0 if self.coef0 is None else self.coef0,
            parameters=self.kernel_params,
        )
        if not kernel.is_psd:
            raise ValueError(
                f"kernel={self.kernel!r} is not positive semi-definite, and landmarks have "
                "features of such kernels alone: take another kernel"
            )
        return kernel

    def transform(self, X: Any) -> Any:
        """φ of each row of X, in X's precision; for "precomputed" X has a column for each row of
        the fit."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, reset=False)
        dtype, kernel = working_type(blocks), self.kernel_
        basis = np.asarray(to_numpy(as_known(self.normalization_)))
        points = as_known(self.components_)
        points = points if is_sparse(points) else as_numpy(points)
        if isinstance(kernel, GivenColumns):
            points = np.asarray(as_numpy(as_known(self.component_indices_)))[:, None]

        def features(block: Block) -> NDArray[Any]:
            rows = block.X if is_sparse(block.X) else as_numpy(block.X)
            return kernel_product(kernel, rows, points, basis).astype(dtype, copy=False)

        return rows_out(X, blocks, features)

    @property
    def _n_features_out(self) -> int:
        return int(self.normalization_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = kernel_tags(self, super().__sklearn_tags__())
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _values(kernel: KernelFunction, points: Any) -> Floats:
    (prepared,) = kernel.prepared(points)
    return kernel.tile(prepared, prepared)
