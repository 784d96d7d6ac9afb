"""Nadaraya-Watson: averages of the training targets with the weights of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import answer_type
from fenchel.geometry.distance import rows_in_order
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.geometry.local_average import LocalVariance
from fenchel.geometry.tiles import PairFold
from fenchel.models.array_namespace import dispatches, fit_of_rows, on_device_of
from fenchel.models.estimator import as_numpy
from fenchel.models.neighbours.scoring_rows import values_out
from fenchel.models.neighbours.smoothing import SMOOTHING, Floats, Smoothing
from fenchel.models.neighbours.training_rows import labelled_rows, valued_rows


class NadarayaWatson(MultiOutputMixin, RegressorMixin, Smoothing):
    """Nadaraya-Watson regression: the average of all targets with the weights of a kernel.

        f(x) = Σⱼ sⱼ wⱼ yⱼ / Σⱼ sⱼ wⱼ,   wⱼ = κ(x/h, xⱼ/h)

    or, with `local_linear`, the value at x of the line with the least
    Σⱼ sⱼ wⱼ (yⱼ - a - b·(xⱼ - x))².

    Parameters
    ----------
    kernel : kernel of fenchel.kernels, default=None
        κ, not negative; None: exp(-‖x - z‖²/2).
    bandwidth : float or "loo", default="loo"
        h; "loo": the one of `bandwidths` with the least exact leave-one-out error.
    bandwidths : int or array, default=30
        A grid, or how many values, by equal ratios, from half the median distance to the nearest
        other row up to twice the standard deviation of the rows.
    local_linear : bool, default=False
        A line around each row in place of a constant: no bias at the border of the rows.
    far : {"nearest", "error"}, default="nearest"
        What a row gets where the weights of all training rows are zero: the target of the nearest
        one, with a warning, or an error. Kernels that never vanish, such as the default, have no
        such rows: weights are relative to the largest, and far away the nearest row has it all.

    Attributes
    ----------
    bandwidth_ : float
    bandwidths_, loo_errors_, loo_standard_errors_ : arrays
        For bandwidth="loo": the grid, the mean squared leave-one-out error of each, and the
        standard error of that mean.
    X_fit_, y_fit_, weight_fit_ : the training rows with weight, their targets, weights or None
    certificate_ : Certificate
        The leave-one-out error: "exact", since it is the definition of a number.

    Notes
    -----
    `sample_weight` counts copies: a row of weight 2 is two rows, and leave-one-out leaves one of
    them out. A fit takes O(n² H) for H bandwidths, in one pass over all pairs.

    Reference: Nadaraya, On estimating regression, 1964; Watson, Smooth regression analysis, 1964;
    Fan and Gijbels, Local Polynomial Modelling and Its Applications, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import NadarayaWatson
    >>> X = np.linspace(0.0, 3.0, 60)[:, None]
    >>> y = np.sin(2.0 * X[:, 0])
    >>> model = NadarayaWatson(local_linear=True).fit(X, y)
    >>> model.predict([[1.0], [1e6]]).round(3).tolist()[0]
    0.908
    >>> NadarayaWatson().fit(X, y).predict([[1e6]]) == y[-1:]
    array([ True])
    """

    definition = "mean squared leave-one-out error"
    elsewhere = "mean squared error"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SMOOTHING,
        "local_linear": ["boolean"],
    }

    def __init__(
        self,
        *,
        kernel: KernelFunction | None = None,
        bandwidth: float | str = "loo",
        bandwidths: Any = 30,
        local_linear: bool = False,
        far: str = "nearest",
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.bandwidths = bandwidths
        self.local_linear = local_linear
        self.far = far

    @property
    def _values(self) -> Floats:
        return self.y_fit_.reshape(len(self.y_fit_), -1)

    @property
    def _linear(self) -> bool:
        return bool(self.local_linear)

    @fit_of_rows
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NadarayaWatson:
        """Keep the rows X and their targets y; sample_weight: how many copies of each."""
        self._check_kernel()
        self._learn(valued_rows(self, X, y, sample_weight))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The average at each row, (n,) or (n, K), in X's precision; a tensor for a tensor.

        return_std: also its standard error, √(Σⱼ lⱼ² eⱼ²), with lⱼ the weight of yⱼ in the average
        and eⱼ the error at row j when it is left out: noise may differ from place to place, and the
        bias of the average is not part of it. Infinite where all weights are zero.
        """
        check_is_fitted(self)
        found, errors = [], []
        squares = self._squared_residuals() if return_std else None
        for Q, top, value, lines in self._around(X):
            found.append(value)
            if squares is not None:
                errors.append(self._standard_errors(Q, top, lines, squares))
        if squares is None:
            return self._out(np.concatenate(found), X)
        return self._out(np.concatenate(found), X), self._out(np.concatenate(errors), X)

    def _out(self, values: Floats, X: Any) -> Any:
        values = values.astype(answer_type(self.X_fit_), copy=False)
        return values_out(values.reshape(len(values), *self.y_fit_.shape[1:]), X)

    def _squared_residuals(self) -> Floats:
        """sⱼ eⱼ² of each training row left out."""
        if self._mass < 2.0:
            raise ValueError("a standard error takes at least two rows: leave one out")
        residuals = self._left_out(np.array([self.bandwidth_]))[:, 0] - self._values
        return self._weight[:, None] * residuals * residuals

    def _standard_errors(self, Q: Any, top: Floats, lines: Any, squares: Floats) -> Floats:
        centre = self.X_fit_.mean(axis=0, dtype=np.float64)
        slopes, mean, total = lines.slope[:, 0], lines.mean[:, 0], lines.total[:, 0]
        at = rows_in_order(Q).astype(np.float64) - centre + mean
        offsets = np.einsum("ij,ij->i", at, slopes)
        weighting = self._weighting(np.array([self.bandwidth_]))
        fold = LocalVariance(weighting, squares, slopes, offsets, top, centre)
        variance = PairFold.of(self.X_fit_, fold, answer_type(self.X_fit_), None)(Q)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.sqrt(variance) / total[:, None]
        errors[~np.isfinite(top)] = np.inf
        return np.asarray(errors)

    def _risk(self, X: Any, target: NDArray[Any], s: Floats) -> float:
        error = as_numpy(self.predict(X)).reshape(len(s), -1) - target.reshape(len(s), -1)
        return float(s @ (error * error).mean(axis=1)) / float(s.sum())


class NadarayaWatsonClassifier(ClassifierMixin, Smoothing):
    """Classification by the local shares of the classes, with the weights of a kernel.

        p_c(x) = Σⱼ sⱼ wⱼ 1[yⱼ = c] / Σⱼ sⱼ wⱼ,   wⱼ = κ(x/h, xⱼ/h)

    The class with the largest share is predicted, of equal ones the smallest.

    Parameters
    ----------
    kernel : kernel of fenchel.kernels, default=None
        κ, not negative; None: exp(-‖x - z‖²/2).
    bandwidth : float or "loo", default="loo"
        h; "loo": the one of `bandwidths` with the least exact leave-one-out error.
    bandwidths : int or array, default=30
        A grid, or how many values; see `NadarayaWatson`.
    far : {"nearest", "error"}, default="nearest"
        What a row gets where the weights of all training rows are zero: the class of the nearest
        one, with a warning, or an error.

    Attributes
    ----------
    classes_ : array of shape (K,)
    bandwidth_ : float
    bandwidths_, loo_errors_, loo_standard_errors_ : arrays
        For bandwidth="loo": the grid, the leave-one-out error of each: the squared error of the
        shares, Σ_c (1[y = c] - p_c)² / K, averaged over the rows; and its standard error.
    X_fit_, y_fit_, weight_fit_ : the training rows with weight, codes of their classes, weights or
        None
    certificate_ : Certificate
        The leave-one-out error: "exact", since it is the definition of a number.

    Notes
    -----
    `sample_weight` counts copies, as for `NadarayaWatson`. `certify` gives the share of rows that
    are misclassified; on the rows of the fit the leave-one-out error above.

    Reference: Devroye, Györfi and Lugosi, A Probabilistic Theory of Pattern Recognition, 1996,
    chapter 10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import NadarayaWatsonClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NadarayaWatsonClassifier().fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    """

    classes_: Any

    definition = "mean squared leave-one-out error of the shares"
    elsewhere = "share of rows misclassified"

    def __init__(
        self,
        *,
        kernel: KernelFunction | None = None,
        bandwidth: float | str = "loo",
        bandwidths: Any = 30,
        far: str = "nearest",
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.bandwidths = bandwidths
        self.far = far

    @property
    def _values(self) -> Floats:
        return 1.0 * (self.y_fit_[:, None] == np.arange(len(self.classes_)))

    @fit_of_rows
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NadarayaWatsonClassifier:
        """Keep the rows X and their labels y; sample_weight: how many copies of each."""
        self._check_kernel()
        training = labelled_rows(self, X, y, sample_weight)
        self.classes_ = training.classes
        self._learn(training)
        return self

    def _shares(self, X: Any) -> Floats:
        check_is_fitted(self)
        shares = np.concatenate([value for _, _, value, _ in self._around(X)])
        shares = np.clip(shares, 0.0, 1.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Any:
        """The class with the largest share, of equal ones the smallest."""
        shares = self._shares(X)
        labels = self.classes_[shares.argmax(axis=1)]
        return on_device_of(labels, X) if dispatches(X) else labels

    def predict_proba(self, X: Any) -> Any:
        """The share of each class, (n, K), in the precision of the rows."""
        shares = self._shares(X).astype(answer_type(self.X_fit_), copy=False)
        return on_device_of(shares, X) if dispatches(X) else shares

    @property
    def _fitted_target(self) -> NDArray[Any]:
        return np.asarray(self.classes_[self.y_fit_])

    def _risk(self, X: Any, target: NDArray[Any], s: Floats) -> float:
        """The share of rows misclassified."""
        return float(s @ (as_numpy(self.predict(X)) != target)) / float(s.sum())
