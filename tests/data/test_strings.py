"""Rows of strings: what holds them, how blocks of them are cut, and what is refused."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fenchel.data.blocks import Block, threads
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import as_blocks

TEXTS = ["ACGT", "", "é∂\0", "ACGT", "\ud800", "GG"]
PLAIN = [text.replace("\0", "").replace("\ud800", "x") for text in TEXTS]  # what columns hold
BYTES = [text.encode("utf-8", "surrogatepass") for text in TEXTS]


def column(X, **more):
    blocks = as_blocks(X, strings=True, **more)
    whole = blocks.gather().X
    assert whole.dtype == object and whole.shape == (len(whole), 1) and blocks.n_cols == 1
    assert blocks.strings and not blocks.sparse and blocks.local and blocks.dtype == np.float64
    return whole[:, 0].tolist()


@pytest.mark.parametrize("values", [TEXTS, BYTES], ids=["str", "bytes"])
def test_lists_and_objects_are_taken_as_they_are(values):
    held = np.empty(6, object)
    held[:] = values
    for X in (values, tuple(values), held, held[:, None], [[v] for v in values], held[::-1][::-1]):
        assert column(X) == values
    assert {type(v) for v in column(held)} == {type(values[0])}


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        lambda v: np.array(v)[:, None],
        lambda v: np.array(v, dtype=np.dtypes.StringDType()),
        lambda v: pd.Series(v, index=range(10, 16)),
        lambda v: pd.Series(v, dtype="category"),
        lambda v: pd.Series(v, dtype=object),
        pd.array,
        pd.Index,
        pl.Series,
        pa.array,
        lambda v: pa.chunked_array([v[:2], v[2:]]),
    ],
)
def test_columns_of_every_library(make):
    assert column(make(PLAIN)) == PLAIN
    assert {type(v) for v in column(make(PLAIN))} == {str}


def test_columns_of_bytes():
    for make in (np.array, pl.Series, pa.array):
        assert column(make([b"ab", b"c"])) == [b"ab", b"c"]
    assert {type(v) for v in column(np.array([b"ab"]))} == {bytes}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_of_one_column(make):
    frame = make({"sequence": PLAIN})
    assert column(frame) == PLAIN
    assert as_blocks(frame, strings=True).names == ("sequence",)


def test_rows_are_cut_and_chosen_like_others():
    values = [f"row {i}" for i in range(5000)]
    y, s = np.arange(5000.0), np.linspace(1.0, 2.0, 5000)
    blocks = as_blocks(values, y, s, strings=True)
    blocks.rows = 700  # so that there are several blocks
    assert [block.n_rows for block in blocks] == [700] * 7 + [100]
    assert [v for block in blocks for v in block.X[:, 0]] == values
    some = blocks.take([4000, 3, 3, 701])
    assert some.X[:, 0].tolist() == ["row 4000", "row 3", "row 3", "row 701"]
    assert some.y.tolist() == [4000.0, 3.0, 3.0, 701.0] and some.X.dtype == object
    sample = blocks.sample(500)
    assert sample.strings and sample.n_rows == 500
    assert sample.gather().X[:2, 0].tolist() == ["row 0", "row 10"]
    with_aux = blocks.with_aux(dual=2.0 * y)
    assert with_aux.strings and with_aux.n_rows == 5000
    for block in with_aux:
        assert [f"row {int(v / 2)}" for v in block.aux["dual"]] == block.X[:, 0].tolist()
    lengths = blocks.map(
        lambda b: Block(b.start, np.array([[float(len(v))] for v in b.X[:, 0]]), b.y, b.weight)
    )
    assert not lengths.strings and lengths.dtype == np.float64
    total = sum(len(v) for v in values)
    for workers in (1, 3):
        with threads(workers):
            assert lengths.reduce(lambda block: float(block.X.sum())) == total
    kept = blocks.map(lambda b: Block(b.start, b.X, -b.y, b.weight))
    assert kept.strings and kept.dtype == np.float64 and kept.gather().y[1] == -1.0
    with np.errstate(all="raise"):
        assert blocks.pairs(None, lambda a, b: float(len(a.X) * len(b.X))) > 0.0


def test_targets_and_weights_keep_their_types():
    codes = as_blocks(["a", "b"], np.array([0, 1]), strings=True).gather()
    assert codes.y.dtype == np.int64
    single = as_blocks(["a", "b"], np.float32([0.5, 1]), [1, 2], strings=True).gather()
    assert single.y.dtype == np.float64 and single.weight.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="X has 2 rows and y has 3"):
        as_blocks(["a", "b"], np.zeros(3), strings=True)
    given = ArrayBlocks(codes)
    assert as_blocks(given) is given


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("ACGT", "X is a single string, 'ACGT': give a list"),
        (b"ACGT", "X is a single string"),
        ([], r"0 sample\(s\)"),
        (np.empty((3, 0)), r"0 feature\(s\)"),
        (["a", None], r"row 1 of X is missing \(None\).*drop such rows, or fill them"),
        (["a", float("nan")], r"row 1 of X is missing \(nan\)"),
        (pd.Series(["a", pd.NA], dtype="string"), r"row 1 of X is missing \(<NA>\)"),
        (pl.Series([None, "a"]), "row 0 of X is missing"),
        (np.ma.array(["a", "b"], mask=[False, True]), "row 1 of X is missing"),
        (["a", 3], r"row 1 of X holds 3 \(int\) where a string is needed.*take a kernel of num"),
        (["a", ["b"]], r"row 1 of X holds \['b'\] \(list\)"),
        (["a", b"b"], "row 1 of X is bytes and row 0 is str: decode the bytes"),
        ([b"a", "b"], "row 1 of X is str and row 0 is bytes"),
        (np.zeros((4, 2)), r"row 0 of X holds 0.0 \(float\) where a string is needed"),
        ([[1.5, 2.0]], r"row 0 of X holds 1.5 \(float\)"),
        (pd.DataFrame({"a": [1.0]}), r"row 0 of X holds 1.0 \(float\)"),
        (np.array(["2020-01-01"], "M8[D]"), "where a string is needed"),
        (np.array([["a", "b"]]), "X has 2 columns.*one string for each row: choose a column"),
        (pl.DataFrame({"a": ["x"], "b": ["y"]}), "X has 2 columns, 'a', 'b', and a kernel"),
        (sparse.csr_array(np.eye(2)), "X is a sparse matrix of numbers where strings are needed"),
        (da.from_array(np.array(["a"])), "X is a dask collection.*pass X.compute"),
        (3.0, "two dimensions"),
    ],
)
def test_what_is_no_column_of_strings(X, message):
    with pytest.raises(ValueError, match=message):
        as_blocks(X, strings=True)


def test_a_tensor_holds_no_strings_torch():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="X is a tensor of numbers where strings are needed"):
        as_blocks(torch.ones(3, 1), strings=True)


@pytest.mark.parametrize(
    ("X", "where"),
    [
        (["a", "b"], "'a' at row 0:"),
        ([["1", "2"], ["3", "x"]], "'x' at row 1, column 1:"),
        ([["1", "2"]], "'1' at row 0, column 0:"),
        ([[1.0, 2.0], [3.0, b"x"]], "b'x' at row 1, column 1:"),
        (np.array([[1.0, 2.0], ["c", 4.0]], object), "'c' at row 1, column 0:"),
        (np.array([["a"]], dtype=np.dtypes.StringDType()), "'a' at row 0, column 0:"),
        (pd.Series(["a"]), "'a' at row 0:"),
    ],
)
def test_strings_where_numbers_are_needed_are_named(X, where):
    with pytest.raises(
        ValueError, match=f"strings or dates where numbers are needed, {where}.*Spe"
    ):
        as_blocks(X)
