"""The perceptron against a loop, Novikoff's bound, the proofs, and every way rows can come."""

from __future__ import annotations

import pickle

import numpy as np
import oracles.convex as oracles
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import Perceptron as SklearnPerceptron

import fenchel
from fenchel import NotCertified, NotSeparable, Perceptron, certify

quiet = pytest.mark.filterwarnings("ignore::fenchel.NotCertified")


def overlapping(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def planes(model):
    return np.append(model.coef_, model.intercept_)


@quiet
@pytest.mark.parametrize("rows", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [True, False])
def test_against_the_loop(rows, bias) -> None:
    X, y = overlapping()
    w, b, mean, mistakes = oracles.perceptron(X, 2 * y - 1, 0.3, bias, epochs=3)
    setting = dict(fit_intercept=bias, eta0=0.3, max_iter=3, shuffle=False)
    last = Perceptron(**setting).fit(rows(X), y)
    np.testing.assert_allclose(planes(last), np.append(w, b), rtol=1e-12, atol=1e-12)
    assert last.mistakes_ == mistakes == last.mistakes_by_epoch_.sum()
    assert last.n_iter_ == 3 and not last.converged_
    averaged = Perceptron(average="averaged", **setting).fit(rows(X), y)
    np.testing.assert_allclose(planes(averaged), mean, rtol=1e-10, atol=1e-12)
    voted = Perceptron(average="voted", **setting).fit(rows(X), y)
    ((stored, looks),) = voted.votes_
    assert looks.sum() == 3 * len(X) and voted.mistakes_ == mistakes == len(looks)
    np.testing.assert_allclose(looks @ stored / looks.sum(), mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(stored[-1], np.append(w, b), rtol=1e-12, atol=1e-12)
    votes = np.sign(np.hstack([X, np.ones((len(X), 1))]) @ stored.T) @ looks / looks.sum()
    np.testing.assert_allclose(voted.decision_function(rows(X)), votes, atol=1e-12)
    np.testing.assert_array_equal(voted.predict(rows(X)), votes > 0)


@quiet
@pytest.mark.parametrize("average", ["last", "averaged", "voted"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_weights_are_repeated_rows(average, shuffle) -> None:
    X, y = overlapping(60)
    s = np.random.default_rng(1).integers(0, 5, size=60)
    model = Perceptron(average=average, shuffle=shuffle, random_state=3, max_iter=4)
    repeated = model.fit(X.repeat(s, axis=0), y.repeat(s))
    expected, mistakes = planes(repeated), repeated.mistakes_
    scores = repeated.decision_function(X)
    weighted = model.fit(X, y, sample_weight=s)
    np.testing.assert_allclose(planes(weighted), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.decision_function(X), scores, rtol=1e-9, atol=1e-9)
    assert weighted.mistakes_ == mistakes


@quiet
def test_shuffled_rows_do_not_depend_on_their_order() -> None:
    X, y = overlapping()
    order = np.random.default_rng(2).permutation(len(X))
    model = Perceptron(max_iter=5, random_state=0)
    one = planes(model.fit(X, y))
    np.testing.assert_array_equal(planes(model.fit(X[order], y[order])), one)
    np.testing.assert_array_equal(planes(model.fit(csr_array(X), y)), one)
    assert not np.array_equal(planes(model.set_params(random_state=1).fit(X, y)), one)


small = st.lists(
    st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 7)), min_size=3, max_size=25
)


@settings(max_examples=60, deadline=None)
@given(small, st.booleans(), st.floats(1e-3, 1e3), st.booleans(), st.floats(0.1, 2.5))
def test_novikoff(rows, bias, eta, shuffle, weight) -> None:
    """Mistakes of every fit are below the bound where a plane separates, whatever η and weights."""
    table = np.array(rows, dtype=float)
    X = table[:, :2] + 0.25
    y = (X @ [1.0, 2.0] + bias * 1.1 > 0).astype(int)
    if len(np.unique(y)) < 2:
        return
    model = Perceptron(
        fit_intercept=bias, eta0=eta, shuffle=shuffle, random_state=0, max_iter=20000
    ).fit(X, y, sample_weight=weight * table[:, 2])
    assert model.converged_ and model.separable_ is True
    assert model.mistakes_ <= model.novikoff_bound_
    unit = clone(model).set_params(bias_update="unit").fit(X, y, sample_weight=weight * table[:, 2])
    assert unit.mistakes_ <= unit.novikoff_bound_ or not bias
    low, high = model.margin_
    assert 0 < low <= high
    assert model.score(X, y) == 1.0
    assert model.certificate_.value == 0.0


@pytest.mark.parametrize("bias", [True, False])
def test_no_separator_is_proved(bias) -> None:
    X, y = overlapping()
    with pytest.warns(NotSeparable, match="no plane separates the classes: a convex combination"):
        model = Perceptron(fit_intercept=bias, max_iter=7).fit(X, y)
    assert model.separable_ is False and model.novikoff_bound_ is None and model.n_iter_ == 7
    proof, t = model.proof_, 2.0 * y - 1.0
    points = np.hstack([X, np.ones((len(X), 1))]) if bias else X
    total = proof.coefficients @ (t[:, None] * points)[proof.rows]
    assert np.abs(total).max() <= proof.residual < 1e-12
    assert proof.exact and (proof.coefficients > 0).all()
    assert model.margin_[1] == proof.residual


def test_the_limit_of_epochs_is_said() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.01], [-1.0, 0.0]])
    y = [1, 0, 0]
    with pytest.warns(NotCertified, match="a plane that separates exists"):
        model = Perceptron(max_iter=2).fit(X, y)
    assert model.separable_ is True and not model.converged_
    with pytest.warns(NotCertified, match="is not known"):
        model = Perceptron(max_iter=2, prove=False).fit(X, y)
    assert model.separable_ is None and model.margin_ is None and model.certificate_ is None


def test_several_classes() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 9.0], [9.0, -9.0], [-9.0, -9.0]])
    codes = rng.integers(0, 3, 150)
    X = centres[codes] + rng.uniform(-1, 1, size=(150, 2))
    names = np.array(["a", "b", "c"])[codes]
    model = Perceptron(shuffle=False).fit(X, names)
    assert model.score(X, names) == 1.0 and model.separable_ == (True, True, True)
    assert model.margin_.shape == (3, 2) and (model.mistakes_ <= model.novikoff_bound_).all()
    for k in range(3):
        one = Perceptron(shuffle=False).fit(X, codes == k)
        np.testing.assert_allclose(planes(one), np.append(model.coef_[k], model.intercept_[k]))
        assert one.mistakes_ == model.mistakes_[k]
    voted = Perceptron(average="voted").fit(X, names)
    assert voted.decision_function(X).shape == (150, 3) and voted.score(X, names) == 1.0
    names[:60] = rng.choice(["a", "b", "c"], 60)
    with pytest.warns(NotSeparable, match="'a', 'b', 'c' from the other classes"):
        mixed = Perceptron(max_iter=3).fit(X, names)
    assert mixed.separable_ == (False,) * 3 and len(mixed.proof_) == 3


@quiet
def test_one_batch_after_another() -> None:
    X, y = overlapping()
    whole = Perceptron(max_iter=1, shuffle=False, average="averaged").fit(X, y)
    once = Perceptron(shuffle=False, average="averaged").partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(planes(once), planes(whole))
    for average in ("last", "averaged", "voted"):
        setting = dict(fit_intercept=False, shuffle=False, average=average)
        parts = Perceptron(**setting)
        for lo in range(0, len(X), 17):  # among them batches of one class
            batch = slice(lo, lo + 17)
            parts.partial_fit(X[batch], y[batch], classes=[0, 1])
            parts = pickle.loads(pickle.dumps(parts))
        whole = Perceptron(max_iter=1, **setting).fit(X, y)
        np.testing.assert_allclose(planes(parts), planes(whole), rtol=1e-12)
        assert parts.mistakes_ == whole.mistakes_ and parts.n_iter_ == 8
        np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X))
    assert parts.certificate_ is None and parts.separable_ is None
    with pytest.raises(ValueError, match="must be given classes"):
        Perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="is not what the first call"):
        parts.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="label 7"):
        parts.partial_fit(X, np.full(len(X), 7))
    with pytest.raises(ValueError, match="balanced"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1])


@quiet
@pytest.mark.parametrize("home", ["parquet", "dask", "torch", "pandas", "float32", "npy"])
def test_homes(home, tmp_path) -> None:
    X, y = overlapping(3000)
    X = np.round(X, 2).astype(np.float32).astype(np.float64)
    model = Perceptron(shuffle=False, max_iter=3, random_state=0)
    expected = planes(model.fit(X, y))
    rows, target = X, y
    if home == "parquet":
        frame = pl.DataFrame(X).with_columns(y=pl.Series(y))
        frame.write_parquet(tmp_path / "t.parquet")
        rows, target = fenchel.scan(tmp_path / "t.parquet", target="y"), None
    elif home == "npy":
        np.save(tmp_path / "t.npy", X)
        rows = fenchel.scan(tmp_path / "t.npy")
    elif home == "dask":
        import dask.array as da

        rows, target = da.from_array(X, chunks=(700, 4)), da.from_array(y, chunks=700)
    elif home == "torch":
        torch = pytest.importorskip("torch")
        rows, target = torch.as_tensor(X), torch.as_tensor(y)
    elif home == "pandas":
        rows = pd.DataFrame(X, columns=list("abcd"))
    else:
        rows = X.astype(np.float32)
    again = model.fit(rows, target)
    assert again.coef_.dtype == (np.float32 if home == "float32" else np.float64)
    tight = 1e-6 if home == "float32" else 1e-12
    np.testing.assert_allclose(planes(again), expected, rtol=tight, atol=tight)
    assert again.separable_ is False
    voted = again.set_params(average="voted", shuffle=True).fit(rows, target)
    assert np.mean(voted.predict(rows) == y) > 0.75


@quiet
def test_start_class_weights_and_words(capsys) -> None:
    X, y = overlapping()
    model = Perceptron(warm_start=True, max_iter=2, shuffle=False).fit(X, y)
    first = planes(model)
    again = model.fit(X, y)
    _, _, _, made = oracles.perceptron(X, 2 * y - 1, bias=True, epochs=4)
    cold = Perceptron(max_iter=4, shuffle=False, verbose=1).fit(X, y)
    assert cold.mistakes_ == made and not np.array_equal(first, planes(again))
    np.testing.assert_allclose(planes(again), planes(cold))
    assert "epoch 4: " in capsys.readouterr().err
    weighted = Perceptron(class_weight={0: 2, 1: 1}, shuffle=False, max_iter=2).fit(X, y)
    same = Perceptron(shuffle=False, max_iter=2).fit(X, y, sample_weight=2 - y)
    np.testing.assert_array_equal(planes(weighted), planes(same))


def test_bad_input() -> None:
    X, y = overlapping()
    for name, value in [("eta0", 0.0), ("average", "mean"), ("max_iter", 0)]:
        with pytest.raises(ValueError, match=name):
            Perceptron(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="one class: 1"):
        Perceptron().fit(X, np.ones(len(X), int))
    with pytest.raises(ValueError, match="whose square float64 cannot hold"):
        Perceptron().fit(1e200 * X, y)


@quiet
def test_certify() -> None:
    X, y = overlapping()
    s = np.random.default_rng(0).uniform(size=len(X))
    for labels in (y, np.digitize(X[:, 0], [-0.5, 0.5])):
        model = Perceptron(max_iter=3).fit(X, labels, sample_weight=s)
        proof = certify(model, X, labels, s)
        assert proof.value == pytest.approx(model.certificate_.value) and proof.bound == 0.0
        signs = [np.where(labels == k, 1, -1) for k in model.classes_][-len(model.coef_) :]
        z = np.reshape(model.decision_function(X), (len(X), -1)).T
        naive = sum(s @ np.maximum(0, -t * u) / s.sum() for t, u in zip(signs, z, strict=True))
        assert proof.value == pytest.approx(naive)
    theirs = SklearnPerceptron(random_state=0).fit(X, y)
    assert certify(theirs, X, y).value == pytest.approx(
        np.maximum(0, -(2 * y - 1) * theirs.decision_function(X)).mean()
    )
    with pytest.raises(ValueError, match="penalty='l2'"):
        certify(SklearnPerceptron(penalty="l2").fit(X, y), X, y)


@quiet
def test_agrees_with_sklearn_where_both_mean_the_same() -> None:
    X, y = overlapping()
    theirs = SklearnPerceptron(fit_intercept=False, shuffle=False, tol=None, max_iter=4).fit(X, y)
    ours = Perceptron(fit_intercept=False, shuffle=False, max_iter=4).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)


def test_votes_that_do_not_fit_are_refused(monkeypatch) -> None:
    X, y = overlapping()
    monkeypatch.setattr("fenchel.solve.online.averaging.free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match='use average="averaged"'):
        Perceptron(average="voted").fit(X, y)
