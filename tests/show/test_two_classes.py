"""Figures of two classes show the numbers of fenchel.score, at every threshold."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from show.inputs import CURVE, MANY, PROBA, SCORE, Y
from show.reading import column, notes, parsed, picture, table, tables, texts, title

from fenchel import Curve, Estimate, cost_threshold, curve_auc, show
from fenchel.score.area.average_precision import curve_average_precision
from fenchel.score.area.roc_band import roc_band
from fenchel.score.metrics.confusion import Confusion

PIXEL = 1.0 / 380.0


def test_the_title_carries_the_area_and_its_interval():
    area = curve_auc(CURVE)
    said = title(show.roc(CURVE))
    low, high = math.floor(1000.0 * area.low) / 1000.0, math.ceil(1000.0 * area.high) / 1000.0
    assert said == f"AUC {area:.3f} [{low:.3f}, {high:.3f}]"
    assert area.method in notes(show.roc(CURVE))
    given = Estimate(0.5, 0.4, 0.6, level=0.9, method="by hand")
    assert title(show.roc(CURVE, area=given)) == "AUC 0.50 [0.40, 0.60]"
    found = curve_average_precision(CURVE, level=0.95)
    assert title(show.precision_recall(CURVE)).startswith(f"Average precision {found:.2f}")


def test_the_curve_is_the_curve():
    chart = show.roc(CURVE, iso=False, hull=False)
    rows = next(rows for rows in tables(chart) if set(rows[0]) == {"x", "y"} and len(rows) > 2)
    x, y = np.array(column(rows, "x")), np.array(column(rows, "y"))
    on_curve = np.abs(x[:, None] - CURVE.fpr) + np.abs(y[:, None] - CURVE.tpr)
    assert on_curve.min(axis=1).max() < 0.1 * PIXEL
    assert abs(np.trapezoid(y, x) - CURVE.auc()) < PIXEL


def test_the_band_is_the_band():
    band = roc_band(Y, PROBA)
    rows = table(show.roc(CURVE, band=band), "i", "x", "y")
    x, y = np.array(column(rows, "x")), np.array(column(rows, "y"))
    area = 0.5 * abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1)))
    width = float(((band.upper - band.lower)[:-1] * np.diff(band.fpr)).sum())
    assert abs(area - width) < 2.0 * PIXEL
    assert "95 %" in notes(show.roc(CURVE, band=band))


def test_lines_of_equal_cost_touch_the_curve_and_nothing_lies_above():
    prior, costs = 0.2, (1.0, 3.0)
    chart = show.roc(CURVE, prior=prior, costs=costs, hull=False)
    rows = [row for row in table(chart, "k", "x", "y") if row["k"] == 0]
    (a, b), (c, d) = ((row["x"], row["y"]) for row in rows)
    height = b + (d - b) / (c - a) * (CURVE.fpr - a)
    assert (CURVE.tpr <= height + PIXEL).all()
    assert np.abs(CURVE.tpr - height).min() < PIXEL
    best = cost_threshold(Y, PROBA, prior=prior, cost_fp=costs[0], cost_fn=costs[1])
    assert any(s.startswith(f"cost {best.cost:.3g}") for s in texts(picture(chart)))


def test_precision_and_recall_enclose_the_average_precision():
    chart = show.precision_recall(CURVE)
    rows = table(chart, "i", "x", "y")
    x, y = np.array(column(rows, "x")), np.array(column(rows, "y"))
    assert abs(np.trapezoid(y, x) - curve_average_precision(CURVE)) < 2.0 * PIXEL
    assert f"share of positives {100 * CURVE.prior:.0f} %" in texts(picture(chart))


def test_gains_and_lift():
    flagged, found, _ = CURVE.gains()
    tenth = np.interp(0.1, flagged, found)
    assert f"hold {100 * tenth:.0f} % of the positives" in title(show.gains(CURVE))
    rows = table(show.gains(CURVE), "i", "x", "y")
    drawn = np.trapezoid(column(rows, "y"), column(rows, "x"))
    assert abs(drawn - np.trapezoid(found, flagged)) < PIXEL
    assert f"{10 * tenth:.3g} times" in title(show.lift(CURVE))
    rows = table(show.lift(CURVE), "i", "x", "y")
    assert rows[-1] == {"i": len(rows) - 1, "x": 1.0, "y": 1.0}


def test_bars_of_scores_hold_all_rows():
    rows = table(show.score_histogram(CURVE), "a", "b", "y", "n", "s", "k", "c")
    for k, y in ((1, Y == 1), (0, Y == 0)):
        mine = [row for row in rows if row["k"] == k]
        assert sum(column(mine, "n")) == y.sum()
        assert abs(sum(column(mine, "s")) - 1.0) < 0.01
        assert all((row["y"] > 0.0) == (k == 1) for row in mine)
        for row in mine:
            inside = (row["a"] <= PROBA) & (row["b"] > PROBA) & y
            assert inside.sum() == row["n"]
    with_ends = Curve.of([0, 0, 1, 1], [-np.inf, 0.0, 1.0, np.inf])
    rows = table(show.score_histogram(with_ends), "a", "b", "y", "n", "s", "k", "c")
    assert sum(column(rows, "n")) == 4


@pytest.mark.parametrize("t", [-9.0, 0.0, 0.123456, 0.3, 0.5, 0.77, 1.0, 9.0])
def test_four_figures_move_together(t):
    flagged = t <= PROBA
    tp, fp = int((flagged & (Y == 1)).sum()), int((flagged & (Y == 0)).sum())
    P, N = int(Y.sum()), int((Y == 0).sum())
    at = {"threshold": t}
    points = show.operating_points(CURVE, t)
    assert points.tp[points.chosen] == tp
    cells = texts(picture(show.confusion(CURVE, ["no", "yes"], threshold=t), **at))
    assert cells[:4] == [f"{v:,}" for v in (tp, fp, P - tp, N - fp)]
    shares = (tp / P, fp / N, 1 - tp / P, 1 - fp / N)
    assert np.allclose([float(s[:-1]) / 100 for s in cells[4:8]], shares, atol=0.00051)
    want = [100 * tp / P, 100 * fp / N]  # where nothing is flagged there is no precision
    want += [100 * tp / (tp + fp)] if tp + fp else []
    for figure in (show.roc, show.precision_recall, show.gains, show.lift):
        known = {"precision": 0.5} if figure is show.precision_recall else {}
        drawn = texts(picture(figure(CURVE, threshold=t, **known), **at))
        (corner,) = (written for written in drawn if "finds" in written)
        assert np.allclose([float(s) for s in re.findall(r"([\d.]+)%", corner)], want, atol=0.051)
        assert ("precision –" in corner) == (not tp + fp)
    drawn = texts(picture(show.score_histogram(CURVE, threshold=0.4), **at))
    assert f"score ≥ {t:.3g}".replace("-", "−") in drawn


def test_a_figure_moves_through_every_threshold_of_the_table():
    points = show.operating_points(MANY, 1.5)
    chart = show.confusion(MANY, threshold=1.5)
    for i in range(0, len(points.threshold), 80):
        cells = texts(picture(chart, threshold=float(points.threshold[i])))
        tp, fp = points.tp[i], points.fp[i]
        want = (tp, fp, points.n_positive - tp, points.n_negative - fp)
        assert cells[:4] == [f"{int(v):,}" for v in want]


def test_the_threshold_is_a_signal():
    for chart in (
        show.roc(CURVE, threshold=0.3),
        show.precision_recall(CURVE, threshold=0.3, precision=0.5),
        show.score_histogram(CURVE, threshold=0.3),
        show.confusion(CURVE, threshold=0.3),
        show.net_benefit(Y, PROBA, threshold=0.3),
    ):
        assert chart.to_dict()["params"] == [{"name": "threshold", "value": 0.3}]
    assert "params" not in show.roc(CURVE).to_dict()


def test_hovered_points_know_their_threshold():
    points = show.operating_points(CURVE)
    rows = table(show.roc(CURVE), "t", "h", "p", "f")
    assert column(rows, "t") == points.threshold.tolist()
    assert column(rows, "p") == points.tp.tolist()


def test_counts_of_many_classes():
    counts = np.array([[5, 1, 0], [2, 7, 0], [0, 0, 0]])
    chart = show.confusion(counts, ["a", "b", "c"])
    assert title(chart) == "12 of 15 rows right (80 %)"
    rows = table(chart, "i", "j", "n")
    assert [row["n"] for row in rows] == counts.ravel().tolist()
    seen = Confusion.of(["x", "y", "y"], ["x", "x", "y"])
    assert title(show.confusion(seen)) == "2 of 3 rows right (67 %)"
    big = np.arange(1600.0).reshape(40, 40)
    rows = table(show.confusion(big), "i", "j", "n")
    assert sum(column(rows, "n")) == big.sum()
    assert len(rows) == 900


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: show.confusion([[1, 2, 3]]), "square"),
        (lambda: show.confusion([[1, 2], [3, 4]], ["a"]), "2 labels"),
        (lambda: show.confusion([[1, 2], [3, 4]], threshold=0.5), "no threshold"),
        (lambda: show.confusion(CURVE), "threshold"),
        (lambda: show.confusion(CURVE, ["a", "b", "c"], threshold=0.5), "two classes"),
        (lambda: show.roc(Curve.of([1, 1], [0.1, 0.2], pos_label=1)), "no negative row"),
        (lambda: show.roc(CURVE, prior=1.5), "prior"),
    ],
)
def test_what_cannot_be_drawn_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_scores_need_not_be_probabilities():
    curve = Curve.of(Y, SCORE * 1e9)
    assert title(show.roc(curve)) == title(show.roc(Curve.of(Y, SCORE)))
    assert texts(picture(show.score_histogram(curve, threshold=1e9)))
    assert parsed("x,y\n1,2\n3,")[1] == {"x": 3.0, "y": None}
