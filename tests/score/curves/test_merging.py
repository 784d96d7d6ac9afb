"""Curves that are summed, judged twice, or given in place of scores; scores and weights at the end
of what floats can tell."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import fenchel
from fenchel import Curve, cross_validate, curve_auc, select, validation_curve

rng = np.random.default_rng(0)
Y = (rng.random(400) < 0.4).astype(int)
S = np.round(rng.normal(size=400) + Y, 1)


def test_curves_sum():
    parts = [Curve.of(Y[k::4], S[k::4], pos_label=1) for k in range(4)]
    assert sum(parts).auc() == Curve.of(Y, S).auc()
    with pytest.raises(TypeError):
        1 + parts[0]


def test_a_part_without_weight_is_an_empty_curve():
    nothing = Curve.of(Y[:9], S[:9], sample_weight=np.zeros(9), pos_label=1)
    assert not nothing.high.size
    assert (nothing + Curve.of(Y, S)).auc() == Curve.of(Y, S).auc()
    with pytest.raises(ValueError, match="all sample_weight are zero"):
        Curve.of(Y[:9], S[:9], sample_weight=np.zeros(9))


def test_a_table_of_thresholds_of_a_curve():
    whole = fenchel.threshold_table(Y, S)
    found = fenchel.threshold_table(sum(Curve.of(Y[k::2], S[k::2], pos_label=1) for k in (0, 1)))
    for name, column in whole.to_dict().items():
        assert np.array_equal(column, found.to_dict()[name], equal_nan=True), name
    pooled = fenchel.threshold_table(Curve.of(Y, S, limit=8))
    for row in range(len(pooled)):
        t = pooled.threshold[row]
        assert pooled.tp[row] == (S[Y == 1] >= t).sum() and pooled.fp[row] == (S[Y == 0] >= t).sum()
    between = 0.5 * (pooled.threshold[1] + pooled.threshold[2])
    with pytest.raises(ValueError, match="not in the table"):
        pooled.at(between)
    with pytest.raises(ValueError, match="without weights"):
        fenchel.threshold_table(Curve.of(Y, S, sample_weight=1.0 + Y))
    with pytest.raises(ValueError, match="y_score is missing"):
        fenchel.threshold_table(Y)
    with pytest.raises(ValueError, match="y_score is missing"):
        fenchel.cost_threshold(Y)


@pytest.mark.parametrize("listed", [lambda t: [t], lambda t: t, lambda t: (0.0, t)])
def test_the_threshold_of_a_promise_flags_what_is_above_it(listed):
    t = fenchel.neyman_pearson_threshold(S[Y == 0], 0.1, 0.1)
    row = fenchel.threshold_table(Y, S, thresholds=listed(t)).at(t)
    assert row["fp"] == (S[Y == 0] > t).sum() < (S[Y == 0] >= t).sum()
    assert row["tp"] == (S[Y == 1] > t).sum()


def test_rows_judged_twice_are_no_more_rows():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :3]
    once = cross_validate(GaussianNB(), X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0))
    often = cross_validate(
        GaussianNB(), X, y, cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=8, random_state=0)
    )
    single, several = (curve_auc(one.curve, level=0.95) for one in (once, often))
    assert several == pytest.approx(single, abs=0.01)
    lengths = [one.high - one.low for one in (single, several)]
    assert lengths[1] == pytest.approx(lengths[0], rel=0.15)
    assert often.curve.n_positive == pytest.approx(y.sum())


def test_whole_numbers_that_floats_cannot_tell_apart_are_refused():
    base = 1_700_000_000_000_000_000
    for kind in (np.int64, np.uint64):
        with pytest.raises(ValueError, match="in row 1 is not a float64"):
            fenchel.auc([0, 1, 0, 1], np.array([base, base + 1, base + 2, base + 3], dtype=kind))
    assert fenchel.auc([0, 1, 0, 1], np.array([2**53, 2**54, 1, 2])) == 0.75


@pytest.mark.parametrize("scale", [1e-200, 1e-85, 1e77, 1e200])
def test_the_scale_of_weights_moves_nothing(scale):
    y, said = np.array([0, 1, 1, 0, 1, 1]), np.array([0, 1, 0, 0, 1, 0])
    w = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1.5])
    for metric in (
        fenchel.accuracy,
        fenchel.balanced_accuracy,
        fenchel.matthews_correlation,
        fenchel.f1,
    ):
        first = metric(y, said, sample_weight=w, level=0.95)
        found = metric(y, said, sample_weight=scale * w, level=0.95)
        assert found == pytest.approx(first)
        assert (found.low, found.high) == pytest.approx((first.low, first.high), rel=1e-6)


class Counting(LogisticRegression):
    """How often it was fitted."""

    fits = 0

    def fit(self, X, y):
        Counting.fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda m, X, y: select(m, {"C": [1.0, 2.0]}, X, y, scoring=["accuracy", "auc"]),
            "scoring has 2 metrics",
        ),
        (
            lambda m, X, y: validation_curve(
                m, X, y, param_name="C", param_range=[1.0], scoring=["accuracy", "auc"]
            ),
            "scoring has 2 metrics",
        ),
        (lambda m, X, y: select(m, [{"C": [1.0, 2.0]}, {"Cc": [1]}], X, y), "Invalid parameter"),
    ],
)
def test_what_is_known_to_be_wrong_is_refused_before_any_fit(call, said):
    X, y = load_breast_cancer(return_X_y=True)
    Counting.fits = 0
    with pytest.raises(ValueError, match=said):
        call(Counting(), X[:, :2], y)
    assert Counting.fits == 0


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: fenchel.auc(Y, np.stack([1 - S, S], axis=1)), ValueError, r"\[:, 1\]"),
        (lambda: fenchel.auc(Y, np.ones((400, 3))), ValueError, "one class with the rest"),
        (lambda: fenchel.auc([0, 1, 1], [0.1, None, 0.2]), ValueError, "score is None in row 1"),
        (lambda: fenchel.local_auc(Y, S, rate="a"), ValueError, "rate must be"),
        (lambda: fenchel.partial_auc(Y, S, max_fpr="a"), ValueError, "max_fpr"),
        (lambda: fenchel.iso_error_line(0.1, "a"), ValueError, "prior must lie"),
        (lambda: fenchel.iso_error_line(np.nan, 0.3), ValueError, "error must be"),
        (lambda: fenchel.iso_error_line(0.1, 0.3, fpr=[]), ValueError, "fpr must be"),
        (lambda: fenchel.iso_error_line(0.1, 0.3, cost_fp=np.inf), ValueError, "cost_fp=inf"),
        (lambda: Curve.of(Y, S).cost(prior=7), ValueError, "prior must lie"),
        (lambda: fenchel.scorer(["auc"]), TypeError, "name of one metric"),
        (lambda: cross_validate("a", S[:, None], Y), TypeError, "needs an estimator"),
        (lambda: cross_validate(GaussianNB, S[:, None], Y), TypeError, "needs an estimator"),
        (
            lambda: fenchel.balanced_accuracy(Y, Y, level=0.95, n_bootstrap=100.5),
            ValueError,
            "n_bootstrap=100.5",
        ),
        (
            lambda: fenchel.NeymanPearsonClassifier(FrozenEstimator(LogisticRegression())).fit(
                S[:, None], Y
            ),
            ValueError,
            "not fitted yet",
        ),
    ],
)
def test_faults_are_told_in_one_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_auc_of_three_classes_says_that_it_is_for_two():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="one class with the rest"):
        cross_validate(GaussianNB(), X, y, scoring="auc")


def test_a_weighted_fit_bounds_no_unweighted_loss():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = fenchel.risk_certificate(
        fenchel.LogisticRegression().fit(X[:400], y[:400]), X[400:], y[400:]
    )
    assert plain.calibration.gap is not None
    assert "If every training row had the same weight" in str(plain)
    model = fenchel.LogisticRegression(class_weight={0: 1, 1: 50}).fit(X[:400], y[:400])
    found = fenchel.risk_certificate(model, X[400:], y[400:])
    assert found.calibration.gap is None and "unfinished optimisation" not in str(found)
