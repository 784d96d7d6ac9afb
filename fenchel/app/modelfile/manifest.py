"""The manifest: strict JSON, of bounded size and depth, in one way of writing."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any

from fenchel.app.errors import ModelFileError

# 2 added arrays of bytes strings. A file has the least format that holds it, so that versions which
# do not know the newest one read what they can.
FORMATS = (1, 2)
LARGEST = 10_000_000  # bytes
DEEPEST = 32
LONGEST = 32  # characters of a float: 17 digits, sign, point and exponent take 24
DIGITS = 20  # of a whole number: 64 bits and a sign

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def dump(manifest: dict[str, Any]) -> bytes:
    """The bytes of a manifest: the same for the same content."""
    try:
        text = json.dumps(manifest, allow_nan=False, separators=(",", ":"), check_circular=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the manifest cannot be written as JSON: {error}") from None
    data = text.encode("ascii")
    _check_size(data)
    return data


def parse(data: bytes) -> dict[str, Any]:
    """The manifest in these bytes."""
    _check_size(data)
    try:
        found = json.loads(
            data.decode("ascii"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"manifest.json is not JSON: {error}") from None
    if type(found) is not dict:
        raise ModelFileError("manifest.json does not hold an object")
    return found


def _check_size(data: bytes) -> None:
    if len(data) > LARGEST:
        raise ModelFileError(
            f"the manifest has {len(data)} bytes, more than the {LARGEST} that are read"
        )
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return
    brackets = _TEXT.sub(b"", data).translate(None, _NOT_BRACKETS)
    if max(accumulate(_STEP[b] for b in brackets), default=0) > DEEPEST:
        raise ModelFileError(f"the manifest nests deeper than {DEEPEST} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ModelFileError(f"manifest.json names {twice!r} twice in one object")
    return found


def _constant(name: str) -> Any:
    raise ModelFileError(f"manifest.json holds {name}, which is not a number")


def _finite(digits: str) -> float:
    number = float(digits) if len(digits) <= LONGEST else math.inf
    if not math.isfinite(number):
        raise ModelFileError(f"manifest.json holds {digits[:40]}, which is no finite float64")
    return number


def _whole(digits: str) -> int:
    if len(digits) > DIGITS or not fits_64_bits(int(digits)):
        raise ModelFileError("manifest.json holds a whole number beyond 64 bits")
    return int(digits)


def named(found: Any, where: str) -> dict[str, Any]:
    """An object of any names."""
    if type(found) is not dict:
        raise ModelFileError(f"{where} is not an object")
    return found


def fields(
    found: Any, where: str, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """An object that has the needed names and no others but the optional."""
    found = named(found, where)
    missing = [name for name in needed if name not in found]
    strange = [name for name in found if name not in needed and name not in optional]
    if missing:
        raise ModelFileError(f"{where} lacks {missing[0]!r}")
    if strange:
        raise ModelFileError(f"{where} holds {strange[0][:80]!r}, which is not known there")
    return found


def fits_64_bits(whole: int) -> bool:
    """Whether a whole number has at most 64 bits."""
    return -(2**63) <= whole < 2**64


def check_plain(value: Any, where: str) -> None:
    """Refuses what JSON does not hold exactly: other types, numbers that are not finite."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return
    if kind is int and fits_64_bits(value):
        return
    if kind is float and math.isfinite(value):
        return
    if kind is list:
        for item in value:
            check_plain(item, where)
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise ModelFileError(f"{where} has the key {key!r}, which is not a text")
            check_plain(item, where)
    else:
        raise ModelFileError(
            f"{where} holds {_shown(value)}, which JSON does not hold: give texts, finite numbers, "
            "truth values, None, lists and dicts of them"
        )


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, int | float) else f"a {type(value).__name__}"
