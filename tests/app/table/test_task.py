"""What a table is asked, told from its target."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import polars as pl
import pytest

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.files.table_reader import batches, bundled, read_table
from fenchel.app.table.task import Task, find_task, target_candidates


def frame(values, **how):
    y = pl.Series("y", values, **how)
    return pl.DataFrame({"x": np.arange(len(y)), "y": y})


def test_bundled():
    task = find_task(bundled().frame)
    assert (task.kind, task.target) == ("two classes", "diagnosis")
    assert task.classes == ("benign", "malignant") and task.positive == "malignant"
    codes = task.codes(bundled().frame)
    assert codes.dtype == np.int64 and codes.sum() == 212


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([0, 1, 1, 1], ("0", "1")),
        ([1.0, 0.0, 0.0], ("0", "1")),
        ([-1, 1, 1], ("-1", "1")),
        ([True, False, True], ("false", "true")),
        (["no", "Yes", "Yes"], ("no", "Yes")),
        (["a", "b", "b"], ("b", "a")),  # the rarer
        (["a", "b"], ("a", "b")),  # as rare: the later
        ([0.5, 1.5, 1.5], ("1.5", "0.5")),
        ([2, 10, 10, 2, 2], ("2", "10")),
    ],
)
def test_two_classes(values, classes):
    task = find_task(frame(values), "y")
    assert task.kind == "two classes" and task.classes == classes
    assert task.positive == classes[-1]
    names = [classes[code] for code in task.codes(frame(values))]
    alike = [str(v).lower().removesuffix(".0") for v in values]
    assert [name.lower() for name in names] == alike


def test_several_classes():
    task = find_task(frame(["c", "a", "b"] * 2))
    assert task.kind == "several classes" and task.classes == ("a", "b", "c")
    assert task.codes(frame(["b", "c"])).tolist() == [1, 2]
    assert task.positive is None
    many = find_task(frame([10, 9, 1] * 5))
    assert many.classes == ("1", "9", "10") and "whole numbers" in many.reason
    enum = frame(["u", "v", "w"], dtype=pl.Enum(["u", "v", "w"]))
    assert find_task(enum).kind == "several classes"


@pytest.mark.parametrize(
    "values",
    [np.linspace(0, 1, 30), [1, 2, 3], list(range(21)) * 6, [1, 2, 3, 4] * 5 + [5]],
)
def test_number(values):
    task = find_task(frame(values))
    assert task.kind == "number" and task.classes == ()
    assert task.codes(frame(values)).dtype == np.float64
    assert task.codes(frame(values)).tolist() == [float(v) for v in values]


def test_kind_can_be_said():
    assert find_task(frame([10, 9, 1] * 5), kind="number").kind == "number"
    assert find_task(frame([1, 2, 3]), "y", "several classes").classes == ("1", "2", "3")
    assert find_task(frame([1, 2]), kind="none").kind == "none"
    with pytest.raises(BadUsage, match="holds 3 values"):
        find_task(frame([1, 2, 3]), kind="two classes")
    with pytest.raises(BadData, match="no number"):
        find_task(frame(["a", "b", "c"]), kind="number")


def test_usual_names():
    table = pl.DataFrame({"a": [1, 2], "Class": ["u", "v"], "Y": [0, 1]})
    assert find_task(table).target == "Y"
    none = find_task(table.select("a"))
    assert none.kind == "none" and none.target is None and "--target" in none.reason
    assert none.kept(table) is table
    with pytest.raises(BadUsage, match="no target"):
        none.codes(table)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "a"], "nothing but 'a'"),
        ([3.0, 3.0], "nothing but '3'"),
        (["+", "-"], "1 missing cells"),
        ([None, None], "missing in every row"),
        ([f"t{i}" for i in range(101)], "101 different values, more than 100"),
        ([[1], [2]], "holds lists"),
        ([date(2024, 1, 1), date(2024, 1, 2)], "holds dates"),
    ],
)
def test_unusable_targets(values, words):
    with pytest.raises(BadData, match=words):
        find_task(frame(values))


def test_unknown_target():
    with pytest.raises(BadData, match="no column 'X': did you mean 'x'"):
        find_task(frame([1, 2]), "X")
    with pytest.raises(BadData, match="it has 'x', 'y'"):
        find_task(frame([1, 2]), "income")


def test_rows_without_target():
    table = frame([1.5, None, float("nan"), 2.5, 7.0, float("inf")])
    task = find_task(table)
    assert task.dropped == 3 and "3 rows without a target" in task.notes[0]
    assert task.kept(table)["x"].to_list() == [0, 3, 4]
    with pytest.raises(BadData, match="missing in row 2"):
        task.codes(table)
    marked = frame(["u", "?", "v", "NA", "v"])
    task = find_task(marked)
    assert task.dropped == 2 and task.codes(task.kept(marked)).tolist() == [1, 0, 0]


def test_class_with_a_single_row():
    assert "'c' has a single row" in find_task(frame(["a", "a", "b", "b", "c"])).notes[0]


def test_codes_of_other_files(tmp_path):
    """A text file and a file with types give the same codes, whatever 1 is called there."""
    typed = find_task(frame([0.0, 1.0, 1.0]))
    for cells, codes in ((["0", "1", "1.0"], [0, 1, 1]), ([0, 1, 1], [0, 1, 1])):
        assert typed.codes(frame(cells)).tolist() == codes
    truth = find_task(frame([True, False]))
    assert truth.codes(frame(["TRUE", "False"])).tolist() == [1, 0]
    with pytest.raises(BadData, match=r"is 'maybe' in row 2, where one of the classes 'false'"):
        truth.codes(frame(["true", "maybe"]))
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,0.5\n2,NA\n3,2.25\n4,1e3\n")
    task = find_task(read_table(str(path)).frame)
    (batch,) = batches(str(path))
    assert task.codes(task.kept(batch)).tolist() == [0.5, 2.25, 1000.0]


@pytest.mark.parametrize("values", [[0, 1], ["a", "b", "c"], [0.1, 0.2, 0.3], None])
def test_round_trip(values):
    task = find_task(frame(values)) if values else find_task(pl.DataFrame({"a": [1]}))
    assert Task.from_dict(json.loads(json.dumps(task.to_dict()))) == task


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "three"},
        {"target": 3},
        {"target": None},
        {"classes": ["a"]},
        {"classes": ["a", "a"]},
        {"classes": [1, 2]},
        {"classes": "ab"},
        {"reason": None},
        {"dropped": -1},
        {"dropped": True},
        {"notes": [3]},
        {"more": 1},
        {"kind": "number"},
        {"kind": "several classes"},
        {"kind": "none"},
    ],
)
def test_forged_tasks_are_refused(change):
    with pytest.raises(ValueError):
        Task.from_dict({**find_task(frame([0, 1])).to_dict(), **change})
    with pytest.raises(ValueError):
        Task.from_dict([])


@pytest.mark.parametrize(
    ("values", "positive", "by"),
    [
        ([1, 2, 1, 1], "2", "the rarer of the two"),  # neither 1 nor 2 says anything
        ([1, 0, 1, 1], "1", "by its name"),
        (["good", "bad", "bad"], "bad", "by its name"),
        (["ham", "spam", "spam"], "spam", "by its name"),
        (["<=50K", ">50K", "<=50K"], ">50K", "the rarer of the two"),
        (["R", "M"], "R", "the last by name of two equally frequent"),
        (["yes", "true", "yes"], "true", "the rarer of the two"),  # both names say so
    ],
)
def test_the_positive_class_and_why(values, positive, by):
    task = find_task(frame(values), "y")
    assert (task.positive, task.positive_by) == (positive, by)
    assert Task.from_dict(json.loads(json.dumps(task.to_dict()))) == task


def test_the_positive_class_is_named():
    table = frame(["Good", "Bad", "Bad"])
    asked = find_task(table, "y", positive="Good")
    assert asked.classes == ("Bad", "Good") and asked.positive_by == "as --positive says"
    assert find_task(table, positive="good").positive == "Good"
    assert find_task(frame([0, 1, 1]), positive="0.0").positive == "0"
    with pytest.raises(
        BadUsage, match=r"--positive 'worse' is not a class of 'y': it has 'Bad' and"
    ):
        find_task(table, "y", positive="worse")
    with pytest.raises(BadUsage, match=r"one of two classes, and the target 'y' holds numbers"):
        find_task(frame(np.linspace(0, 1, 30)), "y", positive="1")
    old = find_task(table).to_dict()
    del old["positive_by"]
    assert Task.from_dict(old).positive == "Bad"


@pytest.mark.parametrize(
    ("name", "place", "found"),
    [
        ("Risk", 1, True),
        ("default payment next month", 1, True),
        ("num", -1, True),
        ("quality", -1, True),
        ("num", 1, False),  # in the middle of a table it is a number like any other
        ("price", 0, True),
        ("v5", -1, False),
    ],
)
def test_customary_names_and_places(name, place, found):
    columns = ["a", "b", "c"]
    columns.insert(place % 4, name)
    table = pl.DataFrame({column: [0, 1, 0, 1] for column in columns})
    assert (find_task(table).target == name) is found


def test_a_usual_name_above_a_constant_gives_way():
    table = pl.DataFrame({"label": ["u"] * 4, "a": [1, 2, 3, 4], "class": ["x", "y"] * 2})
    assert find_task(table).target == "class"


def test_columns_that_look_like_targets():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "kind": ["a", "b", "c", "d"] * 10,
            "size": rng.normal(size=40),
            "flag": [0, 1] * 20,
            "status": [3, 1, 2, 5] * 10,
            "id": range(40),
            "v9": ["R", "M"] * 20,
        }
    )
    found = dict(target_candidates(table))
    assert list(found) == ["status", "v9", "kind", "flag"]
    assert found["v9"] == "the last column, 2 different values"
    assert target_candidates(table.select("size", "id")) == []
