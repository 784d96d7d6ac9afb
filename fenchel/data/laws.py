"""What every `Blocks` must satisfy; `fenchel.testing.check_blocks` is the public door."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.block import stride
from fenchel.data.blocks import Block, Blocks, threads
from fenchel.data.reduction import Totals
from fenchel.data.statistic import Statistic, layout_of


def check_blocks(blocks: Blocks, *, seed: int = 0) -> None:
    """Check that a table is what a pass over data may rely on.

    Two passes give the same rows in the same order, gapless; every row is summed once; the sum has
    the same bits for 1, 2 and 3 threads and when repeated; it is the plain sum to rounding, also
    when the blocks are cut otherwise; `map`, `sample` and `gather` keep rows, targets and weights
    together.

    Parameters
    ----------
    blocks : Blocks
        A small table: its rows are gathered in memory.
    seed : int, default 0
        Seed of the random direction that a gradient is taken at.

    Raises
    ------
    AssertionError
        With the law that is broken.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.data import as_blocks
    >>> from fenchel.testing import check_blocks
    >>> check_blocks(as_blocks(np.arange(12.0).reshape(6, 2), y=np.ones(6)))
    """
    _passes(blocks)
    _sums(blocks, np.random.default_rng(seed).standard_normal(blocks.n_cols))
    _views(blocks)


def _require(law: str, holds: Any) -> None:
    if not holds:
        raise AssertionError(f"these blocks break the law '{law}'")


def _dense(X: Any) -> np.ndarray[Any, Any]:
    return to_numpy(X.toarray() if is_sparse(X) else X)


def _same(a: Block, b: Block) -> bool:
    pairs = ((_dense(a.X), _dense(b.X)), (a.y, b.y), (a.weight, b.weight))
    return all(
        (u is None and v is None) or np.array_equal(to_numpy(u), to_numpy(v))
        for u, v in pairs
        if not (u is None and v is None)
    )


def _passes(blocks: Blocks) -> None:
    first, second = list(blocks), list(blocks)
    _require("there is a block", first)
    _require("two passes give as many blocks", len(first) == len(second))
    start = 0
    for a, b in zip(first, second, strict=True):
        _require("blocks follow each other without a gap", a.start == b.start == start)
        _require("every block has a row", a.n_rows > 0)
        _require("blocks are of n_cols columns", a.X.shape[1] == blocks.n_cols)
        _require("blocks are of the type said", str(a.X.dtype).endswith(str(blocks.dtype)))
        _require("dense and sparse as said", is_sparse(a.X) == blocks.sparse)
        for part in (a.y, a.weight):
            _require("y and weight go with X", part is None or len(part) == a.n_rows)
        _require("two passes give the same rows", _same(a, b))
        start += a.n_rows
    _require("the blocks hold n_rows rows", start == blocks.n_rows)
    named = blocks.names is None or len(blocks.names) == blocks.n_cols
    _require("there is a name for each column", named)


def _sums(blocks: Blocks, w: np.ndarray[Any, Any]) -> None:
    def stat(block: Block) -> Totals:
        X = _dense(block.X)
        z = X @ w
        return Totals(len(z), X.sum(0), np.abs(X).sum(0), X.T @ z, np.abs(X).T @ np.abs(z))

    def halves(block: Block) -> Totals:
        at = block.n_rows // 2
        parts = [Block(0, block.X[rows]) for rows in (slice(0, at), slice(at, None))]
        return stat(parts[1]) if at == 0 else stat(parts[0]) + stat(parts[1])

    total = blocks.reduce(stat)
    for n in (1, 2, 3):
        with threads(n):
            again = blocks.reduce(stat)
        same = all(np.array_equal(a, b) for a, b in zip(total, again, strict=True))
        _require("the sum has the same bits for any number of threads", same)
    order = blocks.reduce(lambda block: (block.start,))
    _require("parts are merged in the order of rows", list(order) == [b.start for b in blocks])
    whole = stat(blocks.gather())
    _require("every row is summed once", total[0] == whole[0] == blocks.n_rows)
    for other in (whole, blocks.reduce(halves)):
        bound = 4 * blocks.n_rows * np.finfo(np.float64).eps
        for i, scale in ((1, 2), (3, 4)):
            close = np.abs(total[i] - other[i]) <= bound * (1.0 + blocks.n_cols) * whole[scale]
            _require("the sum does not depend on the blocks, to rounding", close.all())


def _views(blocks: Blocks) -> None:
    whole = blocks.gather()
    _require("gather gives the rows in order", whole.n_rows == blocks.n_rows and whole.start == 0)
    for block in blocks:
        rows = slice(block.start, block.start + block.n_rows)
        y = None if whole.y is None else whole.y[rows]
        weight = None if whole.weight is None else whole.weight[rows]
        same = _same(block, Block(block.start, whole.X[rows], y, weight))
        _require("gather gives the rows in order", same)
    some = max(1, blocks.n_rows // 3)
    taken = blocks.sample(some)
    step = max(1, blocks.n_rows // some)
    _require("sample takes rows evenly", _same(taken.gather(), stride(whole, step)))
    _require("a sample is in memory", taken.local)
    twice = blocks.map(lambda b: replace(b, X=b.X * 2))
    for a, b in zip(blocks, twice, strict=True):
        _require("map changes each block alone", np.array_equal(2 * _dense(a.X), _dense(b.X)))
    mapped = twice.reduce(lambda b: _dense(b.X).sum(0))
    plain = blocks.reduce(lambda b: (2 * _dense(b.X)).sum(0))
    _require("map is fused into the pass", np.array_equal(mapped, plain))


def check_statistic(stat: Statistic[Any], block: Block, *, tol: float = 1e-12) -> None:
    """Check that a statistic's compiled loop gives what its definition gives, whatever the threads.

    Parameters
    ----------
    stat : Statistic
        With a compiled loop for the layout of the block.
    block : Block
        Rows in memory; the loop is tried however few they are.
    tol : float, default 1e-12
        Largest difference from the definition, relative to the largest entry of each sum or to one
        hundredth of the number of rows, whichever is more.

    Raises
    ------
    AssertionError
        Where there is no compiled loop, it differs from the definition by more than rounding, or
        its bits depend on how the parts are shared among threads.
    """
    layout = layout_of(block.X)
    kernel = None if layout is None else stat.compiled(block, layout)
    assert kernel is not None, f"{stat} has no compiled loop for {layout}"
    parts = -(-block.n_rows // kernel.part)
    whole, pieces = kernel.slots(parts), kernel.slots(parts)
    kernel.run(0, parts, whole)
    for i in range(parts):
        kernel.run(i, i + 1, pieces)
    for a, b in zip(whole, pieces, strict=True):
        assert np.array_equal(a, b, equal_nan=True), f"{stat}: the bits depend on the ranges"
    found, defined = _sums_of(kernel.total(whole)), _sums_of(stat(block))
    for k, (a, b) in enumerate(zip(found, defined, strict=True)):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        assert a.shape == b.shape, f"{stat}: sum {k} has shape {a.shape}, its definition {b.shape}"
        finite = np.isfinite(b)
        assert np.array_equal(a[~finite], b[~finite], equal_nan=True), (
            f"{stat}: sum {k} at infinity"
        )
        scale = max(float(np.abs(b[finite]).max(initial=0.0)), 0.01 * block.n_rows)
        error = float(np.abs(a - b)[finite].max(initial=0.0))
        assert error <= tol * scale, f"{stat}: sum {k} differs by {error:.2g} of {scale:.2g}"


def _sums_of(value: Any) -> tuple[Any, ...]:
    """The numbers and arrays of a statistic, which may be a value of several, one after another."""
    if is_dataclass(value) and not isinstance(value, type):
        value = tuple(getattr(value, field.name) for field in fields(value))
    if not isinstance(value, tuple):
        return (value,)
    return tuple(part for one in value for part in _sums_of(one))
