"""What the estimators by local averages share: bandwidth, exact leave-one-out, far rows."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.arrays import answer_type, is_sparse
from fenchel.geometry.kernel.vector_kernels import Gaussian, KernelFunction
from fenchel.geometry.local_average import (
    LocalLine,
    LocalMoments,
    LocalSums,
    Weighting,
    local_line,
    power_of_two,
)
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.geometry.search.search import without_own
from fenchel.geometry.tiles import PairFold
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.estimator import (
    Estimator,
    as_numpy,
    compares_strings,
    is_remote,
    validated_blocks,
)
from fenchel.models.neighbours.leave_one_out import MeanErrors
from fenchel.models.neighbours.scoring_rows import are_rows_of_fit, exact, scored_targets
from fenchel.models.neighbours.training_rows import TrainingRows

Floats = NDArray[np.float64]
# Rows whose distances tell the smallest bandwidth worth trying.
SAMPLED = 1000

SMOOTHING: dict[str, list[Any]] = {
    "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
    "bandwidths": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "kernel": [KernelFunction, None],
    "far": [StrOptions({"nearest", "error"})],
}


class Smoothing(SelfCertified, Estimator):
    """Training rows that are averaged with the weights of a kernel."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SMOOTHING
    bandwidth: Any
    bandwidths: Any
    kernel: KernelFunction | None
    far: str
    X_fit_: NDArray[Any]
    y_fit_: Any
    weight_fit_: Floats | None
    bandwidth_: float
    definition = "leave-one-out error"
    elsewhere: ClassVar[str]  # what is taken of rows other than those of the fit

    @property
    @abstractmethod
    def _values(self) -> Floats:
        """What is averaged, (n, c)."""

    @property
    def _linear(self) -> bool:
        return False

    def _check_kernel(self) -> None:
        """Refuses a kernel whose rows have no bandwidth."""
        if compares_strings(self):
            raise ValueError(
                f"kernel={self.kernel!r} compares strings, and a local average divides rows of "
                "numbers by its bandwidth: take a kernel of numbers, or nearest neighbours, for "
                "example KNeighborsClassifier(kernel=...)"
            )

    def _learn(self, training: TrainingRows) -> None:
        """Keep the rows that have weight, and choose the bandwidth."""
        s, rows, target = training.weight, training.rows, training.target
        if s is not None and not (s > 0.0).all():
            kept = np.flatnonzero(s > 0.0)
            s, rows = s[kept], rows[kept]
            target = None if target is None else target[kept]
        self.X_fit_, self.y_fit_, self.weight_fit_ = rows, target, s
        for name in ("bandwidths_", "loo_errors_", "loo_standard_errors_", "certificate_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if not isinstance(self.bandwidth, str):
            self.bandwidth_ = float(self.bandwidth)
            return
        self.bandwidths_ = self._grid()
        if self._mass < 2.0:
            raise ValueError(
                "bandwidth='loo' leaves one row out, and the rows (n_samples = "
                f"{len(rows)}) have a total weight of {self._mass:g}: give a bandwidth"
            )
        found = self._errors(self.bandwidths_)
        self.loo_errors_, self.loo_standard_errors_ = found.values()
        self.bandwidth_ = float(self.bandwidths_[found.best])
        self.certificate_ = exact(float(self.loo_errors_[found.best]))

    @property
    def _mass(self) -> float:
        s = self.weight_fit_
        return float(len(self.X_fit_)) if s is None else float(s.sum())

    @property
    def _weight(self) -> Floats:
        s = self.weight_fit_
        return np.ones(len(self.X_fit_)) if s is None else s

    def _grid(self) -> Floats:
        """The bandwidths that are tried: as given, or so many from half the median distance to the
        nearest other row up to twice the standard deviation of the rows, by equal ratios."""
        if not isinstance(self.bandwidths, Integral):
            grid = np.sort(np.asarray(self.bandwidths, np.float64).ravel())
            if not len(grid) or not (np.isfinite(grid) & (grid > 0.0)).all():
                raise ValueError(f"bandwidths must be positive and finite, got {self.bandwidths!r}")
            return grid
        rows = np.unique(self.X_fit_, axis=0)
        if len(rows) < 2:
            return np.ones(1)
        some = np.arange(0, len(rows), max(1, len(rows) // SAMPLED))
        near = EuclideanSearch(rows).nearest(rows[some], 2)[1][:, 1]
        # Over a power of two, so that no square overflows.
        unit = power_of_two(float(np.abs(rows).max()))
        spread = unit * float(np.sqrt((rows.astype(np.float64) / unit).var(axis=0).sum()))
        low = 0.5 * float(np.median(near))
        return np.geomspace(low, max(2.0 * spread, low), int(self.bandwidths))

    def _weighting(self, bandwidths: Floats, own: Floats | None = None) -> Weighting:
        kernel = Gaussian(0.5) if self.kernel is None else self.kernel
        return Weighting(kernel, bandwidths, own)

    def _averages(self, weighting: Weighting) -> PairFold[tuple[Floats, Floats]]:
        """The sums around rows, as a function of them."""
        s, v = self._weight, self._values - self._centre
        if self._linear:
            unit = power_of_two(float(weighting.bandwidths.max()))
            fold: Any = LocalMoments(weighting, v, s, unit)
        else:
            fold = LocalSums(weighting, np.column_stack([s, s[:, None] * v]))
        return PairFold.of(self.X_fit_, fold, answer_type(self.X_fit_), None)

    @property
    def _centre(self) -> Floats:
        """The mean of the values, so that averages lose no digits to a common offset."""
        s = self._weight
        return np.asarray(s @ self._values / s.sum())

    def _lines(self, sums: Floats, weighting: Weighting) -> LocalLine:
        """Averages from their sums: constant, or linear, around each row."""
        d, c = self.X_fit_.shape[1], self._values.shape[1]
        if self._linear:
            unit = power_of_two(float(weighting.bandwidths.max()))
            return local_line(sums, d, c, unit)
        total = sums[:, :, 0]
        value = sums[:, :, 1:] / np.where(total > 0.0, total, 1.0)[:, :, None]
        none = np.zeros((*total.shape, d))
        return LocalLine(value, none, none, total)

    def _left_out(self, bandwidths: Floats) -> Floats:
        """The average of the other rows at each training row, (n, H, c); of the nearest where all
        weights vanish."""
        s = self._weight
        weighting = self._weighting(bandwidths, np.maximum(s - 1.0, 0.0) / s)
        top, sums = self._averages(weighting)(self.X_fit_)
        found = self._lines(sums, weighting).value + self._centre
        lost = ~np.isfinite(top)
        if lost.any():
            rows = np.flatnonzero(lost.any(axis=1))
            found[lost] = np.repeat(self._nearest_others(rows), lost[rows].sum(axis=1), axis=0)
        return found

    def _nearest_others(self, rows: NDArray[np.int64]) -> Floats:
        found = EuclideanSearch(self.X_fit_).nearest(self.X_fit_[rows], 2)
        numbers, _ = without_own(*found, rows, self._weight[rows] > 1.0)
        return self._values[numbers[:, 0]]

    def leave_one_out(self, bandwidths: Any, return_std: bool = False) -> Any:
        """The exact leave-one-out error for each bandwidth, in one pass over all pairs of rows:
        the mean squared error of the average of the others, a row's error with its weight.

        return_std: also the standard errors of these means, of rows as independent draws.
        """
        check_is_fitted(self, "X_fit_")
        grid = np.asarray(bandwidths, np.float64).reshape(-1)
        if not len(grid) or not (np.isfinite(grid) & (grid > 0.0)).all():
            raise ValueError(f"bandwidths must be positive and finite, got {bandwidths!r}")
        errors, spread = self._errors(grid).values()
        return (errors, spread) if return_std else errors

    def _errors(self, grid: Floats) -> MeanErrors:
        away = self._left_out(grid) - self._values[:, None, :]
        # Over a power of two, so that no square overflows.
        unit = power_of_two(float(np.abs(self._values - self._centre).max(initial=0.0)))
        errors, s = ((away / unit) ** 2).mean(axis=2), self._weight
        return MeanErrors.of(s @ errors, s @ (errors * errors), float(s.sum()), unit)

    def _around(self, X: Any) -> Any:
        """For each block of rows: the rows, log maxⱼ k (n,), and the averages, whose value is that
        of the nearest row where all weights vanish."""
        weighting = self._weighting(np.array([self.bandwidth_]))
        average = self._averages(weighting)
        start = 0
        for block in validated_blocks(self, X, reset=False):
            Q = block.X if is_sparse(block.X) else as_numpy(block.X)
            top, sums = average(Q)
            lines = self._lines(sums, weighting)
            value = lines.value[:, 0] + self._centre
            lost = np.flatnonzero(~np.isfinite(top[:, 0]))
            if len(lost):
                self._say_far(start + int(lost[0]), len(lost))
                numbers = EuclideanSearch(self.X_fit_).nearest(Q[lost], 1)[0]
                value[lost] = self._values[numbers[:, 0]]
            yield Q, top[:, 0], value, lines
            start += len(value)

    def _say_far(self, row: int, count: int) -> None:
        where = (
            f"the kernel is zero between row {row} and all training rows, and so for {count} rows: "
            f"bandwidth {self.bandwidth_:.6g} is too small there"
        )
        if self.far == "error":
            raise ValueError(f"{where}; raise the bandwidth, or take far='nearest'")
        warn_outside(f"{where}; these rows take the value of the nearest one", UserWarning)

    @cached_property
    def certificate_(self) -> Certificate:
        """The leave-one-out error at `bandwidth_`: "exact", a definition. Computed when asked for,
        unless bandwidth="loo" has found it."""
        check_is_fitted(self)
        return exact(float(self.leave_one_out(self.bandwidth_)[0]))

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The mean error of the predictions for these rows, each with its weight: a definition, so
        "exact". On the very rows of the fit, of which there must be two, it is the leave-one-out
        error, as in `certificate_`."""
        if y is None and not is_remote(X):
            raise ValueError(f"certifying a {type(self).__name__} needs the target y of the rows")
        check_is_fitted(self, "X_fit_")
        target, s = scored_targets(X, y, sample_weight)
        if self._leaves_out(X, target, s):
            return exact(float(self.leave_one_out(self.bandwidth_)[0]))
        return exact(self._risk(X, target, s))

    def definition_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> str:
        """What `certify_on` takes of these rows."""
        left_out = self._leaves_out(X, *scored_targets(X, y, sample_weight))
        return self.definition if left_out else self.elsewhere

    def _leaves_out(self, X: Any, target: NDArray[Any], s: Floats) -> bool:
        """Whether these are the rows of the fit, of which there are two."""
        blocks, fitted = validated_blocks(self, X, reset=False), self._fitted_target
        return self._mass >= 2.0 and are_rows_of_fit(
            blocks, target, s, self.X_fit_, fitted, self.weight_fit_
        )

    @property
    def _fitted_target(self) -> NDArray[Any]:
        """The targets of the fit, as they were given."""
        return np.asarray(self.y_fit_)

    @abstractmethod
    def _risk(self, X: Any, target: NDArray[Any], s: Floats) -> float:
        """The mean error on some rows with targets and weights."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
