"""S += A'A in float64 by register tiles: the sum of a tile over all rows stays in registers.

Columns of A lie in panels of WIDTH, one after another, rows contiguous inside a panel. S is the
lower triangle of blocks (I, J), I ≥ J, of WIDTH x WIDTH numbers each, those of one J side by side.
A tile of HEIGHT x WIDTH numbers of a block takes one broadcast for each of its rows and two vectors
of its columns a row of A, and HEIGHT fused multiply-adds for each of the two.

BLAS does the same where it knows the processor. Where it does not, its vectors are half as wide:
on one core of an AMD processor of 2024 S of 60,000 rows with 784 columns took 0.69 s by OpenBLAS
0.3.30 and 0.31 s by these tiles; where OpenBLAS was told the processor, 0.41 s.

Reference: Goto and van de Geijn, Anatomy of high-performance matrix multiplication, ACM Trans.
Math. Softw. 34 (2008).
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic


def _lanes() -> int:
    """Numbers in a vector of this processor."""
    asked = config.CPU_FEATURES  # type: ignore[attr-defined]
    known = (asked or binding.get_host_cpu_features().flatten()).split(",")
    if "+avx512f" in known:
        return 8
    return 4 if "+avx" in known else 2


LANES = _lanes()
# Of 32 registers sixteen sums, two vectors and a broadcast; of 16 eight sums.
HEIGHT = 8 if LANES == 8 else 4
WIDTH = 2 * LANES
# Of products of a symmetric matrix with some columns: those of a tile, and its rows, so many that
# the sums take half of the registers.
COLUMNS = 16
SINGLE_HEIGHT, DOUBLE_HEIGHT = {8: (8, 8), 4: (4, 2), 2: (2, 1)}[LANES]
# Rows of a panel: two of the widest, 16 KiB each, stay in a core's first cache. With 784 columns
# 96, 128 and 256 rows took 0.31, 0.31 and 0.33 s. Where all panels of more rows stay in the second
# one, S is visited less often: of 50 columns 128, 256 and 512 rows took 54, 48 and 44 ms.
ROWS, MORE, FEW = 128, 512, 8


def _tile_sums(
    builder: Any, value: Any, lanes: int, shape: tuple[int, int], args: Any, packed: bool
) -> None:
    """The tile at `to`, shape (height, vectors of lanes), += Σ a b' over some rows: entry i of a
    lies `across` bytes after the one before and `step` bytes a row, b side by side."""
    a, across, step, b, rows, to = args
    height, vectors = shape
    size = 8 if isinstance(value, ir.DoubleType) else 4
    width, vector, word = lanes * vectors, ir.VectorType(value, lanes), ir.IntType(64)
    # Sums begin at zero and meet the tile at the end: a rounding of the rows' own size.
    sums = [[cgutils.alloca_once(builder, vector) for _ in range(vectors)] for _ in range(height)]
    for line in sums:
        for place in line:
            builder.store(ir.Constant(vector, [0.0] * lanes), place)
    # The tile lies in a farther cache than the rows: asked for now, it is there at the end.
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    for at in range(0, size * height * width, 64):
        place = builder.inttoptr(builder.add(to, ir.Constant(word, at)), byte)
        builder.call(prefetch, [place, *(ir.Constant(number, v) for v in (1, 3, 1))])

    def places(at: Any) -> list[Any]:
        first = builder.inttoptr(at, vector.as_pointer())
        return [builder.gep(first, [ir.Constant(word, v)]) for v in range(vectors)]

    def loaded(place: Any) -> Any:
        found = builder.load(place)
        found.align = size
        return found

    lines = [
        builder.add(
            a, ir.Constant(word, size * i) if packed else builder.mul(across, ir.Constant(word, i))
        )
        for i in range(height)
    ]
    nothing, first = ir.Constant(vector, ir.Undefined), ir.Constant(number, 0)
    all_first = ir.Constant(ir.VectorType(number, lanes), [0] * lanes)
    with cgutils.for_range(builder, rows) as loop:
        right = [
            loaded(place)
            for place in places(
                builder.add(b, builder.mul(loop.index, ir.Constant(word, size * width)))
            )
        ]
        way = builder.mul(loop.index, step)
        for at, line in zip(lines, sums, strict=True):
            x = builder.load(builder.inttoptr(builder.add(at, way), value.as_pointer()))
            one = builder.insert_element(nothing, x, first)
            broadcast = builder.shuffle_vector(one, nothing, all_first)
            for place, columns in zip(line, right, strict=True):
                term = builder.fmul(broadcast, columns, flags=("contract",))
                total = builder.fadd(builder.load(place), term, flags=("contract",))
                builder.store(total, place)
    for i, line in enumerate(sums):
        for held, place in zip(
            line, places(builder.add(to, ir.Constant(word, size * width * i))), strict=True
        ):
            found = builder.store(builder.fadd(loaded(place), builder.load(held)), place)
            found.align = size


def _add_tile_code(typing_context: Any, a: Any, b: Any, rows: Any, to: Any) -> Any:
    """The tile at `to` += Σ a b' over rows of two panels, a of HEIGHT and b of WIDTH numbers."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, b, rows, to = args
        step = ir.Constant(ir.IntType(64), 8 * WIDTH)
        shape = HEIGHT, 2
        _tile_sums(builder, ir.DoubleType(), LANES, shape, (a, None, step, b, rows, to), True)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), code


def _add_single_code(
    typing_context: Any, a: Any, across: Any, step: Any, b: Any, rows: Any, to: Any
) -> Any:
    """In float32: SINGLE_HEIGHT numbers of a, `across` bytes apart, and COLUMNS of b."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        shape = SINGLE_HEIGHT, COLUMNS // (2 * LANES)
        _tile_sums(builder, ir.FloatType(), 2 * LANES, shape, args, False)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), code


_add_single: Any = intrinsic(_add_single_code)


def _add_double_code(
    typing_context: Any, a: Any, across: Any, step: Any, b: Any, rows: Any, to: Any
) -> Any:
    """The same in float64."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _tile_sums(builder, ir.DoubleType(), LANES, (DOUBLE_HEIGHT, COLUMNS // LANES), args, False)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), code


_add_double: Any = intrinsic(_add_double_code)
_add_tile: Any = intrinsic(_add_tile_code)


def panel_rows(panels: int) -> int:
    """Rows of a panel that make fast products."""
    return MORE if panels <= FEW else ROWS


@njit(cache=True, nogil=True, error_model="numpy")
def block_at(row: int, column: int, panels: int) -> int:
    """Where a block of S begins, row ≥ column, in numbers."""
    return (column * panels - column * (column + 1) // 2 + row) * WIDTH * WIDTH


@njit(cache=True, nogil=True, error_model="numpy")
def add_panels(P: int, rows: int, panels: int, S: int) -> None:
    """S += A'A for the rows of A, `panel_rows` of them for speed, in panels at P."""
    panel = 8 * rows * WIDTH
    for column in range(panels):
        for row in range(column, panels):
            to = S + 8 * block_at(row, column, panels)
            for i in range(0, WIDTH, HEIGHT):
                at = P + row * panel + 8 * i
                _add_tile(at, P + column * panel, rows, to + 8 * WIDTH * i)


@njit(cache=True, nogil=True, error_model="numpy")
def add_strip(strip: int, height: int, width: int, V: int, out: int, chunk: int) -> None:
    """Of a symmetric matrix the strip (height, width), float32, of its lower half, whose last
    columns are a square on the diagonal: out += strip V for its own rows, and for those above
    out += strip' V, without the square.

    V, out: COLUMNS numbers a row, from the first row of the matrix on; height and width are
    multiples of SINGLE_HEIGHT; chunk: columns that a cache holds for their second use.
    """
    line, first = 4 * COLUMNS, width - height
    for left in range(0, width, chunk):
        m = min(chunk, width - left)
        for i in range(0, height, SINGLE_HEIGHT):
            at = strip + 4 * (i * width + left)
            _add_single(at, 4 * width, 4, V + line * left, m, out + line * (first + i))
        for j in range(left, min(left + m, first), SINGLE_HEIGHT):
            _add_single(strip + 4 * j, 4, 4 * width, V + line * first, height, out + line * j)


@njit(cache=True, nogil=True, error_model="numpy")
def add_symmetric_tile(
    tile: int, height: int, width: int, square: int, V: int, out: int, right: int, below: int
) -> None:
    """Of a symmetric matrix a tile (height, width), float64: out += tile right, and but for the
    first `square` columns below += tile' V.

    V, out: COLUMNS numbers for each row of the tile; right, below: for each of its columns; height,
    width and square are multiples of DOUBLE_HEIGHT.
    """
    line = 8 * COLUMNS
    for i in range(0, height, DOUBLE_HEIGHT):
        _add_double(tile + 8 * i * width, 8 * width, 8, right, width, out + line * i)
    for j in range(square, width, DOUBLE_HEIGHT):
        _add_double(tile + 8 * j, 8, 8 * width, V, height, below + line * j)
