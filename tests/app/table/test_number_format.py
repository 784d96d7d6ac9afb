"""Numbers as people write them, cell by cell and as columns of a table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from app.tables import european_export, us_export

from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.files.table_reader import Reading, batches, open_table, read_table
from fenchel.app.table.task import find_task
from fenchel.app.table.text.cells import DATE_FORMATS
from fenchel.app.table.text.number_format import (
    NUMBER_FORMATS,
    PLAIN,
    FormatEvidence,
    NumberFormat,
    evidence,
    is_number,
    read_numbers,
)


def column(*cells):
    return pl.Series("a", cells)


def read(*cells):
    """The values of a column that its own cells tell how to read, and the name of the format."""
    found = evidence(column(*cells))
    assert isinstance(found, FormatEvidence) and not found.ambiguous, found
    form = found.point or found.comma
    return form.parse(column(*cells)).to_list(), form.written


@pytest.mark.parametrize(
    ("cells", "values", "written"),
    [
        (["1,169.50", "2"], [1169.5, 2], "1,234.5"),
        (["1,234,567", "2"], [1234567, 2], "1,234.5"),
        (["1.169,50", "2"], [1169.5, 2], "1.234,5"),
        (["1.234.567", "2"], [1234567, 2], "1.234,5"),
        (["1 169,5", "12 000"], [1169.5, 12000], "1 234,5"),
        (["1\u00a0169", "1\u202f000", "7"], [1169, 1000, 7], "1 234.5"),
        (["1'169.5", "12’000"], [1169.5, 12000], "1'234.5"),
        (["1,5", "-0,25", ",5"], [1.5, -0.25, 0.5], "1234,5"),
        (["1,5E-03", "2,0e+5"], [0.0015, 2e5], "1234,5"),
        (["0,172", "-1,250", "12,125"], [0.172, -1.25, 12.125], "1234,5"),
        (["0.172", "-1.250", "12.125"], [0.172, -1.25, 12.125], "1234.5"),
        (["$1,169.50", "$5"], [1169.5, 5], "1,234.5 $"),
        (["-$5.50", "$-5.50", "$ 5.50-", "($5.50)"], [-5.5] * 4, "1234.5 $"),
        (["5,50 €", "€ 5,50", "5,50€"], [5.5] * 3, "1234,5 €"),
        (["USD 5.5", "5.5 USD", "5.5"], [5.5] * 3, "1234.5 USD"),
        (["CHF 1'200.50", "7"], [1200.5, 7], "1'234.5 CHF"),
        (["12.5 %", "12.5%", "0", "-3 %"], [0.125, 0.125, 0, -0.03], "1234.5 %"),
        (["12,5 %", "3 %"], [0.125, 0.03], "1234,5 %"),
        (["(1,200.0)", "300.0"], [-1200, 300], "1,234.5"),
        (["1,200.0-", "+300.0", "−2.0"], [-1200, 300, -2], "1,234.5"),
        ([" 1,200.5 ", "2"], [1200.5, 2], "1,234.5"),
    ],
)
def test_formats(cells, values, written):
    assert read(*cells) == (values, written)
    assert read_numbers(column(*cells), written).to_list() == values
    assert all(is_number(cell.strip()) for cell in cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["1,23,456", "7"],
        ["1.2.3", "1.2.4"],
        ["+-5.5", "5.5"],
        ["(5.5)-", "5.5"],
        ["5.5)", "(5.5"],
        ["12 kg", "13 kg"],
        ["5:30", "6:30"],
        ["AC-1000", "AC-1001"],
        ["192.168.100.200", "192.168.101.201"],
        ["+49 170 123 456", "+49 170 123 457"],
        ["(" + " " * 50_000 + "5", "5"],
        ["1,16", "1.169,5", "1,169.5"],
        ["", ""],
    ],
)
def test_other_cells_are_no_numbers(cells):
    assert evidence(column(*cells)) is None


def test_units_and_leading_zeros_are_remarked():
    assert "different units" in evidence(column("5 EUR", "6 USD"))
    assert "leading zeros" in evidence(column("030 123 456", "040 123 457"))


def test_a_percent_needs_its_sign():
    form = NumberFormat.of("1234.5 %")
    assert form.parse(column("5 %", "5", "0", "5 %%")).to_list() == [0.05, None, 0.0, None]


def test_names_of_formats_are_a_closed_set():
    for written in NUMBER_FORMATS:
        assert NumberFormat.of(written).written == written
    assert PLAIN in NUMBER_FORMATS and not NUMBER_FORMATS & set(DATE_FORMATS)


def table(put, header, *rows, mark=",", **how):
    lines = [mark.join(f'"{cell}"' for cell in row) for row in (header, *rows)]
    return read_table(put("\n".join(lines) + "\n"), **how)


def values_and_note(source, name="a"):
    said = [note for note in source.notes if f"'{name}'" in note]
    return source.frame[name].to_list(), said[0] if said else ""


def test_read_by_the_whole_column(put):
    got = table(put, ["a", "b"], ["1,169", 1], ["12", 2], ["1,200,300", 3])
    values, said = values_and_note(got)
    assert values == [1169, 12, 1200300] and got.frame["a"].dtype == pl.Int64
    assert said == "column 'a' is read as numbers: '1,169' as 1169"
    assert got.formats == {"a": "1,234.5"}
    got = table(put, ["a", "b"], ["1,169", 1], ["0,25", 2])
    assert values_and_note(got)[0] == [1.169, 0.25] and got.formats == {"a": "1234,5"}


def test_ambiguous_numbers_follow_the_other_columns(put):
    rows = [["1,169", "5.5"], ["2,300", "6.25"]]
    values, said = values_and_note(table(put, ["a", "b"], *rows))
    assert values == [1169, 2300]
    assert "the comma groups thousands, since column 'b' has a decimal point" in said
    rows = [["1,169", "5,5"], ["2,300", "6,25"]]
    values, said = values_and_note(table(put, ["a", "b"], *rows))
    assert values == [1.169, 2.3]
    assert "the comma stands before decimals, since column 'b' has a decimal comma" in said
    rows = [["1,169", "$1,169.50"], ["2,300", "$7.00"]]
    assert values_and_note(table(put, ["a", "b"], *rows))[0] == [1169, 2300]


def test_points_are_groups_where_decimals_have_commas(put):
    rows = [["1.169", "5,5", "2.5"], ["950", "6,25", "3.25"]]
    got = table(put, ["a", "b", "c"], *rows)
    assert got.frame["a"].to_list() == [1.169, 950.0]  # b and c disagree: a plain number stays one
    got = table(put, ["a", "b"], *(row[:2] for row in rows))
    assert got.frame["a"].to_list() == [1169, 950] and got.formats["a"] == "1.234,5"
    plain = table(put, ["a", "b"], ["1.169", "2.5"], ["1.170", "3.5"])
    assert plain.frame["a"].to_list() == [1.169, 1.17] and plain.notes == ()


def test_points_are_groups_where_a_cell_has_two(put):
    rows = [[f"{i % 9 + 1}.{i % 900 + 100}", i] for i in range(300)]
    got = table(put, ["a", "b"], *rows, ["1.250.000", 7])
    assert got.frame["a"].to_list()[-1] == 1250000 and got.frame["a"][0] == 1100


def test_ambiguous_numbers_by_themselves(put):
    got = table(put, ["a", "b"], ["1,169", "x"], ["950", "y"])
    values, said = values_and_note(got)
    assert values == [1169, 950] and "since smaller numbers stand without it" in said
    got = table(put, ["a", "b"], ["1,169", "x"], ["1500", "y"])
    values, said = values_and_note(got)
    assert values == [1.169, 1500] and "since numbers above 999 stand without it" in said


def test_what_cannot_be_told_is_assumed_and_said(put):
    rows = [["1,169", "x"], ["2,300", "y"]]
    values, said = values_and_note(table(put, ["a", "b"], *rows))
    assert values == [1169, 2300]
    assert "which is assumed" in said and "--decimal comma" in said
    values, said = values_and_note(table(put, ["a", "b"], *rows, mark=";"))
    assert values == [1.169, 2.3] and "--decimal point" in said
    for decimal, wanted in ((",", [1.169, 2.3]), (".", [1169, 2300])):
        got = table(put, ["a", "b"], *rows, reading=Reading(decimal=decimal))
        values, said = values_and_note(got)
        assert values == wanted and "as --decimal" in said


def test_a_decimal_comma_that_the_user_names(put):
    path = put("a,b\n1.169,2.5\n950,3.25\n")
    assert read_table(path).frame["a"].to_list() == [1.169, 950.0]
    got = read_table(path, reading=Reading(decimal=","))
    assert got.frame["a"].to_list() == [1169, 950] and got.frame["b"].to_list() == [2.5, 3.25]
    with open_table(path, expected={"a": PLAIN}, reading=Reading(decimal=",")) as opened:
        (batch,) = opened.batches()
    assert batch["a"].to_list() == [1169.0, 950.0] and batch["b"].to_list() == ["2.5", "3.25"]


def test_strays_are_named_and_many_of_them_keep_the_text(put):
    rows = [[f"${i},000.50", i] for i in range(1, 300)]
    rows[16] = ["abc", 17]
    got = table(put, ["a", "b"], *rows)
    assert got.frame["a"].null_count() == 1
    assert any("'abc' in row 17" in said for said in got.notes)
    rows[20:30] = [["abc", 1]] * 10
    got = table(put, ["a", "b"], *rows)
    assert got.frame["a"].dtype == pl.String


def test_some_grouped_numbers_among_plain_ones(put):
    rows = [[str(i), i] for i in range(500)]
    rows[7] = ["1,169", 7]
    got = table(put, ["a", "b"], *rows)
    assert got.frame["a"][7] == 1169 and got.frame["a"].null_count() == 0


def test_leading_zeros_and_prose_stay_text(put):
    got = table(put, ["zip", "n"], ["01 067", "1"], ["10 115", "2"])
    assert got.frame["zip"].to_list() == ["01 067", "10 115"]
    got = table(put, ["a", "b"], ["1,169 apples", 1], ["5", 2])
    assert got.frame["a"].dtype == pl.String


def test_columns_of_one_format_share_a_note(put):
    rows = [[f"{i},5" for _ in range(8)] for i in range(1, 9)]
    got = table(put, [f"c{i}" for i in range(8)], *rows)
    (said,) = got.notes
    assert said.startswith("columns 'c0', 'c1', 'c2', 'c3', 'c4', … are read as numbers: '1,5' as")


@pytest.mark.parametrize("make", [european_export, us_export])
def test_the_format_of_the_fit_reads_every_batch(put, make, tmp_path):
    made = make()
    path = put(made.content)
    source = read_table(path)
    task = find_task(source.frame, made.target)
    encoder = Encoder.fit(source.frame, task, formats=source.formats)
    whole = encoder.transform(source.frame)
    again = Encoder.from_state(*encoder.to_state())
    assert again == encoder
    parts = list(batches(path, rows=7))
    assert all(kind == pl.String for kind in parts[0].dtypes)
    X = pl.concat(parts)
    assert (again.transform(X) == whole).all()  # one frame of text, as Python gives it
    with open_table(path, expected=encoder.formats, target=made.target) as opened:
        rows = list(opened.batches(rows=7))
    for start, part in zip(range(0, made.rows, 7), rows, strict=True):
        assert (again.transform(part) == whole[start : start + 7]).all()
    assert (task.codes(pl.concat(rows)) == task.codes(source.frame)).all()
    native = str(tmp_path / "t.parquet")
    X.write_parquet(native)  # columns of text, written alike
    with open_table(native, expected=encoder.formats, target=made.target) as opened:
        (batch,) = opened.batches()
    assert (again.transform(batch) == whole).all()
    assert (task.codes(batch) == task.codes(source.frame)).all()


def test_text_of_a_file_with_types_stays_text(tmp_path):
    path = str(tmp_path / "t.parquet")
    frame = pl.DataFrame({"a": ["1,169.5", "12"], "zip": ["10115", "10117"], "n": [1, 2]})
    frame.write_parquet(path)
    got = read_table(path)
    assert got.frame.equals(frame)
    (said,) = got.notes
    assert "'a' is text in the file" in said and "'1,169.5'" in said


def test_new_rows_in_another_dialect(put):
    """A model of one export reads the other: plain, European and US numbers are the same rows."""
    cells = [(1169.5, 0.5), (2300.25, 1.5), (17.0, 2.5), (950000.0, 3.5)] * 5
    plain = "a,b\n" + "".join(f"{a},{b}\n" for a, b in cells)
    us = "a,b\n" + "".join(f'"${a:,.2f}",{b}\n' for a, b in cells)
    european = "a;b\n" + "".join(f"{a:,.2f};{b}\n" for a, b in cells).translate(
        str.maketrans(",.", ".,")
    )
    texts = {"plain": plain, "us": us, "european": european}
    paths = {name: put(text, f"{name}.csv") for name, text in texts.items()}
    sources = {name: read_table(path) for name, path in paths.items()}
    for name, source in sources.items():
        assert source.frame["a"].to_list() == sources["plain"].frame["a"].to_list(), name
        encoder = Encoder.fit(source.frame, find_task(source.frame), formats=source.formats)
        wanted = encoder.transform(source.frame)
        for other, path in paths.items():
            with open_table(path, expected=encoder.formats) as opened:
                parts = [encoder.transform(part) for part in opened.batches(rows=3)]
                notes = [said for said in opened.notes if "read as numbers" in said]
            assert (np.vstack(parts) == wanted).all(), (name, other)
            assert bool(notes) == (other not in (name, "plain"))
            again = read_table(path, expected=encoder.formats).frame
            assert (encoder.transform(again) == wanted).all()


@pytest.mark.parametrize(
    ("at_fit", "cell", "value"),
    [
        (PLAIN, "$5.50", 5.5),
        ("1234.5 $", "5,50", 5.5),
        ("1234.5 $", "5,50 $", 5.5),
        ("1234.5 $", "5,50 €", None),
        (PLAIN, "5.5 %", None),
        ("1234.5 %", "5,5 %", 0.055),
        ("1234.5 %", "5.5", None),
    ],
)
def test_units_of_new_rows(put, at_fit, cell, value):
    """A currency may be left out; another one, or a percent sign more or less, is not the same."""
    path = put(f"a;b\n{cell};x\n{cell};y\n")
    with open_table(path, expected={"a": at_fit, "b": ""}) as opened:
        (batch,) = opened.batches()
    assert read_numbers(batch["a"], at_fit).to_list() == [value, value]


def test_an_ambiguous_batch_is_read_as_at_the_fit(put):
    train = read_table(put('a,b\n"1,169",0.5\n"2,300",1.5\n'))
    assert train.formats == {"a": "1,234.5"}
    path = put("a;b\n1,169;1\n2,300;2\n", "new.csv")
    assert read_table(path).frame["a"].to_list() == [1.169, 2.3]
    expected = {"a": "1,234.5", "b": PLAIN}
    assert read_table(path, expected=expected).frame["a"].to_list() == [1169, 2300]
    with open_table(path, expected=expected) as opened:
        (batch,) = opened.batches()
    assert read_numbers(batch["a"], expected["a"]).to_list() == [1169, 2300]


def test_dates_of_new_rows_in_another_format(put):
    train = read_table(put("d,x\n13.02.2024,1\n14.03.2024,2\n15.04.2024,3\n"))
    encoder = Encoder.fit(train.frame, find_task(train.frame), formats=train.formats)
    path = put("d,x\n2024-02-13,1\n2024-03-14,2\n2024-04-15,3\n", "new.csv")
    with open_table(path, expected=encoder.formats) as opened:
        (batch,) = opened.batches()
        assert "'2024-02-13' is read as 2024-02-13" in opened.notes[0]
    assert (encoder.transform(batch) == encoder.transform(train.frame)).all()


@pytest.mark.parametrize("written", ["1234.5 stones", "%d.%m.%Y", "", 7])
def test_forged_formats_are_refused(put, written):
    source = read_table(put('a,b\n"1,169",0.5\n"2,300",1.5\n'))
    encoder = Encoder.fit(source.frame, find_task(source.frame), formats=source.formats)
    state, arrays = encoder.to_state()
    plan = next(plan for plan in state["plans"] if plan["name"] == "a")
    plan["written"] = written
    with pytest.raises((ValueError, TypeError)):
        Encoder.from_state(state, arrays)
    with pytest.raises(ValueError, match="target"):
        Encoder.from_state({**encoder.to_state()[0], "target_written": "pounds"}, arrays)
