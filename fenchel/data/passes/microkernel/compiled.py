"""Inner products of a few rows with a few points, accumulated in vector registers.

    C[r, j] = Σₗ a[r, l] b[j, l],   l = 0 … d - 1 from left to right

for ROWS rows and as many points as two vectors hold, the points packed so that one step over l
reads consecutive memory. What becomes of the products is decided while they lie in the first
cache, so that no tile of them is written to memory; and as every entry is the same sequence of
operations, its bits depend neither on tiles nor on threads, and aᵢ·bⱼ = bⱼ·aᵢ to the bit.

The vectors are as wide as those of the processor that compiles. BLAS libraries that do not know a
processor take narrower ones: 240 against 120 GFLOP/s in float32 and 124 against 57 in float64 where
the OpenBLAS of numpy 2.4 runs its kernels for AVX2 (d = 50, one thread).

Reference: Goto and van de Geijn, Anatomy of high-performance matrix multiplication, ACM TOMS 34
(2008); Van Zee and van de Geijn, BLIS, ACM TOMS 41 (2015).
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def _vector_bytes() -> int:
    features = binding.get_host_cpu_features()
    if features.get("avx512f", False):
        return 64
    return 32 if features.get("avx2", False) else 16


BYTES = _vector_bytes()
# Sums in registers: ROWS x 2 of them, beside two vectors of points and one of a row. Processors
# with vectors of 32 bytes have 16 registers, the others 32.
ROWS = 6 if BYTES == 32 else 8
VECTORS = 2


def points_of_panel(itemsize: int) -> int:
    """Points whose products with a row fill the vectors."""
    return VECTORS * BYTES // itemsize


# Points of a packed panel, in float32 and in float64.
SINGLES, DOUBLES = points_of_panel(4), points_of_panel(8)


def _products_code(
    typing_context: Any,
    rows: Any,
    row_step: Any,
    column_step: Any,
    points: Any,
    d: Any,
    out: Any,
    step: Any,
    tag: Any,
) -> Any:
    """out[r * step + j] = Σₗ rows[r * row_step + l * column_step] points[l * P + j] for d ≥ 1,
    arrays by address; tag: an array of their type."""
    single = tag.dtype == types.float32
    size = 4 if single else 8
    lanes = BYTES // size

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, word, index = (
            ir.FloatType() if single else ir.DoubleType(),
            ir.IntType(64),
            ir.IntType(32),
        )
        vector = ir.VectorType(number, lanes)
        undefined = ir.Constant(vector, ir.Undefined)
        first = ir.Constant(ir.VectorType(index, lanes), [0] * lanes)
        a, b, c = (builder.inttoptr(args[i], number.as_pointer()) for i in (0, 3, 5))

        def at(base: Any, offset: Any) -> Any:
            return builder.bitcast(builder.gep(base, [offset]), vector.as_pointer())

        starts = [builder.mul(args[1], ir.Constant(word, r)) for r in range(ROWS)]
        before = builder.block
        loop = builder.append_basic_block("coordinates")
        after = builder.append_basic_block("store")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(word)
        k.add_incoming(ir.Constant(word, 0), before)
        sums = [[builder.phi(vector) for _ in range(VECTORS)] for _ in range(ROWS)]
        for one in (one for line in sums for one in line):
            one.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
        row = builder.gep(a, [builder.mul(k, args[2])])
        panel = builder.gep(b, [builder.mul(k, ir.Constant(word, VECTORS * lanes))])
        right = [
            builder.load(at(panel, ir.Constant(word, lanes * v)), align=size)
            for v in range(VECTORS)
        ]
        new = []
        for r in range(ROWS):
            value = builder.load(builder.gep(row, [starts[r]]), align=size)
            spread = builder.insert_element(undefined, value, ir.Constant(index, 0))
            spread = builder.shuffle_vector(spread, undefined, first)
            products = [builder.fmul(spread, x, flags=("contract",)) for x in right]
            new.append(
                [
                    builder.fadd(old, x, flags=("contract",))
                    for old, x in zip(sums[r], products, strict=True)
                ]
            )
        following = builder.add(k, ir.Constant(word, 1))
        k.add_incoming(following, loop)
        for old, found in zip(sums, new, strict=True):
            for one, value in zip(old, found, strict=True):
                one.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", following, args[4]), loop, after)
        builder.position_at_end(after)
        for r in range(ROWS):
            line = builder.gep(c, [builder.mul(args[6], ir.Constant(word, r))])
            for v in range(VECTORS):
                builder.store(new[r][v], at(line, ir.Constant(word, lanes * v)), align=size)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7, tag), code


products: Any = intrinsic(_products_code)


@njit(**_settings)
def packed(rows: NDArray[Any], width: int, out: NDArray[Any]) -> None:
    """Rows in panels of so many, the coordinates of a panel one after the other; zeros behind the
    last row."""
    n, d = rows.shape
    for lo in range(0, n, width):
        panel = out[lo * d : (lo + width) * d]
        here = min(width, n - lo)
        for r in range(here):
            row = rows[lo + r]
            for q in range(d):
                panel[q * width + r] = row[q]
        for r in range(here, width):
            for q in range(d):
                panel[q * width + r] = 0.0
