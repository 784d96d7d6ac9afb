"""Clusters against known classes: which classes the rows of each cluster have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.show.arguments import groups_of
from fenchel.show.columns.class_bins import LEVELS, level_bars
from fenchel.show.density import MOST
from fenchel.show.formatting import distinct, percent
from fenchel.show.layout import Width, framed

SHARE = "share of the cluster"


def cluster_classes(
    codes: Any,
    classes: Any,
    *,
    labels: Sequence[Any] | None = None,
    class_labels: Sequence[Any] | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 240,
) -> alt.LayerChart:
    """A histogram of the classes within each cluster.

    Parameters
    ----------
    codes : array of shape (n,)
        Clusters of the rows: numbers 0 … k-1, or any labels. Of more than twelve the eleven with
        the most rows are drawn, and the others as one.
    classes : array of shape (n,)
        Their classes, which the clustering did not know.
    labels, class_labels : sequence of names, optional

    Examples
    --------
    >>> from fenchel.show import cluster_classes
    >>> cluster_classes([0, 0, 0, 1], ["a", "a", "b", "b"]).to_dict()["title"]["text"]
    '75 % of the rows are of the largest class of their cluster'
    """
    cluster, called = groups_of(codes, labels, "codes")
    kind, kinds = groups_of(classes, class_labels, "classes")
    if cluster.shape != kind.shape or not len(cluster):
        raise ValueError("codes and classes must be one label each for every row")
    counts = np.zeros((len(kinds), len(called)))
    np.add.at(counts, (kind, cluster), 1.0)
    pure = float(counts.max(axis=0).sum()) / len(cluster)
    if len(kinds) > MOST:
        order = np.argsort(-counts.sum(axis=1), kind="stable")
        kept, rest = np.sort(order[: MOST - 1]), order[MOST - 1 :]
        counts = np.vstack([counts[kept], counts[rest].sum(axis=0)])
        kinds = distinct([*(kinds[i] for i in kept), f"{len(rest)} other classes"])
    if len(called) > LEVELS:
        order = np.argsort(-counts.sum(axis=0), kind="stable")
        kept, rest = np.sort(order[: LEVELS - 1]), order[LEVELS - 1 :]
        counts = np.column_stack([counts[:, kept], counts[:, rest].sum(axis=1)])
        called = distinct([*(called[i] for i in kept), f"{len(rest)} others"])
    share = counts / np.maximum(counts.sum(axis=0), 1.0)
    said = f"{percent(pure)} of the rows are of the largest class of their cluster"
    return framed(
        level_bars(kinds, counts, share, called, "cluster", SHARE),
        title=title or said,
        notes=["Bars of each cluster: its shares of the classes."],
        width=width,
        height=height,
    )
