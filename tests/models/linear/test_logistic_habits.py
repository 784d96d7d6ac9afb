"""LogisticRegression: scikit-learn's callbacks, and warnings of parameters without effect."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.model_selection import GridSearchCV

import fenchel
from fenchel import LogisticRegression, LogisticRegressionCV


def table(classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4))
    return X, (X @ rng.normal(size=(4, classes)) + rng.normal(size=(120, classes))).argmax(axis=1)


class Recorder:
    """A callback of scikit-learn that keeps what it is shown, and asks to stop after some steps."""

    def __init__(self, most=None):
        self.began, self.ended, self.calls, self.most = [], [], [], most

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None, metadata=None):
        self.began.append((context.task_name, X, metadata))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ended.append((context.task_name, fitted_estimator))
        return self.most is not None and len(self.ended) >= self.most

    def teardown(self, estimator, context):
        self.calls.append("teardown")


@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")  # fewer steps than it takes
@pytest.mark.parametrize("solver", ["auto", "newton-cg", "lbfgs"])
@pytest.mark.parametrize("classes", [2, 3])
def test_callbacks_see_the_model_of_every_step(classes, solver):
    X, y = table(classes)
    seen = Recorder()
    model = LogisticRegression(solver=solver).set_callbacks(seen)
    model.fit(X, y, sample_weight=np.ones(len(y)))
    steps = int(model.n_iter_[0])
    assert seen.calls == ["setup", "teardown"]
    assert len(seen.began) == len(seen.ended) == steps + 2
    assert seen.began[0][0] == "fit" and seen.began[0][1] is X
    assert list(seen.began[1][2]) == ["sample_weight"]
    assert seen.ended[-2][1] is None  # the task that had no step
    for step in range(1, steps + 1):
        shown = seen.ended[step - 1][1]
        alone = LogisticRegression(solver=solver, max_iter=step).fit(X, y)
        np.testing.assert_allclose(shown.coef_, alone.coef_, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(shown.predict(X), alone.predict(X))


def test_a_callback_may_stop_the_fit():
    X, y = table()
    model = LogisticRegression(tol=1e-14).set_callbacks(Recorder(most=2)).fit(X, y)
    assert model.n_iter_[0] == 2 and not model.converged_
    with pytest.raises(TypeError, match="FitCallback"):
        model.set_callbacks("progress")


def test_callbacks_go_with_a_search_and_stay_out_of_a_file(tmp_path, capsys):
    X, y = table()
    model = LogisticRegression().set_callbacks(Recorder())
    with pytest.warns(UserWarning, match=r"_skl_callbacks=\[Recorder\] of LogisticRegression"):
        fenchel.save(model.fit(X, y), tmp_path / "m.fen")
    assert "_skl_callbacks" not in vars(fenchel.load(tmp_path / "m.fen"))
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, y)
    assert search.best_params_["C"] in (0.1, 1.0)
    monitor = ScoringMonitor(scoring="neg_log_loss")
    LogisticRegression().set_callbacks(monitor).fit(X, y)
    assert "neg_log_loss" in str(monitor.get_logs().data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": None, "C": 2.0}, "Setting penalty=None will ignore the C"),
        ({"penalty": "l1", "l1_ratio": 0.5}, r"only used when penalty is 'elasticnet'"),
        ({"penalty": "l2", "l1_ratio": 0.5}, r"Got \(penalty=l2\)"),
        ({"penalty": "l2", "l1_ratio": 1.0}, "Inconsistent values: penalty=l2 with l1_ratio=1.0"),
    ],
)
def test_parameters_without_effect_are_named(settings, message):
    X, y = table()
    with pytest.warns(UserWarning, match=message):
        LogisticRegression(**settings).fit(X, y)


def test_default_folds_are_no_more_than_the_largest_class_has_rows():
    X, y = np.arange(9.0)[:, None] % 4, np.repeat([0, 1, 2], 3)
    assert LogisticRegressionCV(Cs=2).fit(X, y).scores_.shape[0] == 3
    blocks = fenchel.as_blocks(X, y)
    assert LogisticRegressionCV(Cs=2).fit(blocks).scores_.shape[0] == 3


def test_float32_rows_need_no_pass_in_pairs_of_floats(monkeypatch):
    """The value at rounded coefficients needs a thousandth of the gap asked for: one pass of
    float64 tells it, where one in pairs of floats took as long as the whole fit, and on a device a
    hundred times as long."""
    from fenchel.convex.certification import proof

    made = []
    pairs = proof.pair_evidence
    monkeypatch.setattr(proof, "pair_evidence", lambda *a: made.append(1) or pairs(*a))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 10)).astype(np.float32)
    y = (rng.random(20_000) < 1.0 / (1.0 + np.exp(-X[:, 0]))).astype(int)
    model = LogisticRegression().fit(X, y)
    assert model.coef_.dtype == np.float32 and model.certificate_.relative_gap <= 1e-6
    assert not made
    LogisticRegression(tol=1e-10).fit(X, y)  # there rounding holds more than a thousandth
    assert made
