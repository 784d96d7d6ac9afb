"""The gap of other people's fits: every convention of scikit-learn, exactly."""

from __future__ import annotations

import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp
from sklearn import linear_model as lm
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import certify

ROOT = Path(__file__).resolve().parents[3]
CANCER, MALIGN = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)
IRIS, KINDS = load_iris(return_X_y=True)
IRIS = StandardScaler().fit_transform(IRIS)
BODY, PROGRESS = load_diabetes(return_X_y=True)
PROGRESSES = np.c_[PROGRESS, PROGRESS**2 / 100.0]
TIGHT = {"tol": 1e-10, "max_iter": 100_000}
UNEQUAL = {0: 3.0, 1: 0.2}


def weights(y):
    """Some of them zero."""
    rng = np.random.default_rng(0)
    return rng.random(len(y)) * (rng.random(len(y)) < 0.8)


def grow(model, by=1.1):
    """The model with its coefficients changed."""
    worse = deepcopy(model)
    name = "dual_coef_" if isinstance(model, svm.SVC) else "coef_"
    setattr(worse, name, by * getattr(model, name))
    return worse


REGRESSIONS = [
    (lm.LinearRegression(), PROGRESS, 1e-12),
    (lm.LinearRegression(fit_intercept=False), PROGRESSES, 1e-12),
    (lm.LinearRegression(positive=True), PROGRESS, 1e-12),
    (lm.Ridge(), PROGRESS, 1e-12),
    (lm.Ridge(alpha=0.0), PROGRESS, 1e-12),
    (lm.Ridge(alpha=[0.01, 10.0]), PROGRESSES, 1e-12),
    (lm.Ridge(fit_intercept=False, solver="lsqr", tol=1e-12), PROGRESS, 1e-8),
    (lm.RidgeCV(alphas=[0.01, 1.0]), PROGRESS, 1e-12),
    (lm.RidgeCV(alphas=[0.01, 1.0], alpha_per_target=True), PROGRESSES, 1e-12),
    (lm.Lasso(alpha=0.1, **TIGHT), PROGRESS, 1e-9),
    (lm.Lasso(alpha=0.1, fit_intercept=False, **TIGHT), PROGRESSES, 1e-9),
    (lm.Lasso(alpha=1e3), PROGRESS, 1e-12),
    (lm.ElasticNet(alpha=0.01, l1_ratio=0.3, **TIGHT), PROGRESS, 1e-9),
    (lm.Lasso(alpha=0.1, positive=True, **TIGHT), PROGRESSES, 1e-9),
    (lm.ElasticNet(alpha=0.01, positive=True, **TIGHT), PROGRESS, 1e-9),
    (lm.Ridge(alpha=0.1, positive=True, tol=1e-12), PROGRESS, 1e-6),
    (lm.LassoCV(alphas=5, cv=3, **TIGHT), PROGRESS, 1e-9),
    (lm.LassoCV(alphas=5, cv=3, positive=True, **TIGHT), PROGRESS, 1e-9),
    (lm.ElasticNetCV(alphas=3, l1_ratio=[0.2, 0.9], cv=3, **TIGHT), PROGRESS, 1e-9),
]

BINARY = [
    (lm.LogisticRegression(**TIGHT), 1e-8),
    (lm.LogisticRegression(C=0.01, fit_intercept=False, **TIGHT), 1e-8),
    (lm.LogisticRegression(class_weight="balanced", solver="newton-cholesky", tol=1e-10), 1e-10),
    (lm.LogisticRegression(class_weight=UNEQUAL, C=20.0, **TIGHT), 1e-8),
    (lm.LogisticRegression(solver="liblinear", intercept_scaling=7.0, tol=1e-10), 1e-8),
    (
        lm.LogisticRegression(
            solver="liblinear", l1_ratio=1.0, C=0.1, class_weight=UNEQUAL, tol=1e-9, max_iter=5000
        ),
        1e-6,
    ),
    (lm.LogisticRegression(solver="saga", l1_ratio=1.0, C=0.05, **TIGHT), 1e-8),
    (lm.LogisticRegression(solver="saga", l1_ratio=0.4, C=0.05, **TIGHT), 1e-8),
    (lm.RidgeClassifier(class_weight="balanced"), 1e-12),
    (svm.LinearSVC(dual=False, tol=1e-9), 1e-8),
    (svm.LinearSVC(C=0.1, intercept_scaling=0.3, class_weight="balanced", tol=1e-8), 1e-8),
    (svm.LinearSVC(penalty="l1", dual=False, C=0.1, tol=1e-8, max_iter=20_000), 1e-5),
    (svm.LinearSVC(loss="hinge", C=0.1, tol=1e-8, max_iter=50_000, random_state=0), 1e-6),
    (
        svm.LinearSVC(
            loss="hinge", C=0.1, class_weight=UNEQUAL, fit_intercept=False, tol=1e-8,
            max_iter=50_000, random_state=0,
        ),
        1e-6,
    ),
    (svm.SVC(tol=1e-9), 1e-6),
    (svm.SVC(kernel="linear", C=0.1, class_weight="balanced", tol=1e-9), 1e-5),
    (svm.SVC(kernel="poly", degree=2, coef0=1.0, class_weight=UNEQUAL, tol=1e-9), 1e-6),
]  # fmt: skip

SEVERAL = [
    (lm.LogisticRegression(**TIGHT), 1e-8),
    (lm.LogisticRegression(class_weight="balanced", solver="newton-cholesky", tol=1e-10), 1e-8),
    (lm.LogisticRegression(solver="saga", l1_ratio=1.0, **TIGHT), 1e-8),
    (lm.LogisticRegression(solver="saga", l1_ratio=0.5, class_weight=UNEQUAL, **TIGHT), 1e-8),
    (lm.RidgeClassifier(class_weight=UNEQUAL), 1e-12),
    (svm.LinearSVC(class_weight=UNEQUAL, dual=False, tol=1e-9), 1e-8),
    (svm.LinearSVC(loss="hinge", C=0.3, tol=1e-8, max_iter=50_000, random_state=0), 1e-6),
    (svm.SVC(class_weight=UNEQUAL, tol=1e-9), 1e-6),
    (svm.SVC(kernel="linear", tol=1e-9, C=0.3), 1e-5),
]


def check(model, X, y, s, limit):
    model = deepcopy(model)
    model.fit(X, y) if s is None else model.fit(X, y, sample_weight=s)
    proof = certify(model, X, y, s)
    assert proof.kind == "duality"
    assert proof.relative_gap <= limit
    assert proof.gap >= -1e-12 * proof.value
    for by in (1.001, 1.3):
        worse = certify(grow(model, by), X, y, s)
        if np.any(grow(model, by).__dict__.get("coef_", 1.0)):
            assert worse.value > proof.value
            assert worse.gap > proof.gap
        assert worse.bound <= proof.value * (1.0 + 1e-10)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize(("model", "y", "limit"), REGRESSIONS, ids=lambda v: str(v)[:50])
def test_regressions(model, y, limit, weighted):
    check(model, BODY, y, weights(y) if weighted else None, limit)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize(("model", "limit"), BINARY, ids=lambda v: str(v)[:60])
def test_two_classes(model, limit, weighted):
    check(model, CANCER, MALIGN, weights(MALIGN) if weighted else None, limit)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize(("model", "limit"), SEVERAL, ids=lambda v: str(v)[:60])
def test_several_classes(model, limit, weighted):
    check(model, IRIS, KINDS, weights(KINDS) if weighted else None, limit)


def test_no_penalty():
    """C=inf: closed where an optimum exists, and the bound 0 where the classes are separable."""
    model = lm.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    few = CANCER[:, :3]
    check(model, few, MALIGN, weights(MALIGN), 1e-9)
    two = KINDS < 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lm.LogisticRegression(C=np.inf).fit(IRIS[two], KINDS[two])
    proof = certify(model, IRIS[two], KINDS[two])
    assert proof.bound == pytest.approx(0.0, abs=1e-6) and proof.value > 0.0


@pytest.mark.parametrize("legacy", [True, False])
def test_chosen_by_cross_validation(legacy):
    common = {"use_legacy_attributes": legacy, "scoring": "neg_log_loss", "cv": 3, **TIGHT}
    s = weights(MALIGN)
    for model in (
        lm.LogisticRegressionCV(
            Cs=[0.01, 0.1], l1_ratios=(0.0,), class_weight="balanced", **common
        ),
        lm.LogisticRegressionCV(
            Cs=[0.05], l1_ratios=(0.3, 0.9), solver="saga", class_weight=UNEQUAL, **common
        ),
        lm.LogisticRegressionCV(
            Cs=[0.1], l1_ratios=(0.0,), solver="liblinear", intercept_scaling=5.0, **common
        ),
    ):
        model.fit(CANCER[:, :8], MALIGN, sample_weight=s)
        assert certify(model, CANCER[:, :8], MALIGN, s).relative_gap <= 1e-8
    model.refit = False
    with pytest.raises(ValueError, match="refit=False averages"):
        certify(model, CANCER[:, :8], MALIGN, s)


# -------------------------------------------------------------- objectives written out in numpy


def test_the_values_are_the_documented_objectives():
    s = weights(MALIGN)
    y = np.where(MALIGN == 1, 1.0, -1.0)
    each = np.where(MALIGN == 1, 0.2, 3.0)

    model = lm.LogisticRegression(C=0.3, class_weight=UNEQUAL).fit(CANCER, MALIGN, sample_weight=s)
    z = CANCER @ model.coef_[0] + model.intercept_[0]
    w = model.coef_[0]
    expected = 0.3 * np.sum(s * each * -np.log(expit(y * z))) + w @ w / 2
    assert certify(model, CANCER, MALIGN, s).value == pytest.approx(expected, rel=1e-10)

    model = lm.LogisticRegression(solver="liblinear", l1_ratio=1.0, C=0.3, intercept_scaling=4.0)
    model.fit(CANCER, MALIGN, sample_weight=s)
    z = CANCER @ model.coef_[0] + model.intercept_[0]
    expected = 0.3 * np.sum(s * -np.log(expit(y * z)))
    expected += np.abs(model.coef_).sum() + abs(model.intercept_[0]) / 4.0
    assert certify(model, CANCER, MALIGN, s).value == pytest.approx(expected, rel=1e-10)

    model = svm.LinearSVC(class_weight=UNEQUAL, dual=False, C=0.5).fit(CANCER, MALIGN)
    z = CANCER @ model.coef_[0] + model.intercept_[0]
    expected = 0.5 * np.sum(each * np.maximum(0.0, 1.0 - y * z) ** 2)
    expected += (np.sum(model.coef_**2) + model.intercept_[0] ** 2) / 2
    assert certify(model, CANCER, MALIGN).value == pytest.approx(expected, rel=1e-10)

    model = svm.SVC(C=2.0, kernel="linear", class_weight=UNEQUAL).fit(CANCER, MALIGN)
    z = model.decision_function(CANCER)
    expected = 2.0 * np.sum(each * np.maximum(0.0, 1.0 - y * z)) + np.sum(model.coef_**2) / 2
    assert certify(model, CANCER, MALIGN).value == pytest.approx(expected, rel=1e-8)

    model = lm.LogisticRegression(C=0.3, class_weight="balanced").fit(IRIS, KINDS)
    Z = IRIS @ model.coef_.T + model.intercept_
    loss = logsumexp(Z, axis=1) - Z[np.arange(150), KINDS]
    expected = 0.3 * loss.sum() + np.sum(model.coef_**2) / 2
    assert certify(model, IRIS, KINDS).value == pytest.approx(expected, rel=1e-10)

    t = weights(PROGRESS)
    model = lm.ElasticNet(alpha=0.1, l1_ratio=0.7).fit(BODY, PROGRESS, sample_weight=t)
    r, w = PROGRESS - model.predict(BODY), model.coef_
    expected = t @ r**2 / (2 * t.sum()) + 0.1 * (0.7 * np.abs(w).sum() + 0.15 * w @ w)
    assert certify(model, BODY, PROGRESS, t).value == pytest.approx(expected, rel=1e-10)
    model = lm.Ridge(alpha=0.5).fit(BODY, PROGRESS, sample_weight=2.0)
    r, w = PROGRESS - model.predict(BODY), model.coef_
    expected = 2.0 * r @ r + 0.5 * w @ w
    assert certify(model, BODY, PROGRESS, 2.0).value == pytest.approx(expected, rel=1e-10)


def test_a_loose_fit_is_told_apart():
    """The default solver stops early on raw columns; the bound is that of a tight fit."""
    X = load_breast_cancer().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        loose = lm.LogisticRegression().fit(X, MALIGN)
    tight = lm.LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
    best = certify(tight.fit(X, MALIGN), X, MALIGN)
    proof = certify(loose, X, MALIGN)
    assert best.relative_gap <= 1e-8
    assert proof.relative_gap > 0.1
    assert proof.bound == pytest.approx(best.value, rel=0.01)
    # Two sums of 569 terms that agree to 2e-15: which is greater depends on the processor.
    assert proof.bound <= best.value * (1.0 + 1e-12)


# ---------------------------------------------------------------------- ours, containers, refusals


def test_our_own_models_agree_with_their_certificates():
    for model, X, y in (
        (fenchel.LogisticRegression(C=0.5, class_weight="balanced"), CANCER, MALIGN),
        (fenchel.LogisticRegression(), IRIS, KINDS),
        (fenchel.LogisticRegression(solver="liblinear"), CANCER, MALIGN),
        (fenchel.LogisticRegressionCV(Cs=[0.1, 1.0], cv=3), IRIS, KINDS),
        (fenchel.Ridge(alpha=[0.1, 2.0]), BODY, PROGRESSES),
        (fenchel.RidgeCV(), BODY, PROGRESS),
        (fenchel.LinearRegression(), BODY, PROGRESS),
        (fenchel.Ridge(alpha=0.1, positive=True), BODY, PROGRESS),
        (fenchel.Lasso(alpha=0.1), BODY, PROGRESSES),
        (fenchel.ElasticNet(alpha=0.01, positive=True), BODY, PROGRESS),
        (fenchel.ElasticNet(alpha=0.01, l1_ratio=0.0), BODY, PROGRESS),
        (fenchel.Lasso(alpha=0.0), BODY, PROGRESS),
        (fenchel.LassoCV(alphas=5, cv=3, positive=True), BODY, PROGRESS),
        (fenchel.ElasticNetCV(l1_ratio=[0.2, 0.9], alphas=3, cv=3), BODY, PROGRESS),
        (fenchel.LogisticRegression(C=0.1, l1_ratio=1.0), CANCER, MALIGN),
        (fenchel.LogisticRegression("l1", C=0.1), IRIS, KINDS),
        (fenchel.LogisticRegressionCV(Cs=[0.1], l1_ratios=[0.5], cv=3), IRIS, KINDS),
    ):
        model.fit(X, y)
        proof = certify(model, X, y)
        assert proof.relative_gap <= 1e-6
        assert proof.value == pytest.approx(model.certificate_.value, rel=1e-9)
        assert proof.bound == pytest.approx(model.certificate_.bound, rel=1e-6)


def test_containers():
    names = np.array(["benign", "malignant"], dtype=object)
    y = names[MALIGN]
    model = lm.LogisticRegression(C=0.1, **TIGHT).fit(CANCER, y)
    expected = certify(model, CANCER, y)
    assert expected.relative_gap <= 1e-8
    for X in (csr_array(CANCER), np.asfortranarray(CANCER), fenchel.as_blocks(CANCER)):
        proof = certify(model, X, y)
        assert proof.value == pytest.approx(expected.value, rel=1e-12)
        assert proof.bound == pytest.approx(expected.bound, rel=1e-9)
    single = certify(model, CANCER.astype(np.float32), list(y))
    assert single.value == pytest.approx(expected.value, rel=1e-5)
    assert certify(model, fenchel.as_blocks(CANCER, MALIGN).map(lambda b: b), y) == expected


@pytest.mark.torch
def test_tensors():
    torch = pytest.importorskip("torch")
    model = svm.LinearSVC(loss="hinge", C=0.1, random_state=0).fit(IRIS, KINDS == 1)
    expected = certify(model, IRIS, KINDS == 1)
    proof = certify(model, torch.asarray(IRIS), torch.asarray(KINDS == 1))
    assert proof.value == pytest.approx(expected.value, rel=1e-12)
    assert proof.bound == pytest.approx(expected.bound, rel=1e-8)


def test_dataframes():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IRIS, columns=list("abcd"))
    model = lm.Ridge().fit(frame, frame["a"] * 2.0)
    assert certify(model, frame, frame["a"] * 2.0).relative_gap <= 1e-12


def test_a_target_beside_the_rows(tmp_path):
    path = tmp_path / "iris.csv"
    kinds = np.array(["setosa", "versicolor", "virginica"])[KINDS]
    lines = [
        ",".join([*map(repr, row), kind]) for row, kind in zip(IRIS.tolist(), kinds, strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,kind", *lines]))
    model = lm.LogisticRegression(class_weight="balanced", **TIGHT).fit(IRIS, kinds)
    with fenchel.scan(path, target="kind") as rows:
        proof = certify(model, rows)
    assert proof.value == pytest.approx(certify(model, IRIS, kinds).value, rel=1e-12)
    assert proof.relative_gap <= 1e-8


def test_pipelines_and_subclasses():
    X = load_breast_cancer().data
    pipe = make_pipeline(StandardScaler(), lm.LogisticRegression(**TIGHT)).fit(X, MALIGN)
    assert certify(pipe, X, MALIGN).relative_gap <= 1e-8

    class Mine(lm.Ridge):
        pass

    assert certify(Mine().fit(BODY, PROGRESS), BODY, PROGRESS).relative_gap <= 1e-12


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lm.SGDClassifier(), "SGDClassifier minimises no convex objective that is known here"),
        (RandomForestClassifier(2), "certificates exist for LinearRegression, Ridge"),
        (svm.NuSVC(), "NuSVC minimises no convex"),
        (lm.MultiTaskLasso(), "MultiTaskLasso minimises no convex"),
        (GridSearchCV(lm.Ridge(), {"alpha": [1.0]}), "certify its best_estimator_"),
        (42, "int minimises no convex"),
        (lm.Ridge, "not the class Ridge: fit it"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_models_without_a_certificate(model, message):
    with pytest.raises(TypeError, match=message):
        certify(model, CANCER, MALIGN)


def test_other_refusals():
    with pytest.raises(ValueError, match="not fitted yet"):
        certify(lm.Ridge(), BODY, PROGRESS)
    ridge = lm.Ridge().fit(BODY, PROGRESS)
    with pytest.raises(ValueError, match="X has 9 features, but Ridge is expecting 10"):
        certify(ridge, BODY[:, 1:], PROGRESS)
    with pytest.raises(ValueError, match="needs the target y"):
        certify(ridge, BODY)
    with pytest.raises(ValueError, match="y has 2 targets, but this Ridge was fitted on 1"):
        certify(ridge, BODY, PROGRESSES)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        certify(ridge, BODY, PROGRESS[:-1])
    model = lm.LogisticRegression().fit(IRIS, KINDS)
    with pytest.raises(ValueError, match="label 7, which is not among the classes"):
        certify(model, IRIS, np.where(KINDS == 2, 7, KINDS))
    with pytest.raises(ValueError, match="Negative values"):
        certify(model, IRIS, KINDS, -np.ones(150))


def test_a_row_of_no_weight_may_have_any_label():
    s = np.ones(150)
    s[0] = 0.0
    y = KINDS.copy()
    y[0] = 99
    model = lm.LogisticRegression(**TIGHT).fit(IRIS, KINDS, sample_weight=s)
    assert certify(model, IRIS, y, s).relative_gap <= 1e-8
