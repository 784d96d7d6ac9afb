"""Columns that nearly repeat another, and a row of totals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from fenchel.app.table.profile.column_profile import profile
from fenchel.app.table.profile.redundancy import near_duplicates, total_rows
from fenchel.app.table.task import Task


def pairs(frame):
    found = near_duplicates(frame, profile(frame, Task("none")))
    return {(one.first, one.second): one.words for one in found}


def test_columns_that_say_nearly_the_same():
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    edited = a.copy()
    edited[:3] = 9.0
    town = rng.choice(["Bath", "Ely", "Wells"], 300)
    code = np.array([{"Bath": "B1", "Ely": "E2", "Wells": "W3"}[name] for name in town])
    code[0] = "E2"
    frame = pl.DataFrame(
        {
            "a": a,
            "copy": a,  # exact: the profile says so
            "edited": edited,
            "miles": 1.6 * a + 3.0 + 1e-4 * rng.normal(size=300),
            "other": rng.normal(size=300),
            "town": town,
            "code": code,
            "size": rng.choice(["S", "M", "L"], 300),
        }
    )
    found = pairs(frame)
    assert set(found) == {("a", "edited"), ("a", "miles"), ("town", "code")}
    assert found["a", "edited"] == "equal in 99 % of the rows"
    assert "correlation 1.0000" in found["a", "miles"]


def test_scales_and_missing_cells_do_not_hide_it():
    rng = np.random.default_rng(1)
    a = 1e12 + rng.normal(size=200)
    b = np.where(np.arange(200) % 5 == 0, np.nan, 1e-9 * a)
    frame = pl.DataFrame({"a": a, "b": b, "c": rng.normal(size=200)}).fill_nan(None)
    assert ("a", "b") in pairs(frame)


@pytest.mark.parametrize("n", [40, 3000])
def test_independent_columns_are_left_alone(n):
    rng = np.random.default_rng(2)
    columns = {f"x{k}": rng.normal(size=n) for k in range(8)}
    columns |= {f"z{k}": rng.integers(0, 2, n).astype(str) for k in range(5)}
    assert pairs(pl.DataFrame(columns)) == {}


def sales(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "shop": [f"shop {k}" for k in range(n)],
            "sold": rng.integers(1, 90, n),
            "paid": rng.normal(100.0, 9.0, n).round(2),
        }
    )


def test_totals_by_their_sums():
    frame = sales()
    last = pl.DataFrame({"shop": ["all shops"], "sold": [frame["sold"].sum()],
                         "paid": [round(frame["paid"].sum(), 2)]})  # fmt: skip
    (found,) = total_rows(pl.concat([frame, last]))
    assert found.row == 31 and "'sold', 'paid'" in found.words
    (found,) = total_rows(pl.concat([last, frame]))
    assert found.row == 1
    note = pl.DataFrame({"shop": ["Source: ledger"], "sold": [None], "paid": [None]},
                        schema=frame.schema)  # fmt: skip
    wide = [part.with_columns(more=pl.lit(1.0)) for part in (frame, last)]
    wide.append(note.with_columns(more=pl.lit(None, pl.Float64)))
    total, foot = total_rows(pl.concat(wide))
    assert (total.row, foot.row) == (31, 32) and "footnote" in foot.words


@pytest.mark.parametrize("word", ["Total", "TOTALS:", "Grand total", "Summe"])
def test_totals_by_their_name(word):
    last = pl.DataFrame({"shop": [word], "sold": [7], "paid": [None]}, schema=sales().schema)
    (found,) = total_rows(pl.concat([sales(), last]))
    assert found.words == f"it is called '{word}'"


def test_ordinary_last_rows():
    assert total_rows(sales()) == ()
    mean = pl.DataFrame({"shop": ["Total Wine"], "sold": [7], "paid": [1.0]})
    assert total_rows(pl.concat([sales(), mean])) == ()
    flat = pl.DataFrame({"a": [0] * 7, "b": [1, 0, 0, 0, 1, 0, 1]})
    assert total_rows(flat) == ()
    rng = np.random.default_rng(0)
    for _ in range(50):
        noise = pl.DataFrame(rng.integers(0, 5, (12, 6)), schema=list("abcdef"))
        assert len(total_rows(noise)) <= 1  # small numbers meet by chance, seldom
