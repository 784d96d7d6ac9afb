"""Classical multidimensional scaling."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.geometry.distance import rows_in_order
from fenchel.geometry.search.metric import METRICS, GivenDistances, is_euclidean, metric_of
from fenchel.models.array_namespace import fit_method
from fenchel.models.estimator import as_numpy, validated_blocks
from fenchel.models.spectral.centred.distances import (
    checked_distances,
    distance_matrix,
    factored_rows,
    scaled_operator,
    square_input,
)
from fenchel.models.spectral.centred.landmarks import landmark_rows, refuse_landmarks
from fenchel.models.spectral.centred.negative import smallest_eigenvalue
from fenchel.models.spectral.centred.operators import factor_pairs
from fenchel.models.spectral.eigenfunctions import DataOperator, SpectralMap, eigenfunctions
from fenchel.models.spectral.output_rows import working_type
from fenchel.solve.eigen.leading import eigenpairs

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class ClassicalMDS(SpectralMap):
    """Classical multidimensional scaling: points whose distances are those given, or nearly.

        A = -J D² J / 2,   A u = λ u,   zᵢ = (√λ₁ uᵢ₁, …, √λₖ uᵢₖ),   J = I - 11'/n

    D holds distances, and D² their squares. Of distances of points in k dimensions the map is exact
    up to a rotation; in general it is the best matrix of inner products of rank k.

    Parameters
    ----------
    n_components : int, default=2
        k. Columns beyond the rank of the distances are zero.
    metric : str or function, default="euclidean"
        A distance by name, a function of two rows, or "precomputed": X holds the distances, and
        new rows hold their distances to the rows of the fit.
    metric_params : dict, optional
        Further arguments of the metric.
    squared : bool, default=False
        Whether "precomputed" distances are squared already.
    n_landmarks : int, optional
        Decompose the distances of so many landmarks alone, each the farthest from those before it,
        and place all rows by theirs to these: O(n) distances a landmark.

    Attributes
    ----------
    embedding_ : array of shape (n, k)
    eigenvalues_ : array of shape (k,)
        λ, the largest first; squared lengths of the columns (of those of the landmarks).
    residuals_, multiplicities_ :
        |Au - λu| of each pair; sizes of groups of eigenvalues that are not told apart, inside
        which any rotation of the columns is as good.
    smallest_eigenvalue_ : float
        Of A. Below zero no points have these distances: the map leaves out directions of negative
        eigenvalues, and a warning says so.
    landmarks_ : array of int, with `n_landmarks`
    coefficients_, memory_ : what `transform` takes to place new rows
    certificate_ : Certificate
        Of kind "eigen": minus the sum of the eigenvalues, and the largest residual over |A|.
    converged_ : bool
        Whether that is at most 1e-6.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    `transform` places a row by its distances to the rows of the fit (Gower 1968; Bengio and others
    2003), z = Λ^{-1/2} U' (m - d²)/2, d² centred: a row of the fit goes where it was. Weights count
    copies of rows; landmarks, which cover the rows, count once each. Lecture notes that write
    A = -J D J / 2 mean by D the squared distances.

    Euclidean distances of dense rows are never made: A = RR' with the centred rows R, so that the
    map is that of principal components. scikit-learn's `dissimilarity_matrix_` is not kept.

    References
    ----------
    Torgerson, Multidimensional scaling I, Psychometrika 17 (1952). de Silva and Tenenbaum, Sparse
    multidimensional scaling using landmark points, Stanford (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import ClassicalMDS
    >>> D = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    >>> model = ClassicalMDS(metric="precomputed").fit(D)
    >>> Z = model.embedding_
    >>> float(np.linalg.norm(Z[0] - Z[2]).round(12)), bool(np.allclose(model.transform(D), Z))
    (5.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(METRICS)), callable],
        "metric_params": [dict, None],
        "squared": ["boolean"],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        squared: bool = False,
        n_landmarks: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.squared = squared
        self.n_landmarks = n_landmarks

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClassicalMDS:
        """Place the rows X, or the rows whose distances X holds; y is ignored.

        sample_weight: how many copies of each row; one of weight zero is placed, and moves none.
        """
        blocks = validated_blocks(self, X, None, sample_weight)
        made = self._operator(blocks)
        n, k = int(made.A.shape[0]), int(self.n_components)
        if n < 2 or k > n:
            raise ValueError(
                f"n_components={k} columns and at least 2 rows are to come from n_samples={n} rows "
                "with weight: lower n_components, or add rows"
            )
        pairs = eigenpairs(made.A, k) if made.factor is None else factor_pairs(made.A, k)
        found = eigenfunctions(pairs, measure=made.measure, error=made.error)
        self._record(found, made, blocks)
        self.smallest_eigenvalue_ = 0.0
        if made.factor is None:
            fault = "the distances are not Euclidean"
            dtype = working_type(blocks)
            self.smallest_eigenvalue_ = smallest_eigenvalue(made, pairs, dtype, fault, "their")
        self.__dict__.pop("landmarks_", None)
        if self.n_landmarks is not None and made.members is not None:
            self.landmarks_ = made.members
        return self

    def _operator(self, blocks: Blocks) -> DataOperator:
        block = blocks.gather()
        n = block.n_rows
        s = None if block.weight is None else np.asarray(to_numpy(block.weight), np.float64)
        usable = np.ones(n, bool) if s is None else s > 0.0
        given = self.metric == "precomputed"
        if given:
            D = square_input(block.X if is_sparse(block.X) else to_numpy(block.X))
            D = checked_distances(D, "the distance", working_type(blocks))
        rows = D if given else block.X if is_sparse(block.X) else as_numpy(block.X)
        plain = not given and is_euclidean(self.metric, 2, self.metric_params)
        metric = None if plain else metric_of(self.metric, 2, self.metric_params, _dense(rows))
        members = self._members(rows, metric, usable, s)
        some = rows if members is None else rows[members]
        if self.n_landmarks is not None:  # they stand for places, and not for numbers of rows
            s = None
        elif members is not None and s is not None:
            s = s[members]
        if metric is None:
            return factored_rows(Block(0, some, None, s), members)
        if isinstance(metric, GivenDistances):
            points = np.arange(n) if members is None else members
            D, squared = D if members is None else D[np.ix_(members, members)], self.squared
        else:
            points, squared = _dense(some), False
            D = checked_distances(distance_matrix(metric, points, points), "the metric's value")
        return scaled_operator(D, metric, points, s, squared=squared, members=members)

    def _members(
        self, rows: Any, metric: Any, usable: NDArray[np.bool_], s: Floats | None
    ) -> Numbers | None:
        """Rows with weight, or landmarks among them; None for all."""
        if self.n_landmarks is None:
            return None if usable.all() else np.flatnonzero(usable)
        count = int(self.n_landmarks)
        refuse_landmarks(count, int(usable.sum()), int(self.n_components))
        given = isinstance(metric, GivenDistances)
        return landmark_rows(rows if given else _dense(rows), metric, count, usable, s)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dense(rows: Any) -> NDArray[Any]:
    return rows_in_order(rows)
