"""From JSON values and arrays back to a model: nothing is made but what the closed lists name."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.errors import ModelFileError
from fenchel.app.modelfile.arrays import DIMENSIONS, NUMBERS, dtype_from
from fenchel.app.modelfile.estimators import ESTIMATORS, ONLY_FOR_FITTING, estimator_class
from fenchel.app.modelfile.manifest import FORMATS, fields
from fenchel.app.modelfile.validators import NamedLengths, described, is_label
from fenchel.app.modelfile.values import KINDS, class_of, stored

_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_PLAIN = {"b": bool, "i": int, "u": int, "f": float}


class Decoder:
    """Turns the values of a manifest into what they stand for; each array may be used once."""

    def __init__(self, arrays: tuple[NDArray[Any], ...]) -> None:
        self.arrays = arrays
        self.used: set[int] = set()
        self.format = FORMATS[0]  # the least that holds what was decoded

    def finish(self) -> None:
        """Refuses arrays that nothing refers to."""
        if len(self.used) < len(self.arrays):
            idle = min(set(range(len(self.arrays))) - self.used)
            raise ModelFileError(f"arrays/{idle}.bin belongs to nothing in the manifest")

    def check_format(self, told: int) -> None:
        """Refuses a file of another format than what it holds asks for."""
        if told != self.format:
            raise ModelFileError(f"it is of format {told}, and what it holds of {self.format}")

    def value(self, found: Any, where: str) -> Any:
        """What a JSON value stands for."""
        if type(found) is list:
            return [self.value(one, where) for one in found]
        if type(found) is not dict:
            return found
        if len(found) != 1:
            raise ModelFileError(f"{where} holds an object that is no value: it needs one tag")
        ((tag, content),) = found.items()
        match tag:
            case "float":
                if type(content) is not str or content not in _FLOATS:
                    raise ModelFileError(f"{where} holds a float that is neither inf nor nan")
                return _FLOATS[content]
            case "tuple" | "list":
                return self._sequence(tag, content, where)
            case "dict":
                return self._dict(content, where)
            case "array":
                return self.array(content, where)
            case "texts":
                return self._texts(content, where)
            case "bytestrings":
                return self._bytestrings(content, where)
            case "objects":
                return self._objects(content, where)
            case "numpy":
                return self._scalar(content, where)
            case "dtype":
                return _number_type(content, where)
            case "random":
                return self._random(content, where)
            case "certificates":
                return self._certificates(content, where)
            case "value":
                return self._value(content, where)
            case "estimator":
                return self.estimator(content, where)
            case "frozen":
                return self._frozen(content, where)
        raise ModelFileError(f"{where} holds a {tag[:40]!r}, which is not known")

    def estimator(self, found: Any, where: str) -> Any:
        """An estimator of the closed list, made by its own constructor, with what its fit found."""
        held = fields(found, where, ("class", "parameters", "attributes"), ("left_out",))
        name = held["class"]
        if type(name) is not str or name not in ESTIMATORS:
            raise ModelFileError(
                f"{where} is a {str(name)[:60]!r}, not an estimator of this library"
            )
        cls = estimator_class(name)
        known, left = tuple(cls._get_param_names()), held.get("left_out", {})
        given = fields(held["parameters"], f"the parameters of {name}", (), known)
        left = fields(left, f"what {name} leaves out", (), ONLY_FOR_FITTING)
        if any(type(text) is not str for text in left.values()) or set(left) & set(given):
            raise ModelFileError(f"what {name} leaves out is not listed in words")
        parameters = {key: self.value(v, f"{name}'s {key}") for key, v in given.items()}
        try:
            model = cls(**parameters)
            model._validate_params()
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{name} does not take its parameters: {_line(error)}") from None
        vars(model).update(self._attributes(model, name, held["attributes"]))
        return model

    def _attributes(self, model: Any, name: str, found: Any) -> dict[str, Any]:
        """The fitted attributes, each known and all in agreement; none, or all that are needed."""
        kind = ESTIMATORS[name]
        held = fields(found, f"the attributes of {name}", (), tuple(kind.attributes))
        if not held:
            return {}
        missing = [key for key in kind.needed_by(model) if key not in held]
        if missing:
            raise ModelFileError(f"{name} lacks its attribute {missing[0]}")
        sizes, values = NamedLengths(), {}
        for key, check in kind.attributes.items():
            if key not in held:
                continue
            values[key] = value = self._attribute(model, held[key], f"{name}'s {key}")
            if not check.test(value, sizes):
                lengths = ", ".join(f"{side} = {n}" for side, n in sizes.items())
                told = f" with {lengths}" if lengths else ""
                raise ModelFileError(
                    f"{name}'s {key} is {described(value)}, and should be {check.words}{told}"
                )
        return values

    def _attribute(self, model: Any, found: Any, where: str) -> Any:
        if type(found) is dict and list(found) == ["parameter"]:
            parameters = model.get_params(deep=False)
            if type(found["parameter"]) is not str or found["parameter"] not in parameters:
                raise ModelFileError(
                    f"{where} is named as a parameter, and the estimator has none of that name"
                )
            return parameters[found["parameter"]]
        return self.value(found, where)

    def array(self, number: Any, where: str) -> NDArray[Any]:
        """The array of this number, once."""
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise ModelFileError(f"{where} refers to an array that the file does not have")
        if number in self.used:
            raise ModelFileError(f"{where} refers to arrays/{number}.bin, which is used already")
        self.used.add(number)
        return self.arrays[number]

    def _referred(self, found: Any, where: str, kinds: str, dimensions: int) -> NDArray[Any]:
        """The array that {"array": number} refers to."""
        array = self.array(fields(found, where, ("array",))["array"], where)
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise ModelFileError(f"{where} refers to an array of another kind: {described(array)}")
        return array

    def _sequence(self, tag: str, content: Any, where: str) -> Any:
        make = tuple if tag == "tuple" else list
        if type(content) is dict:
            return make(self._referred(content, where, "if", 1).tolist())
        if type(content) is not list or tag == "list":
            raise ModelFileError(f"{where} holds a {tag} without items")
        return make(self.value(one, where) for one in content)

    def _dict(self, content: Any, where: str) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for one in _list(content, where):
            key, value = _list(one, where, 2)
            key = self.value(key, where)
            if not is_label(key):
                raise ModelFileError(f"{where} holds a dict with a {type(key).__name__} for a key")
            if key in made:
                raise ModelFileError(f"{where} holds a dict with the key {key!r} twice")
            made[key] = self.value(value, where)
        return made

    def _texts(self, content: Any, where: str) -> NDArray[Any]:
        shape, characters, lengths = self._joined(content, where)
        try:
            joined = characters.decode("utf-8", "surrogatepass")
        except ValueError:
            raise ModelFileError(f"{where} holds texts that are not UTF-8") from None
        return _object_array(_parts(joined, lengths, where), shape, where)

    def _bytestrings(self, content: Any, where: str) -> NDArray[Any]:
        shape, joined, lengths = self._joined(content, where)
        self.format = max(self.format, FORMATS[1])
        return _object_array(_parts(joined, lengths, where), shape, where)

    def _joined(self, content: Any, where: str) -> tuple[Any, bytes, list[int]]:
        """The shape of an array of texts or bytes, its entries one after the other, and their
        lengths."""
        shape, *references = _list(content, where, 3)
        characters, lengths = (self._referred(one, where, "iu", 1) for one in references)
        if characters.dtype != np.uint8 or lengths.dtype != np.int64 or (lengths < 0).any():
            raise ModelFileError(f"{where} holds texts without bytes and lengths")
        return shape, characters.tobytes(), lengths.tolist()

    def _objects(self, content: Any, where: str) -> NDArray[Any]:
        shape, items = _list(content, where, 2)
        values = [self.value(one, where) for one in _list(items, where)]
        if not all(map(is_label, values)):
            raise ModelFileError(f"{where} holds labels that are neither texts nor numbers")
        return _object_array(values, shape, where)

    def _scalar(self, content: Any, where: str) -> Any:
        name, found = _list(content, where, 2)
        plain = self.value(found, where)
        if name == "str":
            if type(plain) is not str:
                raise ModelFileError(f"{where} holds a numpy text that is not a text")
            return np.str_(plain)
        dtype = _number_type(name, where)
        if type(plain) is not _PLAIN[dtype.kind]:
            raise ModelFileError(f"{where} holds {described(plain)}, which is no {dtype}")
        try:
            with np.errstate(all="ignore"):
                made = dtype.type(plain)
        except (OverflowError, ValueError):
            raise ModelFileError(f"{where} holds {plain!r}, which {dtype} cannot hold") from None
        if made.item() != plain and plain == plain:
            raise ModelFileError(f"{where} holds {plain!r}, which {dtype} cannot hold")
        return made

    def _random(self, content: Any, where: str) -> np.random.RandomState:
        reference, position, has, gauss = _list(content, where, 4)
        key = self._referred(reference, where, "u", 1)
        whole = type(position) is int and 0 <= position <= 624 and type(has) is int
        if key.dtype != np.uint32 or key.shape != (624,) or not whole or has not in (0, 1):
            raise ModelFileError(f"{where} holds no state of random numbers")
        if type(gauss) is not float:
            raise ModelFileError(f"{where} holds no state of random numbers")
        made = np.random.RandomState()
        made.set_state(("MT19937", key, position, has, gauss))
        return made

    def _certificates(self, content: Any, where: str) -> tuple[Any, ...]:
        long = type(content) is list and len(content) == 3
        references = _list(content, where, 3 if long else 2)
        reals = self._referred(references[0], where, "f", 2)
        wholes = self._referred(references[1], where, "i", 2)
        more = np.full((len(reals), 2), -1.0)  # residual and scale, where any has one
        if long:
            more = self._referred(references[2], where, "f", 2)
        sure = np.ones(len(more))  # confidence, where any is not sure
        if more.shape[1:] == (3,):
            more, sure = more[:, :2], more[:, 2]
        if reals.shape[1:] != (4,) or not wholes.shape == more.shape == (len(reals), 2):
            raise ModelFileError(f"{where} holds a history whose lengths do not agree")
        if len(wholes) and not (
            0 <= wholes[:, 0].min() <= wholes[:, 0].max() < len(KINDS) and wholes[:, 1].min() >= 0
        ):
            raise ModelFileError(f"{where} holds a history of kinds that are not known")
        make = class_of("Certificate")
        return tuple(
            make(value, bound, KINDS[kind], steps, seconds, floor, *map(_given, rest), confidence)
            for (value, bound, seconds, floor), (kind, steps), rest, confidence in zip(
                reals.tolist(), wholes.tolist(), more.tolist(), sure.tolist(), strict=True
            )
        )

    def _value(self, content: Any, where: str) -> Any:
        held = fields(content, where, ("class", "fields"))
        name = held["class"]
        entry = stored(name) if type(name) is str else None
        if entry is None:
            raise ModelFileError(f"{where} holds a {str(name)[:60]!r}, which is not known")
        sizes = NamedLengths()
        asked = tuple(key for key in entry.fields if key not in entry.added)
        given = fields(held["fields"], f"{where} ({name})", asked, tuple(entry.added))
        values = {key: self.value(one, f"{where} ({name})") for key, one in given.items()}
        values = {key: values.get(key, entry.added.get(key)) for key in entry.fields}
        for key, check in entry.fields.items():
            if not check.test(values[key], sizes):
                raise ModelFileError(
                    f"{where}: {key} of {name} is {described(values[key])}, and should be "
                    f"{check.words}"
                )
        try:
            return entry.make(class_of(name), values)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{where} is no {name}: {_line(error)}") from None

    def _frozen(self, content: Any, where: str) -> Any:
        from sklearn.frozen import FrozenEstimator

        inner = fields(content, where, ("estimator",))["estimator"]
        return FrozenEstimator(self.estimator(inner, where))


def _number_type(name: Any, where: str) -> np.dtype[Any]:
    if name not in NUMBERS:
        raise ModelFileError(f"{where} has a type that is not numeric")
    return dtype_from(name, where).newbyteorder("=")


def _list(found: Any, where: str, length: int | None = None) -> list[Any]:
    if type(found) is not list or length not in (None, len(found)):
        count = "" if length is None else f" of {length}"
        raise ModelFileError(f"{where} lacks a list{count}")
    return found


def _object_array(items: list[Any], shape: Any, where: str) -> NDArray[Any]:
    sides = _list(shape, where)
    right = len(sides) <= DIMENSIONS and all(type(n) is int and 0 <= n < 2**40 for n in sides)
    if not right or math.prod(sides) != len(items):
        raise ModelFileError(f"{where} holds labels whose shape does not agree")
    made = np.empty(len(items), dtype=object)
    made[:] = items
    return made.reshape(sides)


def _parts(joined: Any, lengths: list[int], where: str) -> list[Any]:
    """A text or bytes cut into parts of these lengths."""
    ends = list(accumulate(lengths, initial=0))
    if ends[-1] != len(joined):
        raise ModelFileError(f"{where} holds texts whose lengths do not agree")
    return [joined[a:b] for a, b in pairwise(ends)]


def _given(number: float) -> float | None:
    """None for a negative number, which stands for none in a history."""
    return None if number < 0.0 else number


def _line(error: Exception) -> str:
    """The error in one line of bounded length."""
    return " ".join(str(error).split())[:200]
