"""A classifier that keeps its false positive rate below a promised one."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, assert_all_finite, check_random_state, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt
from sklearn.utils._response import _get_response_values
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names,
    _check_method_params,
    _check_n_features,
    check_is_fitted,
    column_or_1d,
)

from fenchel.data.arrays import to_numpy
from fenchel.data.validation import check_weight
from fenchel.score.decision.threshold import negatives_needed, neyman_pearson_threshold


class NeymanPearsonClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Any classifier, cut so that P(false positive rate > α) ≤ δ.

    Some negatives are left out of the fit. The base is trained on all positives and the other
    negatives, and flags a row whose score exceeds the order statistic of the left-out scores that
    `neyman_pearson_threshold` picks. The probability δ is over the draw of the left-out rows, given
    the base: it holds for any base and any law of the rows, if rows are independent.

    Parameters
    ----------
    base : classifier
        With decision_function or predict_proba; a pipeline will do. A fitted one, wrapped in
        sklearn.frozen.FrozenEstimator, is kept as it is, and then all negatives given to fit set
        the threshold: they must not be among those that trained it.
    alpha : float, default 0.05
        Largest false positive rate.
    delta : float, default 0.05
        Probability with which it may be missed.
    calibration_size : float or int, default 0.5
        Share, or number, of the negatives that set the threshold.
    pos_label : label, optional
        The positive class, whose rows are flagged; by default the greater label.
    random_state : int, RandomState instance or None, default 0
        Which negatives are left out.

    Attributes
    ----------
    base_ : classifier
        The fitted base.
    classes_ : array of two labels
    threshold_ : Threshold
        A row is flagged if its score by the base is greater.
    n_calibration_ : int
        Number of negatives that set it.
    violation_ : float
        Probability, at most δ, of a false positive rate above α.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    There is no predict_proba: a probability of one half is not where this rule decides. Ask
    `base_` for probabilities.

    References
    ----------
    Tong, Feng and Li, Neyman-Pearson classification algorithms and NP receiver operating
    characteristics, Science Advances 4 (2018).

    Examples
    --------
    >>> from fenchel import GaussianClasses, LogisticRegression, NeymanPearsonClassifier
    >>> X, y = GaussianClasses([[0.0, 0.0], [2.0, 1.0]]).sample(2000, random_state=0)
    >>> model = NeymanPearsonClassifier(LogisticRegression(), alpha=0.05, delta=0.05).fit(X, y)
    >>> print(model.threshold_)  # doctest: +ELLIPSIS
    score > 2.204... flags at most 5 % of the negatives, with probability 0.9635 or more
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "base": [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"])],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "calibration_size": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "pos_label": [Real, str, "boolean", None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        base: Any,
        alpha: float = 0.05,
        delta: float = 0.05,
        *,
        calibration_size: Any = 0.5,
        pos_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.alpha = alpha
        self.delta = delta
        self.calibration_size = calibration_size
        self.pos_label = pos_label
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, **fit_params: Any) -> NeymanPearsonClassifier:
        """Train the base and set the threshold.

        Parameters
        ----------
        X : rows, in any container that the base takes and rows can be picked from
        y : array of shape (n,)
            Labels of two classes.
        **fit_params
            What the base's fit takes besides; arrays with one entry a row are split with the rows.
            `sample_weight` weighs rows for the base alone. The threshold counts every row that has
            a weight as one, for its promise is about rows as they come.
        """
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, X, reset=True)
        labels = self._labels(y)
        X, _ = indexable(X, labels)
        if not labels.size:
            raise ValueError("Found array with 0 sample(s): a minimum of 1 row a class is required")
        routed = fit_params
        if _routing_enabled():
            routed = process_routing(self, "fit", **fit_params).base.fit
        rows = np.arange(labels.size)
        weight = fit_params.get("sample_weight")
        if weight is not None:
            rows = np.flatnonzero(check_weight(weight, labels.size))
        self.classes_ = np.unique(labels[rows])
        if len(self.classes_) < 2:
            which = "those given" if weight is None else "those with a sample_weight above zero"
            raise ValueError(
                f"NeymanPearsonClassifier needs rows of 2 classes, and {which} are of one class: "
                f"{self.classes_.tolist()[0]!r}"
            )
        negative = self._negative()
        left_out = self._left_out(rows[labels[rows] == negative])
        if isinstance(self.base, FrozenEstimator):
            check_is_fitted(self.base.estimator)
            self.base_ = self.base
        else:
            kept = np.setdiff1d(rows, left_out, assume_unique=True)
            params = _check_method_params(X, routed, indices=kept)
            self.base_ = clone(self.base)
            self.base_.fit(_safe_indexing(X, kept), labels[kept], **params)
        score = self._score(_safe_indexing(X, left_out))
        self.threshold_ = neyman_pearson_threshold(score, self.alpha, self.delta)
        self.n_calibration_ = self.threshold_.n
        self.violation_ = self.threshold_.violation
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The base's score less the threshold; above zero for the second of `classes_`."""
        check_is_fitted(self)
        score = self._score(X)
        value, threshold = np.zeros(score.size), float(self.threshold_)
        # A difference of infinities is NaN, and equal ones are at the threshold.
        np.subtract(score, threshold, out=value, where=score != threshold)
        if self._negative() == self.classes_[0]:
            return value
        # A row at the threshold is negative: here the second class, and so above zero.
        return np.where(value == 0.0, np.nextafter(0.0, 1.0), -value)

    def predict(self, X: Any) -> NDArray[Any]:
        """The positive class where the base's score exceeds the threshold, else the negative."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0.0).astype(int)]

    def get_metadata_routing(self) -> MetadataRouter:
        """fit's parameters go to the base's fit."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(base=self.base, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        below = get_tags(self.base).input_tags
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse, tags.input_tags.allow_nan = below.sparse, below.allow_nan
        return tags

    def _labels(self, y: Any) -> NDArray[Any]:
        if y is None:
            raise ValueError(
                "NeymanPearsonClassifier requires y to be passed, but the target y is None"
            )
        labels = column_or_1d(to_numpy(y), warn=True)
        assert_all_finite(labels, input_name="y")
        kind = type_of_target(labels, input_name="y")
        if kind == "multiclass":
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                "set one class against the rest, as in y == label"
            )
        if kind != "binary":
            raise ValueError(f"Unknown label type: {kind}; NeymanPearsonClassifier needs classes")
        return labels

    def _negative(self) -> Any:
        if self.pos_label is None or self.pos_label == self.classes_[1]:
            return self.classes_[0]
        if self.pos_label == self.classes_[0]:
            return self.classes_[1]
        raise ValueError(
            f"pos_label={self.pos_label!r} is not a label of y, which has {self.classes_.tolist()}"
        )

    def _left_out(self, negatives: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows that set the threshold: enough of the negatives for the promise."""
        if isinstance(self.base, FrozenEstimator):
            return negatives
        n, size = negatives.size, self.calibration_size
        m = int(size) if isinstance(size, Integral) else math.ceil(size * n)
        needed = negatives_needed(self.alpha, self.delta)
        if min(m, n) < needed:
            raise ValueError(
                f"alpha={self.alpha:g} and delta={self.delta:g} take at least {needed} negatives "
                f"to set the threshold, and calibration_size={size} of {n} negatives is "
                f"{min(m, n)}: give more negatives, or raise calibration_size, alpha or delta"
            )
        if m >= n:
            raise ValueError(
                f"calibration_size={size} leaves none of the {n} negatives to train the base"
            )
        draw = check_random_state(self.random_state)
        return np.sort(draw.permutation(negatives)[:m])

    def _score(self, X: Any) -> NDArray[np.float64]:
        """The base's score of the positive class."""
        positive = self.classes_[int(self._negative() == self.classes_[0])]
        methods = ["decision_function", "predict_proba"]
        score, _ = _get_response_values(self.base_, X, methods, pos_label=positive)
        return np.asarray(to_numpy(score), dtype=np.float64)
