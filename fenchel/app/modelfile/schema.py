"""What a model file says of an estimator: its home, and a check for each fitted attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.app.modelfile.validators import (
    STRINGS,
    Check,
    NamedLengths,
    any_array,
    array_of,
    flag,
    number,
    of_class,
    rows,
    size_of,
    text,
    texts,
    tuple_of,
)
from fenchel.app.modelfile.values import KERNELS


@dataclass(frozen=True, slots=True)
class Kind:
    """Where an estimator lives, its fitted attributes, and those without which it cannot predict.

    with_kernel: of one that is linear without a kernel, what it needs in their place with one.
    definition: what the number of its certificate is called where it is a definition, as its class
    says too, which to tell of a file is not imported.
    The checks run in their order, and the first of them set the lengths that others must have.
    """

    home: str
    attributes: Mapping[str, Check]
    needed: tuple[str, ...] = ("n_features_in_", "coef_", "intercept_")
    with_kernel: tuple[str, ...] = ()
    definition: str = ""

    def needed_by(self, model: Any) -> tuple[str, ...]:
        """The attributes without which this model cannot predict."""
        expands = bool(self.with_kernel) and model.kernel is not None
        return self.with_kernel if expands else self.needed


def _labels(value: Any, sizes: NamedLengths) -> bool:
    """Distinct classes: K of them, and planes, one for two classes and K for more."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
        return False
    K = len(value)
    distinct = len(set(value.tolist())) == K and value.dtype.kind in "biufUO"
    return distinct and sizes.agree("K", K) and sizes.agree("planes", 1 if K == 2 else K)


def _kernel(value: Any, sizes: NamedLengths) -> bool:
    """A kernel of this library, whose rows are of the kind that the model's are."""
    known = type(value).__name__ in (*KERNELS, "Sum", "Product", "Scaled", "GivenColumns")
    return known and sizes.agree(STRINGS, int(value.of_strings))


KERNEL = Check("a kernel of such rows", _kernel)
AMOUNT = number | any_array("iuf")  # of one target or class, or one for each
ROWS: dict[str, Check] = {
    "n_features_in_": size_of("d"),
    "feature_names_in_": texts("d"),
}
PROOF: dict[str, Check] = {
    "certificate_": of_class("Certificate"),
    "converged_": flag,
    "history_": tuple_of(of_class("Certificate")),
}
# A kernel expansion over the rows of its fit, or over landmarks among them.
EXPANSION: dict[str, Check] = {
    "kernel_": KERNEL,
    "X_fit_": rows("n", "d"),
    "storage_": text,
    "landmarks_": array_of("i", "n"),
    "full_certificate_": of_class("Certificate"),
}
# What keeps a graph of affinities for new rows.
AFFINITIES = of_class(
    "KernelAffinities", "NeighbourAffinities", "NeighboursByDistances", "GivenAffinities"
)
CLASSES: dict[str, Check] = {
    **ROWS,
    "classes_": Check("an array of two or more distinct labels", _labels),
}
