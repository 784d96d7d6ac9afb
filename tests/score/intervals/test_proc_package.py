"""Against R's pROC: areas, DeLong's variance and test, partial areas, vertices of the curve.

`data_files/proc_reference.R` made the file; R is not needed to read it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fenchel import Curve, auc, compare_auc, compare_partial_auc, partial_auc

FILE = Path(__file__).resolve().parents[2] / "data_files" / "proc_reference.json"
SETS = json.loads(FILE.read_text("utf-8"))["sets"]
CASES = [(name, score) for name in SETS for score in "ab"]
REGIONS = list(SETS["plain"]["score_a"]["partial"])


def box_of(region):
    what, low, high = region.split("_")
    return {f"min_{what}": float(low), f"max_{what}": float(high)}


@pytest.mark.parametrize(("name", "score"), CASES)
def test_area_variance_and_interval(name, score):
    rows, theirs = SETS[name], SETS[name][f"score_{score}"]
    ours = auc(rows["y"], rows[score], level=0.95, method="plain")
    assert ours == pytest.approx(theirs["auc"], abs=1e-13)
    assert ours.standard_error**2 == pytest.approx(theirs["variance"], rel=1e-10)
    assert (ours.low, ours.high) == pytest.approx(theirs["interval"], abs=1e-10)


@pytest.mark.parametrize(("name", "score"), CASES)
def test_vertices_of_the_curve(name, score):
    rows, theirs = SETS[name], SETS[name][f"score_{score}"]
    curve = Curve.of(rows["y"], rows[score])
    # pROC runs from the lowest threshold up.
    assert 1.0 - curve.fpr[::-1] == pytest.approx(np.array(theirs["specificity"]), abs=1e-13)
    assert curve.tpr[::-1] == pytest.approx(np.array(theirs["sensitivity"]), abs=1e-13)


@pytest.mark.parametrize("name", SETS)
def test_paired_comparison(name):
    rows, theirs = SETS[name], SETS[name]["paired"]
    ours = compare_auc(rows["y"], rows["a"], rows["b"])
    assert ours.z == pytest.approx(theirs["z"], rel=1e-9)
    assert ours.p_value == pytest.approx(theirs["p"], rel=1e-9)
    variance = ours.first.standard_error**2 + ours.second.standard_error**2
    covariance = 0.5 * (variance - ours.difference.standard_error**2)
    assert covariance == pytest.approx(theirs["covariance"], rel=1e-8)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize(("name", "score"), CASES)
def test_partial_area(name, score, region):
    rows, theirs = SETS[name], SETS[name][f"score_{score}"]["partial"][region]
    y, s = rows["y"], rows[score]
    assert partial_auc(y, s, **box_of(region)) == pytest.approx(theirs["area"], abs=1e-12)
    ours = partial_auc(y, s, scale="standardised", **box_of(region))
    if theirs["standardised"] is None:  # pROC has no answer below the diagonal
        assert ours < 0.5
    else:
        assert ours == pytest.approx(theirs["standardised"], abs=1e-12)


# With few rows in a region, or the classes nearly apart, a plain bootstrap is too short.
ENOUGH = ["plain", "ties", "few_values", "chance"]


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("score", ["a", "b"])
@pytest.mark.parametrize("name", ENOUGH)
def test_partial_interval_is_like_a_bootstrap(name, score, region):
    rows, theirs = SETS[name], SETS[name][f"score_{score}"]["partial"][region]
    ours = partial_auc(rows["y"], rows[score], level=0.95, **box_of(region))
    low, high = theirs["bootstrap"]
    slack = 0.3 * (high - low) + 0.003
    assert ours.low == pytest.approx(low, abs=slack)
    assert ours.high == pytest.approx(high, abs=slack)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("name", ENOUGH)
def test_partial_comparison_is_like_a_bootstrap(name, region):
    rows, theirs = SETS[name], SETS[name]["paired"]["bootstrap_z"][region]
    ours = compare_partial_auc(rows["y"], rows["a"], rows["b"], **box_of(region))
    assert math.isfinite(ours.z)
    assert ours.z == pytest.approx(theirs, abs=0.1 + 0.15 * abs(theirs))
