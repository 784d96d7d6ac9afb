"""How often each class was taken for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from fenchel.data.validation import check_weight
from fenchel.score.labels import column

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# Labels further apart than this are sorted instead of counted; more classes than this are no table.
WIDEST = 4096


@dataclass(frozen=True, slots=True)
class Confusion:
    """Weights of the rows by true and predicted class.

    total[i, j] = Σ w, square[i, j] = Σ w² over the rows of class i that were predicted j. With
    `is_counted` all weights are equal and total holds numbers of rows. One pass over the rows.
    """

    labels: tuple[Any, ...]
    total: Floats
    square: Floats
    is_counted: bool

    @staticmethod
    def of(y_true: Any, y_pred: Any, sample_weight: Any = None) -> Confusion:
        """The table of two columns of labels."""
        labels, i, j, weight = paired(y_true, y_pred, sample_weight)
        k = len(labels)
        if k > WIDEST:
            raise ValueError(
                f"y_true and y_pred hold {k} different labels, more than {WIDEST}: classes are "
                "expected, not numbers to predict"
            )
        cell = i * k + j
        total = np.bincount(cell, weight, minlength=k * k).astype(np.float64).reshape(k, k)
        if weight is None:
            return Confusion(labels, total, total, True)
        square = np.bincount(cell, weight * weight, minlength=k * k).astype(np.float64)
        return Confusion(labels, total, square.reshape(k, k), False)

    def of_two(self, pos_label: Any = None) -> Confusion:
        """The table of two classes with the positive one last; a class without rows is added."""
        labels = self.labels
        if len(labels) > 2:
            raise ValueError(
                f"y_true and y_pred hold {len(labels)} classes, {labels[0]!r} to {labels[-1]!r}: "
                "give average='macro', 'micro' or 'weighted', or compare one class with the rest"
            )
        pos_label = positive_label(labels, pos_label, "y_true and y_pred hold")
        if len(labels) == 1:
            last = 1 if labels[0] == pos_label else 0
            total, square = np.zeros((2, 2, 2))
            total[last, last], square[last, last] = self.total[0, 0], self.square[0, 0]
            names = (None, labels[0]) if last else (labels[0], pos_label)
            return Confusion(names, total, square, self.is_counted)
        if labels[1] == pos_label:
            return self
        turned = slice(None, None, -1)
        return Confusion(
            labels[::-1], self.total[turned, turned], self.square[turned, turned], self.is_counted
        )

    def with_guesses(self) -> tuple[Floats, Floats]:
        """(total, square) with two rows more: one right, one wrong, each spread over its cells.

        k classes: 1/k of a row on each cell of the diagonal, 1/(k(k - 1)) on each other cell, of
        the weight Σw²/Σw of the true class. Two classes: half a row in each of the four cells.
        """
        k = len(self.labels)
        rows = np.full((k, k), 1.0 / (k * max(k - 1, 1)))
        np.fill_diagonal(rows, 1.0 / k)
        return add_rows(self.total, self.square, rows)


def positive_label(labels: tuple[Any, ...], pos_label: Any, hold: str) -> Any:
    """The positive one of one or two labels: the one named, else 1 of 0, 1 and -1, else the last.

    `hold` begins the sentence of the error: whose labels they are.
    """
    usual = set(labels) <= {0, 1} or set(labels) <= {-1, 1}
    if pos_label is None:
        if len(labels) == 1 and not usual:
            raise ValueError(
                f"{hold} one class only, {labels[0]!r}: name the positive class with pos_label"
            )
        return 1 if usual else labels[-1]
    if len(labels) == 2 and pos_label not in labels:
        raise ValueError(
            f"pos_label={pos_label!r} is not a label: {hold} {labels[0]!r} and {labels[1]!r}"
        )
    return pos_label


def paired(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> tuple[tuple[Any, ...], Codes, Codes, Floats | None]:
    """(labels, true classes, predicted classes, weights) of the rows that have a weight.

    Classes are places among the sorted labels. Weights that are all equal are as good as none. One
    label in place of a column is predicted for every row.
    """
    true = column(y_true, "y_true")
    predicted = np.full(true.shape, y_pred) if is_one(y_pred) else column(y_pred, "y_pred")
    if true.shape != predicted.shape:
        raise ValueError(
            f"y_true has {true.size} rows and y_pred has {predicted.size}: give one each"
        )
    if not true.size:
        raise ValueError("y_true is empty: there is no row to score")
    weight = None
    if sample_weight is not None:
        weight = check_weight(column(sample_weight, "sample_weight"), true.size)
        if not weight.all():
            kept = weight > 0.0
            true, predicted, weight = true[kept], predicted[kept], weight[kept]
        if weight.min() == weight.max():
            weight = None
        elif not 1e-30 < weight.max() < 1e30:  # products of four sums leave the range of floats
            weight = weight / 2.0 ** np.frexp(weight.max())[1]
    labels, (i, j) = coded([true, predicted], ["y_true", "y_pred"])
    return labels, i, j, weight


def is_one(prediction: Any) -> bool:
    """Whether it is one label or number for all rows, and not a column: constant by construction.

    A column of equal entries is not: the model that made it may say something else of other rows.
    """
    return bool(np.isscalar(prediction))


def add_rows(total: Floats, square: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Totals and squares with so many rows more in each cell, as heavy as those of their line."""
    weight, weight2 = total.sum(axis=1), square.sum(axis=1)
    typical = square.sum() / total.sum()
    heavy = np.divide(weight2, weight, out=np.full(weight.shape, typical), where=weight > 0.0)
    return total + rows * heavy[:, None], square + rows * heavy[:, None] ** 2


def coded(
    columns: Sequence[NDArray[Any]], names: Sequence[str]
) -> tuple[tuple[Any, ...], list[Codes]]:
    """The sorted labels of all columns, and each entry's place among them."""
    number = [values.dtype.kind in "biuf" for values in columns]
    if all(number):
        whole = [_whole(values, name) for values, name in zip(columns, names, strict=True)]
        labels, codes = _numbered(whole)
        if all(values.dtype == np.bool_ for values in columns):
            return tuple(bool(label) for label in labels), codes
        return tuple(labels.tolist()), codes
    listed = [values.tolist() for values in columns]
    try:
        found = sorted(set().union(*listed))
    except TypeError:
        found = []
    if not found or any(label != label for label in found):
        raise ValueError(_without_order(listed, names))
    place = {label: k for k, label in enumerate(found)}
    return tuple(found), [
        np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values))
        for values in listed
    ]


def _without_order(columns: Sequence[list[Any]], names: Sequence[str]) -> str:
    """The sentence for labels that cannot be sorted."""
    first = columns[0][0]
    for values, name in zip(columns, names, strict=True):
        for row, label in enumerate(values):
            if label is None or is_scalar_nan(label) or is_pandas_na(label):
                return f"{name} is {label} (a missing value) in row {row}: drop that row"
            if isinstance(label, str) != isinstance(first, str):
                return (
                    f"labels are of different kinds, {first!r} in row 0 of {names[0]} and "
                    f"{label!r} in row {row} of {name}: make them one kind, as with astype(str)"
                )
    return f"the labels of {' and '.join(names)} have no order: {first!r} is one of them"


def _whole(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.dtype.kind != "f":
        return values
    # A NaN is not equal to itself, an infinity is no class.
    wrong = ~((np.floor(values) == values) & (np.abs(values) < 2.0**53))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{name} is {values[row]:g} in row {row}, which is not a class label: compare scores "
            "with a threshold first"
        )
    return values.astype(np.int64)


def _numbered(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], list[Codes]]:
    low = min(int(values.min()) for values in columns)
    high = max(int(values.max()) for values in columns)
    if high - low >= WIDEST:
        labels, codes = np.unique(np.concatenate(columns), return_inverse=True)
        return labels, np.split(codes.astype(np.int64), np.cumsum([c.size for c in columns])[:-1])
    shifted = [values.astype(np.int64) - low for values in columns]
    present = np.zeros(high - low + 1, dtype=bool)
    for values in shifted:
        present |= np.bincount(values, minlength=present.size) > 0
    place = np.cumsum(present) - 1
    labels = np.flatnonzero(present) + low
    if present.all():
        return labels, shifted
    return labels, [place[values] for values in shifted]
