"""A model that is right and useless: the page says both in one breath."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from app import reports

from fenchel.app.report.build import Options, build
from fenchel.app.report.document import worth


def noise(kind, n=160, seed=0):
    rng = np.random.default_rng(seed)
    frame = {f"x{k}": rng.normal(size=n) for k in range(5)}
    y = (
        rng.normal(size=n)
        if kind == "number"
        else rng.choice(["a", "b", "c"][: 2 + (kind == 3)], n)
    )
    return pl.DataFrame({**frame, "y": y})


@pytest.mark.parametrize("kind", ["number", 2, 3])
def test_noise_is_certified_and_not_green(kind):
    model = "ridge" if kind == "number" else "logistic"
    report = build(
        reports.source(noise(kind)), Options(target="y", models=(model,), challenger=False)
    )
    found = report.numbers["worth"]
    assert not found["better"] and report.numbers["certificate"]["certified"]
    lines = report.verdict()
    proof = next(k for k, line in enumerate(lines) if line.startswith("certified"))
    assert lines[proof + 1].startswith("but the model is ")
    (ribbon,) = re.findall(r'<p class="ribbon (\w+)">(.*?)</p>', report.html())
    assert ribbon[0] in ("problem", "warning")
    assert "Certified" in ribbon[1] and "than a constant prediction" in ribbon[1]
    (check,) = [one for one in report.numbers["findings"] if one["code"] == "M1"]
    assert check["severity"] in ("problem", "warning") and check["what"] == found["words"]


def test_a_good_model_is_green():
    assert reports.cancer().numbers["worth"]["better"]
    assert '<p class="ribbon passed">' in reports.cancer().html()


def compared(difference, low):
    above = {"value": difference, "low": low, "high": 1.0}
    return {"metric": "R²", "chosen": "m", "models": [{"name": "m", "above_baseline": above}]}


def head(value, low):
    model = {"value": value, "low": low, "high": 1.0}
    return {"name": "R²", "model": model, "baseline": {"value": 0.0}}


@pytest.mark.parametrize(
    ("difference", "low", "value", "test_low", "better", "severity", "short"),
    [
        (0.5, 0.3, 0.5, 0.3, True, None, ""),
        (0.5, 0.3, 0.1, -0.2, True, None, ""),  # the folds show it
        (0.1, -0.1, 0.1, -0.2, False, "warning", "is not shown to be better"),
        (0.5, 0.3, -29.9, -60.0, False, "problem", "is no better"),
        (0.1, -0.1, 0.5, 0.3, True, None, ""),  # the test rows show it
        (-0.1, -0.3, 0.5, 0.3, False, "problem", "is no better"),
    ],
)
def test_cases(difference, low, value, test_low, better, severity, short):
    found = worth(compared(difference, low), head(value, test_low))
    assert found["better"] is better and found["short"].startswith(short)
    if severity:
        assert found["severity"] == severity and found["words"]
