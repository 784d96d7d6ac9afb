"""What a model file keeps: every estimator of the library, to the last bit."""

from __future__ import annotations

import inspect
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from app.sameness import same, same_answers
from estimators import answer
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold
from test_sklearn import ESTIMATORS

import fenchel
from fenchel import ModelFileError, NeymanPearsonClassifier, load, save
from fenchel.app.modelfile.estimators import ESTIMATORS as LIST
from fenchel.app.modelfile.estimators import estimator_class
from fenchel.app.modelfile.values import KINDS, class_of, stored_names
from fenchel.convex.certificate import Kind
from fenchel.convex.loss.base import Loss
from fenchel.convex.penalty import ElasticNet as ElasticPenalty
from fenchel.convex.penalty import Penalty

pytestmark = pytest.mark.filterwarnings(
    "ignore::fenchel.NotCertified", "ignore::fenchel.RankDeficient"
)


def table(seed=0, n=90, d=4, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X[:, 0] + rng.normal(size=n), np.linspace(-1, 1, classes + 1)[1:-1])


def round_trip(model, path, **parts):
    save(model, path / "m.fen", **parts)
    return load(path / "m.fen")


def public(kind):
    """The public classes of a kind that have instances."""
    found = [getattr(fenchel, name) for name in dir(fenchel)]
    classes = {one for one in found if inspect.isclass(one) and issubclass(one, kind)}
    return {one for one in classes if not inspect.isabstract(one)}


def test_every_public_estimator_is_on_the_list():
    """A new estimator joins fenchel.app.modelfile.estimators, with a check for each attribute."""
    assert {cls.__name__ for cls in public(BaseEstimator)} == set(LIST)
    assert {estimator_class(name) for name in LIST} == public(BaseEstimator)


def test_every_loss_and_penalty_is_on_the_list():
    held = {class_of(name) for name in stored_names()}
    assert public(Loss) | public(Penalty) <= held
    assert set(KINDS) == set(get_args(Kind)) and len(KINDS) == len(set(KINDS))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_estimator_predicts_the_same_bits(estimator, tmp_path):
    X, y = table()
    model = clone(estimator).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded)
    assert same_answers(model, loaded, table(1)[0]) >= 1
    assert same(model.get_params(), loaded.get_params()) or "base" in model.get_params()
    assert same(answer(clone(loaded).fit(X, y), X), answer(model, X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_estimator_in_float32_with_names_and_weights(estimator, tmp_path):
    X, y = table(2)
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b\n", 'c"', "d ∂ 𝄞"])
    model = clone(estimator)
    takes = inspect.signature(model.fit).parameters
    weighted = "sample_weight" in takes and "groups" not in takes
    model.fit(frame, y, **({"sample_weight": np.linspace(0.5, 2.0, 90)} if weighted else {}))
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded)
    assert same_answers(model, loaded, frame) >= 1
    assert list(loaded.feature_names_in_) == list(frame.columns)


CLASSIFIERS = [
    e
    for e in ESTIMATORS
    if "Perceptron" in str(e) or "classes_" in LIST[type(e).__name__].attributes
]
LABELS = {
    "texts": np.array(["low", "mid ∂", "high"]),
    "objects": np.array(["low", "", "high\0"], dtype=object),
    "floats": np.array([0.0, 2.0, -1.0]),
    "bytes": np.array([200, 7, 9], dtype=np.uint8),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_several_classes_of_any_label(estimator, labels, tmp_path):
    X, y = table(3, classes=3)
    if isinstance(estimator, NeymanPearsonClassifier):
        X, y = X[y < 2], y[y < 2]
    model = clone(estimator).fit(X, LABELS[labels][y])
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded)
    assert same_answers(model, loaded, X) >= 2


@pytest.mark.parametrize("y", [np.arange(60) % 3 == 0, np.array(["no", "yes"])[np.arange(60) % 2]])
def test_truth_values_and_texts_of_two_classes(y, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    weights = {label: 2.0 for label in np.unique(y)[:1].tolist()}
    model = fenchel.LogisticRegression(class_weight=weights).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded) and same_answers(model, loaded, X) == 4


SETTINGS = [
    fenchel.ERMClassifier(loss=fenchel.SquaredHinge(), penalty=fenchel.L1(0.01)),
    fenchel.ERMClassifier(loss=fenchel.Logistic(), penalty=None),
    fenchel.ERMRegressor(loss=fenchel.Huber(0.5), penalty=ElasticPenalty(0.1, 0.3)),
    fenchel.ERMRegressor(loss=fenchel.Pinball(0.9), penalty=fenchel.L2(0.5)),
    fenchel.ERMRegressor(
        loss=fenchel.SquaredEpsilonInsensitive(0.2), penalty=fenchel.NonNegative()
    ),
    fenchel.LinearRegression(positive=True),
    fenchel.Ridge(positive=True),
    fenchel.Ridge(alpha=np.float32(0.5), random_state=np.random.RandomState(7)),
    fenchel.RidgeCV(alphas=np.logspace(-3, 3, 7), store_cv_results=True),
    fenchel.RidgeCV(alphas=[0.1, 1.0], cv=3),
    fenchel.LassoCV(alphas=[1.0, 0.1], cv=[(np.arange(60), np.arange(60, 90))]),
    fenchel.LogisticRegression(C=np.inf),
    fenchel.LogisticRegression(C=np.inf, class_weight={0: 1.0, np.int64(1): 3}),
    fenchel.LogisticRegressionCV(Cs=tuple(np.logspace(-2, 2, 70).tolist()), cv=3, refit=False),
    fenchel.QuantileRegressor(quantile=[0.9, 0.1, 0.5], alpha=0.0),
    fenchel.QuantileRegressor(quantile=(0.25, 0.75), non_crossing=True, solver_options={"a": [1]}),
    fenchel.HuberRegressor(max_iter=0),
    fenchel.Perceptron(prove=False, average="averaged"),
    NeymanPearsonClassifier(fenchel.LinearSVC(loss="hinge"), alpha=0.25, delta=0.6, pos_label=0),
]


@pytest.mark.parametrize("estimator", SETTINGS, ids=lambda estimator: type(estimator).__name__)
def test_parameters_of_every_kind(estimator, tmp_path):
    X, y = table(4)
    model = clone(estimator).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded) and same_answers(model, loaded, X) >= 1
    assert same(clone(loaded), clone(model))


@pytest.mark.parametrize(
    "estimator",
    [
        e
        for e in ESTIMATORS
        if type(e).__name__
        in (
            "LinearRegression",
            "Ridge",
            "RidgeCV",
            "Lasso",
            "ElasticNet",
        )
    ],
    ids=str,
)
@pytest.mark.parametrize("targets", [1, 3])
def test_several_targets(estimator, targets, tmp_path):
    X, _ = table(5)
    y = X @ np.random.default_rng(0).normal(size=(4, targets)) + np.sin(50 * X[:, :targets])
    model = clone(estimator).fit(X, y)
    if "alpha_per_target" in model.get_params():
        model.set_params(alpha_per_target=True).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded) and same_answers(model, loaded, X) == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_separated_classes_keep_their_proof(classes, tmp_path):
    X, _ = table(6)
    y = np.digitize(X[:, 0], [0.0, 0.7][: classes - 1])
    model = fenchel.LogisticRegression(C=np.inf).fit(X, y)
    assert model.separation_ is not None
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded) and loaded.separation_.complete == model.separation_.complete


@pytest.mark.parametrize(
    "estimator",
    [
        fenchel.Perceptron(),
        fenchel.Perceptron(average="averaged"),
        fenchel.Perceptron(average="voted"),
        fenchel.Adaline(),
        fenchel.Adaline(average=True, eta0=0.01),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_learning_goes_on_where_it_ended(estimator, classes, tmp_path):
    X, y = table(7, classes=classes)
    model = clone(estimator).partial_fit(X[:40], y[:40], classes=np.arange(classes))
    model.partial_fit(X[40:60], y[40:60])
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded) and same_answers(model, loaded, X) == 2
    model.partial_fit(X[60:], y[60:])
    loaded.partial_fit(X[60:], y[60:])
    assert same(model, loaded) and same_answers(model, loaded, X) == 2


def test_frozen_base_is_one_object_again(tmp_path):
    X, y = table(8)
    base = FrozenEstimator(fenchel.LogisticRegression().fit(X[:40], y[:40]))
    model = NeymanPearsonClassifier(base, alpha=0.25, delta=0.6).fit(X[40:], y[40:])
    loaded = round_trip(model, tmp_path)
    assert loaded.base_ is loaded.base and same_answers(model, loaded, X) == 2
    assert same(loaded.base.estimator, base.estimator)


def test_nested_rules(tmp_path):
    X, y = table(9, n=300)
    inner = NeymanPearsonClassifier(fenchel.LinearSVC(), alpha=0.25, delta=0.6)
    model = NeymanPearsonClassifier(inner, alpha=0.3, delta=0.5).fit(X, y)
    loaded = round_trip(model, tmp_path)
    assert same(model, loaded) and same_answers(model, loaded, X) == 2


@pytest.mark.torch
def test_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    X, y = table(10)
    rows, target = torch.tensor(X), torch.tensor(y)
    for estimator in (fenchel.LogisticRegression(), fenchel.Ridge(), fenchel.LinearSVC()):
        model = estimator.fit(rows, target)
        loaded = round_trip(model, tmp_path)
        assert same(model, loaded) and same_answers(model, loaded, X) >= 1
        assert torch.equal(
            torch.as_tensor(model.predict(rows)), torch.as_tensor(loaded.predict(rows))
        )


def test_rows_of_a_file(tmp_path):
    X, y = table(11)
    pairs = zip(X[:, :2].tolist(), y, strict=True)
    lines = [f"{a!r},{b!r},{'yes' if c else 'no'}" for (a, b), c in pairs]
    (tmp_path / "t.csv").write_text("first,second,answer\n" + "\n".join(lines) + "\n")
    model = fenchel.LogisticRegression().fit(fenchel.scan(tmp_path / "t.csv", target="answer"))
    loaded = round_trip(model, tmp_path)
    frame = pd.DataFrame(X[:, :2], columns=["first", "second"])
    assert same(model, loaded) and same_answers(model, loaded, frame) == 4
    assert loaded.feature_names_in_.tolist() == ["first", "second"]


def test_certificates_can_be_checked_after_loading(tmp_path):
    X, y = table(12)
    for estimator in (fenchel.LogisticRegression(), fenchel.Lasso(0.01), fenchel.LinearSVC()):
        model = estimator.fit(X, y)
        loaded = round_trip(model, tmp_path)
        assert loaded.certificate_ == model.certificate_
        assert fenchel.certify(loaded, X, y) == fenchel.certify(model, X, y)
        assert fenchel.certify(loaded, X, y).relative_gap <= 1e-6


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (fenchel.RidgeCV(cv=KFold(3)), "cv"),
        (fenchel.LogisticRegressionCV(Cs=2, cv=KFold(2, shuffle=True, random_state=0)), "cv"),
        (fenchel.RidgeCV(scoring=lambda model, X, y: 0.5), "scoring"),
    ],
    ids=["splitter", "seeded splitter", "function"],
)
def test_what_only_directs_a_fit_is_left_out_and_said(estimator, name, tmp_path):
    X, y = table(13)
    model = estimator.fit(X, y)
    with pytest.warns(UserWarning, match=f"left out .*{name}="):
        save(model, tmp_path / "m.fen")
    loaded = load(tmp_path / "m.fen")
    assert getattr(loaded, name) is None and same_answers(model, loaded, X) >= 1
    told = fenchel.app.modelfile.inspect_file(tmp_path / "m.fen")
    assert set(told["left_out"]) == {name}


def test_a_routing_request_is_left_out_and_said(tmp_path):
    import sklearn

    X, y = table(16)
    with sklearn.config_context(enable_metadata_routing=True):
        model = fenchel.Ridge().set_fit_request(sample_weight=True).fit(X, y)
        with pytest.warns(UserWarning, match="left out .*_metadata_request"):
            loaded = round_trip(model, tmp_path)
    assert same_answers(model, loaded, X) == 1


class Mine(fenchel.Ridge):
    """A class of the user's own."""


class OwnLoss(fenchel.Huber):
    """A loss of the user's own."""


def test_what_files_do_not_hold_is_refused_with_a_reason(tmp_path):
    from sklearn.dummy import DummyClassifier

    X, y = table(14)
    path = tmp_path / "m.fen"
    kept = fenchel.Ridge().fit(X, y)
    kept.remark = "mine"
    broken = fenchel.Ridge().fit(X, y)
    broken.coef_[2] = np.nan
    short = fenchel.LogisticRegression().fit(X, y)
    short.intercept_ = np.zeros(3)
    odd = fenchel.LogisticRegression().fit(X, y)
    odd.C = "large"
    base = NeymanPearsonClassifier(DummyClassifier(), alpha=0.25, delta=0.6).fit(X, y)
    cases = [
        (fenchel.Ridge(), "not fitted"),
        (Mine().fit(X, y), "Mine is not an estimator of this library"),
        (DummyClassifier().fit(X, y), "DummyClassifier is not an estimator"),
        (None, "NoneType"),
        (fenchel.ERMRegressor(loss=OwnLoss(1.0)).fit(X, y), "parameter loss of ERMRegressor"),
        (kept, "attribute remark"),
        (broken, "coef_ is float64 .* should be finite"),
        (short, "intercept_"),
        (odd, "does not take its parameters"),
        (base, "parameter base"),
    ]
    for model, reason in cases:
        with pytest.raises(ModelFileError, match=reason):
            save(model, path)
        assert not path.exists()


@pytest.mark.parametrize("extra", [{"a": np.float64(1)}, {1: 2}, {"a": np.inf}, {"a": {1}}, [1]])
def test_extra_is_plain(extra, tmp_path):
    X, y = table(15)
    with pytest.raises(ModelFileError, match="extra"):
        save(fenchel.Ridge().fit(X, y), tmp_path / "m.fen", extra=extra)
    assert not list(tmp_path.iterdir())
