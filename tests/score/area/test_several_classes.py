"""Areas and average precision with scikit-learn's signatures, and curves of one class."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import metrics
from sklearn.exceptions import UndefinedMetricWarning

from fenchel import (
    Curve,
    auc,
    average_precision,
    average_precision_score,
    det_curve,
    gains_curve,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

AVERAGES = ["macro", "weighted", "micro", "samples", None]


def draw(seed, K=None, rows=40):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 9, (rows, K or 1)) / 8.0
    if K is None:
        return rng.integers(0, 2, rows), score[:, 0], rng.integers(0, 3, rows) + 0.5
    return rng.integers(0, 2, (rows, K)), score, rng.integers(0, 3, rows) + 0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_fpr", [None, 1.0, 0.3])
def test_two_classes(weighted, max_fpr):
    y, score, weight = draw(0)
    weight = weight if weighted else None
    got = roc_auc_score(y, score, sample_weight=weight, max_fpr=max_fpr)
    want = metrics.roc_auc_score(y, score, sample_weight=weight, max_fpr=max_fpr)
    assert got == pytest.approx(want, rel=1e-12) and type(got) is float
    got = average_precision_score(y, score, sample_weight=weight)
    assert got == pytest.approx(metrics.average_precision_score(y, score, sample_weight=weight))
    if not weighted and max_fpr is None:
        assert roc_auc_score(y, score) == auc(y, score)
        assert got == average_precision(y, score)
        assert roc_auc_score(np.array(["a", "b"])[y], score) == auc(y, score)
        named = average_precision_score(np.array(["a", "b"])[y], score, pos_label="b")
        assert named == got


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", AVERAGES)
def test_several_labels_a_row(average, weighted):
    y, score, weight = draw(1, K=4)
    y[:, 0] = 1
    y[:, 1], y[0] = 0, [1, 1, 0, 1]
    weight = weight if weighted else None
    for ours, theirs in (
        (roc_auc_score, metrics.roc_auc_score),
        (average_precision_score, metrics.average_precision_score),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = ours(y, score, average=average, sample_weight=weight)
            want = theirs(y, score, average=average, sample_weight=weight)
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize(
    ("multi_class", "average"),
    [
        ("ovr", "macro"),
        ("ovr", "weighted"),
        ("ovr", "micro"),
        ("ovr", None),
        ("ovo", "macro"),
        ("ovo", "weighted"),
    ],
)
def test_several_classes(multi_class, average):
    rng = np.random.default_rng(2)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    p = rng.dirichlet(np.ones(3), 60)
    settings = {"multi_class": multi_class, "average": average}
    np.testing.assert_allclose(
        roc_auc_score(y, p, **settings), metrics.roc_auc_score(y, p, **settings), rtol=1e-12
    )
    if multi_class == "ovr":
        np.testing.assert_allclose(
            average_precision_score(y, p, average=average),
            metrics.average_precision_score(y, p, average=average),
            rtol=1e-12,
        )


@pytest.mark.parametrize(
    ("y", "p", "settings", "message"),
    [
        ([0, 1], [0.1, 0.2], {"average": "mean"}, "average must be one of"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {"multi_class": "ovr"}, "needs to be of shape"),
        ([0, 1, 2], np.eye(3), {}, "multi_class must be in"),
        ([0, 1, 2], 2.0 * np.eye(3), {"multi_class": "ovr"}, "sum up to 1"),
        ([0.5, 1.2], [0.1, 0.2], {}, "continuous format is not supported"),
        ([0, 1, 1], [0.1, 0.2], {}, "inconsistent numbers of samples"),
        ([[0, 1], [1, 0]], [[0.1], [0.2]], {}, "give one score a label"),
    ],
)
def test_errors_name_the_argument(y, p, settings, message):
    with pytest.raises(ValueError, match=message):
        roc_auc_score(y, p, **settings)


def test_one_class_gives_nan_with_a_warning_where_scikit_learn_does():
    score = [0.1, 0.3, 0.3, 0.9, 0.95, 1.0]
    for y in (np.zeros(6, int), np.ones(6, int), -np.ones(6, int), np.ones(6, bool)):
        for drop in (False, True):
            for ours, theirs in (
                (roc_curve, metrics.roc_curve),
                (precision_recall_curve, metrics.precision_recall_curve),
            ):
                with warnings.catch_warnings(record=True) as got_warnings:
                    warnings.simplefilter("always")
                    got = ours(y, score, drop_intermediate=drop)
                with warnings.catch_warnings(record=True) as wanted:
                    warnings.simplefilter("always")
                    want = theirs(y, score, drop_intermediate=drop)
                for a, b in zip(got, want, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-12)
                assert [w.category for w in got_warnings] == [w.category for w in wanted]
        with pytest.raises(ValueError, match="Only one class is present in y_true"):
            det_curve(y, score)
        with pytest.warns(UndefinedMetricWarning, match="Only one class"):
            assert np.isnan(roc_auc_score(y, score))
        with pytest.raises(ValueError, match="one class only"):
            auc(y, score)


def test_rows_without_weight_do_not_make_a_class():
    with pytest.warns(UndefinedMetricWarning, match="Only one class"):
        assert np.isnan(roc_auc_score([0, 1, 1], [0.1, 0.2, 0.3], sample_weight=[0, 1, 1]))
    with pytest.warns(UserWarning, match="No positive class"):
        assert average_precision_score([0, 1], [0.1, 0.2], sample_weight=[1, 0]) == 0.0


def test_which_class_is_positive_must_be_said_unless_the_labels_say_it():
    score = [0.1, 0.4, 0.35, 0.8]
    y = ["cancer", "healthy", "cancer", "healthy"]
    for curve in (roc_curve, precision_recall_curve, det_curve):
        with pytest.raises(ValueError, match=r"in {'cancer', 'healthy'} and pos_label is not spec"):
            curve(y, score)
        curve(y, score, pos_label="cancer")
        with pytest.raises(ValueError, match=r"in {1, 2} and pos_label"):
            curve([1, 1, 2, 2], score)
        with pytest.raises(TypeError, match="bytes"):
            curve(np.array([b"a", b"b", b"a", b"b"]), score)
    # Names of ours keep the greater label.
    assert Curve.of(y, score).auc() == auc(y, score)
    assert gains_curve(y, score)[0].size == 5


def test_det_curve_takes_its_arguments_by_position():
    y, score, weight = draw(3)
    for a, b in zip(
        det_curve(y, score, 0, weight), metrics.det_curve(y, score, 0, weight), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)
