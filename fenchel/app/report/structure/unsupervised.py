"""A table without a target: its columns, its clusters, its axes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.catalogue import CLUSTERS, EMBEDDINGS, entry_named
from fenchel.app.errors import BadData
from fenchel.app.report.analysis import data_card as card
from fenchel.app.report.checks import findings
from fenchel.app.report.document import Numbers, shared_numbers
from fenchel.app.report.estimates import plain
from fenchel.app.report.figures import (
    BROAD,
    KINDS,
    Figure,
    correlation_figure,
    drawn,
    placed_figures,
)
from fenchel.app.report.options import Options
from fenchel.app.report.structure.clusters import (
    Clustering,
    cluster_figures,
    cluster_numbers,
    clustered,
)
from fenchel.app.report.structure.embeddings import (
    Embedding,
    embedded,
    embedding_figures,
    embedding_numbers,
    in_clusters,
)
from fenchel.app.report.study import Clock
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.files.table_reader import TableSource
from fenchel.app.table.profile.column_profile import ColumnProfile, duplicate_rows, profile
from fenchel.app.table.profile.redundancy import near_duplicates, total_rows
from fenchel.app.table.task import Task, target_candidates
from fenchel.convex.partition.spectral_bounds import CentredRows
from fenchel.data.blocks import one_thread

LEAST_ROWS = 10
MOST_ROWS = 50_000
MOST_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class Shape:
    """What the rows look like without anybody saying what to look for.

    Attributes
    ----------
    profiles, encoder : of the columns; no encoder where nothing can be looked at, for `reason`
    frame : the rows that were looked at
    clusterings, embeddings : one for each way that was tried
    """

    profiles: tuple[ColumnProfile, ...]
    encoder: Encoder | None = None
    frame: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    clusterings: tuple[Clustering, ...] = ()
    embeddings: tuple[Embedding, ...] = ()
    reason: str = ""


def look(source: TableSource, task: Task, options: Options, clock: Clock) -> Shape:
    """Profile and encode the columns, then look for clusters and axes."""
    if options.models:
        entry_named(task.kind, options.models[0])  # says that every model needs a target
    with clock.part("reading columns"):
        profiles = profile(source.frame.drop(list(options.drop), strict=False), task)
    with clock.part("encoding"):
        if source.frame.height < LEAST_ROWS:
            rows = "1 row is" if source.frame.height == 1 else f"{source.frame.height} rows are"
            few = f"{rows} too few, {LEAST_ROWS} are needed"
            return Shape(profiles, reason=few)
        try:
            # Distances between texts are another matter than distances between numbers.
            texts = [one.name for one in profiles if one.kind == "text"]
            encoder = Encoder.fit(
                source.frame,
                task,
                drop={
                    **dict.fromkeys(texts, "texts have no place in clusters and axes"),
                    **dict.fromkeys(options.drop, "as asked"),
                },
                as_is=options.as_is,
                formats=source.formats,
            )
        except BadData as error:
            return Shape(profiles, reason=str(error))
        used = [plan for plan in encoder.plans if plan.outputs]
        if len(used) == 1 and used[0].kind in ("category", "truth value"):
            # Its levels would be the clusters, with nothing left inside them.
            only = f"the one column that can be used, '{used[0].name[:40]}', holds categories"
            return Shape(profiles, reason=only)
        some = _sample(source, len(encoder.names), options.seed)
        X = encoder.transform(some)
    cloud = CentredRows(X)
    # Threads of other libraries add up in any order, and a report is the same each time.
    with one_thread():
        with clock.part("looking for clusters"):
            clusterings = tuple(clustered(entry, X, cloud, options.seed) for entry in CLUSTERS)
        with clock.part("looking for axes"):
            embeddings = tuple(embedded(entry, X, cloud, options.seed) for entry in EMBEDDINGS)
    return Shape(profiles, encoder, some, clusterings, embeddings)


def _sample(source: TableSource, columns: int, seed: int) -> Any:
    """All rows, or as many as can be looked at in the time that a person waits."""
    frame = source.frame
    most = max(min(MOST_ROWS, MOST_CELLS // max(columns, 1)), LEAST_ROWS)
    if frame.height <= most:
        return frame
    rng = np.random.default_rng(seed)
    chosen: NDArray[np.intp] = np.sort(rng.choice(frame.height, most, replace=False))
    return frame[chosen]


def row_table(source: TableSource, found: Shape) -> pl.DataFrame | None:
    """Every row of the table by its number, with its clusters and its places on the axes."""
    if found.encoder is None:
        return None
    parts = []
    for start in range(0, source.frame.height, MOST_ROWS):
        X = found.encoder.transform(source.frame.slice(start, MOST_ROWS))
        columns: dict[str, Any] = {"row": np.arange(start + 1, start + len(X) + 1)}
        for one in found.clusterings:
            columns[f"{one.entry.name} cluster"] = one.cluster_of(X) + 1
        for map_ in found.embeddings:
            for axis, values in enumerate(np.asarray(map_.model.transform(X)).T, 1):
                columns[f"{map_.entry.name} {axis}"] = values
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def unsupervised_numbers(
    source: TableSource, task: Task, options: Options, found: Shape
) -> Numbers:
    """The data card, clusters, axes, the strongest correlations and the duplicates."""
    frame = source.frame.drop(list(options.drop), strict=False)
    names = () if found.encoder is None else found.encoder.names
    shape: dict[str, Any] = {
        "columns": len(names),
        "rows": len(found.clusterings[0].rows) if found.clusterings else 0,
        "clusterings": [cluster_numbers(one, names) for one in found.clusterings],
        "embeddings": [embedding_numbers(one, names) for one in found.embeddings],
    }
    shared = shared_numbers(source, task, options)
    asked = options.kind == "none"
    candidates = [] if asked else target_candidates(frame)
    shared["task"]["candidates"] = [{"name": name, "words": words} for name, words in candidates]
    matrix = card.correlation_matrix(frame, found.profiles)
    numbers: dict[str, Any] = {
        **shared,
        "rows": {
            "read": frame.height,
            "without_target": 0,
            "without_time": 0,
            "rare_classes": [],
            "used": frame.height,
        },
        "columns": card.column_numbers(found.profiles, found.encoder),
        "balance": [],
        "target": None,
        "duplicates": {"rows": duplicate_rows(frame), "test_rows_in_training": 0},
        "correlations": card.correlations(*matrix, options.level),
        "correlation_matrix": card.matrix_numbers(*matrix[:2]),
        "near_duplicates": [asdict(one) for one in near_duplicates(frame, found.profiles)],
        "total_rows": [asdict(one) for one in total_rows(source.frame)],
        "target_doubts": [],
        "shape": {"reason": found.reason} if found.reason else shape,
    }
    numbers["findings"] = findings(numbers)
    return plain(numbers)


def unsupervised_figures(found: Shape, numbers: Numbers) -> dict[str, Figure]:
    """The figures of every clustering and embedding, by name and place in its list."""
    codes = found.clusterings[0].labels if found.clusterings else None
    groups = [cluster_figures(one, **BROAD) for one in found.clusterings]
    names = () if found.encoder is None else found.encoder.names
    maps = [embedding_figures(in_clusters(one, codes), names, **BROAD) for one in found.embeddings]
    whole = {
        name: {**drawn(draw()), "kind": KINDS[name]} for name, draw in correlation_figure(numbers)
    }
    return {**whole, **placed_figures(groups), **placed_figures(maps)}
