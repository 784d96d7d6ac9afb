"""LogisticRegressionCV: scores, folds, attributes and routing as in scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegressionCV as PeerCV
from sklearn.metrics import f1_score, get_scorer, log_loss
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold

import fenchel
from fenchel import LogisticRegression, LogisticRegressionCV

IRIS = load_iris(return_X_y=True)
PEER = {"use_legacy_attributes": False, "l1_ratios": (0,), "solver": "newton-cholesky", "tol": 1e-9}


def table(seed=0, classes=2, n=120, **settings):
    return make_classification(
        n, 6, n_informative=4, n_classes=classes, random_state=seed, flip_y=0.2, **settings
    )


@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss", "balanced_accuracy"])
@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 8.0}, "balanced"])
def test_class_weights_are_for_the_fit_and_not_for_the_scores(class_weight, scoring):
    X, y = table(weights=[0.8])
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for s in (None, weight):
        given = {"Cs": [0.01, 0.1, 1.0], "class_weight": class_weight, "scoring": scoring, "cv": 3}
        ours = LogisticRegressionCV(**given).fit(X, y, sample_weight=s)
        theirs = PeerCV(**given, **PEER).fit(X, y, sample_weight=s)
        np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-6)
        assert ours.C_ == theirs.C_
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "accuracy", None])
def test_a_fold_may_lack_a_class(classes, scoring):
    X, y = IRIS
    X, y = X[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    given = {"cv": KFold(classes), "Cs": [1e-4, 1e-2], "scoring": scoring}
    ours = LogisticRegressionCV(**given).fit(X, y)
    theirs = PeerCV(**given, use_legacy_attributes=False, l1_ratios=(0,)).fit(X, y)
    assert np.isfinite(ours.scores_).all() and ours.scores_.shape == (classes, 1, 2)
    assert ours.C_ == theirs.C_
    assert ours.predict_proba(X).shape == (len(X), classes)


def test_scorers_with_classes_of_their_own_keep_them():
    """scikit-learn 1.9.1 raises here: it gives pos_label twice."""
    X, y = table()
    model = LogisticRegressionCV(Cs=[1.0], scoring="f1_macro", cv=2).fit(X, y)
    for k, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        alone = LogisticRegression().fit(X[train], y[train])
        want = f1_score(y[test], alone.predict(X[test]), average="macro")
        assert model.scores_[k, 0, 0] == pytest.approx(want)


def test_a_score_that_a_fold_does_not_define_does_not_decide():
    X, y = table(n=40)
    order = np.argsort(y, kind="stable")
    cv = [(np.arange(5, 40), np.arange(5)), (np.arange(30), np.arange(15, 40))]
    with pytest.warns(UserWarning, match="Only one class"):
        model = LogisticRegressionCV(cv=cv, Cs=[1e-4, 1.0], scoring="roc_auc").fit(
            X[order], y[order]
        )
    assert np.isnan(model.scores_[0]).all() and np.isfinite(model.scores_[1]).all()
    assert model.Cs_[np.argmax(model.scores_[1, 0])] == model.C_
    with (
        pytest.raises(ValueError, match=r"not defined \(NaN\) in any fold"),
        pytest.warns(UserWarning, match="Only one class"),
    ):
        LogisticRegressionCV(cv=LeaveOneOut(), Cs=[1.0], scoring="roc_auc").fit(X[:6], y[:6])


def test_score_is_by_scoring():
    X, y = table()
    model = LogisticRegressionCV(Cs=2, scoring="neg_log_loss").fit(X, y)
    assert model.score(X, y) == pytest.approx(-log_loss(y, model.predict_proba(X)))
    weight = np.arange(len(y)) + 1.0
    assert model.score(X, y, sample_weight=weight) == pytest.approx(
        -log_loss(y, model.predict_proba(X), sample_weight=weight)
    )
    plain = LogisticRegressionCV(Cs=2).fit(X, y)
    assert plain.score(X, y) == np.mean(plain.predict(X) == y)


def test_without_a_refit_each_fold_brings_its_own_best():
    for classes, ratios in ((2, None), (3, None), (2, [0.0, 0.5, 1.0])):
        X, y = table(3, classes)
        given = {"Cs": [1e-3, 0.1, 10.0], "cv": 4, "refit": False, "scoring": "neg_log_loss"}
        ours = LogisticRegressionCV(**given, l1_ratios=ratios).fit(X, y)
        peer = {**PEER, "solver": "saga", "max_iter": 100_000, "tol": 1e-8}
        peer["l1_ratios"] = np.array([0.0] if ratios is None else ratios)
        theirs = PeerCV(**given, **peer).fit(X, y)
        assert (ours.C_, ours.l1_ratio_) == (pytest.approx(theirs.C_), theirs.l1_ratio_)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ratios", [None, np.array([0.0, 0.5])], ids=str)
@pytest.mark.parametrize("refit", [True, False])
def test_legacy_attributes_have_scikit_learns_shapes_and_survive_a_file(
    classes, ratios, refit, tmp_path
):
    X, y = table(1, classes)
    labels = np.array(["a", "b", "c"])[y]
    given = {"Cs": [0.1, 1.0, 10.0], "cv": 2, "l1_ratios": ratios, "refit": refit}
    ours = LogisticRegressionCV(**given, use_legacy_attributes=True).fit(X, labels)
    theirs = _peer(given, X, labels)
    for name in ("coefs_paths_", "scores_"):
        mine, wanted = getattr(ours, name), getattr(theirs, name)
        assert mine.keys() == wanted.keys()
        assert all(mine[k].shape == wanted[k].shape for k in mine)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert ours.C_.shape == theirs.C_.shape and ours.l1_ratio_.shape == theirs.l1_ratio_.shape
    np.testing.assert_allclose(ours.scores_["b"], theirs.scores_["b"], atol=0.05)
    new = LogisticRegressionCV(**given).fit(X, labels)
    np.testing.assert_array_equal(new.coef_, ours.coef_)
    assert new.n_iter_.shape == new.scores_.shape == (2, len(new.l1_ratios_), 3)
    for model in (ours, new):
        fenchel.save(model, tmp_path / "model.fen")
        loaded = fenchel.load(tmp_path / "model.fen")
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.n_iter_, model.n_iter_)
        assert type(loaded.scores_) is type(model.scores_)


def _peer(given, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PeerCV(
            **given, use_legacy_attributes=True, solver="saga", max_iter=2000, scoring="accuracy"
        ).fit(X, y)


def test_folds_are_never_fitted_loosely():
    X, y = table()
    model = LogisticRegressionCV(Cs=4, cv=3, tol=1e-2).fit(X, y)
    assert model.gaps_.max() <= 1e-4


def test_mixed_penalties_ask_for_their_ratios():
    X, y = table()
    with pytest.raises(ValueError, match="l1_ratios must hold numbers"):
        LogisticRegressionCV(penalty="elasticnet").fit(X, y)
    assert LogisticRegressionCV(Cs=[1.0]).fit(X, y).l1_ratios_.tolist() == [0.0]


def test_the_splitter_sees_rows_and_labels_and_what_is_routed_to_it():
    X, y = table()
    labels = np.array(["no", "yes"])[y]
    seen = []

    class Splitter(StratifiedKFold):
        def split(self, X, y=None, groups=None):
            seen.append((X, y))
            return super().split(X, y, groups)

    LogisticRegressionCV(Cs=[1.0], cv=Splitter(2)).fit(X, labels)
    np.testing.assert_array_equal(seen[0][0], X)
    np.testing.assert_array_equal(seen[0][1], labels)
    groups = np.arange(len(y)) % 4
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        LogisticRegressionCV(cv=GroupKFold(4)).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        model = LogisticRegressionCV(Cs=[1.0], cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert model.scores_.shape == (4, 1, 1)
    for k, (train, _) in enumerate(GroupKFold(4).split(X, y, groups)):
        alone = LogisticRegression().fit(X[train], y[train])
        np.testing.assert_allclose(model.coefs_paths_[k, 0, 0, 0, :-1], alone.coef_[0], rtol=1e-5)


def test_weights_reach_the_scorer_where_it_asks_for_them():
    X, y = table(n=300)
    weight = np.where(np.arange(300) < 100, 5.0, 1.0)
    with config_context(enable_metadata_routing=True):
        scores = []
        for asks in (True, False):
            scorer = get_scorer("accuracy").set_score_request(sample_weight=asks)
            model = LogisticRegressionCV(Cs=[0.01, 1.0], cv=2, scoring=scorer)
            scores.append(model.fit(X, y, sample_weight=weight).scores_)
        assert not np.allclose(*scores)
        with pytest.raises(TypeError, match="not routed to any object"):
            model.score(X, y, sample_weight=weight)
