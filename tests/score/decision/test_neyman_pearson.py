"""The classifier that keeps a promised false positive rate: its promise, its splits, its bases."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from scipy.special import ndtr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import (
    GaussianClasses,
    LinearSVC,
    LogisticRegression,
    NeymanPearsonClassifier,
    neyman_pearson_threshold,
)

CLASSES = GaussianClasses([[0.0, 0.0], [1.5, 1.0]], prior=0.4)


@pytest.fixture(scope="module")
def rows():
    return CLASSES.sample(600, random_state=0)


def test_the_promise_holds():
    """Violations of a linear rule, whose true rate is a tail of the normal law."""
    repeats, alpha, delta = 1500, 0.1, 0.1
    rng = np.random.default_rng(3)
    bad = 0
    power = []
    for _ in range(repeats):
        X, y = CLASSES.sample(200, rng)
        model = NeymanPearsonClassifier(
            LinearDiscriminantAnalysis(), alpha, delta, random_state=int(rng.integers(1 << 30))
        ).fit(X, y)
        w, b = model.base_.coef_[0], model.base_.intercept_[0]
        cut = (float(model.threshold_) - b) / np.linalg.norm(w)
        rates = [ndtr(mean @ w / np.linalg.norm(w) - cut) for mean in CLASSES.means]
        bad += rates[0] > alpha
        power.append(rates[1])
    assert bad / repeats <= delta + 3.0 * math.sqrt(delta / repeats), bad / repeats
    assert np.mean(power) > 0.4  # the best rule at this level has 0.7


def test_positives_and_kept_negatives_train_the_base(rows):
    X, y = rows
    model = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1).fit(X, y)
    negatives = int((y == 0).sum())
    assert model.n_calibration_ == math.ceil(negatives / 2) == model.threshold_.n
    assert model.violation_ == model.threshold_.violation <= 0.1
    assert model.classes_.tolist() == [0, 1] and model.n_features_in_ == 2
    score = model.base_.decision_function(X)
    np.testing.assert_array_equal(model.decision_function(X), score - float(model.threshold_))
    np.testing.assert_array_equal(model.predict(X), (score > model.threshold_).astype(int))
    assert (model.predict(X)[y == 0] == 1).mean() < 0.15
    kept = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1, calibration_size=100).fit(X, y)
    assert kept.n_calibration_ == 100
    other = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1, random_state=1).fit(X, y)
    assert other.threshold_ != model.threshold_
    again = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1).fit(X, y)
    assert again.threshold_ == model.threshold_
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert same.threshold_.k == model.threshold_.k


def test_too_few_negatives_are_counted(rows):
    X, y = rows
    few = np.concatenate([np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1)])
    message = (
        "alpha=0.05 and delta=0.05 take at least 59 negatives to set the threshold, and "
        "calibration_size=0.5 of 60 negatives is 30"
    )
    with pytest.raises(ValueError, match=message):
        NeymanPearsonClassifier(LogisticRegression()).fit(X[few], y[few])
    NeymanPearsonClassifier(LogisticRegression(), calibration_size=59).fit(X[few], y[few])
    with pytest.raises(ValueError, match="leaves none of the 60 negatives to train"):
        NeymanPearsonClassifier(LogisticRegression(), calibration_size=60).fit(X[few], y[few])
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match="at least 59 negatives, got 30"):
        NeymanPearsonClassifier(frozen).fit(X[few][30:], y[few][30:])


@pytest.mark.parametrize(
    "base",
    [
        LinearSVC(loss="hinge"),
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(20, max_depth=3, random_state=0),
    ],
    ids=lambda base: type(base).__name__,
)
def test_any_base(rows, base):
    X, y = rows
    model = NeymanPearsonClassifier(base, 0.1, 0.1).fit(X, y)
    assert (model.predict(X)[y == 1] == 1).mean() > 0.3
    assert (model.predict(X)[y == 0] == 1).mean() < 0.2
    assert 0.0 < model.score(X, y) <= 1.0
    assert not np.isnan(model.decision_function(X)).any()
    with pytest.raises(AttributeError):
        _ = model.predict_proba


def test_a_fitted_base_is_kept(rows):
    X, y = rows
    base = LogisticRegression().fit(*CLASSES.sample(100, random_state=9))
    coef = base.coef_.copy()
    model = NeymanPearsonClassifier(FrozenEstimator(base), 0.1, 0.1).fit(X, y)
    np.testing.assert_array_equal(model.base_.coef_, coef)
    want = neyman_pearson_threshold(base.decision_function(X[y == 0]), 0.1, 0.1)
    assert (model.threshold_, model.n_calibration_) == (want, (y == 0).sum())


def test_the_positive_class_may_be_the_first(rows):
    X, y = rows
    names = np.where(y == 1, "alarm", "calm")
    model = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1, pos_label="alarm")
    model.fit(X, names)
    assert model.classes_.tolist() == ["alarm", "calm"]
    score = -model.base_.decision_function(X)
    want = np.where(score > model.threshold_, "alarm", "calm")
    np.testing.assert_array_equal(model.predict(X), want)
    assert (model.predict(X)[y == 0] == "alarm").mean() < 0.15
    with pytest.raises(ValueError, match="pos_label='x' is not a label"):
        NeymanPearsonClassifier(LogisticRegression(), pos_label="x").fit(X, names)


@pytest.mark.parametrize("pos_label", [0, 1])
def test_a_row_at_the_threshold_is_negative(pos_label):
    """Coarse scores: many rows lie exactly there."""
    X, y = CLASSES.sample(400, random_state=1)
    X = np.round(X[:, :1])
    model = NeymanPearsonClassifier(GaussianNB(), 0.2, 0.2, pos_label=pos_label).fit(X, y)
    score = model.base_.predict_proba(X)[:, pos_label]
    at = score == float(model.threshold_)
    assert at.any()
    assert (model.predict(X)[at] == 1 - pos_label).all()
    flagged = score > float(model.threshold_)
    np.testing.assert_array_equal(model.predict(X) == pos_label, flagged)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)


def test_infinite_scores():
    class Certain(LinearDiscriminantAnalysis):
        def decision_function(self, X):
            z = super().decision_function(X)
            return np.where(np.abs(z) > 1.0, np.sign(z) * np.inf, z)

    X, y = CLASSES.sample(400, random_state=1)
    model = NeymanPearsonClassifier(Certain(), 0.02, 0.5).fit(X, y)
    assert not np.isnan(model.decision_function(X)).any()
    assert float(model.threshold_) == np.inf
    assert (model.predict(X) == 0).all()


def test_containers(rows):
    X, y = rows
    want = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1).fit(X, y).predict(X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(model.predict(frame), want)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    thin = sparse.csr_array(X)
    found = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1).fit(thin, y).predict(thin)
    np.testing.assert_array_equal(found, want)
    single = X.astype(np.float32)
    model = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1).fit(single, y)
    assert np.mean(model.predict(single) == want) > 0.99


def test_texts_go_through_a_pipeline():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    texts = [" ".join(rng.choice(["good", "bad"], 9, p=[p, 1 - p])) for p in 0.3 + 0.4 * y]
    model = NeymanPearsonClassifier(make_pipeline(CountVectorizer(), MultinomialNB()), 0.2, 0.2)
    assert (model.fit(texts, y).predict(texts)[y == 0] == 1).mean() <= 0.25


def test_weights_are_for_the_base_alone(rows):
    X, y = rows
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    weight[:100] = 0.0
    model = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1)
    model.fit(X, y, sample_weight=weight)
    kept = weight > 0
    same = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1)
    same.fit(X[kept], y[kept], sample_weight=weight[kept])
    plain = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1).fit(X[kept], y[kept])
    assert model.threshold_ == same.threshold_ != plain.threshold_
    assert model.n_calibration_ == plain.n_calibration_
    with pytest.raises(ValueError, match="sample_weight above zero are of one class: 1"):
        model.fit(X, y, sample_weight=y.astype(float))


def test_metadata_routing(rows):
    X, y = rows
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    with sklearn.config_context(enable_metadata_routing=True):
        base = LogisticRegression().set_fit_request(sample_weight=True)
        routed = NeymanPearsonClassifier(base, 0.1, 0.1).fit(X, y, sample_weight=weight)
    direct = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.1)
    assert routed.threshold_ == direct.fit(X, y, sample_weight=weight).threshold_


def test_targets_are_checked(rows):
    X, y = rows
    model = NeymanPearsonClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="Only binary classification"):
        model.fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="one class: 1"):
        model.fit(X, np.ones(len(y), dtype=int))
    with pytest.raises(ValueError, match="alpha"):
        NeymanPearsonClassifier(LogisticRegression(), alpha=1.0).fit(X, y)


def test_cross_validated_predictions_keep_the_rate():
    X, y = CLASSES.sample(3000, random_state=4)
    model = NeymanPearsonClassifier(LogisticRegression(), 0.1, 0.05)
    found = cross_val_predict(model, X, y, cv=3)
    assert 0.04 < (found[y == 0] == 1).mean() <= 0.11
