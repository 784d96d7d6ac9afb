"""The content of a model file, read without making the model: no estimator is imported."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from fenchel.app.modelfile.container import Container
from fenchel.app.modelfile.decode import Decoder
from fenchel.app.modelfile.estimators import ESTIMATORS
from fenchel.app.modelfile.manifest import fields, named
from fenchel.app.modelfile.read import verified

SHOWN = 50  # entries of an array that are shown


def inspect_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Everything a model file tells, in texts, numbers, lists and dicts, its bytes verified.

    Short arrays are told with their entries, all of them by type, shape and SHA-256.
    """
    return verified(path, _told)


def _told(held: Container) -> dict[str, Any]:
    manifest, plain = held.manifest, PlainValues(held)
    model = plain.estimator(manifest["estimator"])
    attributes = model["attributes"]
    proof, kind = attributes.get("certificate_"), ESTIMATORS.get(model["class"])
    if proof is not None and kind is not None and kind.definition:
        stored = held.manifest["estimator"]["attributes"]["certificate_"]
        proof["words"] = plain.decoder.value(stored, "a certificate").words(kind.definition)
    encoder = None
    if "encoder" in manifest:
        found = fields(manifest["encoder"], "the encoder", ("state", "arrays"))
        arrays = named(found["arrays"], "the encoder's arrays")
        told = {name: plain.value(value) for name, value in arrays.items()}
        encoder = {"state": found["state"], "arrays": told}
    plain.decoder.finish()
    plain.decoder.check_format(manifest["format"])
    return {
        "format": manifest["format"],
        "sha256": held.sha256,
        "versions": manifest["versions"],
        "estimator": model["class"],
        "parameters": model["parameters"],
        "left_out": model["left_out"],
        "columns": {
            "count": attributes.get("n_features_in_"),
            "names": attributes.get("feature_names_in_"),
        },
        "classes": _labels(held),
        "certificate": attributes.get("certificate_"),
        "attributes": attributes,
        "task": manifest.get("task"),
        "encoder": encoder,
        "extra": manifest.get("extra"),
        "bytes": sum(layout.size for layout in held.layouts),
    }


def _labels(held: Container) -> list[Any] | None:
    """All classes, however many there are."""
    found = held.manifest["estimator"]["attributes"].get("classes_")
    labels = _shown(Decoder(held.arrays).value(found, "classes_"))
    return None if labels is None else list(labels)


class PlainValues:
    """Tells the values of a manifest; what is tagged as a number, array or text is decoded."""

    def __init__(self, held: Container) -> None:
        self.held = held
        self.decoder = Decoder(held.arrays)

    def value(self, found: Any) -> Any:
        """A value in JSON's own types; numbers that are not finite are texts."""
        if type(found) is list:
            return [self.value(one) for one in found]
        if type(found) is not dict or len(found) != 1:
            return _shown(self.decoder.value(found, "a value"))
        ((tag, content),) = found.items()
        match tag:
            case "estimator":
                return self.estimator(content)
            case "frozen":
                return {"frozen": self.value(content)}
            case "parameter":
                return {"parameter": str(content)}
            case "random":
                self.decoder.value(found, "a random state")
                return "RandomState"
            case "value":
                return self._value(found, content)
            case "tuple" if type(content) is list:
                return self.value(content)
            case "dict" if type(content) is list:
                pairs = [[self.value(side) for side in pair] for pair in content]
                texts = all(len(pair) == 2 and type(pair[0]) is str for pair in pairs)
                return dict(pairs) if texts else pairs
            case "array":
                array = self.decoder.array(content, "a value")
                told = self.held.layouts[content].to_json()
                return told | ({"values": _shown(array.tolist())} if array.size <= SHOWN else {})
            case "certificates":
                history = self.decoder.value(found, "a history")
                last = {"last": certificate(history[-1])} if history else {}
                return {"certificates": len(history), **last}
        return _shown(self.decoder.value(found, "a value"))

    def estimator(self, found: Any) -> dict[str, Any]:
        """Class, parameters and attributes of an estimator that is not made."""
        held = fields(found, "the model", ("class", "parameters", "attributes"), ("left_out",))
        told: dict[str, Any] = {"class": str(held["class"]), "left_out": held.get("left_out", {})}
        for part in ("parameters", "attributes"):
            inside = named(held[part], f"the model's {part}")
            told[part] = {name: self.value(v) for name, v in inside.items()}
        return told

    def _value(self, found: Any, content: Any) -> Any:
        held = fields(content, "a value", ("class", "fields"))
        if held["class"] == "Certificate":
            return certificate(self.decoder.value(found, "a certificate"))
        return {
            "class": str(held["class"]),
            **{name: self.value(v) for name, v in named(held["fields"], "a value").items()},
        }


def certificate(proof: Any) -> dict[str, Any]:
    """A certificate's numbers, and what they say in words."""
    names = ("value", "bound", "kind", "gap", "relative_gap", "steps", "seconds", "floor")
    told = {name: _shown(getattr(proof, name)) for name in names}
    more = {name: getattr(proof, name) for name in ("residual", "scale")}
    told |= {name: _shown(value) for name, value in more.items() if value is not None}
    told |= {"confidence": _shown(proof.confidence)} if proof.confidence < 1.0 else {}
    return {**told, "words": str(proof)}


def _shown(value: Any) -> Any:
    """A decoded value in JSON's own types."""
    if isinstance(value, np.ndarray | np.generic):
        return _shown(value.tolist())
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, list | tuple):
        return [_shown(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value
