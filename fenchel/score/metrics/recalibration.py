"""Calibration slope and intercept: the logistic regression of the outcome on the predicted logit.

    slope b:      maximise over (a, b)  Σ sᵢ log P(yᵢ | a + b logit pᵢ)     (1 is right; below 1 the
                  predictions are too extreme, as of an overfitted model)
    intercept a:  maximise over a       Σ sᵢ log P(yᵢ | a + logit pᵢ)       (0 is right; above 0 the
                  event is more frequent than predicted)

Intervals are Wald's. The covariance is H⁻¹ (Σ sᵢ²rᵢ²xᵢxᵢᵀ) H⁻¹ with H = Σ sᵢpᵢ(1-pᵢ)xᵢxᵢᵀ. Here rᵢ²
is (yᵢ-pᵢ)², which does not assume that the recalibrated model is the true one (sandwich), or what
is expected of that, pᵢ(1-pᵢ) (model), whichever gives the larger variance. Probabilities may be so
extreme that hardly a row is expected on the wrong side: if none is there, all yᵢ-pᵢ nearly vanish,
although such rows tell next to nothing about calibration. Newton's method in two variables; cost
O(n) a step.

Reference: Cox, Two further applications of a model for binary regression, Biometrika 45 (1958);
Steyerberg, Clinical prediction models (2019), chapter 15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from fenchel.score.estimate import Estimate, check_share
from fenchel.score.labels import marked

Floats = NDArray[np.float64]
_LEAST = 1e-12  # probabilities nearer to 0 or 1 are brought back to it: their logit must be finite
_STEPS = 100
_FLAT = 1e-10  # a logit that varies less in total has no slope


def calibration_slope(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float | None = None,
) -> float:
    """Slope of the logistic recalibration of probabilities: 1 where they are as spread as they
    should be, below 1 where they are too extreme.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_proba : array of shape (n,)
        Predicted probabilities of the positive class.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class; by default the greater label.
    level : float, optional
        Give it with its interval of this coverage, as an `Estimate`.

    Returns
    -------
    float or Estimate

    Raises
    ------
    ValueError
        Where there is no finite slope: the probabilities are all equal, or separate the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import calibration_slope
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.05, 0.95, 5000)
    >>> y = rng.random(5000) < p
    >>> print(calibration_slope(y, p, level=0.95))
    1.029 [0.9669, 1.091] (95 %, Wald, the larger of sandwich and model variance)
    """
    y, z, s = _rows(y_true, y_proba, sample_weight, pos_label)
    middle = float(s @ z) / float(s.sum())
    if not np.abs(z - middle).max() > _FLAT:
        raise ValueError("the predicted probabilities are all equal: there is no calibration slope")
    separated = z[y == 1].min() >= z[y == 0].max() or z[y == 1].max() <= z[y == 0].min()
    if separated:
        raise ValueError(
            "the predicted probabilities separate the classes: the calibration slope is infinite"
        )
    design = np.column_stack([np.ones_like(z), z - middle])
    return _estimate(y, design, np.zeros_like(z), s, level)


def calibration_intercept(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float | None = None,
) -> float:
    """Intercept of the logistic recalibration at slope 1 (calibration in the large): 0 where the
    event is as frequent as predicted, above 0 where it is more frequent.

    Parameters, result and errors as of `calibration_slope`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import calibration_intercept
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.05, 0.95, 5000)
    >>> y = rng.random(5000) < p
    >>> print(calibration_intercept(y, p, level=0.95))
    -0.03063 [-0.09563, 0.03437] (95 %, Wald, the larger of sandwich and model variance)
    """
    y, z, s = _rows(y_true, y_proba, sample_weight, pos_label)
    return _estimate(y, np.ones((len(z), 1)), z, s, level)


def _rows(
    y_true: Any, y_proba: Any, sample_weight: Any, pos_label: Any
) -> tuple[Floats, Floats, Floats]:
    """Outcome, logit and weight of each row."""
    rows = marked(y_true, y_proba, sample_weight, pos_label)
    p = np.asarray(rows.score, np.float64)
    if p.min() < 0.0 or p.max() > 1.0:
        worst = int(np.argmax(np.abs(p - 0.5)))
        raise ValueError(f"y_proba[{worst}] is {p[worst]:g}: probabilities lie between 0 and 1")
    s = np.ones(len(p)) if rows.weight is None else np.asarray(rows.weight, np.float64)
    z = np.asarray(logit(np.clip(p, _LEAST, 1.0 - _LEAST)))
    return np.asarray(rows.positive, np.float64), z, s


def _estimate(y: Floats, X: Floats, offset: Floats, s: Floats, level: float | None) -> float:
    """The last coefficient of the weighted logistic regression of y on X, with its interval."""
    w = np.zeros(X.shape[1])
    value = _loss(y, X @ w + offset, s)
    for _ in range(_STEPS):
        p = expit(X @ w + offset)
        gradient = X.T @ (s * (p - y))
        H = (X * (s * p * (1.0 - p))[:, None]).T @ X
        step = np.linalg.solve(H, gradient)
        decrement = float(gradient @ step)
        if decrement <= 1e-20 * float(s.sum()):
            break
        length = 1.0
        while (new := _loss(y, X @ (w - length * step) + offset, s)) > value and length > 1e-8:
            length *= 0.5
        w, value = w - length * step, min(new, value)
    found = float(w[-1])
    if level is None:
        return found
    level = check_share(level, "level")
    p = expit(X @ w + offset)
    inverse = np.linalg.inv((X * (s * p * (1.0 - p))[:, None]).T @ X)
    variance = 0.0
    for squares in ((y - p) ** 2, p * (1.0 - p)):
        middle = (X * (s * s * squares)[:, None]).T @ X
        variance = max(variance, float((inverse @ middle @ inverse)[-1, -1]))
    error = math.sqrt(variance)
    reach = float(ndtri(0.5 + 0.5 * level)) * error
    how = "Wald, the larger of sandwich and model variance"
    return Estimate(
        found, found - reach, found + reach, level=level, method=how, standard_error=error
    )


def _loss(y: Floats, z: Floats, s: Floats) -> float:
    return float(s @ (np.logaddexp(0.0, z) - y * z))
