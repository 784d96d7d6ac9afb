"""What a fitted attribute must be: its type, and a shape that agrees with the others'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Side = str | int | None
STRINGS = "rows of strings"  # 1 where they are, 0 for numbers


class NamedLengths(dict[str, int]):
    """The lengths that names such as d, the number of columns, stand for in one model."""

    def agree(self, name: str, length: int) -> bool:
        """Whether the name has this length; the first to be asked says so."""
        return self.setdefault(name, length) == length

    def fits(self, shape: Sequence[int], sides: Sequence[Side]) -> bool:
        """Whether a shape has these sides: lengths, names of lengths, or None for any."""
        if len(shape) != len(sides):
            return False
        for n, side in zip(shape, sides, strict=True):
            if isinstance(side, str):
                name, _, more = side.partition("+")
                if n < int(more or 0) or not self.agree(name, n - int(more or 0)):
                    return False
            elif side is not None and n != side:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Check:
    """A condition in words, and its test."""

    words: str
    test: Callable[[Any, NamedLengths], bool]

    def __or__(self, other: Check) -> Check:
        def either(value: Any, sizes: NamedLengths) -> bool:
            tried = NamedLengths(sizes)
            if self.test(value, tried):
                sizes.update(tried)
                return True
            return other.test(value, sizes)

        return Check(f"{self.words}, or {other.words}", either)


def is_number(value: Any) -> bool:
    """A real number, of Python or numpy; no truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and type(value) is not bool


def is_count(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and type(value) is not bool
    return whole and value >= 0


def is_label(value: Any) -> bool:
    """What may name a class: a text, a number, a truth value or None."""
    return value is None or isinstance(value, bool | int | float | str | np.generic)


def is_finite(array: NDArray[Any]) -> bool:
    return bool(np.isfinite(array).all())


def array_of(kinds: str, *sides: Side, finite: bool = False) -> Check:
    """An array of these kinds of numpy dtype and these sides."""

    def test(value: Any, sizes: NamedLengths) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            return False
        return sizes.fits(value.shape, sides) and (not finite or is_finite(value))

    shape = ", ".join("any" if side is None else str(side) for side in sides)
    names = {"f": "floats", "i": "whole numbers", "iuf": "numbers", "b": "truth values"}
    which = "finite " if finite else ""
    return Check(f"{which}{names.get(kinds, 'an array')} of shape ({shape})", test)


def floats(*sides: Side) -> Check:
    return array_of("f", *sides)


def finite(*sides: Side) -> Check:
    return array_of("f", *sides, finite=True)


def any_array(kinds: str) -> Check:
    """An array of any shape."""

    def test(value: Any, sizes: NamedLengths) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind in kinds

    return Check("an array", test)


def texts(*sides: Side) -> Check:
    """An array of objects that are texts."""

    def test(value: Any, sizes: NamedLengths) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "O":
            return False
        return sizes.fits(value.shape, sides) and all(type(text) is str for text in value.flat)

    return Check(f"texts of shape {sides}", test)


def strings(*sides: Side) -> Check:
    """An array of objects that are all texts, or all bytes."""

    def test(value: Any, sizes: NamedLengths) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "O":
            return False
        kinds = {type(one) for one in value.flat}
        return sizes.fits(value.shape, sides) and (kinds <= {str} or kinds <= {bytes})

    return Check(f"strings of shape ({', '.join(map(str, sides))})", test)


def rows(*sides: Side) -> Check:
    """Rows as an estimator was fitted on them: finite numbers, or strings where its kernel
    compares those."""
    return agreed(STRINGS, 0, finite(*sides)) | agreed(STRINGS, 1, strings(*sides))


def agreed(name: str, length: int, check: Check) -> Check:
    """A check of what goes with one value of a name."""
    return Check(
        check.words, lambda value, sizes: check.test(value, sizes) and sizes.agree(name, length)
    )


def of_class(*names: str) -> Check:
    """One of our values, by the name of its class."""
    return Check(" or ".join(names), lambda value, sizes: type(value).__name__ in names)


def one_of(*allowed: str) -> Check:
    words = "one of " + ", ".join(allowed)
    return Check(words, lambda value, sizes: type(value) is str and value in allowed)


def tuple_of(item: Check, length: Side = None, kind: type[Any] = tuple) -> Check:
    """A tuple (or list) whose items pass the check."""

    def test(value: Any, sizes: NamedLengths) -> bool:
        items: Any = value
        if type(items) is not kind or not sizes.fits((len(items),), (length,)):
            return False
        return all(item.test(one, sizes) for one in items)

    return Check(f"a {kind.__name__} of {item.words}", test)


def pair(first: Check, second: Check) -> Check:
    def test(value: Any, sizes: NamedLengths) -> bool:
        if type(value) is not tuple or len(value) != 2:
            return False
        return first.test(value[0], sizes) and second.test(value[1], sizes)

    return Check(f"a pair of {first.words} and {second.words}", test)


def size_of(name: str, least: int = 1) -> Check:
    """The number that a name stands for."""

    def test(value: Any, sizes: NamedLengths) -> bool:
        return is_count(value) and value >= least and sizes.agree(name, int(value))

    return Check(f"a whole number from {least} on", test)


nothing = Check("None", lambda value, sizes: value is None)
number = Check("a number", lambda value, sizes: is_number(value))
finite_number = Check(
    "a finite number", lambda value, sizes: is_number(value) and bool(np.isfinite(value))
)
count = Check("a whole number from 0 on", lambda value, sizes: is_count(value))
whole = Check("a whole number", lambda value, sizes: is_number(value) and is_count(abs(value)))
dictionary = Check("a dictionary", lambda value, sizes: type(value) is dict)
flag = Check("True or False", lambda value, sizes: isinstance(value, bool | np.bool_))
text = Check("a text", lambda value, sizes: type(value) is str)
real_dtype = Check(
    "a type of floats", lambda value, sizes: isinstance(value, np.dtype) and value.kind == "f"
)


def described(value: Any) -> str:
    """What was found instead, in a few words."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value)[:60]
    return f"a {type(value).__name__}"
