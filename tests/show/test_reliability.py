"""Calibration and net benefit, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from show.inputs import PROBA, Y
from show.reading import column, notes, table, tables, title

from fenchel import binomial_interval, brier, calibration_bins, show

FIELDS = ("x", "y", "a", "b", "n", "h", "o")


def test_bins_hold_equally_many_rows_with_exact_intervals():
    chart = show.calibration(Y, PROBA, bins=8, level=0.9, simultaneous=False)
    rows = table(chart, *FIELDS)
    assert column(rows, "n") == [50] * 8 and sum(column(rows, "h")) == Y.sum()
    order = np.argsort(PROBA, kind="stable")
    for row, part in zip(rows, np.split(order, 8), strict=True):
        assert row["h"] == Y[part].sum()
        assert abs(row["x"] - PROBA[part].mean()) < 1e-3
        low, high = binomial_interval(Y[part].sum(), 50, level=0.9)
        assert abs(row["a"] - low) < 1e-3 and abs(row["b"] - high) < 1e-3


def test_the_title_carries_the_brier_score():
    found = brier(Y, PROBA, level=0.95)
    assert title(show.calibration(Y, PROBA)).startswith(
        f"Brier score {found:.3f} [{found.low:.3f},"
    )
    assert found.method in notes(show.calibration(Y, PROBA))


def test_equal_probabilities_stay_in_one_bin():
    p = np.repeat([0.2, 0.2, 0.2, 0.9], 25)
    y = np.tile([0, 0, 0, 1, 1], 20)
    rows = table(show.calibration(y, p), *FIELDS)
    assert column(rows, "n") == [75, 25] and column(rows, "x") == [0.2, 0.9]
    bars = table(show.calibration(y, p), "a", "b", "y", "n")
    assert column(bars, "n") == [75, 25]


def test_labels_may_be_words():
    words = np.where(Y == 1, "bad", "good")
    assert title(show.calibration(words, PROBA, pos_label="bad")) == title(
        show.calibration(Y, PROBA)
    )
    assert title(show.net_benefit(words, PROBA, pos_label="bad")) == title(
        show.net_benefit(Y, PROBA)
    )


def test_net_benefit_is_what_flagging_is_worth():
    lines = [rows for rows in tables(show.net_benefit(Y, PROBA)) if set(rows[0]) == {"x", "y"}]
    model = max(lines, key=len)

    def worth(flagged, t):
        tp, fp = (flagged & (Y == 1)).sum(), (flagged & (Y == 0)).sum()
        return (tp - fp * t / (1.0 - t)) / len(Y)

    for row in model[:: len(model) // 20]:
        near = [worth(row["x"] + d <= PROBA, row["x"]) for d in (-1e-4, 0.0, 1e-4)]
        assert min(abs(row["y"] - w) for w in near) < 2e-3
    everything = min(lines, key=lambda rows: rows[-1]["y"])
    row = everything[len(everything) // 2]
    assert abs(row["y"] - worth(np.ones(len(Y), bool), row["x"])) < 1e-3


def test_a_model_that_says_nothing_is_no_better():
    y = np.tile([0, 1], 50)
    assert title(show.net_benefit(y, np.full(100, 0.5))) == "No better than flagging all or none"


def test_what_is_no_probability_is_refused():
    said = r"probability is 1\.5 in row 1: .* between 0 and 1; give predict_proba\(X\)\[:, 1\]"
    for figure in (show.calibration, show.net_benefit):
        with pytest.raises(ValueError, match=said):
            figure([0, 1], [0.5, 1.5])
        with pytest.raises(ValueError, match=r"labels come first, \w+\(y, probability\)"):
            figure([0.1, 0.5, 0.9], [0, 1, 1])


def test_bars_that_miss_the_diagonal_are_the_bins_that_are_off():
    """The very numbers: what is drawn orange, what the words count, what the function returns."""
    rng = np.random.default_rng(3)
    for bend in (1.0, 1.3, 3.0):
        p = rng.random(2000)
        y = (rng.random(2000) < p**bend).astype(int)
        for simultaneous in (True, False):
            held = calibration_bins(y, p, simultaneous=simultaneous)
            chart = show.calibration(y, p, simultaneous=simultaneous)
            rows = table(chart, *FIELDS)
            assert [bool(row["o"]) for row in rows] == held.is_off.tolist()
            missed = [not row["a"] <= row["x"] <= row["b"] for row in rows]
            assert missed == held.is_off.tolist()
            words = notes(chart)
            if held.n_off:
                assert f"Orange: {held.n_off} bin" in words
            else:
                assert "No bin misses the diagonal" in words
            assert ("Bonferroni" in words) == simultaneous


def test_simultaneous_intervals_are_those_of_the_corrected_level():
    held = calibration_bins(Y, PROBA, bins=8, level=0.9)
    low, high = binomial_interval(held.positives, held.rows, 1.0 - 0.1 / 8)
    assert np.array_equal(held.low, low) and np.array_equal(held.high, high)
    rows = table(show.calibration(Y, PROBA, bins=8, level=0.9), *FIELDS)
    assert np.allclose(column(rows, "a"), low, atol=1e-3)
    alone = calibration_bins(Y, PROBA, bins=8, level=0.9, simultaneous=False)
    assert (held.low <= alone.low).all() and (alone.high <= held.high).all()


def test_a_calibrated_model_is_seldom_off():
    rng = np.random.default_rng(0)
    off = {True: 0, False: 0}
    for _ in range(400):
        p = rng.random(300)
        y = rng.random(300) < p
        for simultaneous in off:
            held = calibration_bins(y, p, bins=10, level=0.9, simultaneous=simultaneous)
            off[simultaneous] += held.n_off > 0
    assert off[True] <= 0.1 * 400 + 18 and off[False] > 0.2 * 400
