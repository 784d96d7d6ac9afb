"""One table in every container that as_blocks reads, and in every home that reduce runs in."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fenchel.data import Blocks, as_blocks, scan


def real(n: int = 23, d: int = 4, seed: int = 0) -> np.ndarray:
    """Numbers that float16 holds exactly, a third of them zero."""
    rng = np.random.default_rng(seed)
    return rng.integers(-99, 99, (n, d)) / 8.0 * rng.integers(0, 3, (n, d)).astype(bool)


def whole(n: int = 23, d: int = 4, seed: int = 0) -> np.ndarray:
    """Numbers that every integer type holds."""
    return np.random.default_rng(seed).integers(0, 101, (n, d)).astype(float)


def truth(n: int = 23, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (n, d)).astype(float)


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[np.ndarray], Any]
    table: Callable[..., np.ndarray] = real
    dtype: Any = np.float64  # of the blocks
    package: str | None = None  # needed beside numpy and scipy

    def build(self, X: np.ndarray) -> Any:
        if self.package is not None:
            pytest.importorskip(self.package)
        return self.make(X)


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _memmap(X: np.ndarray) -> np.ndarray:
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, X)
        file.flush()
        return np.load(file.name, mmap_mode="r")


def _unsorted(X: np.ndarray) -> Any:
    A = sparse.csr_array(X)
    for lo, hi in zip(A.indptr[:-1], A.indptr[1:], strict=True):
        A.data[lo:hi], A.indices[lo:hi] = A.data[lo:hi][::-1].copy(), A.indices[lo:hi][::-1].copy()
    A.has_sorted_indices = False
    return A


def _duplicates(X: np.ndarray) -> Any:
    """Every entry twice, as two parts that sum to it exactly."""
    A = sparse.coo_array(X)
    data = np.concatenate([A.data * 0.25, A.data * 0.75])
    twice = [np.concatenate([c, c]) for c in A.coords]
    order = np.argsort(twice[0], kind="stable")
    indptr = np.searchsorted(twice[0][order], np.arange(len(X) + 1))
    return sparse.csr_array((data[order], twice[1][order], indptr), shape=X.shape)


def _long_indices(X: np.ndarray) -> Any:
    A = sparse.csr_array(X)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


def _stored_zeros(X: np.ndarray) -> Any:
    rows, cols = np.indices(X.shape).reshape(2, -1)
    return sparse.csr_array((X.ravel(), (rows, cols)), shape=X.shape)


def _small_duplicates(X: np.ndarray) -> Any:
    """Unsigned bytes whose sums pass 255 on the way to X."""
    high = np.full(X.shape, 200, np.uint8)
    rows, cols = np.indices(X.shape).reshape(2, -1)
    parts = [high.ravel(), (X - 200).astype(np.uint8).ravel()]
    where = (np.concatenate([rows, rows]), np.concatenate([cols, cols]))
    return sparse.coo_array((np.concatenate(parts), where), shape=X.shape)


def _frame(package: str, X: np.ndarray, **columns: Any) -> Any:
    named = {f"c{j}": X[:, j] for j in range(X.shape[1])} | columns
    if package == "pandas":
        import pandas

        return pandas.DataFrame(named)
    if package == "polars":
        import polars

        return polars.DataFrame(named)
    import pyarrow

    return pyarrow.table(named)


def _mixed(package: str) -> Callable[[np.ndarray], Any]:
    """Columns of several types in one frame."""

    def make(X: np.ndarray) -> Any:
        kinds = [np.int8, np.uint16, np.float32, np.float64]
        columns = {f"c{j}": X[:, j].astype(kinds[j % 4]) for j in range(X.shape[1])}
        return _frame(package, X[:, :0], **columns)

    return make


def _nullable(X: np.ndarray) -> Any:
    import pandas

    kinds = ["Int64", "Float64", "UInt8", "Int32"]
    return pandas.DataFrame(
        {f"c{j}": pandas.array(X[:, j], dtype=kinds[j % 4]) for j in range(X.shape[1])}
    )


def _torch(X: np.ndarray, **kwargs: Any) -> Any:
    import torch

    return torch.tensor(X, **kwargs)


def _dask(X: np.ndarray, chunks: Any = (5, 3)) -> Any:
    import dask.array

    return dask.array.from_array(X, chunks=chunks)


def _dask_frame(X: np.ndarray) -> Any:
    import dask.dataframe

    return dask.dataframe.from_pandas(_frame("pandas", X), npartitions=3)


def _dask_unknown(X: np.ndarray) -> Any:
    """Chunks of unknown length, one of them empty."""
    A = _dask(np.concatenate([X, np.full((7, X.shape[1]), np.inf)]))
    return A[A[:, 0] < np.inf]


INTEGERS = [np.dtype(f"{sign}{width}") for sign in "iu" for width in (1, 2, 4, 8)]

CONTAINERS = [
    Case("C order", np.ascontiguousarray),
    Case("Fortran", np.asfortranarray),
    Case("strided", _strided),
    Case("negative strides", lambda X: X[::-1, ::-1].copy()[::-1, ::-1]),
    Case("transposed", lambda X: X.T.copy().T),
    Case("read-only", _read_only),
    Case("memory map", _memmap),
    Case("big-endian", lambda X: X.astype(">f8")),
    Case("big-endian float32", lambda X: X.astype(">f4"), dtype=np.float32),
    Case("unaligned", lambda X: np.frombuffer(b"." + X.tobytes(), offset=1).reshape(X.shape)),
    Case("float16", lambda X: X.astype(np.float16), dtype=np.float32),
    Case("float32", lambda X: X.astype(np.float32), dtype=np.float32),
    Case("long double", lambda X: X.astype(np.longdouble)),
    *(Case(t.name, lambda X, t=t: X.astype(t), whole) for t in INTEGERS),
    Case("bool", lambda X: X.astype(bool), truth),
    Case("object", lambda X: X.astype(object)),
    Case("object of ints", lambda X: X.astype(int).astype(object), whole),
    Case("decimals", lambda X: np.array([[Decimal(v) for v in row] for row in X.tolist()])),
    Case("lists", lambda X: X.tolist()),
    Case("list of arrays", list),
    Case("masked, no mask", np.ma.MaskedArray),
    *(
        Case(f"{kind}_{what}", getattr(sparse, f"{kind}_{what}"))
        for kind in ("csr", "csc", "coo", "lil", "dok")
        for what in ("array", "matrix")
    ),
    Case("csr float32", lambda X: sparse.csr_array(X.astype(np.float32)), dtype=np.float32),
    Case("csr int16", lambda X: sparse.csr_array(X.astype(np.int16)), whole),
    Case("csr bool", lambda X: sparse.csr_array(X.astype(bool)), truth),
    Case("csr unsorted", _unsorted),
    Case("csr duplicates", _duplicates),
    Case("csr int64 indices", _long_indices),
    Case("csr stored zeros", _stored_zeros),
    Case("coo uint8 that would wrap", _small_duplicates, lambda *a: 2 * truth(*a) + 255),
    Case("pandas", lambda X: _frame("pandas", X), package="pandas"),
    Case("pandas mixed", _mixed("pandas"), whole, package="pandas"),
    Case("pandas nullable", _nullable, whole, package="pandas"),
    Case("pandas bool", lambda X: _frame("pandas", X.astype(bool)), truth, package="pandas"),
    Case("polars", lambda X: _frame("polars", X), package="polars"),
    Case("polars mixed", _mixed("polars"), whole, package="polars"),
    Case("polars float32", lambda X: _frame("polars", X.astype("f4")), real, np.float32, "polars"),
    Case("polars bool", lambda X: _frame("polars", X.astype(bool)), truth, package="polars"),
    Case("pyarrow", lambda X: _frame("pyarrow", X), package="pyarrow"),
    Case("pyarrow mixed", _mixed("pyarrow"), whole, package="pyarrow"),
    Case("torch", _torch, package="torch"),
    Case("torch float32", lambda X: _torch(X.astype(np.float32)), real, np.float32, "torch"),
    Case("torch half", lambda X: _torch(X.astype(np.float16)), real, np.float32, "torch"),
    Case("torch int", lambda X: _torch(X.astype(np.int32)), whole, package="torch"),
    Case("torch strided", lambda X: _torch(X.T.copy()).T, package="torch"),
    Case("torch grad", lambda X: _torch(X, requires_grad=True), package="torch"),
    Case("torch sparse", lambda X: _torch(X).to_sparse(), package="torch"),
    Case("dask", _dask, package="dask"),
    Case("dask int", lambda X: _dask(X.astype(np.int16)), whole, package="dask"),
    Case("dask float32", lambda X: _dask(X.astype("f4")), real, np.float32, "dask"),
    Case("dask unknown", _dask_unknown, package="dask"),
    Case("dask sparse", lambda X: _dask(X, (5, 4)).map_blocks(sparse.csr_array), package="dask"),
    Case("dask frame", _dask_frame, package="dask"),
]


@dataclass(frozen=True)
class Home:
    """Where rows may live: the blocks of (X, y, weight), y a float target."""

    name: str
    blocks: Callable[[np.ndarray, np.ndarray, np.ndarray, Path], Blocks]
    package: str | None = None
    exact: bool = True  # X is held exactly, and not rounded to float32

    def build(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, room: Path) -> Blocks:
        if self.package is not None:
            pytest.importorskip(self.package)
        return self.blocks(X, y, weight, room)


def _parquet(X: Any, y: Any, weight: Any, room: Path, **kwargs: Any) -> Blocks:
    frame = _frame("polars", X, y=y, weight=weight)
    frame.write_parquet(room / "t.parquet", **kwargs)
    return scan(room / "t.parquet", target="y", weight="weight")


def _text(name: str) -> Callable[..., Blocks]:
    def make(X: Any, y: Any, weight: Any, room: Path) -> Blocks:
        frame = _frame("polars", X, y=y, weight=weight)
        text = frame.write_csv(separator="\t" if ".tsv" in name else ",").encode()
        (room / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return scan(room / name, target="y", weight="weight")

    return make


def _npy(order: str, dtype: Any = float) -> Callable[..., Blocks]:
    def make(X: Any, y: Any, weight: Any, room: Path) -> Blocks:
        table = np.column_stack([y, X, weight])
        np.save(room / "t.npy", np.asarray(table, order=order, dtype=dtype))
        return scan(room / "t.npy", target=0, weight=-1)

    return make


def _dask_home(X: Any, y: Any, weight: Any, room: Path) -> Blocks:
    return as_blocks(_dask(X, (97, 3)), _dask(y, (50,)), weight)


def _dask_frame_home(X: Any, y: Any, weight: Any, room: Path) -> Blocks:
    import dask.dataframe

    frame = _frame("pandas", X, y=y, weight=weight)
    D = dask.dataframe.from_pandas(frame, npartitions=4)
    return as_blocks(D[[f"c{j}" for j in range(X.shape[1])]], D["y"], D["weight"])


def _memory(make: Callable[[np.ndarray], Any]) -> Callable[..., Blocks]:
    return lambda X, y, weight, room: as_blocks(make(X), y, weight)


HOMES = [
    Home("numpy", _memory(np.ascontiguousarray)),
    Home("csr", _memory(sparse.csr_array)),
    Home("float32", _memory(np.float32), exact=False),
    Home("pandas", _memory(lambda X: _frame("pandas", X)), "pandas"),
    Home("polars", _memory(lambda X: _frame("polars", X)), "polars"),
    Home("parquet", _parquet, "polars"),
    Home("csv", _text("t.csv"), "polars"),
    Home("csv.gz", _text("t.csv.gz"), "polars"),
    Home("tsv", _text("t.tsv"), "polars"),
    Home("npy", _npy("C")),
    Home("npy Fortran", _npy("F")),
    Home("npy float32", _npy("C", np.float32), exact=False),
    Home("dask", _dask_home, "dask"),
    Home("dask frame", _dask_frame_home, "dask"),
    Home("torch", _memory(_torch), "torch"),
]
