"""The perceptron's parameters that scikit-learn has too: penalties, stopping, first planes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron as Peer

import fenchel
from fenchel import NotCertified, NotSeparable, Perceptron, certify

quiet = pytest.mark.filterwarnings("ignore::fenchel.NotCertified")
IRIS = load_iris(return_X_y=True)
PEER = {"shuffle": False, "bias_update": "unit", "prove": False}


def overlapping(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def three():
    X, _ = overlapping()
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2, [-0.4, 0.6])


def agree(ours, theirs):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)


@quiet
@pytest.mark.parametrize("table", [overlapping(), three()], ids=["two", "three"])
@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("eta0", [1.0, 0.1])
def test_penalties_and_the_unit_bias_are_scikit_learns(table, penalty, eta0):
    X, y = table
    given = {"penalty": penalty, "alpha": 0.01, "l1_ratio": 0.4, "eta0": eta0, "max_iter": 6}
    theirs = Peer(**given, shuffle=False, tol=None).fit(X, y)
    ours = Perceptron(**given, **PEER).fit(X, y)
    agree(ours, theirs)
    assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)
    agree(Perceptron(**given, **PEER).fit(csr_array(X), y), theirs)  # scikit-learn's is another


@quiet
@pytest.mark.parametrize("penalty", [None, "elasticnet"])
@pytest.mark.parametrize("tol", [1e-3, 0.5])
def test_tol_stops_where_scikit_learn_does(tol, penalty):
    X, y = overlapping()
    given = {"tol": tol, "n_iter_no_change": 3, "penalty": penalty}
    theirs = Peer(**given, shuffle=False).fit(X, y)
    ours = Perceptron(**given, **PEER).fit(X, y)
    assert ours.n_iter_ == theirs.n_iter_ < 1000 and not ours.converged_
    agree(ours, theirs)
    voted = Perceptron(average="voted", tol=tol, n_iter_no_change=3, **PEER).fit(X, y)
    if penalty is None:
        assert voted.n_iter_ == theirs.n_iter_


def test_a_stop_by_tol_is_no_failure_but_a_proof_is_still_given():
    X, y = overlapping()
    Perceptron(tol=1e-3, prove=False).fit(X, y)  # no warning
    with pytest.warns(NotSeparable, match=r"stopped after \d+ epochs"):
        model = Perceptron(tol=1e-3).fit(X, y)
    assert model.separable_ is False


@quiet
def test_rows_set_aside_stop_the_fit():
    X, y = overlapping(400)
    model = Perceptron(early_stopping=True, validation_fraction=0.25, n_iter_no_change=2)
    stopped = clone(model).fit(X, y)
    assert stopped.n_iter_ < 50 and stopped.score(X, y) > 0.6
    several = clone(model).set_params(tol=0.01).fit(*IRIS)
    assert several.coef_.shape == (3, 4)
    with pytest.raises(ValueError, match="early_stopping sets rows aside"):
        import dask.array as da

        model.fit(da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100))
    # Rows that were set aside are not learnt from, and not taken for separated.
    far = np.vstack([X, [[100.0, 0.0, 0.0, 0.0]]])
    labels = np.append(y, 0)
    assert clone(model).fit(far, labels).separable_ is False


@quiet
def test_planes_to_begin_with():
    X, y = overlapping()
    first = Perceptron(max_iter=2, shuffle=False).fit(X, y)
    more = Perceptron(max_iter=2, shuffle=False)
    more.fit(X, y, coef_init=first.coef_[0], intercept_init=first.intercept_)
    whole = Perceptron(max_iter=4, shuffle=False).fit(X, y)
    np.testing.assert_allclose(more.coef_, whole.coef_, rtol=1e-12)
    assert more.novikoff_bound_ is None
    W, b = np.ones((3, 4)), np.zeros(3)
    ours = Perceptron(max_iter=3, **PEER).fit(*three(), coef_init=W, intercept_init=b)
    assert (W == 1.0).all() and not b.any()
    theirs = Peer(shuffle=False, tol=None, max_iter=3)
    agree(ours, theirs.fit(*three(), coef_init=W, intercept_init=b))  # which changes W
    with pytest.raises(ValueError, match=r"coef_init must have shape \(1, 4\)"):
        Perceptron().fit(X, y, coef_init=np.ones(3))
    with pytest.raises(ValueError, match=r"intercept_init must have shape \(3,\)"):
        Perceptron().fit(*IRIS, intercept_init=np.ones(2))


@quiet
@pytest.mark.parametrize("average", ["last", "averaged"])
def test_weights_are_repeated_rows_under_a_penalty(average):
    X, y = overlapping(60)
    s = np.random.default_rng(1).integers(0, 4, size=60)
    given = {"penalty": "elasticnet", "alpha": 0.02, "max_iter": 4, "average": average}
    model = Perceptron(**given, shuffle=False)
    repeated = clone(model).fit(X.repeat(s, axis=0), y.repeat(s))
    weighted = clone(model).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    assert weighted.mistakes_ == repeated.mistakes_
    assert weighted.certificate_ is None and weighted.novikoff_bound_ is None


@quiet
def test_the_mean_of_penalised_planes():
    X, y = overlapping(30)
    given = {"penalty": "l2", "alpha": 0.1, "shuffle": False, "prove": False, "max_iter": 1}
    planes = []
    model = Perceptron(**given)
    for i in range(30):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        planes.append(model.coef_[0].copy())
    radius = Perceptron(**given, average="averaged", fit_intercept=False)
    mean = clone(radius).fit(X, y).coef_[0]
    plain = Perceptron(**given, fit_intercept=False)
    planes = [
        plain.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1]).coef_[0].copy()
        for i in range(30)
    ]
    np.testing.assert_allclose(mean, np.mean(planes, axis=0), rtol=1e-10, atol=1e-14)


@quiet
def test_penalised_planes_go_on_and_survive_a_file(tmp_path):
    X, y = overlapping()
    given = {"penalty": "elasticnet", "alpha": 0.01, "shuffle": False, "fit_intercept": False}
    whole = Perceptron(max_iter=1, **given).fit(X, y)
    parts = Perceptron(**given)
    for lo in range(0, len(X), 40):
        parts.partial_fit(X[lo : lo + 40], y[lo : lo + 40], classes=[0, 1])
        fenchel.save(parts, tmp_path / "m.fen")
        parts = fenchel.load(tmp_path / "m.fen")
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    assert parts.t_ == whole.t_ == 121.0
    with pytest.raises(ValueError, match="penalty='elasticnet' has no certificate"):
        certify(whole, X, y)
    with pytest.raises(ValueError, match="takes no penalty"):
        Perceptron(average="voted", penalty="l1").fit(X, y)


def test_the_limit_of_epochs_is_a_convergence_warning():
    X, y = overlapping()
    with pytest.warns(NotCertified, match="max_iter=3"):
        Perceptron(max_iter=3, prove=False, tol=1e-9).fit(X, y)
