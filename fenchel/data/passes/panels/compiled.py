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
from numba.core import cgutils
from numba.extending import intrinsic


def _lanes() -> int:
    """Numbers in a vector of this processor."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx") else 2


LANES = _lanes()
# Of 32 registers sixteen sums, two vectors and a broadcast; of 16 eight sums.
HEIGHT = 8 if LANES == 8 else 4
WIDTH = 2 * LANES
# Rows of a panel: two of the widest, 16 KiB each, stay in a core's first cache. With 784 columns
# 96, 128 and 256 rows took 0.31, 0.31 and 0.33 s. Where all panels of more rows stay in the second
# one, S is visited less often: of 50 columns 128, 256 and 512 rows took 54, 48 and 44 ms.
ROWS, MORE, FEW = 128, 512, 8


def _add_tile_code(typing_context: Any, a: Any, b: Any, rows: Any, to: Any) -> Any:
    """The tile at `to` += Σ a b' over rows of two panels, a of HEIGHT and b of WIDTH numbers."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, word = ir.DoubleType(), ir.IntType(64)
        vector = ir.VectorType(value, LANES)
        a, b, rows, to = args
        # Sums begin at zero and meet the tile at the end: a rounding of the rows' own size.
        sums = [[cgutils.alloca_once(builder, vector) for _ in range(2)] for _ in range(HEIGHT)]
        for line in sums:
            for place in line:
                builder.store(ir.Constant(vector, [0.0] * LANES), place)
        # S lies in a farther cache than the panels: asked for now, it is there at the end.
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        for at in range(0, 8 * HEIGHT * WIDTH, 64):
            place = builder.inttoptr(builder.add(to, ir.Constant(word, at)), byte)
            builder.call(prefetch, [place, *(ir.Constant(number, v) for v in (1, 3, 1))])

        def vectors(at: Any) -> list[Any]:
            places = builder.inttoptr(at, vector.as_pointer())
            return [builder.gep(places, [ir.Constant(word, v)]) for v in range(2)]

        def loaded(place: Any) -> Any:
            found = builder.load(place)
            found.align = 8
            return found

        with cgutils.for_range(builder, rows) as loop:
            step = builder.mul(loop.index, ir.Constant(word, 8 * WIDTH))
            right = [loaded(place) for place in vectors(builder.add(b, step))]
            left = builder.inttoptr(builder.add(a, step), value.as_pointer())
            for i, line in enumerate(sums):
                x = builder.load(builder.gep(left, [ir.Constant(word, i)]))
                nothing, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
                one = builder.insert_element(nothing, x, first)
                all_first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
                broadcast = builder.shuffle_vector(one, nothing, all_first)
                for place, columns in zip(line, right, strict=True):
                    term = builder.fmul(broadcast, columns, flags=("contract",))
                    total = builder.fadd(builder.load(place), term, flags=("contract",))
                    builder.store(total, place)
        for i, line in enumerate(sums):
            places = vectors(builder.add(to, ir.Constant(word, 8 * WIDTH * i)))
            for held, place in zip(line, places, strict=True):
                found = builder.store(builder.fadd(loaded(place), builder.load(held)), place)
                found.align = 8
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), code


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
