"""What a careless command must not cost: a table, a silent half-fit, a model nobody can use."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from app import reports
from app.shell import surroundings, together

import fenchel
from fenchel.app.atomic_file import atomic_file
from fenchel.app.errors import BadData, BadUsage, ModelFileError
from fenchel.app.prepare import with_names
from fenchel.app.report.build import Options, build
from fenchel.app.table.files.table_reader import read_table

ROWS = 200


def frame(rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 2))
    return pl.DataFrame(
        {
            "x1": x[:, 0],
            "x2": x[:, 1],
            'a, "b"': rng.integers(5, size=rows),
            "c": rng.choice(["red", "green", "blue"], rows),
            "price": np.exp(2.0 * x[:, 0] + x[:, 1]),
            "y": np.where(x[:, 0] + rng.normal(size=rows) > 0, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    place = tmp_path_factory.mktemp("care")
    frame().drop("price").write_csv(place / "t.csv")
    frame().drop("y").write_csv(place / "price.csv")
    wrong = frame().drop("price").with_columns(pl.lit("hello").alias("x1"))
    wrong.write_csv(place / "wrong.csv")
    frame().select("x2", "c", "y").write_csv(place / "less.csv")
    (place / "other.txt").write_text("my notes")
    np.savez(place / "archive.npz", a=np.arange(9))
    (place / "archive.npz").rename(place / "archive.xlsx")
    (place / "place").mkdir()
    frame().write_csv(place / "place" / "report.json")
    (place / "taken" / "report.html").mkdir(parents=True)
    frame().select("x1", "x2").write_csv(place / "less2.csv")
    os.symlink(place / "t.csv", place / "link.csv")
    return place


JOBS = {
    "fit": ("fit", "t.csv", "--target", "y", "-o", "m.fen"),
    "price": ("fit", "price.csv", "--target", "price", "-o", "price.fen"),
    "over table": ("predict", "m.fen", "t.csv", "-o", "t.csv"),
    "over link": ("predict", "m.fen", "t.csv", "-o", "./link.csv"),
    "fit over table": ("fit", "t.csv", "--target", "y", "-o", "t.csv"),
    "fit over notes": ("fit", "t.csv", "--target", "y", "-o", "other.txt"),
    "fit again": ("fit", "t.csv", "--target", "y", "-o", "m.fen", "-q"),
    "wrong column": ("predict", "m.fen", "wrong.csv", "-o", "out.csv", "-q"),
    "columns": ("predict", "m.fen", "less.csv", "-o", "out.csv"),
    "keep": ("predict", "m.fen", "t.csv", "-o", "kept.csv", "--keep", 'a, "b"'),
    "text target": ("score", "price.fen", "wrong.csv"),
    "weight": ("fit", "t.csv", "--target", "y", "--set", 'class_weight={"no":"a"}'),
    "negative": ("fit", "t.csv", "--target", "y", "--set", 'class_weight={"no":-1}'),
    "both": ("fit", "t.csv", "--target", "y", "--drop", "y"),
    "no target left": ("fit", "t.csv", "--drop", "y"),
    "nothing to tune": ("fit", "t.csv", "--target", "y", "--tune", "--model", "perceptron"),
    "set and tune": ("fit", "t.csv", "--target", "y", "--tune", "--set", "C=1"),
    "folds": ("compare", "t.csv", "--target", "y", "--folds", "100", "--model", "logistic"),
    "cost": ("report", "t.csv", "--target", "y", "--cost-fp", "-1"),
    "over archive": ("fit", "t.csv", "--target", "y", "-o", "archive.xlsx"),
    "report over table": ("report", "place/report.json", "-o", "place"),
    "report into": ("report", "t.csv", "--target", "y", "-o", "taken"),
    "bar without target": ("report", "less2.csv", "--require", "auc>=0.5", "-o", "bar"),
    "unpenalised": ("fit", "t.csv", "--target", "y", "--set", "C=inf"),
}


@pytest.fixture(scope="module")
def done(room, tmp_path_factory):
    found = together(list(JOBS.values()), room, tmp_path_factory.mktemp("jobs"))
    return dict(zip(JOBS, found, strict=True))


def test_what_is_read_is_never_written(done, room):
    for job in ("over table", "over link", "fit over table"):
        assert "is the file that is read: name another with -o" in done[job].failed(2), job
    assert (room / "t.csv").read_text().startswith("x1,x2,")
    for job in ("fit over notes", "over archive"):
        assert "is not a model file" in done[job].failed(2)
    assert "report.json is the file that is read" in done["report over table"].failed(2)
    assert (room / "place" / "report.json").read_text().startswith("x1,x2,")
    assert "it is a folder" in done["report into"].failed(2)
    assert "the table has no target" in done["bar without target"].failed(2)
    assert not (room / "bar").exists()
    assert (room / "other.txt").read_text() == "my notes"
    done["fit again"].fine()


def test_a_column_that_cannot_be_used_is_a_warning_even_in_quiet(done):
    assert done["wrong column"].code == 0
    told = [line for line in done["wrong column"].err.splitlines() if line.startswith("warning: ")]
    assert f"column 'x1': {ROWS} cells not what the column holds" in told[0]
    assert all("has moved since training" in line for line in told[1:])


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [
        ("columns", 3, "less.csv: the table has no column 'x1', 'a, \"b\"', which the model needs"),
        ("text target", 3, "wrong.csv has no column 'price'"),
        ("weight", 2, "cannot be fitted with --set class_weight"),
        ("negative", 2, "cannot be fitted with --set class_weight"),
        ("both", 2, "'y' is both --target and --drop"),
        ("no target left", 2, "no column has a usual name of a target"),
        ("nothing to tune", 2, "perceptron has none: leave --tune out"),
        ("set and tune", 2, "--set gives C already: leave --tune out"),
        ("cost", 2, "--cost-fp must be"),
    ],
)
def test_mistakes_are_named(done, job, code, words):
    assert words in done[job].failed(code)


def test_names_with_commas_folds_and_columns(done, room):
    done["keep"].fine()
    with open(room / "kept.csv", newline="") as file:
        assert next(csv.reader(file))[0] == 'a, "b"'
    assert "note: " in done["folds"].err and "outer folds, not 100" in done["folds"].err
    # That the 0/1 columns of a category sum to one is by construction, and no news.
    assert "rank" not in done["unpenalised"].err and "column 3" not in done["unpenalised"].err
    assert with_names("column 1 and column 9", ["a", "b=c"]) == "'b=c' and column 9"


def test_text_where_a_number_is_judged_is_named(done, room):
    done["price"].fine()
    bad = frame().with_columns(pl.lit("no").alias("price"))
    bad.write_csv(room / "bad.csv")
    (job,) = together([("score", "price.fen", "bad.csv")], room, room / "one")
    assert "bad.csv: the target 'price' is 'no' in row 1" in job.failed(3)


def test_a_model_file_takes_the_raw_table(done, room):
    done["fit"].fine()
    held = fenchel.open_model(room / "m.fen")
    table = frame()
    said = held.predict(table)
    assert said.columns == ["prediction", "probability no", "probability yes"]
    assert set(said["prediction"]) == {"no", "yes"}
    (job,) = together([("predict", "m.fen", "t.csv", "-o", "said.csv")], room, room / "two")
    job.fine()
    assert pl.read_csv(room / "said.csv").equals(said)
    for other in (table.to_pandas(), table.to_arrow(), table.to_dict(as_series=False)):
        assert pl.DataFrame(held.predict(other)).equals(said)
    with pytest.raises(BadData, match="no column 'x1'"):
        held.predict(table.drop("x1"))
    with pytest.raises(BadData, match="no rows"):
        held.predict(table.head(0))
    with pytest.warns(UserWarning, match="column 'x1': 200 cells not what the column holds"):
        held.predict(table.with_columns(pl.lit("hello").alias("x1")))
    fenchel.save(fenchel.load(room / "m.fen"), room / "bare.fen")
    with pytest.raises(ModelFileError, match="no encoder"):
        fenchel.open_model(room / "bare.fen").predict(table)


STRUCK = """
import ctypes, os, signal, sys
from fenchel.app.cli import run
from fenchel.solve.smooth.newton import Newton

step = Newton.step

@ctypes.CFUNCTYPE(None)
def back():  # what is raised in here, Python drops
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(1000))

def struck(self, *args, **kwargs):
    back() if sys.argv[1] == "callback" else os.kill(os.getpid(), signal.SIGINT)
    return step(self, *args, **kwargs)

Newton.step = struck
sys.exit(run(["fit", "t.csv", "--target", "y", "-o", "never.fen", *sys.argv[2:]]))
"""


@pytest.mark.parametrize("where", ["solver", "callback"])
@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["told", "quiet"])
def test_an_interrupt_is_never_swallowed(room, where, quiet):
    """Where Python drops the exception, in a callback, the next step of the command raises it."""
    found = subprocess.run(
        [sys.executable, "-c", STRUCK, where, *quiet],
        cwd=room,
        env=surroundings(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert found.returncode == 130, found
    assert found.stderr.decode().splitlines()[-1] == "fenchel: interrupted"
    assert b"Traceback" not in found.stderr
    assert not list(room.glob("*never*"))


def test_an_interrupted_report_leaves_nothing(room):
    for wait in (0.4, 1.5):
        process = subprocess.Popen(
            [sys.executable, "-m", "fenchel", "report", "t.csv", "--target", "y", "-o", "sig"],
            cwd=room,
            env=surroundings(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for line in process.stderr:
            if line.startswith(b"comparing"):
                break
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert b"Traceback" not in err and not (room / "sig").exists()


def test_full_disks_are_named(room, done):
    done["fit"].fine()
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "fenchel", "inspect", "m.fen"],
            cwd=room,
            env=surroundings(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert found.returncode == 3 and b"cannot write the output: No space left" in found.stderr


def test_a_report_of_a_skewed_number_by_hubers_loss(room):
    report = build(read_table(str(room / "price.csv")), Options(target="price", models=("huber",)))
    assert report.moving == {} and "convergence" in report.figures
    assert report.html()


def test_extreme_cells_are_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    x[7], x[9] = 1e300, -1e300
    zeros = np.where(rng.random(400) < 0.1, rng.lognormal(8.0, 1.0, 400), 0.0)
    table = pl.DataFrame({"far": x, "gain": zeros, "fine": rng.normal(size=400)})
    y = np.where(table["fine"].to_numpy() + rng.normal(size=400) > 0, "a", "b")
    report = build(
        reports.source(table.with_columns(pl.Series("y", y))),
        Options(target="y", models=("logistic",)),
    )
    (found,) = [one for one in report.numbers["findings"] if one["code"] == "D7"]
    assert found["severity"] == "warning" and "'far'" in found["what"]
    assert "'gain'" not in found["what"] and "'fine'" not in found["what"]


def test_dependent_columns_are_told_alike():
    report = build(
        reports.source(frame().drop("y")), Options(target="price", models=("least-squares",))
    )
    codes = {one["code"]: one for one in report.numbers["findings"]}
    assert codes["C5"]["severity"] == "passed"  # the 0/1 columns of a category sum to one
    assert report.numbers["certificate"]["condition"]["rank"] == 5
    twice = frame().drop("y").with_columns(again=pl.col("x1") + pl.col("x2"))
    report = build(reports.source(twice), Options(target="price", models=("ridge",)))
    codes = {one["code"]: one for one in report.numbers["findings"]}
    assert "1 of the 7 encoded columns is a linear combination" in codes["C5"]["what"]


def test_targets_beyond_squares_are_refused():
    huge = frame().with_columns((pl.col("price") * 1e200).alias("price")).drop("y")
    with pytest.raises(BadData, match="whose squares no float can hold: divide"):
        build(reports.source(huge), Options(target="price"))


def test_target_and_drop_exclude_each_other():
    with pytest.raises(BadUsage, match="both the target and left out"):
        build(reports.source(frame()), Options(target="y", drop=("y",)))
    report = build(reports.source(frame()), Options(drop=("y", "price")))
    assert report.task.kind == "none"


def test_figures_are_there_by_import():
    assert fenchel.show.roc and fenchel.testing.check_loss


def test_bars_are_in_the_document_and_classes_have_names(room, done):
    done["fit"].fine()
    one = frame().filter(pl.col("y") == "no")
    one.write_csv(room / "one.csv")
    jobs = [
        ("score", "m.fen", "t.csv", "--json", "--require", "auc>=0.5", "--require", "accuracy>2"),
        ("score", "m.fen", "one.csv", "--json"),
        ("fit", "t.csv", "--sed", "1"),
    ]
    bars, alone, option = together(jobs, room, room / "bars")
    assert bars.code == 1
    first, second = bars.document()["bars"]
    assert first["met"] and first["bar"] == "auc >= 0.5" and not second["met"]
    assert 0.5 < second["reached"] < 1.0
    assert "class 'yes'" in alone.document()["metrics"]["recall"]["method"]
    assert option.failed(2).endswith(" 'fenchel fit --help'") and "?;" not in option.err


def test_nothing_of_the_folder_it_is_called_in_is_run(room, tmp_path):
    trap = 'open("struck", "w").write("x")\n'
    for name in ("vl_convert.py", "altair.py", "polars.py"):
        (tmp_path / name).write_text(trap)
    frame(40).drop("price").write_csv(tmp_path / "t.csv")
    # As the console script does it: the current folder is no place to import from.
    script = "from fenchel.app.cli import run; raise SystemExit(run(['report', 't.csv', '-q']))"
    found = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        env=surroundings(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert found.returncode == 0, found
    assert not (tmp_path / "struck").exists()


def test_an_interrupt_while_a_file_is_opened_leaves_nothing(tmp_path, monkeypatch):
    usual = os.open

    def struck(*args, **kwargs):
        os.close(usual(*args, **kwargs))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", struck)
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "never.csv"):
        pass
    assert not list(tmp_path.iterdir())
