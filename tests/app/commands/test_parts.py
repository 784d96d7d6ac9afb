"""What the command line is made of: bars, settings, models, metrics, and words for a terminal."""

from __future__ import annotations

import io
import json
import math
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fenchel.app.catalogue import BASELINES, DEFAULTS, MODELS, MORE, SCORING, entry_named
from fenchel.app.cli import main, run
from fenchel.app.command_line import terminal
from fenchel.app.command_line.requirements import BarNotMet, check_bars, parse_bars
from fenchel.app.errors import BadUsage
from fenchel.app.metrics import NAMES, Tally, constants, metrics
from fenchel.app.predictions import answers_of, prediction_columns, prediction_frame
from fenchel.app.prepare import asked_task, check_folds, configured, parse_setting
from fenchel.app.table.task import find_task
from fenchel.score.estimate import Estimate
from fenchel.score.scorers import scorer

KINDS = ("two classes", "several classes", "number")


def sample(kind, n=120, scale=1.0):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 4))
    z = X[:, 0] - 0.5 * X[:, 1] + 0.8 * rng.normal(size=n)
    if kind == "number":
        return X, scale * z
    return X, (z > 0).astype(int) if kind == "two classes" else np.digitize(z, [-0.5, 0.5])


def task_of(kind):
    values = {"two classes": list("ab"), "several classes": list("abc"), "number": [1.5, 2.5, 7.0]}
    return find_task(pl.DataFrame({"y": values[kind]}), "y")


# ------------------------------------------------------------------------------------------ bars


def test_bars_are_parsed_strictly():
    auc, low = parse_bars(["auc>=0.9", " accuracy.low < 1e-3 "], ["auc", "accuracy"])
    assert (auc.name, auc.end, auc.sign, auc.limit) == ("auc", None, ">=", 0.9)
    assert str(low) == "accuracy.low < 0.001"
    wrong = ["auc", "auc>", "auc>=x", "auc==1", "auc>=1 and", "auc.mid>=1", "AUC>=1", ">=1"]
    for text in [*wrong, "auc>=nan", "auc>=inf", "auc>=1e999x", "", "auc.low.low>1"]:
        with pytest.raises(BadUsage, match="--require"):
            parse_bars([text], ["auc"])


def test_bars_are_held_to():
    found = {"auc": Estimate(0.8, 0.7, 0.9, level=0.95, method="x"), "gap": 1e-9, "f1": math.nan}
    check_bars(parse_bars(["auc>=0.8", "auc.low>0.6", "gap<=1e-6"], found), found)
    for text in ("auc>0.8", "auc.high<=0.85", "f1>=0", "f1<=1", "gap.low<=1"):
        with pytest.raises(BarNotMet, match="was required"):
            check_bars(parse_bars([text], found), found)
    with pytest.raises(BarNotMet, match=r"auc is 0\.8.*; .*gap is 1e-09"):
        check_bars(parse_bars(["auc>0.9", "gap<=0"], found), found)


# -------------------------------------------------------------------------------------- settings


def test_settings():
    cases = {
        "C=0.1": 0.1,
        "C=1": 1,
        "loss=hinge": "hinge",
        'loss="hinge"': "hinge",
        "x=true": True,
        "x=False": False,
        "x=None": None,
        "x=null": None,
        "x=[0.1, 0.9]": [0.1, 0.9],
        "x=a=b": "a=b",
        "x=": "",
        "x=inf": math.inf,
    }
    for text, value in cases.items():
        assert parse_setting(text)[1] == value, text
    for text in ("C", "=1", "a b=1", ""):
        with pytest.raises(BadUsage, match="NAME=VALUE"):
            parse_setting(text)


def test_weights_go_by_the_names_of_classes():
    task = task_of("two classes")
    model = entry_named(task.kind, "logistic").make()
    settings = ['class_weight={"b": 3, "a": 1}', "C=2"]
    assert configured(model, settings, task).class_weight == {1: 3, 0: 1}
    with pytest.raises(BadUsage, match="'z', which is not a class"):
        configured(model, ['class_weight={"z": 3}'], task)
    with pytest.raises(BadUsage, match="'penalty' parameter"):
        configured(model, ["penalty=l3"], task)


def test_kind_of_target_may_be_asked_for():
    frame = pl.DataFrame({"y": [1, 2, 3] * 10, "x": range(30)})
    assert asked_task(frame, "y", None).kind == "several classes"
    assert asked_task(frame, "y", "number").kind == "number"
    assert asked_task(pl.DataFrame({"y": [0.5, 1.5, 2.5]}), "y", "classes").classes == (
        *("0.5", "1.5", "2.5"),
    )
    with pytest.raises(BadUsage, match="--target"):
        asked_task(frame.rename({"y": "z"}), None, None)


def test_folds_follow_the_rarest_class():
    task = task_of("two classes")
    assert check_folds(task, np.array([0] * 9 + [1] * 3), 5) == 3
    with pytest.raises(Exception, match="class 'b' has a single row"):
        check_folds(task, np.array([0, 0, 0, 1]), 5)


# ---------------------------------------------------------------------------------------- models

ENTRIES = [(kind, e) for kind in KINDS for e in (*MODELS[kind], *MORE[kind], BASELINES[kind])]


@pytest.mark.filterwarnings("ignore:no plane separates:UserWarning")  # as is said and proved
@pytest.mark.parametrize(("kind", "entry"), ENTRIES, ids=lambda x: getattr(x, "name", x))
def test_every_model_of_the_lists_fits_judges_and_predicts(kind, entry):
    """At both ends of its grid; names are told once, and every answer has its column."""
    X, y = sample(kind)
    grid = entry.grid_for(y)
    assert set(grid) <= set(entry.make().get_params())
    task = task_of(kind)
    for end in (0, -1):
        model = entry.make().set_params(**{name: values[end] for name, values in grid.items()})
        model.fit(X, y)
        answers = answers_of(model, X)
        frame = prediction_frame(task, model, answers)
        assert tuple(frame.columns) == prediction_columns(task, model) and frame.height == len(X)
        assert not any(column.is_null().any() for column in frame.iter_columns())
        found = metrics(task, y, answers)
        assert set(found) <= set(NAMES[kind]) and SCORING[kind] in found
    scorer(SCORING[kind])


# Of erm the loss is the user's choice, and so are its units.
# Neighbours and local averages have no strength that could follow the units.
OF_UNITS = [
    entry
    for entry in MODELS["number"] + MORE["number"]
    if entry.name not in ("erm", "knn", "nadaraya-watson", "local-linear")
]


@pytest.mark.parametrize("entry", OF_UNITS, ids=lambda e: e.name)
def test_grids_follow_the_units_of_the_target(entry):
    """The middle of the grid shrinks alike, whatever the target is measured in."""
    fits = []
    for scale in (1.0, 1e4):
        X, y = sample("number", scale=scale)
        grid = entry.grid_for(y)
        middle = {name: values[len(values) // 2] for name, values in grid.items()}
        model = entry.make().set_params(**middle, tol=1e-10).fit(X, y)
        fits.append(model.predict(X) / scale)
    assert np.allclose(*fits, rtol=1e-3, atol=1e-4), fits


def test_names_are_told_once_and_found():
    for kind in KINDS:
        names = [entry.name for entry in (*MODELS[kind], *MORE[kind])]
        assert len(set(names)) == len(names) and DEFAULTS[kind] in names
    with pytest.raises(BadUsage, match="did you mean lasso"):
        entry_named("number", "laso")
    with pytest.raises(BadUsage, match="logistic does not predict a number"):
        entry_named("number", "logistic")
    with pytest.raises(BadUsage, match="every model needs one"):
        entry_named("none", "ridge")


def test_several_quantiles_have_a_column_each():
    X, y = sample("number")
    model = entry_named("number", "quantile").make()
    model.set_params(quantile=[0.1, 0.9], alpha=0.0).fit(X, y)
    task = task_of("number")
    answers = answers_of(model, X)
    frame = prediction_frame(task, model, answers)
    assert frame.columns == ["prediction 0.1", "prediction 0.9"]
    shares = metrics(task, y, answers)
    assert list(shares) == ["below_1", "below_2"] and shares["below_1"].low <= 0.1


# --------------------------------------------------------------------------------------- metrics


@pytest.mark.parametrize("kind", KINDS)
def test_batches_give_the_metrics_of_the_whole(kind):
    X, y = sample(kind, 300)
    model = entry_named(kind, DEFAULTS[kind]).make().fit(X, y)
    task = task_of(kind)
    whole = metrics(task, y, answers_of(model, X))
    tally = Tally(task)
    for start in range(0, 300, 37):
        part = slice(start, start + 37)
        tally.add(y[part], answers_of(model, X[part]))
    assert list(whole) == list(NAMES[kind]) and tally.rows == 300
    for name, value in tally.metrics().items():
        assert value == pytest.approx(whole[name], rel=1e-12, abs=1e-14), name
        assert value.low == pytest.approx(whole[name].low, rel=1e-9, abs=1e-12), name
    assert set(constants(task, y)) <= set(whole)


def test_metrics_are_those_of_scikit_learn():
    from sklearn import metrics as peer

    X, y = sample("several classes", 300)
    model = entry_named("several classes", "logistic").make().fit(X, y)
    found = metrics(task_of("several classes"), y, answers_of(model, X))
    P, said = model.predict_proba(X), model.predict(X)
    assert found["log_loss"] == pytest.approx(peer.log_loss(y, P))
    assert found["brier"] == pytest.approx(np.mean(((np.eye(3)[y] - P) ** 2).sum(axis=1)))
    assert found["f1"] == pytest.approx(peer.f1_score(y, said, average="macro"))
    assert found["mcc"] == pytest.approx(peer.matthews_corrcoef(y, said))
    X, y = sample("two classes", 300)
    model = entry_named("two classes", "logistic").make().fit(X, y)
    found = metrics(task_of("two classes"), y, answers_of(model, X))
    p = model.predict_proba(X)[:, 1]
    assert found["auc"] == pytest.approx(peer.roc_auc_score(y, p))
    assert found["average_precision"] == pytest.approx(peer.average_precision_score(y, p))
    assert found["brier"] == pytest.approx(peer.brier_score_loss(y, p))


# -------------------------------------------------------------------------------------- terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colors_are_for_terminals_that_want_them(monkeypatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert terminal.is_colored(Terminal()) and not terminal.is_colored(io.StringIO())
    monkeypatch.setattr("sys.stdout", Terminal())
    terminal.say("fine", fg="green")
    assert "\x1b[32m" in terminal.sys.stdout.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.is_colored(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not terminal.is_colored(Terminal())


def test_what_came_from_data_is_only_shown():
    assert terminal.shown("a\x1b[2J\nb\r\u202e\x9b\ud800é漢") == (
        r"a\x1b[2J\nb\r\u202e\x9b\ud800é漢"
    )
    lines = terminal.rows_of_text(("n", "v"), [("a\nb", 1), ("c", 22)], (1,))
    assert lines == ["n      v", r"a\nb   1", "c     22"]


def test_json_has_no_numbers_that_are_none(capsys):
    told = {
        "a": math.nan,
        "b": [np.float64(1.5), np.int64(2), np.array([math.inf, 1.0])],
        "c": Estimate(1.0, math.nan, 2.0, level=0.9, method="m"),
        "d": (True, None, "é"),
    }
    terminal.say_json(told)
    assert json.loads(capsys.readouterr().out) == {
        "a": None,
        "b": [1.5, 2, [None, 1.0]],
        "c": {"value": 1.0, "low": None, "high": 2.0, "level": 0.9, "method": "m"},
        "d": [True, None, "é"],
    }


def test_the_command_is_installed_under_its_name():
    told = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    assert told["project"]["scripts"] == {"fenchel": f"{main.__module__}:{main.__name__}"}


def test_what_nobody_foresaw_is_one_sentence(monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("fenchel.app.modelfile.inspect_file", broken)
    assert run(["inspect", "x.fen"]) == 70
    said = capsys.readouterr().err
    assert said == (
        "fenchel: unexpected RuntimeError: first line; run with --debug for the details\n"
    )
    assert run(["inspect", "x.fen", "--debug"]) == 70
    assert "Traceback" in capsys.readouterr().err
