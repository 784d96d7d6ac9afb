"""The closed list of our values that a model may hold: losses, penalties, certificates, states."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from fenchel.app.modelfile.validators import (
    Check,
    any_array,
    array_of,
    count,
    dictionary,
    finite,
    finite_number,
    flag,
    floats,
    nothing,
    number,
    of_class,
    one_of,
    pair,
    text,
    tuple_of,
    whole,
)

# Numbered in files: a new kind goes to the end.
KINDS = ("duality", "sdp", "spectral", "eigen", "stationary", "exact", "estimate")


def _attributes(value: Any, names: Mapping[str, Check]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _construct(cls: Any, fields: dict[str, Any]) -> Any:
    return cls(**fields)


def _take_threshold(value: Any, names: Mapping[str, Check]) -> dict[str, Any]:
    rest = {name: getattr(value, name) for name in names if name != "value"}
    return {"value": float(value), **rest}


def _make_threshold(cls: Any, fields: dict[str, Any]) -> Any:
    value = fields.pop("value")
    return cls(float(value), **fields)


def _make_walk(cls: Any, fields: dict[str, Any]) -> Any:
    walk = cls(fields["W"], fields["b"], fields["average"])
    shapes = {name: getattr(walk, name).shape for name in ("U", "c")}
    if any(fields[name].shape != shape for name, shape in shapes.items()):
        raise ValueError("sums and planes differ in shape")
    for name, value in fields.items():  # the constructor begins the sums anew
        setattr(walk, name, value)
    return walk


def _make_tree(cls: Any, fields: dict[str, Any]) -> Any:
    divided, nodes = fields["divided"], len(fields["centers"])
    steps = np.arange(len(divided))
    # Each step divides a node that there is by then, and none twice.
    if nodes != 2 * len(divided) + 1 or len(np.unique(divided)) < len(divided):
        raise ValueError("nodes and divisions do not agree")
    if ((divided < 0) | (divided > 2 * steps)).any():
        raise ValueError("a division of a node that is not there yet")
    return cls(**fields)


def _make_lists(cls: Any, fields: dict[str, Any]) -> Any:
    n = len(fields["radii"])
    for ends in (fields["numbers"], fields["bridges"]):
        if ((ends < -1) | (ends >= n)).any():
            raise ValueError("a neighbour that is not among the rows")
    return cls(**fields)


def _take_votes(value: Any, names: Mapping[str, Check]) -> dict[str, Any]:
    """The planes in one piece: there may be thousands of pieces."""
    d = len(value.plane)
    planes = np.concatenate([np.zeros((0, d)), *value.planes])
    counts = np.concatenate([np.zeros(0), *value.counts])
    return {"plane": value.plane, "planes": planes, "counts": counts, "state": value.state}


def _make_votes(cls: Any, fields: dict[str, Any]) -> Any:
    planes, counts = fields["planes"], fields["counts"]
    kept = ([planes], [counts]) if len(counts) else ([], [])
    return cls(fields["plane"], *kept, fields["state"])


def _take_dense(value: Any, names: Mapping[str, Check]) -> dict[str, Any]:
    return {"dense": np.asarray(value.toarray())}


def _take_tensor(value: Any, names: Mapping[str, Check]) -> dict[str, Any]:
    return {"dense": value.detach().cpu().numpy()}


def _make_dense(cls: Any, fields: dict[str, Any]) -> Any:
    return fields["dense"][()]  # a scalar where there are no axes


@dataclass(frozen=True, slots=True)
class StoredValue:
    """Where a class lives, what its fields are, how they are taken and put together.

    added: fields of a later version and their defaults, which older files do not have, and which
    are written only where they differ from those.
    """

    home: str
    fields: Mapping[str, Check]
    take: Callable[[Any, Mapping[str, Check]], dict[str, Any]] = _attributes
    make: Callable[[Any, dict[str, Any]], Any] = _construct
    added: Mapping[str, Any] = field(default_factory=dict)


_STATE = "fenchel.solve.online.averaging"
_KERNEL, _METRIC = "fenchel.geometry.kernel.vector_kernels", "fenchel.geometry.search.metric"
_CENTRED = "fenchel.models.spectral.centred."
_AFFINITY = "fenchel.models.manifold.affinity."
_STRINGS = "fenchel.geometry.strings."
KERNELS = (
    *("Linear", "Polynomial", "Gaussian", "Laplacian", "Matern", "Cosine", "Sigmoid"),
    *("Spectrum", "Mismatch", "Subsequence", "EditDistance"),
)
_kernel = of_class(*KERNELS, "Sum", "Product", "Scaled")
_outside = of_class(*KERNELS, "Sum", "Product", "Scaled", "GivenColumns")
_metric = of_class("NamedMetric", "Haversine", "GivenDistances")
_points = array_of("i", "m") | finite("m", "d")
_centring: dict[str, Check] = {
    "share": finite("m"),
    "means": finite("m"),
    "grand": finite_number,
    "weight": nothing | finite("m"),
    "exponent": whole,
}
_both = {"first": _kernel, "second": _kernel}
_planes: dict[str, Check] = {
    "W": finite("k", "d"),
    "b": finite("k"),
    "average": flag,
    "looks": number,
    "U": any_array("f"),
    "c": any_array("f"),
}

# Fitted arrays that are not numpy's come back as numpy's: a file needs no other library.
_dense = {"dense": any_array("iufb")}

# All but losses and penalties.
_VALUES: dict[str, StoredValue] = {
    "csr_matrix": StoredValue("scipy.sparse", _dense, _take_dense, _make_dense),
    "csr_array": StoredValue("scipy.sparse", _dense, _take_dense, _make_dense),
    "Tensor": StoredValue("torch", _dense, _take_tensor, _make_dense),
    "Linear": StoredValue(_KERNEL, {}),
    "Polynomial": StoredValue(_KERNEL, {"degree": count, "gamma": number, "coef0": number}),
    "Gaussian": StoredValue(_KERNEL, {"gamma": number}),
    "Laplacian": StoredValue(_KERNEL, {"gamma": number}),
    "Matern": StoredValue(_KERNEL, {"nu": number, "length_scale": number}),
    "Cosine": StoredValue(_KERNEL, {}),
    "Sigmoid": StoredValue(_KERNEL, {"gamma": number, "coef0": number}),
    "Spectrum": StoredValue(_STRINGS + "spectrum", {"k": count, "normalised": flag}),
    "Mismatch": StoredValue(
        _STRINGS + "mismatch",
        {"k": count, "m": count, "alphabet": text | nothing, "normalised": flag},
    ),
    "Subsequence": StoredValue(
        _STRINGS + "subsequence", {"k": count, "decay": number, "normalised": flag}
    ),
    "EditDistance": StoredValue(_STRINGS + "edit_distance", {"gamma": number, "normalised": flag}),
    "Sum": StoredValue(_KERNEL, _both),
    "Product": StoredValue(_KERNEL, _both),
    "Scaled": StoredValue(_KERNEL, {"factor": number, "kernel": _kernel}),
    "GivenColumns": StoredValue("fenchel.geometry.kernel.named_kernel", {}),
    "BarycentricMemory": StoredValue(
        "fenchel.models.manifold.barycentric",
        {"rows": finite("vertices", "d"), "n_neighbors": count, "reg": finite_number},
    ),
    "KernelAffinities": StoredValue(
        _AFFINITY + "by_kernel",
        {
            "kernel": _kernel,
            "rows": finite("vertices", "d") | of_class("csr_array"),
            "mass": finite("vertices"),
            "own": finite("vertices"),
            "keys": array_of("i", "vertices"),
        },
    ),
    "NeighbourLists": StoredValue(
        _AFFINITY + "by_neighbours",
        {
            "numbers": array_of("i", "vertices", None),
            "radii": finite("vertices"),
            "bridges": array_of("i", None, 2),
        },
        make=_make_lists,
    ),
    "NeighbourAffinities": StoredValue(
        _AFFINITY + "by_neighbours",
        {
            "rows": finite("vertices", "d"),
            "mass": finite("vertices"),
            "lists": of_class("NeighbourLists"),
            "n_neighbors": count,
        },
    ),
    "NeighboursByDistances": StoredValue(
        _AFFINITY + "by_neighbours",
        {
            "columns": array_of("i", "vertices"),
            "keys": array_of("i", "vertices"),
            "mass": finite("vertices"),
            "lists": of_class("NeighbourLists"),
            "n_neighbors": count,
        },
    ),
    "GivenAffinities": StoredValue(
        _AFFINITY + "given",
        {
            "columns": array_of("i", "vertices"),
            "keys": array_of("i", "vertices"),
            "mass": finite("vertices"),
            "own": finite("vertices"),
        },
    ),
    "NearestCentre": StoredValue(
        "fenchel.models.cluster.spectral.rounding", {"centers": finite("k", "p")}
    ),
    "NearestAxis": StoredValue(
        "fenchel.models.cluster.spectral.rounding", {"rotation": finite("p", "k"), "either": flag}
    ),
    "Neighbourhoods": StoredValue(
        "fenchel.geometry.graph.geodesics",
        {
            "points": array_of("i", "vertices") | finite("vertices", "d"),
            "metric": nothing | _metric,
            "n_neighbors": nothing | count,
            "radius": nothing | number,
        },
    ),
    "Geodesics": StoredValue(
        "fenchel.geometry.graph.geodesics",
        {"near": of_class("Neighbourhoods"), "lengths": finite("vertices", "m")},
    ),
    "NamedMetric": StoredValue(_METRIC, {"name": text, "parameters": dictionary}),
    "Haversine": StoredValue(_METRIC, {}),
    "GivenDistances": StoredValue(_METRIC, {}),
    "ShiftedRows": StoredValue(_CENTRED + "distances", {"mean": finite("d"), "exponent": whole}),
    "CentredKernel": StoredValue(
        _CENTRED + "kernels",
        {
            "kernel": _outside,
            "points": _points,
            **_centring,
        },
    ),
    "NystroemFeatures": StoredValue(
        "fenchel.geometry.kernel.nystroem",
        {"kernel": _outside, "points": _points, "basis": finite("m", "rank")},
    ),
    "LinearFeatures": StoredValue(
        _CENTRED + "kernels", {"shift": of_class("ShiftedRows"), "points": finite("rows", "d")}
    ),
    "LandmarkFeatures": StoredValue(
        _CENTRED + "kernels",
        {"features": of_class("NystroemFeatures"), "mean": finite("rank"), "exponent": whole},
    ),
    "CentredDistances": StoredValue(
        _CENTRED + "distances",
        {
            "metric": _metric | of_class("Geodesics"),
            "points": _points,
            **_centring,
            "squared": flag,
        },
    ),
    "Certificate": StoredValue(
        "fenchel.convex.certificate",
        {
            "value": number,
            "bound": number,
            "kind": one_of(*KINDS),
            "steps": count,
            "seconds": number,
            "floor": number,
            "residual": number | nothing,
            "scale": number | nothing,
            "confidence": number,
        },
        added={"residual": None, "scale": None, "confidence": 1.0},
    ),
    "BisectionTree": StoredValue(
        "fenchel.models.cluster.bisection_tree",
        {
            "centers": finite("nodes", "d"),
            "divided": array_of("i", None),
            "inertia": floats("nodes"),
            "mass": finite("nodes"),
        },
        make=_make_tree,
    ),
    "Separation": StoredValue(
        "fenchel.models.linear.separation",
        {
            "direction": pair(floats("d") | floats("d", "k"), number | floats("k")),
            "margin": number,
            "touching": count,
            "columns": tuple_of(count),
        },
    ),
    "Combination": StoredValue(
        "fenchel.solve.separation.hard_margin",
        {
            "rows": array_of("i", "m"),
            "coefficients": floats("m"),
            "residual": number,
            "exact": flag,
        },
    ),
    "Threshold": StoredValue(
        "fenchel.score.decision.threshold",
        {
            "value": number,
            "k": count,
            "n": count,
            "alpha": number,
            "delta": number,
            "violation": number,
        },
        _take_threshold,
        _make_threshold,
    ),
    "Perceptrons": StoredValue(_STATE, {**_planes, "mistakes": floats("k")}, make=_make_walk),
    "PenalisedPerceptrons": StoredValue(
        _STATE,
        {
            **_planes,
            "mistakes": floats("k"),
            "ridge": number,
            "lasso": number,
            "paid": any_array("f"),
        },
        make=_make_walk,
    ),
    "Adalines": StoredValue(_STATE, _planes, make=_make_walk),
    "Votes": StoredValue(
        _STATE,
        {
            "plane": finite("p"),
            "planes": finite("m", "p"),
            "counts": floats("m"),
            "state": floats(2),
        },
        _take_votes,
        _make_votes,
    ),
}


# Checks of a parameter of a loss or a penalty by its annotation.
_PARAMETER = {"float": number, "int": count, "bool": flag}


@cache
def _losses_and_penalties() -> dict[str, StoredValue]:
    """Every loss and penalty of `convex` with its parameters, read off the dataclasses."""
    from fenchel.convex.catalogue import losses, penalties  # scipy: not to inspect a file

    return {
        name: StoredValue(cls.__module__, {f.name: _PARAMETER[str(f.type)] for f in fields(cls)})
        for name, cls in {**losses(), **penalties()}.items()
    }


def stored(name: str) -> StoredValue | None:
    """How values of a class are stored; None for a class that no file may hold."""
    return _VALUES.get(name) or _losses_and_penalties().get(name)


def stored_names() -> list[str]:
    """The classes that a file may hold."""
    return [*_VALUES, *_losses_and_penalties()]


def class_of(name: str) -> Any:
    """The class that a name of the list stands for."""
    if name == "Tensor":  # one that is met was made by torch, one that is read needs no torch
        return sys.modules["torch"].Tensor if "torch" in sys.modules else None
    entry = stored(name)
    return None if entry is None else getattr(import_module(entry.home), name)
