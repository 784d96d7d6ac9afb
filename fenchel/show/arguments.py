"""What the figures of two classes take: labels with scores, or a curve that was made before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fenchel.score.curves.curve import Curve
from fenchel.score.labels import LabelledScores, column, marked
from fenchel.score.metrics.calibration_bins import check_probability
from fenchel.show.formatting import distinct

Names = tuple[str, str]
PLAIN: Names = ("negative", "positive")
# Labels that say nothing but which class is positive.
_USUAL: tuple[set[Any], ...] = ({0, 1}, {-1, 1})


def curve_of(
    figure: str, y: Any, score: Any, sample_weight: Any = None, pos_label: Any = None
) -> tuple[Curve, Names]:
    """The curve of labels and scores, or the curve itself; names of (negative, positive)."""
    if isinstance(y, Curve):
        given = {"score": score, "sample_weight": sample_weight, "pos_label": pos_label}
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise ValueError(f"a Curve has its rows: leave {', '.join(extra)} out")
        y.both()
        return y, PLAIN
    if score is None:
        raise ValueError(
            f"score is missing: give {figure}(y, score) with the labels and the scores of the "
            "rows, or a Curve alone"
        )
    values = _values(score)
    try:
        curve = Curve.of(y, values, sample_weight=sample_weight, pos_label=pos_label)
        curve.both()
    except ValueError as error:
        raise _in_order(figure, "score", y, values, error) from None
    return curve, class_names(y, pos_label)


def probabilities_of(
    figure: str, y: Any, probability: Any, pos_label: Any = None
) -> LabelledScores:
    """Labels and probabilities of two classes."""
    values = _values(probability)
    try:
        rows = marked(y, values, None, pos_label)
    except ValueError as error:
        text = str(error).replace("the scores have", "probability has")
        if text.startswith("score"):
            text = f"probability{text.removeprefix('scores').removeprefix('score')}"
        raise _in_order(figure, "probability", y, values, ValueError(text)) from None
    check_probability(rows.score, "probability")
    return rows


def class_names(y: Any, pos_label: Any = None) -> Names:
    """Names of the negative and of the positive of two classes."""
    found = sorted(set(column(y, "y").tolist()))
    if any(set(found) <= usual for usual in _USUAL) and pos_label is None:
        return PLAIN
    positive = found[-1] if pos_label is None else pos_label
    others = [label for label in found if label != positive]
    return str(others[0]) if others else PLAIN[0], str(positive)


def groups_of(codes: Any, labels: Sequence[Any] | None, what: str) -> tuple[Any, list[str]]:
    """Codes 0 … k-1 of groups and their names.

    Numbers from 0 on are codes, called 1 … k unless labels name them. Anything else, such as words
    or the -1 of rows that a clustering leaves out, is a name itself.
    """
    given = column(codes, what)
    if given.dtype.kind in "biu" and given.size and given.min() >= 0:
        k = int(given.max()) + 1
        names = distinct(range(1, k + 1) if labels is None else labels)
        found = given.astype(np.intp)
    else:
        own, found = np.unique(
            given.astype(str) if given.dtype.kind == "O" else given, return_inverse=True
        )
        k, names = len(own), distinct(own.tolist() if labels is None else labels)
    if len(names) < k:
        raise ValueError(f"{k} groups need {k} labels, got {len(names)}")
    return found, names


def _values(score: Any) -> Any:
    """Series and dataframes as arrays, whose shape the checks can name."""
    return score if isinstance(score, np.ndarray | list | tuple) else np.asarray(score)


def _in_order(figure: str, second: str, y: Any, values: Any, error: ValueError) -> ValueError:
    """The error, or one that says that the arguments are in the wrong order."""
    labels, scores = np.asarray(y), np.asarray(values)
    if labels.ndim == scores.ndim == 1 and labels.dtype.kind == "f":
        wide, narrow = len(np.unique(labels)), len(np.unique(scores))
        if wide > 2 >= narrow:
            return ValueError(
                f"y has {wide} different values and {second} has {narrow}: the labels come first, "
                f"{figure}(y, {second})"
            )
    return error
