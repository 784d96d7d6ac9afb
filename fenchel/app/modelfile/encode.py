"""From a fitted model to JSON values and arrays.

Plain JSON values stand for themselves; anything else is an object with one key, its tag:

    float        "inf", "-inf", "nan"
    tuple        items, or one array of equal numbers        list likewise, where it is long
    dict         pairs of key and value
    array        number of the array
    texts        shape, characters and lengths of an array of texts
    bytestrings  the same of an array of bytes, in format 2
    objects      shape and items of an array of other labels
    numpy        type and value of a numpy scalar            dtype        a numpy type
    random       state of a numpy RandomState
    certificates numbers of a history, in two arrays
    value        class and fields of one of our own values
    estimator    class, parameters and fitted attributes     frozen       one that is not refitted
    parameter    the attribute is the parameter of this name, the same object
"""

from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.errors import ModelFileError
from fenchel.app.modelfile.arrays import ArrayLayout, dtype_name, raw
from fenchel.app.modelfile.estimators import ESTIMATORS, ONLY_FOR_FITTING, estimator_class
from fenchel.app.modelfile.manifest import FORMATS, fits_64_bits
from fenchel.app.modelfile.validators import described, is_label
from fenchel.app.modelfile.values import KINDS, class_of, stored

LONG = 64  # a longer sequence of equal numbers is an array


class NotStorable(Exception):
    """A value that no model file holds; says what it is."""


class ValueEncoder:
    """Collects the arrays of a model while it is put into JSON values."""

    def __init__(self) -> None:
        self.layouts: list[ArrayLayout] = []
        self.data: list[NDArray[np.uint8]] = []
        self.arrays: list[NDArray[Any]] = []
        self.notes: list[str] = []
        self.format = FORMATS[0]

    def array(self, value: NDArray[Any]) -> dict[str, Any]:
        """The reference to an array that is kept."""
        layout, data = raw(value)
        self.layouts.append(layout)
        self.data.append(data)
        self.arrays.append(value)
        return {"array": len(self.arrays) - 1}

    def value(self, value: Any) -> Any:
        """Any value that a file holds."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return _whole(value)
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind in (tuple, list):
            return self._sequence(value)
        if kind is dict:
            return {"dict": [[self._key(k), self.value(v)] for k, v in value.items()]}
        if isinstance(value, np.generic):
            return _scalar(value)
        if isinstance(value, np.dtype):
            return {"dtype": _name(value)}
        if isinstance(value, np.ndarray):
            return self._array_like(value)
        if kind is np.random.RandomState:
            return self._random(value)
        entry = stored(kind.__name__)
        if entry is not None and kind is class_of(kind.__name__):
            fields = entry.take(value, entry.fields)
            held = {
                name: self.value(field)
                for name, field in fields.items()
                if name not in entry.added or field != entry.added[name]
            }
            return {"value": {"class": kind.__name__, "fields": held}}
        if kind.__name__ in ESTIMATORS and kind is estimator_class(kind.__name__):
            return {"estimator": self.estimator(value)}
        if _is_frozen(value):
            return {"frozen": self.value(value.estimator)}
        raise NotStorable(_shown(value))

    def estimator(self, model: Any) -> dict[str, Any]:
        """One of our estimators: what it was made with, and what its fit found."""
        name = type(model).__name__
        if name not in ESTIMATORS or type(model) is not estimator_class(name):
            raise ModelFileError(
                f"{type(model).__module__}.{type(model).__qualname__} is not an estimator of this "
                f"library, and model files hold no others; they hold {', '.join(ESTIMATORS)}"
            )
        given = model.get_params(deep=False)
        parameters: dict[str, Any] = {}
        left_out: dict[str, str] = {}
        for key in sorted(given):
            before = len(self.arrays)
            try:
                parameters[key] = self.value(given[key])
            except NotStorable as what:
                if key not in ONLY_FOR_FITTING:
                    raise ModelFileError(
                        f"the parameter {key} of {name} is {what}, which model files do not hold"
                    ) from None
                left_out[key] = str(what)
                for kept in (self.layouts, self.data, self.arrays):
                    del kept[before:]
        attributes = self._attributes(model, name, given, left_out)
        self.notes += [f"{key}={what} of {name}" for key, what in left_out.items()]
        return {
            "class": name,
            "parameters": parameters,
            **({"left_out": left_out} if left_out else {}),
            "attributes": attributes,
        }

    def _attributes(
        self, model: Any, name: str, given: dict[str, Any], left_out: dict[str, str]
    ) -> dict[str, Any]:
        made = vars(type(model)(**given))  # what its constructor sets is no result of a fit
        known = ESTIMATORS[name].attributes
        held: dict[str, Any] = {}
        for key in sorted(vars(model)):
            if key in made:
                continue
            value = vars(model)[key]
            if key in ONLY_FOR_FITTING:
                left_out[key] = _shown(value)
                continue
            if key not in known:
                raise ModelFileError(
                    f"{name} has the attribute {key}, which its fit does not set: model files hold "
                    "what a fit sets; delete it, and give save what else there is as extra"
                )
            same = [p for p, v in given.items() if v is value and _is_estimator(v)]
            try:
                held[key] = {"parameter": same[0]} if same else self.value(value)
            except NotStorable as what:
                raise ModelFileError(
                    f"the attribute {key} of {name} is {what}, which model files do not hold"
                ) from None
        return held

    def _sequence(self, value: Any) -> Any:
        if type(value) is tuple and value and all(map(_is_certificate, value)):
            return {"certificates": self._certificates(value)}
        if len(value) > LONG:
            kinds, tag = {type(one) for one in value}, type(value).__name__
            if kinds == {float}:
                return {tag: self.array(np.array(value, np.float64))}
            if kinds == {int} and -(2**63) <= min(value) <= max(value) < 2**63:
                return {tag: self.array(np.array(value, np.int64))}
        items = [self.value(one) for one in value]
        return items if type(value) is list else {"tuple": items}

    def _certificates(self, history: tuple[Any, ...]) -> list[Any]:
        reals = np.array([(c.value, c.bound, c.seconds, c.floor) for c in history], np.float64)
        wholes = np.array([(KINDS.index(c.kind), c.steps) for c in history], np.int64)
        held = [self.array(reals), self.array(wholes)]
        sure = all(c.confidence == 1.0 for c in history)
        if sure and all(c.residual is None and c.scale is None for c in history):
            return held
        more = [[-1.0 if x is None else x for x in (c.residual, c.scale)] for c in history]
        if not sure:
            more = [[*rest, c.confidence] for rest, c in zip(more, history, strict=True)]
        return [*held, self.array(np.array(more, np.float64))]

    def _key(self, key: Any) -> Any:
        if not is_label(key):
            raise NotStorable(f"a dict with the key {_shown(key)}")
        return self.value(key)

    def _array_like(self, value: NDArray[Any]) -> Any:
        if isinstance(value, np.ma.MaskedArray):
            raise NotStorable("a masked array")
        if value.dtype.kind != "O":
            if dtype_name(value.dtype) is None:
                raise NotStorable(f"an array of {value.dtype}")
            return self.array(np.asarray(value))
        items = value.ravel().tolist()
        shape = list(value.shape)
        if all(type(one) is str for one in items):
            characters = "".join(items).encode("utf-8", "surrogatepass")
            lengths = np.array([len(one) for one in items], np.int64)
            held = self.array(np.frombuffer(characters, np.uint8)), self.array(lengths)
            return {"texts": [shape, *held]}
        if items and all(type(one) is bytes for one in items):
            self.format = max(self.format, FORMATS[1])
            lengths = np.array([len(one) for one in items], np.int64)
            held = self.array(np.frombuffer(b"".join(items), np.uint8)), self.array(lengths)
            return {"bytestrings": [shape, *held]}
        if not all(map(is_label, items)):
            raise NotStorable("an array of objects that are neither texts nor numbers")
        return {"objects": [shape, [self.value(one) for one in items]]}

    def _random(self, value: np.random.RandomState) -> dict[str, Any]:
        state = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise NotStorable(f"a RandomState of {state['bit_generator']}")
        key, position = state["state"]["key"], int(state["state"]["pos"])
        rest = position, int(state["has_gauss"]), float(state["gauss"])
        return {"random": [self.array(key), *rest]}


def _whole(value: int) -> int:
    if not fits_64_bits(value):
        raise NotStorable("a whole number beyond 64 bits")
    return value


def _scalar(value: np.generic) -> dict[str, Any]:
    if isinstance(value, np.str_):
        return {"numpy": ["str", str(value)]}
    name = _name(value.dtype)
    plain = value.item()
    if isinstance(plain, float) and not math.isfinite(plain):
        plain = {"float": repr(plain)}
    return {"numpy": [name, plain]}


def _name(dtype: np.dtype[Any]) -> str:
    name = dtype_name(dtype)
    if name is None or name.startswith("<U"):
        raise NotStorable(f"of the type {dtype}")
    return name


def _shown(value: Any) -> str:
    """What it is, in at most a line, with no address in it: the same model, the same bytes."""
    words = described(value)
    text = reprlib.repr(value)
    if words.startswith("a ") and " at 0x" not in text and "\n" not in text:
        return text
    return words


def _is_certificate(value: Any) -> bool:
    return type(value) is class_of("Certificate")


def _is_frozen(value: Any) -> bool:
    from sklearn.frozen import FrozenEstimator

    return type(value) is FrozenEstimator


def _is_estimator(value: Any) -> bool:
    from sklearn.base import BaseEstimator

    return isinstance(value, BaseEstimator)
