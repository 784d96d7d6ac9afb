"""Logistic regression against scikit-learn, its closed forms, its hazards and its proofs."""

from __future__ import annotations

import sys
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.linear_model import LogisticRegression as Peer

import fenchel
from fenchel import LogisticRegression, LogisticRegressionCV, NotCertified, RankDeficient

RNG = np.random.default_rng(0)


def table(n=400, d=6, classes=2, seed=0):
    return make_classification(
        n, d, n_informative=d - 1, n_redundant=1, n_classes=classes, random_state=seed, flip_y=0.1
    )


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
def test_agrees_with_sklearn(classes, intercept, C, solver) -> None:
    X, y = table(classes=classes)
    ours = LogisticRegression(C=C, fit_intercept=intercept, solver=solver, tol=1e-11).fit(X, y)
    peer = Peer(C=C, fit_intercept=intercept, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-3, atol=2e-4)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=2e-4)
    assert ours.converged_ and ours.certificate_.relative_gap <= 1e-11
    assert ours.certificate_.kind == "duality"


def test_certificate_is_on_the_objective_of_sklearn() -> None:
    X, y = table()
    model = LogisticRegression(C=0.3).fit(X, y)
    margin = (2 * y - 1) * (X @ model.coef_[0] + model.intercept_[0])
    objective = 0.3 * np.logaddexp(0, -margin).sum() + 0.5 * (model.coef_**2).sum()
    assert model.certificate_.value == pytest.approx(objective, rel=1e-12)
    assert model.certificate_.bound <= objective


def test_history_falls_and_ends_with_a_proof() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    values = [c.value for c in model.history_]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))
    assert model.history_[-1].kind == "duality"
    assert len(model.history_) == model.n_iter_[0] + 1


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_repeats_and_zero_weight_is_removal(classes) -> None:
    X, y = table(120, classes=classes)
    s = RNG.integers(0, 4, len(y))
    weighted = LogisticRegression(tol=1e-12).fit(X, y, sample_weight=s)
    repeated = LogisticRegression(tol=1e-12).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    assert weighted.certificate_.value == pytest.approx(repeated.certificate_.value, rel=1e-9)


def test_class_without_weight_counts_as_absent() -> None:
    X, y = table(90, classes=3)
    s = (y != 1).astype(float)
    model = LogisticRegression().fit(X, y, sample_weight=s)
    assert model.classes_.tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"only one class: .*2"):
        LogisticRegression().fit(X, y, sample_weight=(y == 2).astype(float))


@pytest.mark.parametrize("weights", ["balanced", {0: 2.0, 1: 0.5}])
def test_class_weight(weights) -> None:
    X, y = table()
    keep = (y == 0) | (np.arange(len(y)) % 5 == 0)
    X, y = X[keep], y[keep]
    ours = LogisticRegression(class_weight=weights, tol=1e-10).fit(X, y)
    peer = Peer(class_weight=weights, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)


def test_labels_of_any_type_come_back() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = LogisticRegression().fit(X, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(model.predict(X)) <= set(names)
    flags = LogisticRegression().fit(X, y == 2)
    assert flags.classes_.dtype == bool
    huge = LogisticRegression().fit(X, np.where(y == 2, 10**12, -(10**12)))
    assert huge.classes_.tolist() == [-(10**12), 10**12]


def test_probabilities_are_a_distribution_in_the_order_of_the_scores() -> None:
    X, y = table(classes=3)
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p >= 0).all() and (p.argmax(1) == model.decision_function(X).argmax(1)).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    far = model.predict_log_proba(1e6 * X)
    assert np.isfinite(far).all()


def test_warm_start_begins_at_the_last_fit() -> None:
    X, y = table()
    model = LogisticRegression(warm_start=True).fit(X, y)
    again = model.n_iter_[0]
    model.fit(X, y)
    assert model.n_iter_[0] == 0 < again
    model.fit(X[:, :3], y)  # another shape begins anew
    assert model.coef_.shape == (1, 3)


@pytest.mark.parametrize("classes", [2, 3])
def test_complete_separation_is_proved_by_its_plane(classes) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = (X[:100], y[:100]) if classes == 2 else (X[:, 2:] + 9.0 * y[:, None] * [1, -1], y)
    with pytest.warns(NotCertified, match="separated completely.*Set a finite C"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert not model.converged_ and model.separation_.complete
    z = model.decision_function(X)
    if classes == 2:
        assert ((2 * y - 1) * z).min() == pytest.approx(1.0)
    else:
        own = z[np.arange(len(y)), y]
        z[np.arange(len(y)), y] = -np.inf
        assert (own - z.max(axis=1)).min() > 0
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_quasi_complete_separation_is_found(classes) -> None:
    x = np.concatenate([np.linspace(-2, 0, 20), np.linspace(0, 2, 20)])
    x[12:28] = 0.0  # eight rows of each class on the plane, mixed along the other column
    y = np.repeat([0, 1], 20)
    noise = np.random.default_rng(0).normal(size=40)
    if classes == 3:
        y = np.where(np.arange(40) % 4 == 3, 2, y)
        x = np.where(y == 2, 0.0, x)
    with pytest.warns(NotCertified, match="separated quasi-completely"):
        model = LogisticRegression(C=np.inf, max_iter=60).fit(np.column_stack([x, noise]), y)
    assert model.separation_.touching >= 2 and not model.separation_.complete
    assert 0 in model.separation_.columns


def test_no_penalty_with_an_optimum_is_certified() -> None:
    X, y = table(500, 5)
    X = X[:, :4]
    ours = LogisticRegression(C=np.inf).fit(X, y)
    assert ours.separation_ is None and ours.converged_
    peer = Peer(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
    same = LogisticRegression(penalty=None).fit(X, y)
    np.testing.assert_array_equal(same.coef_, ours.coef_)


@pytest.mark.parametrize("classes", [2, 3])
def test_dependent_columns_without_penalty_give_the_least_norm_and_are_named(classes) -> None:
    X, y = table(500, 5, classes=classes)
    wide = pd.DataFrame(np.column_stack([X[:, :4], X[:, 0] - 2 * X[:, 1], np.ones(500)]))
    wide.columns = list("abcdef")
    with pytest.warns(RankDeficient, match=r"rank 4 of 6.*combination of.*'f'.* is constant"):
        ours = LogisticRegression(C=np.inf, tol=1e-9).fit(wide, y)
    # Column e is a combination up to rounding alone, whose last bits explain some of y.
    assert not ours.converged_
    assert ours.certificate_.kind == "estimate" and ours.certificate_.relative_gap <= 1e-9
    exact = np.column_stack([X[:, :4], 2.0 * X[:, 1], np.ones(500)])
    with pytest.warns(RankDeficient, match="rank 4 of 6"):
        assert LogisticRegression(C=np.inf, tol=1e-9).fit(exact, y).converged_
    z = ours.decision_function(wide)
    A = wide.to_numpy() - wide.to_numpy().mean(axis=0)
    least = np.linalg.pinv(A, rcond=1e-10) @ (z - z.mean(axis=0))
    np.testing.assert_allclose(ours.coef_.T.squeeze(), least, atol=1e-8)


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e8])
def test_columns_of_any_scale(scale) -> None:
    X, y = table()
    factor = np.ones(X.shape[1])
    factor[2] = scale
    ours = LogisticRegression(max_iter=300).fit(X * factor, y)
    assert np.isfinite(ours.coef_).all() and ours.converged_
    if scale > 1:  # the penalty no longer matters for that column
        free = LogisticRegression(max_iter=300).fit(X * np.where(factor > 1, 1e6, 1.0), y)
        np.testing.assert_allclose(
            ours.predict_proba(X * factor)[:, 1],
            free.predict_proba(X * np.where(factor > 1, 1e6, 1.0))[:, 1],
            atol=1e-4,
        )
    else:
        np.testing.assert_allclose(ours.coef_[0, 2], 0.0, atol=1e-100)


def test_offset_columns_keep_their_digits() -> None:
    X, y = table()
    plain = LogisticRegression(tol=1e-10).fit(X, y)
    moved = LogisticRegression(tol=1e-8).fit(X + 1e6, y)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-4, atol=1e-5)


def test_constant_column_gets_nothing() -> None:
    X, y = table()
    model = LogisticRegression().fit(np.column_stack([X, np.full(len(y), 7.0)]), y)
    assert abs(model.coef_[0, -1]) < 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": -1.0}, "'C' parameter .* must be"),
        ({"C": 0.0}, "'C' parameter .* must be"),
        ({"l1_ratio": 2.0}, "'l1_ratio' parameter"),
        ({"solver": "magic"}, "'solver' parameter"),
        ({"penalty": "l1", "solver": "newton"}, "solver='newton' needs the L2 penalty or none"),
        ({"l1_ratio": 0.5, "solver": "newton-cholesky"}, "not l1_ratio=0.5: use solver='auto'"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be a number"),
        ({"class_weight": {5: 1.0}}, r"class_weight names \[5\]"),
    ],
)
def test_wrong_arguments_are_named(change, message) -> None:
    X, y = table(50)
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**change).fit(X, y)


def test_wrong_data_are_named() -> None:
    X, y = table(50)
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.* at row 7, column 2"):
        LogisticRegression().fit(bad, y)
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression().fit(X, np.zeros(50))
    with pytest.raises(ValueError, match="X has 50 rows and y has 49"):
        LogisticRegression().fit(X, y[:-1])
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but LogisticRegression is expecting 6"):
        model.predict(X[:, :3])
    for missing in (None, np.nan, pd.NA):
        with pytest.raises(ValueError, match=r"Input y contains .* at row 1: drop that row"):
            LogisticRegression().fit(X, np.array(["a", missing, *["b"] * 48], dtype=object))
    with pytest.raises(ValueError, match=r"Unknown label type: y mixes texts and numbers.* row 1"):
        LogisticRegression().fit(X, np.array(["a", 2, *["b"] * 48], dtype=object))


def test_one_weight_for_every_row_changes_no_more_than_C() -> None:
    X, y = table(50)
    weighted = LogisticRegression(tol=1e-9).fit(X, y, 2.0)
    twice = LogisticRegression(C=2.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(weighted.coef_, twice.coef_, rtol=1e-3)


def test_verbose_shows_the_gap_without_rich(monkeypatch, capsys) -> None:
    X, y = table(50)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    LogisticRegression(verbose=1).fit(X, y)
    assert "step 1: objective" in capsys.readouterr().err


def test_missing_the_gap_is_said() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(NotCertified, match="max_iter=2: relative duality gap .* Raise max_iter"):
        model = LogisticRegression(max_iter=2).fit(X, y)
    assert not model.converged_ and model.certificate_.relative_gap > 1e-6


def test_what_float32_cannot_hold_is_said() -> None:
    X, y = table(classes=3)
    with pytest.warns(NotCertified, match=r"float32 leave a relative duality gap.* Pass float64"):
        model = LogisticRegression(tol=1e-12).fit((X + 1e3).astype(np.float32), y)
    assert not model.converged_ and model.coef_.dtype == np.float32


def test_same_bits_for_any_number_of_threads() -> None:
    X, y = table(20_000, 12)
    fits = []
    for n in (1, 2):
        with fenchel.threads(n):
            fits.append(LogisticRegression().fit(X, y))
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    assert fits[0].certificate_.value == fits[1].certificate_.value


def test_inputs_are_never_changed() -> None:
    X, y = table()
    s = RNG.random(len(y))
    for rows in (X, np.asfortranarray(X), csr_array(X)):
        before = [np.array(a, copy=True) for a in (X, y, s)]
        LogisticRegression().fit(rows, y, sample_weight=s).predict_proba(rows)
        for a, b in zip((X, y, s), before, strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("classes", [2, 3])
def test_cross_validation_agrees_with_sklearn(classes) -> None:
    from sklearn.linear_model import LogisticRegressionCV as PeerCV

    X, y = table(300, classes=classes)
    Cs = [1e-3, 1e-1, 10.0]
    ours = LogisticRegressionCV(Cs=Cs, tol=1e-8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = PeerCV(
            Cs=Cs,
            tol=1e-8,
            max_iter=10_000,
            l1_ratios=(0,),
            use_legacy_attributes=False,
            scoring="accuracy",
        ).fit(X, y)
    np.testing.assert_allclose(ours.scores_[:, 0], np.reshape(peer.scores_, (5, -1)), atol=1e-12)
    assert ours.C_ == peer.C_
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
    assert ours.gaps_.shape == (5, 1, 3) and ours.gaps_.max() <= 1e-6
    loss = LogisticRegressionCV(Cs=Cs, scoring="neg_log_loss").fit(X, y)
    assert (loss.scores_ < 0).all()


def test_sampling_and_joint_curvature_reach_the_same_optimum() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9000, 90))
    z = X @ rng.normal(size=(90, 8))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    model = LogisticRegression(C=0.01, tol=1e-8).fit(
        X, y
    )  # 8 x 91 > 600: known by products, on a sample
    slow = LogisticRegression(C=0.01, tol=1e-8, solver="newton-cg").fit(X, y)
    assert model.converged_ and model.n_iter_[0] < 20
    np.testing.assert_allclose(model.coef_, slow.coef_, atol=2e-4)


def test_folds_walk_together_as_they_would_alone() -> None:
    X, y = table(900, classes=3)
    folds = [(np.arange(900)[np.arange(900) % 3 != k], np.arange(900)[k::3]) for k in range(3)]
    model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=folds, tol=1e-12).fit(X, y)
    for k, (train, test) in enumerate(folds):
        alone = LogisticRegression(C=0.1, tol=1e-10).fit(X[train], y[train])
        np.testing.assert_allclose(model.coefs_paths_[k, 0, 0][:, :-1], alone.coef_, atol=1e-4)
        assert model.scores_[k, 0, 0] == pytest.approx(alone.score(X[test], y[test]), abs=0.01)
