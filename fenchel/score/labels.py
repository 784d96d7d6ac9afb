"""Which rows are positive: labels, scores and weights, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.data.parallel import parallel_map, row_slices
from fenchel.data.validation import check_weight


@dataclass(frozen=True, slots=True)
class LabelledScores:
    """Rows of two classes with a score each; the order of the scores is all that matters."""

    positive: NDArray[np.bool_]
    score: NDArray[np.float64]
    weight: NDArray[np.float64] | None


def marked(
    y: Any,
    score: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
    *,
    one_class: bool = False,
) -> LabelledScores:
    """Labels and scores as arrays; infinite scores are fine, NaN is an error that names the row.

    The positive class is `pos_label`, or else the greater of the two labels. Rows without weight
    are left out. With `one_class`, rows of a single class pass, and none: a part of a table. Then a
    pos_label left out is 1, and labels other than 0 and 1, or -1 and 1, ask for it.
    """
    labels = column(y, "y")
    values = _scores(score, labels.shape[0])
    weight = None
    if sample_weight is not None and labels.size:
        weight = column(sample_weight, "sample_weight")
        if one_class and weight.dtype.kind in "biuf" and not weight.any():
            labels, values, weight = labels[:0], values[:0], weight[:0]
    if weight is not None and weight.size:
        weight = check_weight(weight, labels.shape[0])
        if not 1e-100 < weight.max() < 1e100:  # an interval takes squares, and a curve adds them up
            raise ValueError(
                f"sample_weight is at most {weight.max():g}, and its squares cannot be added up: "
                "divide all weights by one number"
            )
        if not weight.all():
            kept = weight > 0.0
            labels, values, weight = labels[kept], values[kept], weight[kept]
    if not labels.size:
        if one_class:
            return LabelledScores(np.zeros(0, dtype=bool), values, weight)
        raise ValueError("y is empty: there is no row to score")
    positive = _positive(labels, pos_label, one_class)
    return LabelledScores(positive, values, weight)


def column(values: Any, what: str) -> NDArray[Any]:
    """One column of values on the host; a matrix with one column is one too."""
    try:
        array = np.asarray(to_numpy(values))
    except ValueError:  # rows of different lengths
        raise ValueError(f"{what} must be one column of values, got {type(values)}") from None
    if isinstance(values, np.ma.MaskedArray) and (hidden := np.ma.getmaskarray(values)).any():
        raise ValueError(f"{what} is masked in row {int(hidden.argmax())}: drop the row")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} must be one column of values, got shape {array.shape}")
    return array


def _scores(score: Any, n: int) -> NDArray[np.float64]:
    values = _one_column(score)
    if values.dtype.kind == "O" and (missing := missing_of(values)).any():
        row = int(missing.argmax())
        raise ValueError(f"score is {values[row]!r} in row {row}: drop the row or score it")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"scores must be numbers, got an array of {values.dtype}")
    if values.shape[0] != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: y has {n} rows and the "
            f"scores have {values.shape[0]}: give one each"
        )
    exact, values = values, values.astype(np.float64, copy=False)
    if exact.dtype.kind in "iu" and exact.dtype.itemsize == 8:
        far = np.flatnonzero(np.abs(values) > 2.0**53)
        lost = [row for row in far if int(values[row]) != int(exact[row])]
        if lost:
            raise ValueError(
                f"score {exact[lost[0]]} in row {lost[0]} is not a float64, and others near it "
                "would tie with it: give ranks instead (scipy.stats.rankdata)"
            )
    # One sum finds a NaN, and opposite infinities; the rest of the work is for those tables alone.
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = np.isnan(
            sum(parallel_map(lambda part: values[part].sum(), row_slices(len(values))))
        )
    if suspicious and (bad := np.isnan(values)).any():
        raise ValueError(
            f"score is NaN in row {int(bad.argmax())}: a row without a score has no rank; "
            "drop it or score it"
        )
    return values


def _one_column(score: Any) -> NDArray[Any]:
    shape = np.shape(score) if isinstance(score, np.ndarray) else ()
    if len(shape) == 2 and shape[1] > 1:
        remedy = (
            "of two classes take the column of the positive one, [:, 1]"
            if shape[1] == 2
            else "this is a number of two classes, so compare one class with the rest"
        )
        raise ValueError(f"score must be one column of values, got shape {shape}: {remedy}")
    return column(score, "score")


def _positive(labels: NDArray[Any], pos_label: Any, one_class: bool) -> NDArray[np.bool_]:
    parts = row_slices(len(labels))
    if labels.dtype.kind in "fO" and (bad := missing_of(labels)).any():
        row = int(bad.argmax())
        what = "NaN" if isinstance(labels[row], float) else repr(labels[row])
        raise ValueError(f"y is {what} in row {row}: a row without a label has no class; drop it")
    if np.ndim(pos_label):
        raise ValueError(f"pos_label must be one label, got {pos_label!r}")
    if labels.dtype == np.bool_:
        low, high = bool(labels.min()), bool(labels.max())
        if low != high and pos_label is None:
            return labels
    elif labels.dtype.kind in "iuf":
        ends = parallel_map(lambda part: (labels[part].min(), labels[part].max()), parts)
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
    else:
        low, high = _ends(labels)
    if low == high and not one_class:
        raise ValueError(
            f"y has one class only, {_plain(low)!r}: a curve needs rows of both classes"
        )
    other = np.empty(labels.shape, bool)

    def mark(part: slice) -> bool:
        other[part] = labels[part] == high
        return bool((other[part] | (labels[part] == low)).all())

    if not all(parallel_map(mark, parts)):
        row = int((~(other | (labels == low))).argmax())
        raise ValueError(
            "multiclass format is not supported: y has more than two classes: "
            f"{_plain(low)!r}, {_plain(high)!r} and, in row {row}, {_plain(labels[row])!r}; "
            f"compare one class with the rest, as in y == {_plain(high)!r}"
        )
    if pos_label is None and one_class:
        pos_label = _convention(low, high)
    if pos_label is None or pos_label == high:
        return other
    if pos_label == low:
        return ~other
    if one_class and low == high:
        return np.zeros(labels.shape[0], dtype=bool)
    raise ValueError(
        f"pos_label={pos_label!r} is not a label of y, which has {_plain(low)!r} and "
        f"{_plain(high)!r}"
    )


def _convention(low: Any, high: Any) -> int:
    """1, where that is one of the labels or the one that is missing."""
    if isinstance(low, bytes):
        raise TypeError(
            "Support for labels represented as bytes is not supported: decode them, as in "
            "y.astype(str), and name the positive class with pos_label"
        )
    if (low, high) in ((0, 1), (-1, 1), (0, 0), (-1, -1), (1, 1)):
        return 1
    both = ", ".join(repr(_plain(label)) for label in ([low] if low == high else [low, high]))
    raise ValueError(
        f"y_true takes value in {{{both}}} and pos_label is not specified: either make y_true take "
        "value in {0, 1} or {-1, 1} or pass pos_label explicitly."
    )


def missing_of(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are none: NaN, None, and what pandas calls NA, which equals nothing."""
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    known = [
        label is not None and isinstance(same := label == label, bool | np.bool_) and bool(same)
        for label in labels
    ]
    return ~np.array(known)


def _ends(labels: NDArray[Any]) -> tuple[Any, Any]:
    try:
        found = np.unique(labels)
    except TypeError:
        raise ValueError("y mixes labels of different types, which have no order") from None
    return found[0], found[-1]


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
