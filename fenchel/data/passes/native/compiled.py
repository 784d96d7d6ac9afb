"""Functions at addresses: how compiled loops call each other and BLAS, and how they are compiled.

A pass is a driver, a few products with a tile of rows and a function of each row; a loss, a layout
or a precision changes one of them. Each is compiled once, for C, and called by its address, so that
a new combination compiles nothing. Arrays come as addresses too: a read-only map of a file would
otherwise be another type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, types
from numba.extending import get_cython_function_address, intrinsic

# Sums may be reordered, so that they vectorise; infinities and NaN keep their meaning.
SUMS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
DOUBLE = np.zeros(1)


def _pointer_code(typing_context: Any, address: Any, tag: Any) -> Any:
    """The address as a pointer to values of the type of the array `tag`."""
    to = types.CPointer(tag.dtype)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(to))

    return to(types.int64, tag), code


pointer: Any = intrinsic(_pointer_code)


def _calls(result: Any, kinds: str) -> Any:
    """An intrinsic that calls the function at an address; kinds: i for int64, d for float64."""
    lower = {"i": ir.IntType(64), "d": ir.DoubleType(), "v": ir.VoidType()}
    upper = {"i": types.int64, "d": types.float64, "v": types.void}

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(lower[result], [lower[k] for k in kinds])
        found = builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value() if result == "v" else found

    return upper[result](types.int64, *(upper[k] for k in kinds)), code


def _call_rows_code(
    typing_context: Any,
    function: Any,
    m: Any,
    ld: Any,
    y: Any,
    z: Any,
    s: Any,
    p: Any,
    r: Any,
    sums: Any,
) -> Any:
    """A row function: (m, ld, y, z, s, parameters, r, sums), arrays by address."""
    return _calls("v", "iiiiiiii")


call_rows: Any = intrinsic(_call_rows_code)


def _call_scores_code(
    typing_context: Any,
    function: Any,
    table: Any,
    ldx: Any,
    d: Any,
    i0: Any,
    m: Any,
    w: Any,
    b: Any,
    z: Any,
) -> Any:
    return _calls("v", "iiiiiidi")


call_scores: Any = intrinsic(_call_scores_code)


def _call_adjoint_code(
    typing_context: Any,
    function: Any,
    table: Any,
    ldx: Any,
    d: Any,
    i0: Any,
    m: Any,
    r: Any,
    g: Any,
) -> Any:
    return _calls("v", "iiiiiii")


call_adjoint: Any = intrinsic(_call_adjoint_code)


def _call_rooted_code(
    typing_context: Any,
    function: Any,
    table: Any,
    ldx: Any,
    d: Any,
    i0: Any,
    m: Any,
    h: Any,
    centre: Any,
    A: Any,
) -> Any:
    return _calls("i", "iiiiiiii")


call_rooted: Any = intrinsic(_call_rooted_code)


def _held(builder: Any, x: Any, kind: Any) -> Any:
    """The address of a value: Fortran takes all its arguments by address."""
    place = builder.alloca(kind)
    builder.store(x, place)
    return place


def _call_syrk_code(
    typing_context: Any, function: Any, n: Any, k: Any, A: Any, C: Any, single: Any
) -> Any:
    """C += A'A for k rows of n values by BLAS syrk, the lower triangle in C order."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, word = ir.IntType(8), ir.IntType(32)

        held = partial(_held, builder)

        def call(value: Any) -> None:
            n, k = (held(builder.trunc(x, word), word) for x in args[1:3])
            one = held(value(1.0), value)
            upper, plain = (held(byte(ord(x)), byte) for x in "UN")
            kinds = [byte, byte, word, word, value, value, word, value, value, word]
            kind = ir.FunctionType(ir.VoidType(), [x.as_pointer() for x in kinds])
            a, c = (builder.inttoptr(x, value.as_pointer()) for x in args[3:5])
            function = builder.inttoptr(args[0], kind.as_pointer())
            builder.call(function, [upper, plain, n, k, one, a, n, one, c, n])

        with builder.if_else(args[5]) as (then, otherwise):
            with then:
                call(ir.FloatType())
            with otherwise:
                call(ir.DoubleType())
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5, types.boolean), code


call_syrk: Any = intrinsic(_call_syrk_code)


def _call_gemm_code(
    typing_context: Any,
    function: Any,
    m: Any,
    n: Any,
    k: Any,
    A: Any,
    lda: Any,
    B: Any,
    ldb: Any,
    C: Any,
) -> Any:
    """C = A B' by BLAS gemm: A (m, k) and B (n, k) in rows lda and ldb apart, C (m, n) in rows
    side by side; float64."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, word, value = ir.IntType(8), ir.IntType(32), ir.DoubleType()

        held = partial(_held, builder)

        m, n, k, lda, ldb = (held(builder.trunc(args[i], word), word) for i in (1, 2, 3, 5, 7))
        one, zero = held(value(1.0), value), held(value(0.0), value)
        turned, plain = (held(byte(ord(x)), byte) for x in "TN")
        kinds = [byte, byte, word, word, word, value, value, word, value, word, value, value, word]
        kind = ir.FunctionType(ir.VoidType(), [x.as_pointer() for x in kinds])
        a, b, c = (builder.inttoptr(args[i], value.as_pointer()) for i in (4, 6, 8))
        function = builder.inttoptr(args[0], kind.as_pointer())
        # Columns for BLAS are rows here, so that it is asked for B A'.
        builder.call(function, [turned, plain, n, m, k, one, b, ldb, a, lda, zero, c, n])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), code


call_gemm: Any = intrinsic(_call_gemm_code)


def _call_trsm_code(
    typing_context: Any,
    function: Any,
    m: Any,
    n: Any,
    L: Any,
    ldl: Any,
    B: Any,
    ldb: Any,
    single: Any,
) -> Any:
    """B = B L⁻ᵀ by BLAS trsm: L (n, n) lower triangular and B (m, n) in rows ldl and ldb apart."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, word = ir.IntType(8), ir.IntType(32)

        held = partial(_held, builder)

        def call(value: Any) -> None:
            m, n, ldl, ldb = (held(builder.trunc(args[i], word), word) for i in (1, 2, 4, 6))
            one = held(value(1.0), value)
            # Columns for BLAS are rows here, so that it is asked for L⁻¹ B'.
            left, upper, turned, plain = (held(byte(ord(x)), byte) for x in "LUTN")
            kinds = [byte, byte, byte, byte, word, word, value, value, word, value, word]
            kind = ir.FunctionType(ir.VoidType(), [x.as_pointer() for x in kinds])
            a, b = (builder.inttoptr(args[i], value.as_pointer()) for i in (3, 5))
            function = builder.inttoptr(args[0], kind.as_pointer())
            builder.call(function, [left, upper, turned, plain, n, m, one, a, ldl, b, ldb])

        with builder.if_else(args[7]) as (then, otherwise):
            with then:
                call(ir.FloatType())
            with otherwise:
                call(ir.DoubleType())
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7, types.boolean), code


call_trsm: Any = intrinsic(_call_trsm_code)


@lru_cache(maxsize=2)
def triangular_solve(dtype: str) -> int:
    """The address of BLAS trsm, from the table that scipy exports for compiled code."""
    name = "strsm" if dtype == "float32" else "dtrsm"
    return int(get_cython_function_address("scipy.linalg.cython_blas", name))


@lru_cache(maxsize=1)
def matrix_product() -> int:
    """The address of BLAS dgemm, from the table that scipy exports for compiled code."""
    return int(get_cython_function_address("scipy.linalg.cython_blas", "dgemm"))


@lru_cache(maxsize=2)
def symmetric_product(dtype: str) -> int:
    """The address of BLAS syrk, from the table that scipy exports for compiled code."""
    name = "ssyrk" if dtype == "float32" else "dsyrk"
    return int(get_cython_function_address("scipy.linalg.cython_blas", name))


def c_function(
    function: Callable[..., Any],
    signature: Any,
    names: dict[str, Any],
    label: str,
    parts: Sequence[CodeType] = (),
) -> Any:
    """A function compiled for C with some of its global names bound: an object with an `address`.

    The cache on disk looks at the file of the function alone, so that its entry is named by a
    digest of the function's code and of the further parts that the names stand for.
    """
    own = FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)
    own.__qualname__ = f"{label}_{_digest(function.__code__, *parts)}"
    own.__module__ = function.__module__
    settings = {"cache": True, "error_model": "numpy", "fastmath": SUMS["fastmath"]}
    return cfunc(signature, **settings)(own)


def _digest(*codes: CodeType) -> str:
    found = hashlib.sha256()
    for code in codes:
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        found.update(code.co_code + repr((constants, code.co_names)).encode())
    return found.hexdigest()[:16]
