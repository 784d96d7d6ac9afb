"""The one door for rows: every container gives the same rows, every fault its sentence."""

from __future__ import annotations

import numpy as np
import pytest
from data.cases import CONTAINERS, Case, real
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fenchel.data import as_blocks
from fenchel.data.arrays import to_numpy
from fenchel.testing import check_blocks


def dense(block):
    return np.asarray(block.X.toarray() if sparse.issparse(block.X) else to_numpy(block.X))


def stored(X):
    """The bytes of a container, to see that nobody wrote into them."""
    if sparse.issparse(X):
        parts = (X.data, X.indices, X.indptr) if X.format in ("csr", "csc") else (X.toarray(),)
        return [(a.dtype, a.tobytes()) for a in parts]
    if isinstance(X, np.ndarray):
        return [(X.dtype, X.tobytes(), X.flags.writeable, X.strides)]
    return None


@pytest.mark.parametrize("case", CONTAINERS, ids=lambda case: case.name)
def test_every_container_gives_the_same_rows(case: Case):
    X = case.table()
    container = case.build(X)
    before = stored(container)
    blocks = as_blocks(container, y=np.arange(len(X)), weight=np.arange(len(X)) + 1.0)
    assert (blocks.n_rows, blocks.n_cols) == X.shape
    assert blocks.dtype == case.dtype
    whole = blocks.gather()
    np.testing.assert_array_equal(dense(whole), X)
    np.testing.assert_array_equal(to_numpy(whole.y), np.arange(len(X)))
    np.testing.assert_array_equal(to_numpy(whole.weight), np.arange(len(X)) + 1.0)
    assert stored(container) == before
    check_blocks(blocks)
    assert stored(container) == before


@pytest.mark.parametrize("case", CONTAINERS, ids=lambda case: case.name)
def test_arrays_in_the_right_form_are_not_copied(case: Case):
    container = case.build(case.table())
    if case.name in ("C order", "float32", "read-only", "memory map"):
        assert np.shares_memory(as_blocks(container).gather().X, container)
    if case.name in ("csr_array", "csr_matrix", "csr float32", "csr stored zeros"):
        assert np.shares_memory(as_blocks(container).gather().X.data, container.data)


def test_names():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert as_blocks(real()).names is None
    for frame in (pd.DataFrame({"a": [1.0], "b": [2.0]}), pl.DataFrame({"a": [1], "b": [2]})):
        blocks = as_blocks(frame)
        assert blocks.names == ("a", "b")
        assert blocks.column(1) == "column 1 ('b')"
    assert as_blocks(pd.DataFrame(real())).names == ("0", "1", "2", "3")


@given(data=st.data())
def test_any_view_of_an_array(data):
    base = np.random.default_rng(0).standard_normal((12, 9))
    base = np.asarray(base, order=data.draw(st.sampled_from("CF")))
    base = base.astype(data.draw(st.sampled_from(["<f4", ">f4", "<f8", ">f8", "f2"])))
    cut = st.slices(12).filter(lambda s: len(range(*s.indices(12))) > 0)
    narrow = st.slices(9).filter(lambda s: len(range(*s.indices(9))) > 0)
    view = base[data.draw(cut), data.draw(narrow)]
    got = as_blocks(view).gather().X
    assert got.flags.c_contiguous and got.dtype.isnative
    np.testing.assert_array_equal(got, view)


@given(
    st.integers(0, 6).flatmap(
        lambda n: st.lists(
            st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-9, 9)), min_size=n
        )
    ),
    st.sampled_from(["csr", "csc", "coo"]),
    st.sampled_from([np.int8, np.float32, np.float64]),
)
def test_any_sparse_pattern(entries, kind, dtype):
    """Duplicates, empty rows, empty columns, stored zeros, nothing stored at all."""
    rows, cols, values = ([e[i] for e in entries] for i in range(3))
    A = sparse.coo_array((np.array(values, dtype), (rows, cols)), shape=(5, 4)).asformat(kind)
    want = np.zeros((5, 4))
    for i, j, v in entries:
        want[i, j] += v
    if kind != "coo" and dtype == np.int8:
        want = A.toarray()  # scipy has summed already, in eight bits
    X = as_blocks(A).gather().X
    np.testing.assert_array_equal(X.toarray(), want)
    assert X.has_canonical_format and X.indices.dtype == np.int32


def broken(row, col, value):
    X = real(9, 3)
    X[row, col] = value
    return X


ERRORS = [
    ("NaN", lambda: broken(5, 2, np.nan), ValueError, r"NaN .* at row 5, column 2: drop or fill"),
    ("infinity", lambda: broken(3, 0, np.inf), ValueError, r"infinity at row 3, column 0"),
    ("-infinity", lambda: broken(3, 1, -np.inf), ValueError, r"infinity at row 3, column 1"),
    ("NaN float32", lambda: np.float32(broken(8, 1, np.nan)), ValueError, "NaN .* row 8, column 1"),
    ("float16", lambda: np.float16(broken(8, 1, np.inf)), ValueError, "infinity at row 8, column"),
    ("NaN in csr", lambda: sparse.csr_array(broken(4, 1, np.nan)), ValueError, "row 4, column 1"),
    ("NaN in csc", lambda: sparse.csc_matrix(broken(4, 2, np.nan)), ValueError, "row 4, column 2"),
    (
        "long double",
        lambda: np.full((2, 2), np.longdouble("1e4000")),
        ValueError,
        "infinity at row",
    ),
    ("None", lambda: [[1.0, 2.0], [3.0, None]], ValueError, "NaN .* at row 1, column 1"),
    ("no rows", lambda: np.empty((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    ("no columns", lambda: np.empty((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\)"),
    ("no rows, csr", lambda: sparse.csr_array((0, 3)), ValueError, r"0 sample\(s\)"),
    ("1-D", lambda: np.arange(3.0), ValueError, r"Reshape your data.*array.reshape\(-1, 1\)"),
    ("3-D", lambda: np.zeros((2, 2, 2)), ValueError, r"two dimensions, got shape=\(2, 2, 2\)"),
    ("number", lambda: 3.0, ValueError, "two dimensions"),
    ("ragged", lambda: [[1.0, 2.0], [3.0]], ValueError, "X is ragged: its rows differ in length"),
    ("complex", lambda: np.ones((2, 2), complex), ValueError, "Complex data not supported"),
    ("complex csr", lambda: sparse.csr_array(np.ones((2, 2), complex)), ValueError, "Complex data"),
    ("strings", lambda: np.array([["a", "b"]]), ValueError, "strings or dates.*OneHotEncoder"),
    ("bytes", lambda: np.array([[b"a", b"b"]]), ValueError, "strings or dates"),
    ("object strings", lambda: np.array([[1, "b"]], object), ValueError, "strings or dates"),
    ("dates", lambda: np.array([["2020-01-01"]], "M8[D]"), ValueError, "strings or dates"),
    ("dict", lambda: np.array([[1.0, {}]], object), TypeError, "row 0, column 1: .*not 'dict'"),
    ("complex object", lambda: np.array([[1.0, 1j]], object), ValueError, "Complex data"),
    (
        "masked",
        lambda: np.ma.array(real(9, 3), mask=broken(6, 2, 99) == 99),
        ValueError,
        "row 6, col",
    ),
]


@pytest.mark.parametrize(
    ("make", "kind", "message"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS]
)
def test_a_fault_in_X_is_named(make, kind, message):
    with pytest.raises(kind, match=message):
        as_blocks(make())


def test_the_first_fault_in_row_order_is_named():
    X = real(5000, 8)
    X[4000, 0] = X[77, 5] = X[77, 6] = np.nan
    with pytest.raises(ValueError, match="row 77, column 5"):
        as_blocks(X)


def test_squares_that_overflow_are_no_fault():
    for value, dtype in ((1e200, np.float64), (1e30, np.float32)):
        assert as_blocks(np.full((3, 2), value, dtype)).n_rows == 3


def frames():
    pd, pl, pa = (pytest.importorskip(p) for p in ("pandas", "polars", "pyarrow"))
    ok = [1.0, 2.0, 3.0]
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        yield make({"a": ok, "b": [1.0, None, 3.0]}), "NaN .* row 1, column 1 \\('b'\\)"
        yield make({"a": ok, "b": [1.0, 2.0, float("inf")]}), "infinity at row 2, column 1 \\('b'"
        yield make({"a": ok, "b": ["x", "y", "z"]}), "column 'b' holds String .*OneHotEncoder"
    yield pd.DataFrame({"a": pd.array([1, None], "Int64")}), "NaN .* row 1, column 0"
    yield pd.DataFrame({"a": pd.array([True, None], "boolean")}), "NaN .* row 1, column 0"
    yield pd.DataFrame({"a": pd.Categorical(["x", "y"])}), "column 'a' holds Categorical"
    yield pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "column 'a' holds Datetime"
    yield pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns of the same name: rename .*'a'"
    yield pl.DataFrame({"a": [True, None]}), "NaN .* row 1, column 0"
    yield pl.DataFrame({"a": []}, schema={"a": pl.Float64}), "0 sample"


def test_a_fault_in_a_dataframe_is_named():
    for frame, message in frames():
        with pytest.raises(ValueError, match=message):
            as_blocks(frame)


def test_a_lazy_frame_is_refused():
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"lazy frame.*\.collect\(\)"):
        as_blocks(pl.LazyFrame({"a": [1.0]}))


BESIDE = [
    ({"y": [1.0, 2.0]}, "inconsistent numbers of samples: X has 9 rows and y has 2"),
    ({"y": np.full(9, np.nan)}, "Input y contains NaN .* at row 0"),
    ({"y": [1.0] * 8 + [np.inf]}, "Input y contains infinity at row 8: drop or replace that row"),
    ({"y": ["a"] * 9}, "y holds values that are not numbers"),
    ({"y": np.ones(9, complex)}, "Complex data not supported: y"),
    ({"y": np.ones((9, 2, 2))}, "y must have one dimension"),
    ({"y": np.ma.array(np.ones(9), mask=np.arange(9) == 4)}, "NaN .* at row 4"),
    ({"weight": np.ones(3)}, "X has 9 rows and sample_weight has 3"),
    ({"weight": -np.ones(9)}, "Negative values in data passed to `sample_weight`: row 0 has -1.0"),
    ({"weight": np.zeros(9)}, "at least one non-zero number"),
    ({"weight": [1.0] * 8 + [np.nan]}, "sample_weight contains NaN .* at row 8"),
    ({"weight": np.ones((9, 1))}, "sample_weight must have one dimension"),
]


@pytest.mark.parametrize(("given", "message"), BESIDE, ids=lambda v: str(v)[:40])
@pytest.mark.parametrize("home", ["array", "blocks"])
def test_a_fault_beside_X_is_named(given, message, home):
    X = real(9, 3)
    with pytest.raises(ValueError, match=message):
        as_blocks(X if home == "array" else as_blocks(X), **given)


def test_targets_keep_what_they_are():
    X = real(6, 2)
    codes = np.array([0, 2, 1, 1, 0, 2])
    assert as_blocks(X, codes).gather().y.dtype == codes.dtype
    assert as_blocks(X, codes > 1).gather().y.dtype == bool
    assert as_blocks(X, codes.astype(object)).gather().y.dtype == np.float64
    assert as_blocks(X.astype(np.float32), codes / 2).gather().y.dtype == np.float32
    assert as_blocks(X, np.ones((6, 3))).gather().y.shape == (6, 3)


def test_a_target_is_attached_to_blocks():
    X, y, s = real(50, 3), np.arange(50.0), np.ones(50)
    blocks = as_blocks(as_blocks(X), y, s)
    check_blocks(blocks)
    np.testing.assert_array_equal(blocks.gather().y, y)
    again = as_blocks(blocks, weight=2 * s).gather()
    np.testing.assert_array_equal(again.weight, 2 * s)
    np.testing.assert_array_equal(again.y, y)
    assert as_blocks(blocks) is blocks


def test_targets_and_weights_are_never_changed():
    X, y, s = real(30, 2), np.arange(30.0), np.ones(30)
    blocks = as_blocks(X, y, s)
    check_blocks(blocks)
    assert y.tobytes() == np.arange(30.0).tobytes() and s.tobytes() == np.ones(30).tobytes()
