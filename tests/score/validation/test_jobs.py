"""The same result for any number of jobs, seeds that are fixed before, interrupts, keeping."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import LogisticRegression, Perceptron, cross_validate


def rows(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)


class Noisy(ClassifierMixin, BaseEstimator):
    """Predicts by its random state alone."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = self.random_state
        return self

    def predict(self, X):
        assert isinstance(self.random_state, int)
        return np.random.RandomState(self.random_state).choice(self.classes_, len(X))


@pytest.mark.parametrize("state", [None, np.random.RandomState(5)], ids=["None", "generator"])
def test_open_random_states_become_integers_of_the_fold(state):
    X, y = rows()
    model = make_pipeline(StandardScaler(), Noisy(state))
    first = cross_validate(model, X, y, return_estimator=True)
    again = cross_validate(model, X, y)
    other = cross_validate(model, X, y, random_state=1)
    np.testing.assert_array_equal(first.predictions, again.predictions)
    assert len({fitted[-1].seen_ for fitted in first["estimator"]}) == 5
    assert model[-1].random_state is state
    same_seeds = np.array_equal(first.predictions, other.predictions)
    assert same_seeds == (state is not None)
    fixed = cross_validate(Noisy(3), X, y, return_estimator=True)
    assert {fitted.seen_ for fitted in fixed["estimator"]} == {3}


def bits(found):
    arrays = [*found.test.values(), *found.train.values(), found.predictions, found.scores]
    return [array.tobytes() for array in arrays]


def test_the_same_bits_for_any_number_of_jobs():
    X, y = rows(n=4000, d=30)
    y = y.astype(str)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    # Matrix products large enough that BLAS would share them out between threads.
    squares = RidgeClassifier(solver="cholesky")
    for model in (logistic, squares, RandomForestClassifier(4), Perceptron()):
        settings = {"scoring": ["accuracy", "f1_macro"], "cv": 4, "return_train_score": True}
        if isinstance(model, Perceptron):
            X, y = X[abs(X[:, 0]) > 0.5], y[abs(X[:, 0]) > 0.5]
            y = np.where(X[:, 0] > 0, "b", "a")
        results = [cross_validate(clone(model), X, y, n_jobs=n, **settings) for n in (None, 2, 3)]
        assert bits(results[0]) == bits(results[1]) == bits(results[2])
        proofs = [[(c.value, c.bound) for c in r.certificates if c] for r in results]
        assert proofs[0] == proofs[1] == proofs[2]


def test_the_same_bits_in_threads():
    X, y = rows(n=500)
    model = make_pipeline(StandardScaler(), RandomForestClassifier(4))
    settings = {"return_train_score": True, "cv": 4}
    alone = cross_validate(model, X, y, **settings)
    with parallel_config("threading", n_jobs=2):
        beside = cross_validate(model, X, y, **settings)
    assert bits(alone) == bits(beside)


SLOW = """
import sys, time
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
import fenchel

class Slow(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        print("fitting", file=sys.stderr, flush=True)
        time.sleep(60)
        return self

if __name__ == "__main__":
    try:
        fenchel.cross_validate(Slow(), np.ones((8, 1)), np.arange(8.0), cv=4, n_jobs=JOBS)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_stops_at_once(jobs, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW.replace("JOBS", str(jobs)))
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "fitting" in process.stderr.readline()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert out.strip() == "interrupted" and process.returncode == 0, err
    assert time.monotonic() - began < 20


def test_results_can_be_kept():
    X, y = rows()
    found = cross_validate(LogisticRegression(), X, y, return_train_score=True)
    frame = pd.DataFrame(found)
    assert frame.shape == (5, 4) and dict(found).keys() == set(frame.columns)
    again = pickle.loads(pickle.dumps(found))
    assert bits(again) == bits(found) and again.keys() == found.keys()
    assert again.curve.auc() == found.curve.auc()
