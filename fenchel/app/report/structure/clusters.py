"""Clusters of a table without a target: how many, which, and how far from the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fenchel import show
from fenchel.app.catalogue import CLUSTERS, Candidate
from fenchel.app.choose_k import choose_k
from fenchel.app.report.analysis.data_card import DESCRIBED
from fenchel.app.report.estimates import plain, proved, with_interval, without_interval
from fenchel.app.report.structure.embeddings import mapped_rows, why_unmapped
from fenchel.convex.certificate import Certificate
from fenchel.convex.partition.spectral_bounds import CentredRows, lower_bound_in_units
from fenchel.data.blocks import one_thread
from fenchel.data.intake import as_blocks
from fenchel.models.cluster.bisecting import BisectingKMeans
from fenchel.models.cluster.bisection_tree import BisectionTree
from fenchel.models.cluster.bounds.best import QUICK, BoundEffort, proved_clustering
from fenchel.models.cluster.bounds.parts import RelaxationEffort
from fenchel.models.cluster.centres import exponent_of, in_units
from fenchel.score.structure.choice_of_k import ChoiceOfK
from fenchel.score.structure.gap_statistic import GapStatistic, gap_statistic
from fenchel.score.structure.silhouettes import silhouette_samples
from fenchel.score.structure.spectral_certificates import cluster_codes

Floats = NDArray[np.float64]
CHOICE_ROWS = 2000  # on which the number of clusters is chosen and silhouettes are taken
STARTS = 10
LEAST = 5  # rows to a cluster that is tried
MARKS = 5  # columns that tell a cluster from the rest
# Of the clusters that were chosen: under a second, of rows of any number.
PROOF = replace(QUICK, samples=40, sampled=100, effort=RelaxationEffort(steps=10))
# Of every number that was tried: some hundredths of a second each, never by random samples.
TRIED = replace(QUICK, parts=1, together=200, entries=1e9, effort=RelaxationEffort(steps=5))


@dataclass(frozen=True, eq=False)
class Clustering:
    """What one way to cluster found.

    Attributes
    ----------
    rows : the matrix that was clustered
    sample : the places of those rows by which the number was chosen
    gap, bounds : along the numbers of clusters that were tried, on the sample
    starts : the scatter that each start came to, on all rows, with the number that was taken
    model : the best start; cluster 0 is the largest
    labels : of the rows by that
    silhouettes : of the sample; None for one cluster
    choice : what other criteria say of the same numbers, on the sample; None for one cluster
    tree : of all rows, divided by bisecting k-means; None for one cluster
    """

    entry: Candidate
    rows: Floats
    sample: NDArray[np.intp]
    gap: GapStatistic
    bounds: Floats
    starts: Floats
    model: Any
    labels: NDArray[np.intp]
    proof: Certificate
    silhouettes: Floats | None
    choice: ChoiceOfK | None
    tree: BisectionTree | None

    def cluster_of(self, X: Floats) -> NDArray[np.intp]:
        """The cluster of other rows."""
        return np.asarray(self.model.predict(X)).astype(np.intp)

    @property
    def count(self) -> int:
        """The chosen number; one where no number stands out."""
        return count_of(self.gap)


def count_of(gap: GapStatistic) -> int:
    """The number of clusters; one where the gap has its largest value at the last that was tried,
    and so might grow without end."""
    return gap.chosen if gap.is_clear else 1


def clustered(entry: Candidate, X: Floats, cloud: CentredRows, seed: int) -> Clustering:
    """The number of clusters by the gap statistic, then the best of several starts."""
    ((parameter, tried),) = entry.grid.items()
    sample = np.arange(len(X))
    if len(X) > CHOICE_ROWS:
        sample = np.sort(np.random.default_rng(seed).choice(len(X), CHOICE_ROWS, replace=False))
    some = X[sample]
    most = min(len(some) // LEAST, len(np.unique(some, axis=0)))
    counts = [k for k in tried if k <= max(most, 1)]
    base = entry.make().set_params(random_state=seed)
    gap = gap_statistic(base, some, counts, parameter=parameter, random_state=seed)
    count = count_of(gap)
    base.set_params(**{parameter: count, "n_init": 1})
    models = [clone(base).set_params(random_state=s).fit(X) for s in range(seed, seed + STARTS)]
    found = [np.asarray(model.predict(X)) for model in models]
    starts = np.array([cloud.clustered(*cluster_codes(one, len(X))).value for one in found])
    best = int(starts.argmin())
    model = _by_size(entry, models[best], found[best]).fit(X)
    labels = np.asarray(model.predict(X)).astype(np.intp)
    small = cloud if len(some) == len(X) else CentredRows(some)
    silhouettes = None
    if 1 < len(np.unique(labels[sample])) < len(sample):
        silhouettes = silhouette_samples(some, labels[sample])
    choice, tree = None, None
    if count > 1:
        choice = _criteria(some, gap, entry.make(), seed)
        divided = BisectingKMeans(max(gap.counts), prove=False, random_state=seed)
        tree = divided.fit(X).tree_
    return Clustering(
        entry=entry,
        rows=X,
        sample=sample,
        gap=gap,
        bounds=np.array([_proved(some, small, one, TRIED).bound for one in gap.labels]),
        starts=starts,
        model=model,
        labels=labels,
        proof=_proved(X, cloud, labels, PROOF),
        silhouettes=silhouettes,
        choice=choice,
        tree=tree,
    )


def grouped(X: Any, seed: int) -> tuple[Clustering, ...]:
    """Clusters of the training rows of a table with a target, which they do not know; none where
    the rows cannot be mapped either."""
    if why_unmapped(X):
        return ()
    rows = np.asarray(X[mapped_rows(len(X), seed)], dtype=np.float64)
    with one_thread():
        cloud = CentredRows(rows)
        return tuple(clustered(entry, rows, cloud, seed) for entry in CLUSTERS)


def _criteria(some: Floats, gap: GapStatistic, model: Any, seed: int) -> ChoiceOfK:
    """The gap statistic, which decides, beside criteria that cost no more fits than it did."""
    also = choose_k(
        some, gap.counts, "silhouette", also=("penalty",), estimator=model, random_state=seed
    )
    return replace(
        also,
        method="gap",
        values={"gap": gap.gap, **also.values},
        errors={"gap": gap.error},
        choices={"gap": count_of(gap), **also.choices},
        k=count_of(gap),
        is_clear=gap.is_clear,
    )


def _proved(
    X: Floats, cloud: CentredRows, labels: NDArray[Any], search: BoundEffort
) -> Certificate:
    """The scatter within clusters, and the best bound of as many that so much effort finds."""
    codes, k = cluster_codes(labels, len(X))
    spectral = cloud.clustered(codes, k)
    given = as_blocks(X)
    exponent = exponent_of(given)
    rows = np.ldexp(X, -exponent)
    C = np.array([rows[codes == c].mean(axis=0) for c in range(k)])
    J = lower_bound_in_units(spectral.value, -exponent)
    found = proved_clustering(in_units(given, exponent), C, J, exponent, search)
    return found if found.bound > spectral.bound else spectral


def _by_size(entry: Candidate, model: Any, codes: NDArray[Any]) -> Any:
    """The same clusters, the largest first, of equal ones that of the earlier row: a fit that
    starts at those centres, where it stays, and proves them."""
    centres = np.asarray(model.cluster_centers_)
    sizes = np.bincount(codes, minlength=len(centres))
    first = np.full(len(centres), len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    ranked = centres[np.lexsort((first, -sizes))]
    return entry.make().set_params(
        n_clusters=len(ranked), init=ranked, n_init=1, random_state=0, prove=True
    )


def cluster_numbers(found: Clustering, names: tuple[str, ...]) -> dict[str, Any]:
    """Every number of a clustering, each cluster with the columns that tell it from the rest."""
    gap, proof = found.gap, found.proof
    total = max(float(gap.scatter[0]), 1e-300)
    even = max(float(gap.reference[0]), 1e-300)
    whole = found.rows - found.rows.mean(axis=0)
    scatter = max(float(np.sum(whole * whole)), 1e-300)
    return {
        "name": found.entry.name,
        "words": found.entry.words,
        "rows": len(found.rows),
        "chosen": found.count,
        "is_clear": gap.is_clear,
        "chosen_on": len(found.sample),
        "tried": [
            {
                "clusters": k,
                "left": with_interval(gap.scatter[i] / total, DESCRIBED),
                "left_at_least": with_interval(found.bounds[i] / total, "a proved bound"),
                "left_by_chance": with_interval(
                    gap.reference[i] / even, "the mean of 10 simulations"
                ),
                "gap": with_interval(
                    gap.gap[i], "its standard error, from the simulations, is beside it"
                ),
                "gap_error": plain(gap.error[i]),
            }
            for i, k in enumerate(gap.counts)
        ],
        "left": with_interval(proof.value / scatter, DESCRIBED),
        "starts": plain(np.sort(found.starts) / scatter),
        "choices": {} if found.choice is None else dict(found.choice.choices),
        "start_promise": with_interval(8.0 * (2.0 + np.log(found.count)), "a theorem on k-means++"),
        "certificate": proved(proof),
        "silhouette": without_interval("the sample has rows of one cluster, which has no next one")
        if found.silhouettes is None
        else with_interval(found.silhouettes.mean(), DESCRIBED),
        "clusters": _groups(found, names),
    }


def _groups(found: Clustering, names: tuple[str, ...]) -> list[dict[str, Any]]:
    X, labels = found.rows, found.labels
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    told_of = []
    for k in range(found.count):
        mine = labels == k
        if not mine.any():
            continue
        shift = (X[mine].mean(axis=0) - mean) / spread
        marks = np.argsort(-np.abs(shift), kind="stable")[:MARKS]
        near = None if found.silhouettes is None else found.silhouettes[labels[found.sample] == k]
        told_of.append(
            {
                "cluster": k + 1,
                "rows": int(mine.sum()),
                "share": with_interval(float(mine.mean()), DESCRIBED),
                "silhouette": without_interval("it has no next one, or no row in the sample")
                if near is None or not len(near)
                else with_interval(near.mean(), DESCRIBED),
                "marks": [
                    {"column": names[j], "shift": with_interval(shift[j], DESCRIBED)}
                    for j in marks
                    if found.count > 1 and abs(shift[j]) >= 0.1
                ],
            }
        )
    return told_of


def cluster_figures(found: Clustering, **size: Any) -> dict[str, Any]:
    """Charts by name: how many clusters, the starts, the silhouettes, the divisions."""
    gap = found.gap
    charts = {
        "elbow": show.elbow(
            gap.counts,
            gap.scatter,
            bound=found.bounds,
            reference=gap.reference,
            chosen=found.count,
            **size,
        )
    }
    if found.choice is not None:
        charts["choice"] = show.choice_of_k(found.choice, **size)
    if found.count > 1:
        sure = found.proof.bound if found.proof.confidence == 1.0 else None
        charts["restarts"] = show.restarts(found.starts, bound=sure, **size)
    if found.silhouettes is not None:
        codes = found.labels[found.sample]
        charts["silhouettes"] = show.silhouettes(found.silhouettes, codes, **size)
    if found.tree is not None:
        tree, cut = found.tree, min(found.count, found.tree.n_clusters)
        charts["dendrogram"] = show.dendrogram(
            tree.divided, tree.inertia, tree.mass, cut=cut, **size
        )
    return charts
