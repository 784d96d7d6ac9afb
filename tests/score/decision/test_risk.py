"""Statements about a model's error: their numbers, their words, and how often they are true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.score import clopper_pearson, excess_by_scanning
from scipy.special import ndtr
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import (
    ERMClassifier,
    GaussianClasses,
    Hinge,
    LinearSVC,
    Logistic,
    LogisticRegression,
    LogisticRegressionCV,
    Multinomial,
    NeymanPearsonClassifier,
    Perceptron,
    SquaredHinge,
    bayes_risk,
    certify,
    risk_certificate,
)

CLASSES = GaussianClasses([[0.0, 0.0], [2.0, 1.0]], prior=0.4)
MODELS = [
    LogisticRegression(),
    LogisticRegression(C=np.inf),
    LogisticRegressionCV(Cs=[0.1, 1.0], cv=3),
    LinearSVC(loss="hinge"),
    LinearSVC(C=3.0),
    ERMClassifier(loss="square"),
    ERMClassifier(loss="exponential"),
    ERMClassifier(loss="modified_huber", penalty="l1"),
]


@pytest.fixture(scope="module")
def train():
    return CLASSES.sample(300, random_state=0)


@pytest.fixture(scope="module")
def test():
    return CLASSES.sample(500, random_state=1)


def test_counts_and_exact_bounds(train, test):
    X, y = test
    model = LogisticRegression().fit(*train)
    wrong = model.predict(X) != y
    found = risk_certificate(model, X, y, delta=0.1)
    assert (found.error.errors, found.error.n, found.delta) == (wrong.sum(), 500, 0.1)
    assert found.error.rate == wrong.mean()
    # two-sided at 0.8 has tails of 0.1
    assert found.error.upper == pytest.approx(clopper_pearson(int(wrong.sum()), 500, 0.8)[1])
    for side, label in ((found.false_positive, 0), (found.false_negative, 1)):
        part = wrong[y == label]
        assert (side.errors, side.n) == (part.sum(), part.size)
        assert side.upper == pytest.approx(clopper_pearson(int(part.sum()), part.size, 0.8)[1])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_say_their_loss_and_gap(train, test, model):
    """loss_gap_ is the certificate's gap on the scale of the mean loss, and loss_ its loss."""
    X, y = train
    model.fit(X, y)
    z = model.decision_function(X) * (2 * y - 1)
    mean = float(model.loss_.phi(z).mean())
    assert -1e-15 <= model.loss_gap_ <= 1e-5  # below zero by rounding alone
    if model.loss_gap_ > 1e-14:
        scale = model.certificate_.gap / model.loss_gap_
        assert mean <= model.certificate_.value / scale * (1 + 1e-4)
    found = risk_certificate(model, *test)
    c = found.calibration
    assert c is not None and c.loss == model.loss_ and found.reason == ""
    assert c.gap == max(model.loss_gap_, 0.0)
    assert c.gap_cost == pytest.approx(excess_by_scanning(c.loss, c.gap), abs=1e-4)


def test_the_losses_of_several_classes_and_of_weighted_fits():
    X, y = load_iris(return_X_y=True)
    assert LogisticRegression().fit(X, y).loss_ == Multinomial(3)
    assert LinearSVC(loss="hinge").fit(X, y).loss_ == Hinge()
    model = LinearSVC(C=0.1).fit(X[:100], y[:100], sample_weight=np.full(100, 2.0))
    assert model.loss_gap_ == pytest.approx(model.certificate_.gap / (0.1 * 200.0))
    again = certify(model, X[:100], y[:100], np.full(100, 2.0))
    assert again.value == pytest.approx(model.certificate_.value)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_excess_is_the_inverse_of_psi(train, test, model):
    model.fit(*train)
    eta = CLASSES.eta(CLASSES.sample(20_000, random_state=2)[0])
    best = bayes_risk(eta, loss=model.loss_)
    found = risk_certificate(model, *test, best_risk=best)
    c = found.calibration
    X, y = test
    margin = (2 * y - 1) * model.decision_function(X)
    assert c.risk == pytest.approx(model.loss_.phi(margin).mean(), rel=1e-6)
    cut = np.clip(margin, -c.cut, c.cut)
    np.testing.assert_array_equal(np.sign(cut), np.sign(margin))
    value = model.loss_.phi(cut)
    width = float(model.loss_.phi(np.array([-c.cut]))[0])
    log = math.log(2.0 / 0.05)
    bound = value.mean() + math.sqrt(2 * value.var(ddof=1) * log / 500) + 7 * width * log / 1497
    assert c.upper == pytest.approx(min(bound, width), rel=1e-6)
    assert c.excess == pytest.approx(excess_by_scanning(c.loss, c.upper - best), abs=1e-4)
    free = risk_certificate(model, *test).calibration
    assert free.best_risk == 0.0 and free.excess >= found.error.rate
    assert free.excess >= c.excess


def test_a_loss_that_the_cut_cannot_raise_is_cut_at_one(train, test):
    for model in (LinearSVC(loss="hinge"), LinearSVC(), ERMClassifier(loss="square")):
        assert risk_certificate(model.fit(*train), *test).calibration.cut == 1.0
    wide = risk_certificate(LogisticRegression().fit(*train), *test).calibration.cut
    assert 2.0 < wide < 10.0


def test_the_words(train, test):
    found = risk_certificate(LogisticRegression().fit(*train), *test)
    text = str(found)
    assert text.splitlines() == list(found.sentences)
    assert f"errs on {found.error.errors} of 500 test rows" in text
    assert "with probability at least 95 %" in text
    assert "false positive rate is at most" in text and "false negative rate is at most" in text
    assert "φ = Logistic()" in text and "R_φ* is at least 0 so" in text
    assert "R(f) − R* ≤ R(f) is the better bound" in text
    assert "unfinished optimisation adds at most" in text
    known = risk_certificate(LogisticRegression().fit(*train), *test, best_risk=0.25)
    assert "R_φ* is at least 0.25, as given, so" in str(known)
    assert "better bound" not in str(known)


def test_quoted_bounds_are_rounded_up(train):
    """36 errors of 1000 have the bound 0.0474…; whatever it is, no digit of it is cut off."""
    X, y = CLASSES.sample(1000, random_state=3)
    found = risk_certificate(LogisticRegression().fit(*train), X, y)
    quoted = float(found.sentences[0].split("at most ")[1].split(" %")[0]) / 100.0
    assert found.error.upper <= quoted < found.error.upper * 1.01


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LinearDiscriminantAnalysis(), "excess error of LinearDiscriminantAnalysis"),
        (Perceptron(), "excess error of Perceptron"),
        (NeymanPearsonClassifier(LogisticRegression(), 0.2, 0.2), "named in loss_"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")
def test_other_models_get_the_binomial_part_and_the_reason(train, test, model, words):
    found = risk_certificate(model.fit(*train), *test)
    assert found.calibration is None and words in found.reason
    assert found.sentences[-1] == found.reason and found.false_positive is not None
    with pytest.raises(ValueError, match="best_risk says nothing here"):
        risk_certificate(model, *test, best_risk=0.1)


def test_several_classes_get_the_binomial_part():
    X, y = load_iris(return_X_y=True)
    found = risk_certificate(LogisticRegression().fit(X[::2], y[::2]), X[1::2], y[1::2])
    assert found.false_positive is None and found.false_negative is None
    assert found.classes == (0, 1, 2) and "this model has 3" in found.reason
    assert found.error.upper > found.error.rate


def test_wrapped_models_are_opened(train, test):
    plain = LogisticRegression(C=1.0)
    for model in (
        make_pipeline(StandardScaler(), plain),
        GridSearchCV(plain, {"C": [0.1, 1.0]}, cv=3),
        FrozenEstimator(plain.fit(*train)),
        make_pipeline(StandardScaler(), GridSearchCV(plain, {"C": [1.0]}, cv=3)),
    ):
        found = risk_certificate(model.fit(*train), *test)
        assert found.calibration is not None and found.calibration.loss == Logistic()


def test_labels_by_name_and_rows_of_one_class(train, test):
    X, y = train
    names = np.array(["calm", "storm"])
    model = LogisticRegression().fit(X, names[y])
    X, y = test
    found = risk_certificate(model, X, names[y])
    assert found.classes == ("calm", "storm")
    assert "rows of class 'storm' it puts" in str(found)
    calm = risk_certificate(model, X[y == 0], names[y[y == 0]])
    assert calm.false_negative is None and calm.false_positive.n == (y == 0).sum()
    assert calm.error.errors == calm.false_positive.errors
    single = risk_certificate(model, X[:1], names[y[:1]])
    assert single.calibration.upper == pytest.approx(Logistic().phi(-np.array(1.0)), rel=1e-6)


def test_faults_are_named(train, test):
    X, y = test
    model = LogisticRegression().fit(*train)
    with pytest.raises(TypeError, match="judges classifiers"):
        risk_certificate(Ridge().fit(X, y), X, y)
    with pytest.raises(ValueError, match="X_test has 500 rows and y_test has 499"):
        risk_certificate(model, X, y[:-1])
    with pytest.raises(ValueError, match="y_test is empty"):
        risk_certificate(model, X[:0], y[:0])
    with pytest.raises(ValueError, match="delta must lie"):
        risk_certificate(model, X, y, delta=0.0)
    with pytest.raises(ValueError, match=r"between 0 and 0.693147, the loss of a score of zero"):
        risk_certificate(model, X, y, best_risk=0.7)


def test_every_statement_is_true_as_often_as_it_says(train):
    """One model, many test samples; true rates of a linear rule are tails of the normal law."""
    model = LinearSVC(C=1.0).fit(*train)
    w, b = model.coef_[0], model.intercept_[0]
    fpr, tpr = (ndtr((mean @ w + b) / np.linalg.norm(w)) for mean in CLASSES.means)
    error = 0.6 * fpr + 0.4 * (1.0 - tpr)
    many, labels = CLASSES.sample(400_000, random_state=5)
    margin = np.clip((2 * labels - 1) * model.decision_function(many), -1.0, 1.0)
    risk = SquaredHinge().phi(margin).mean()
    best = bayes_risk(CLASSES.eta(many), loss=SquaredHinge())
    excess = error - CLASSES.bayes_risk()
    rng = np.random.default_rng(8)
    repeats, delta = 2000, 0.1
    missed = np.zeros(5)
    for _ in range(repeats):
        found = risk_certificate(model, *CLASSES.sample(200, rng), delta=delta, best_risk=best)
        c = found.calibration
        missed += [
            error > found.error.upper,
            fpr > found.false_positive.upper,
            1.0 - tpr > found.false_negative.upper,
            risk > c.upper,
            excess > c.excess,
        ]
    noise = 3.0 * math.sqrt(delta / repeats)
    assert (missed / repeats <= delta + noise).all(), missed / repeats
    assert (missed[:3] / repeats >= 0.5 * delta).all(), missed / repeats  # and not idle


@pytest.mark.parametrize(
    ("delta", "words"),
    [(0.05, "95 %"), (0.07, "93 %"), (1e-4, "99.99 %"), (1e-12, "99.9999999999 %"), (1 / 3, "66")],
)
def test_no_sentence_claims_more_than_its_probability(delta, words):
    model = LogisticRegression().fit(*CLASSES.sample(100, random_state=0))
    text = str(risk_certificate(model, *CLASSES.sample(100, random_state=1), delta=delta))
    assert f"with probability at least {words}" in text
    assert "at least 100 %" not in text


@pytest.mark.parametrize(
    ("label", "message"), [(2, "y_test is 2 in row 3"), (math.nan, "y_test is nan in row 3")]
)
def test_labels_that_the_model_does_not_know(label, message):
    X, y = CLASSES.sample(100, random_state=0)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=message):
        risk_certificate(model, X, np.where(np.arange(100) == 3, label, y))
    with pytest.raises(ValueError, match=r"'[01]' in row 0; the model knows 0, 1"):
        risk_certificate(model, X, y.astype(str))
