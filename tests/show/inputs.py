"""What figures are drawn of in the tests, plain and hostile."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel import (
    Certificate,
    Curve,
    Estimate,
)
from fenchel.score.area.roc_band import roc_band
from fenchel.score.selection.curve_values import LearningCurve, ValidationCurve

# Quotes, brackets, dots, signs of templates and of HTML; `zqx` is in no word of ours.
EVIL = "zqx\"'\\].[a.b]${x}<script>alert(1)</script>{{}}"
WORSE = "zqx\\"
LONG = "zqx " * 500

rng = np.random.default_rng(0)
Y = (rng.random(400) < 0.35).astype(int)
SCORE = Y * 1.4 + rng.normal(size=400)
PROBA = 1.0 / (1.0 + np.exp(0.6 - 1.5 * (SCORE - 0.5)))
CURVE = Curve.of(Y, PROBA)
MANY_Y = (rng.random(60_000) < 0.1).astype(int)
MANY_SCORE = MANY_Y * 1.2 + rng.normal(size=60_000)
MANY = Curve.of(MANY_Y, MANY_SCORE)
BAND = roc_band(Y, PROBA, method="exact")
MANY_BAND = roc_band(MANY_Y, MANY_SCORE, method="exact")
HISTORY = [
    Certificate(2.0, -40.0, "estimate", 0, 0.1),
    Certificate(1.6, 1.5, "duality", 1, 0.2),
    Certificate(1.5501, 1.55, "duality", 2, 0.3),
]
FOLDS = tuple((np.arange(80), np.arange(80, 100)) for _ in range(5))
TRAIN = np.linspace(0.6, 0.95, 7)[:, None] + 0.02 * rng.random((7, 5))
TEST = TRAIN - np.linspace(0.0, 0.2, 7)[:, None] ** 1.5


def tuned(name: str, values: Any) -> ValidationCurve:
    proofs = ((None,) * 5,) * 7
    return ValidationCurve(name, tuple(values), TRAIN, TEST, proofs, TRAIN, FOLDS)


STRENGTHS = np.geomspace(1e-3, 10.0, 7)
VALIDATION = tuned("C", STRENGTHS)
LEARNING = LearningCurve(
    np.array([10, 20, 40, 80, 160, 320, 640]), TRAIN, TEST, ((None,) * 5,) * 7, TRAIN, FOLDS
)
PATH = np.maximum(np.abs(np.linspace(-3.0, 3.0, 9)) - STRENGTHS[:, None], 0.0)
X = rng.normal(size=300)
Z = X + 0.5 * rng.normal(size=300)
MANY_X = rng.normal(size=20_000)
MANY_Z = MANY_X + rng.standard_t(3, size=20_000)
SIDE = np.linspace(-2.0, 2.0, 25)
H = np.array([[2.0, 1.2], [1.2, 1.4]])
WALK = [np.array([-2.0, 2.5])]
for _ in range(60):
    WALK.append(WALK[-1] - 0.5 * H @ WALK[-1])
CORRELATION = np.corrcoef(
    rng.normal(size=(60, 40)) + rng.normal(size=40) * (rng.random((60, 1)) - 0.5) * 4
)
MEAN = Estimate(0.9, 0.85, 0.93, level=0.95, method="a method")
