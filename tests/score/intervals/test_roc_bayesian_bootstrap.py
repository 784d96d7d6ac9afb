"""Random curves: their law, ties and weights, thinning, and the measured coverage of intervals."""

from __future__ import annotations

import numpy as np
import oracles.parts as oracles
import pytest
from scipy.stats import beta, kstest

from fenchel import Curve, curve_average_precision, curve_partial_auc
from fenchel.score.area.average_precision import _mean_precision
from fenchel.score.area.local_auc import _local_area
from fenchel.score.area.partial_auc import Box
from fenchel.score.curves.roc_batch import ROCBatch
from fenchel.score.intervals import roc_bayesian_bootstrap as pivot
from fenchel.score.intervals.roc_bayesian_bootstrap import RandomCurves, pivot_interval


def drawn(curve, count=4000, seed=0, goes_on=True):
    parts = list(RandomCurves.of(curve, goes_on=goes_on).draws(count, seed))
    fpr, tpr = (np.concatenate([getattr(p, name) for p in parts]) for name in ("fpr", "tpr"))
    return ROCBatch(fpr, tpr, np.concatenate([p.prior for p in parts]), parts[0].stand)


def test_shares_above_a_score_follow_their_exact_law():
    """Vertices: the start, then each of the rows, then the end."""
    y = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 1], dtype=bool)
    paths = drawn(Curve.of(y, -np.arange(10.0)))
    assert paths.fpr.shape == (4000, 12)
    for rates, mine in ((paths.tpr, y), (paths.fpr, ~y)):
        for k, row in enumerate(np.flatnonzero(mine), start=1):
            assert kstest(rates[:, row + 1], beta(k, 6 - k).cdf).pvalue > 1e-3
    assert kstest(paths.prior, beta(5.5, 5.5).cdf).pvalue > 0.99
    for rates in (paths.fpr, paths.tpr):
        assert (rates[:, 0] == 0.0).all() and (rates[:, -1] == 1.0).all()
        assert (np.diff(rates, axis=1) >= 0.0).all()


def test_scores_of_the_other_class_share_a_gap_evenly():
    y = np.array([1, 0, 0, 0, 1], dtype=bool)
    tpr = drawn(Curve.of(y, -np.arange(5.0))).tpr
    steps = np.diff(tpr[:, 1:6], axis=1)
    assert steps == pytest.approx(np.repeat(steps[:, :1], 4, axis=1), abs=1e-12)


def test_a_class_that_does_not_go_on_ends_at_its_last_score():
    y = np.array([0, 1, 1, 0, 0], dtype=bool)
    on, ended = (drawn(Curve.of(y, -np.arange(5.0)), goes_on=goes_on) for goes_on in (True, False))
    assert (on.tpr[:, 1] > 0.0).all() and (on.tpr[:, 4] < 1.0).all()
    # Start, the five rows, end: positives are the rows 2 and 3.
    assert (ended.tpr[:, 1] == 0.0).all() and (ended.tpr[:, 4] == 1.0).all()
    assert (ended.tpr[:, 2] > 0.0).all() and (ended.tpr[:, 3] < 1.0).all()


def test_a_tie_is_one_edge_with_the_mass_of_its_rows():
    y = np.repeat([1, 0, 1, 0, 1, 0], [3, 1, 4, 4, 2, 6]).astype(bool)
    score = np.repeat([9, 9, 5, 5, 1, 1], [3, 1, 4, 4, 2, 6])
    paths = drawn(Curve.of(y, score))
    # start | tie of 4 | tie of 8 | tie of 8 | end
    assert paths.stand.tolist() == [0.5, 1.0, 0.5, 1.0, 0.5, 1.0, 0.5]
    for rates, rows in ((paths.tpr, (3, 4, 2)), (paths.fpr, (1, 4, 6))):
        mass = np.diff(rates, axis=1)
        total = sum(rows) + 1
        assert mass.mean(axis=0)[1::2] == pytest.approx(
            [(k - 1) / total for k in rows], rel=0.05, abs=0.002
        )
        assert mass.mean(axis=0)[::2] == pytest.approx(np.full(4, 1 / total), rel=0.08)


def test_weights_count_squared_in_the_variance():
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.5
    score = np.round(rng.standard_normal(4000) + y, 1)
    weight = rng.exponential(size=4000) ** 1.5
    curve = Curve.of(y, score, sample_weight=weight)
    centre = int(np.searchsorted(curve.fpr, 0.4))
    p = curve.fpr[centre]
    flagged = score >= curve.thresholds[centre]
    mine = weight[~y]
    variance = ((mine * (flagged[~y] - p)) ** 2).sum() / mine.sum() ** 2
    paths = drawn(curve)
    vertex = int(np.abs(paths.fpr.mean(axis=0) - p).argmin())
    assert paths.fpr[:, vertex].std() == pytest.approx(np.sqrt(variance), rel=0.06)


@pytest.mark.parametrize("share", [0.3, pytest.param(0.02, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("step", [pytest.param(None, marks=pytest.mark.exhaustive), 0.02])
def test_thinned_curves_give_the_same_interval(share, step, monkeypatch):
    rng = np.random.default_rng(1)
    y = rng.random(12_000) < share
    score = rng.standard_normal(y.size) + 1.5 * y
    curve = Curve.of(y, score if step is None else np.round(score / step) * step)
    numbers = (
        Box(0, 0.1).area,
        Box(0, 0.002).area,
        Box(0, 1, 0.9, 1).area,
        lambda paths: _local_area(paths, 0.02),
        _mean_precision,
    )
    thin = [pivot_interval(curve, number) for number in numbers]
    monkeypatch.setattr(pivot, "VERTICES", 10**9)
    for found, number in zip(thin, numbers, strict=True):
        full = pivot_interval(curve, number)
        assert found == full and found.standard_error == pytest.approx(full.standard_error, rel=0.1)
        assert found.low == pytest.approx(full.low, abs=0.3 * full.standard_error)
        assert found.high == pytest.approx(full.high, abs=0.3 * full.standard_error)


def test_edges_of_pooled_groups_hold_every_order_of_their_rows():
    rng = np.random.default_rng(2)
    y = rng.random(400) < 0.4
    score = rng.standard_normal(400) + y
    pooled = Curve.of(y, score, limit=12)
    around = ROCBatch.around(pooled)
    for number in (Box(0, 0.3).area, Box(0, 1, 0.5, 1).area, _mean_precision):
        least, most = number(around)
        group = np.searchsorted(-pooled.low, -score)
        for order in (score, -group + 0.4 * y, -group - 0.4 * y, -group + 0.0):
            value = number(ROCBatch.along(Curve.of(y, order)))[0]
            assert least - 1e-12 <= value <= most + 1e-12
    assert curve_partial_auc(pooled, max_fpr=0.3).low < curve_partial_auc(pooled, max_fpr=0.3)
    assert curve_average_precision(pooled).high <= 1.0


# ------------------------------------------------------------------------------ coverage

MODEST, STRONG, UNEQUAL = oracles.Binormal(1.0), oracles.Binormal(2.0), oracles.Binormal(1.5, 2.0)
BOXES = {
    "fpr to 0.1": Box(0, 0.1),
    "fpr to 0.2": Box(0, 0.2),
    "tpr from 0.9": Box(0, 1, 0.9, 1),
    "tpr from 0.8": Box(0, 1, 0.8, 1),
    "two-way": Box(0, 0.3, 0.5, 1),
}


def coverage(number, truth, law, sizes, repeats, seed=0, weigh=None):
    """Share of samples whose interval holds the truth. Sizes: positives and negatives, or rows and
    share of positives. 600 curves each, of another seed, in place of 4000."""
    rng = np.random.default_rng(seed)
    hits = 0
    for r in range(repeats):
        if isinstance(sizes[1], float):
            y = rng.random(sizes[0]) < sizes[1]
        else:
            y = np.arange(sum(sizes)) < sizes[0]
        score = law.draw(rng, y)
        curve = Curve.of(y, score, sample_weight=None if weigh is None else weigh(score))
        found = pivot_interval(curve, number, n_draws=600, random_state=r)
        hits += found.low <= truth <= found.high
    return hits / repeats


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize(
    ("law", "sizes", "repeats"),
    [
        (MODEST, (50, 50), 2000),
        (STRONG, (50, 50), 2000),
        (MODEST, (150, 150), 2000),
        (UNEQUAL, (100, 100), 2000),
        (STRONG, (60, 300), 1000),
    ],
    ids=["50", "50 strong", "150", "100 unequal", "60 of 360 strong"],
)
def test_coverage_of_partial_areas(law, sizes, repeats, name):
    box = BOXES[name]
    truth = law.area(box.min_fpr, box.max_fpr, box.min_tpr, box.max_tpr)
    share = coverage(box.area, truth, law, sizes, repeats)
    assert 0.93 <= share <= 0.975


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["fpr to 0.1", "tpr from 0.8", "two-way"])
def test_coverage_of_partial_areas_of_many_rows(name):
    box = BOXES[name]
    truth = MODEST.area(box.min_fpr, box.max_fpr, box.min_tpr, box.max_tpr)
    assert 0.93 <= coverage(box.area, truth, MODEST, (500, 500), 600) <= 0.97


@pytest.mark.exhaustive
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("law", [MODEST, STRONG, UNEQUAL], ids=["modest", "strong", "unequal"])
@pytest.mark.parametrize(("rows", "prior"), [(200, 0.5), (200, 0.2)])
def test_coverage_of_the_local_auc(law, rate, rows, prior):
    truth = law.local_auc(prior, rate)
    share = coverage(lambda p: _local_area(p, rate), truth, law, (rows, prior), 1500)
    assert 0.93 <= share <= 0.97


@pytest.mark.exhaustive
@pytest.mark.parametrize("law", [MODEST, STRONG, UNEQUAL], ids=["modest", "strong", "unequal"])
@pytest.mark.parametrize(
    ("rows", "prior", "repeats"), [(200, 0.1, 1500), (200, 0.5, 1500), (600, 0.2, 600)]
)
def test_coverage_of_average_precision(law, rows, prior, repeats):
    truth = law.average_precision(prior)
    share = coverage(_mean_precision, truth, law, (rows, prior), repeats)
    assert 0.93 <= share <= 0.97


@pytest.mark.parametrize("name", ["fpr to 0.2", "tpr from 0.8", "two-way"])
def test_coverage_of_partial_areas_in_short(name):
    box = BOXES[name]
    truth = MODEST.area(box.min_fpr, box.max_fpr, box.min_tpr, box.max_tpr)
    assert 0.93 <= coverage(box.area, truth, MODEST, (60, 60), 800, seed=1) <= 0.975


def test_coverage_of_the_local_auc_in_short():
    truth = MODEST.local_auc(0.5, 0.2)
    share = coverage(lambda p: _local_area(p, 0.2), truth, MODEST, (120, 0.5), 800, seed=1)
    assert 0.93 <= share <= 0.97


def test_coverage_of_average_precision_in_short():
    truth = MODEST.average_precision(0.5)
    share = coverage(_mean_precision, truth, MODEST, (120, 0.5), 800, seed=1)
    assert 0.93 <= share <= 0.97


def weighed(number, law, prior, weigh):
    """The number of so many rows that it is as good as that of all."""
    rng = np.random.default_rng(99)
    y = rng.random(1_000_000) < prior
    score = law.draw(rng, y)
    return float(number(ROCBatch.along(Curve.of(y, score, sample_weight=weigh(score))))[0])


@pytest.mark.parametrize("power", [0.5, pytest.param(-0.5, marks=pytest.mark.exhaustive)])
def test_coverage_where_weights_go_with_the_score(power):
    """Weights of review or of importance: a class weighs more where its heavy rows are more."""

    def weigh(score):
        return np.exp(power * score)

    truth = weighed(_mean_precision, MODEST, 0.3, weigh)
    share = coverage(_mean_precision, truth, MODEST, (400, 0.3), 500, seed=2, weigh=weigh)
    assert 0.93 <= share <= 0.98
