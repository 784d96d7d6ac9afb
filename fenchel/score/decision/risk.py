"""From a test sample to statements about the error of a model, each with its probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.calibration import excess_risk_bound
from fenchel.convex.loss.margin import Margin
from fenchel.data.arrays import to_numpy
from fenchel.data.display.result_table import Tabular
from fenchel.data.display.rounding import DOWN, UP, percent, rounded
from fenchel.score.estimate import check_share, is_number
from fenchel.score.intervals.binomial import upper_bound
from fenchel.score.labels import column

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """k errors on n rows, and the rate they exceed with probability at most δ: exact binomial."""

    errors: int
    n: int
    upper: float

    @property
    def rate(self) -> float:
        return self.errors / self.n


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the loss of a model says about its excess error: ψ(R(f) − R*) ≤ R_φ(f) − R_φ*.

    Attributes
    ----------
    loss : Margin
        The loss φ that the model was fitted with.
    risk : float
        Mean of φ(y f(x)) over the test rows: an estimate.
    cut : float
        B; the score cut to [−B, B] decides as the score does, and its loss is bounded.
    upper : float
        Bound of R_φ of the cut score, by the empirical Bernstein inequality at 1 − δ.
    best_risk : float
        The lower bound of R_φ* that was given, or inf φ.
    excess : float
        ψ⁻¹(upper − best_risk), a bound of R(f) − R* at 1 − δ.
    gap : float or None
        ρ: the training objective, on the scale of a mean loss, is proved to be that near to its
        minimum.
    gap_cost : float or None
        ψ⁻¹(ρ): what ρ can add to a bound of the excess error that rests on the training objective.
    """

    loss: Margin
    risk: float
    cut: float
    upper: float
    best_risk: float
    excess: float
    gap: float | None
    gap_cost: float | None


@dataclass(frozen=True, slots=True)
class RiskCertificate(Tabular):
    """Bounds of a model's error from rows that it has not seen; `str` writes them out.

    Attributes
    ----------
    error : ErrorRate
        Of all rows: `error.rate` on the sample, `error.upper` with probability at least 1 − δ.
    false_positive, false_negative : ErrorRate or None
        Of the rows of each of two classes, the second of `classes` being positive.
    calibration : Calibration or None
        Of a model that names a calibrated margin loss; `reason` says why not.
    sentences : tuple of str
        All of it in words, ready to quote.
    """

    error: ErrorRate
    delta: float
    classes: tuple[Any, ...]
    false_positive: ErrorRate | None
    false_negative: ErrorRate | None
    calibration: Calibration | None
    reason: str

    @property
    def sentences(self) -> tuple[str, ...]:
        sure = f"with probability at least {_sure(self.delta)}"
        e = self.error
        lines = [
            f"The model errs on {e.errors} of {e.n} test rows ({percent(e.rate)}); {sure} over "
            f"the draw of these rows, its error rate is at most {percent(e.upper, UP)}."
        ]
        for of, called, side in (
            (self.false_positive, 1, "false positive"),
            (self.false_negative, 0, "false negative"),
        ):
            if of is not None:
                true, name = self.classes[1 - called], self.classes[called]
                lines.append(
                    f"Of {of.n} rows of class {true!r} it puts {of.errors} into class {name!r}; "
                    f"{sure}, its {side} rate is at most {percent(of.upper, UP)}."
                )
        lines.append(
            "Each of these statements is true by itself with its probability, if the test rows "
            "are independent draws of what the model will meet and had no part in its training "
            "or choice."
        )
        if self.calibration is None:
            return (*lines, self.reason)
        return (*lines, *_calibrated(self.calibration, sure))

    def columns(self) -> dict[str, Any]:
        """One row a statement: what was counted, and the bound."""
        rates = {
            "error": self.error,
            "false positives": self.false_positive,
            "false negatives": self.false_negative,
        }
        kept = {name: rate for name, rate in rates.items() if rate is not None}
        found: dict[str, list[Any]] = {
            "statement": list(kept),
            "errors": [rate.errors for rate in kept.values()],
            "rows": [rate.n for rate in kept.values()],
            "rate": [rate.rate for rate in kept.values()],
            "upper": [rate.upper for rate in kept.values()],
        }
        if self.calibration is not None:
            more = ("excess error, by calibration", None, None, None, self.calibration.excess)
            for column, value in zip(found.values(), more, strict=True):
                column.append(value)
        return found

    def shares(self) -> tuple[str, ...]:
        return ("rate", "upper")

    def caption(self) -> str:
        return f"Each upper bound holds with probability at least {_sure(self.delta)} by itself."

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def risk_certificate(
    model: Any, X_test: Any, y_test: Any, delta: float = 0.05, *, best_risk: float | None = None
) -> RiskCertificate:
    """The error of a fitted classifier, bounded from rows that it has not seen.

    k errors on n rows: R(f) ≤ B⁻¹(1 − δ; k + 1, n − k) with probability at least 1 − δ, exactly,
    for any classifier and any law; so too for the rates of both errors of two classes.

    A model of two classes that was fitted with a calibrated margin loss φ, and says so in `loss_`,
    gets more. R(f) − R* ≤ ψ⁻¹(R_φ(f) − R_φ*) for every score f, R* the error of the best rule that
    exists, and R_φ* the least expected loss. It is applied to the score cut to [−B, B]: the
    decisions are the same, and its losses v on the n rows, of variance V and range w, give
    R_φ ≤ v̄ + √(2V log(2/δ)/n) + 7w log(2/δ)/(3(n − 1)) with probability at least 1 − δ. B depends
    on φ, n and δ alone.

    Parameters
    ----------
    model : fitted classifier
        Of this library or any other with scikit-learn's interface; pipelines and searches too.
    X_test, y_test : rows and labels that had no part in training or choosing the model
    delta : float, default 0.05
        Probability with which each statement may be wrong.
    best_risk : float, optional
        A lower bound of R_φ* that is known, as for a simulator: see `bayes_risk`. By default inf φ,
        and then ψ⁻¹ can give no more than R(f) − R* ≤ R(f).

    Returns
    -------
    RiskCertificate
        Its `str` is the statements in words, with what they assume.

    References
    ----------
    Bartlett, Jordan and McAuliffe, Convexity, classification, and risk bounds, JASA 101 (2006).
    Maurer and Pontil, Empirical Bernstein bounds and sample variance penalization, COLT (2009).
    Bottou and Bousquet, The tradeoffs of large scale learning, NIPS (2007).

    Examples
    --------
    >>> from fenchel import GaussianClasses, LogisticRegression, risk_certificate
    >>> classes = GaussianClasses([[0.0, 0.0], [2.0, 1.0]])
    >>> model = LogisticRegression().fit(*classes.sample(500, random_state=0))
    >>> found = risk_certificate(model, *classes.sample(1000, random_state=1))
    >>> found.error.errors, found.error.n, round(found.error.upper, 4)
    (133, 1000, 0.152)
    >>> print(found.sentences[1][:47])
    Of 493 rows of class 0 it puts 63 into class 1;
    """
    delta = check_share(delta, "delta")
    if not is_classifier(model):
        raise TypeError(f"risk_certificate judges classifiers, and {model!r} is none")
    labels = column(y_test, "y_test")
    if not labels.size:
        raise ValueError("y_test is empty: there is no row to judge the model by")
    called = column(model.predict(X_test), "the prediction")
    if called.size != labels.size:
        raise ValueError(f"X_test has {called.shape[0]} rows and y_test has {labels.size}")
    classes = np.asarray(to_numpy(model.classes_))
    _check_labels(labels, classes)
    wrong = called != labels
    sides: list[ErrorRate | None] = [None, None]
    if classes.size == 2:
        sides = [_rate(wrong[labels == own], delta) for own in classes]
    error = _rate(wrong, delta)
    assert error is not None
    calibration, reason = None, _unknown(model, classes.size)
    if not reason:
        calibration = _calibrate(model, X_test, labels == classes[1], delta, best_risk)
    elif best_risk is not None:
        raise ValueError(f"best_risk says nothing here: {reason}")
    named = tuple(classes.tolist())
    return RiskCertificate(error, delta, named, sides[0], sides[1], calibration, reason)


def _check_labels(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """An error where a label is missing, or of none of two classes; of more, one may be new."""
    strange = np.ones(labels.size, dtype=bool)
    for own in classes:
        strange &= labels != own
    if classes.size > 2 and not strange.all():
        strange &= labels != labels
    if strange.any():
        row = int(strange.argmax())
        known = ", ".join(repr(own) for own in classes.tolist())
        (label,) = labels[row : row + 1].tolist()
        raise ValueError(f"y_test is {label!r} in row {row}; the model knows {known}")


def _rate(wrong: NDArray[np.bool_], delta: float) -> ErrorRate | None:
    n, k = int(wrong.size), int(wrong.sum())
    return ErrorRate(k, n, float(upper_bound(k, n, delta))) if n else None


# --------------------------------------------------------------------------------- calibration


def _inner(model: Any) -> Any:
    """The model that decides, out of pipelines, searches and frozen wrappings."""
    while True:
        if isinstance(model, Pipeline):
            model = model[-1]
        elif isinstance(model, BaseSearchCV):
            model = model.best_estimator_
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        else:
            return model


def _unknown(model: Any, n_classes: int) -> str:
    """Why the bound of calibration does not apply, if it does not."""
    inner = _inner(model)
    name, loss = type(inner).__name__, vars(inner).get("loss_")
    if n_classes != 2:
        return (
            f"The bound by calibration is one for two classes, and this model has {n_classes}: "
            "nothing is said of its excess error but that it is at most its error."
        )
    if not isinstance(loss, Margin):
        return (
            f"Nothing is said of the excess error of {name} but that it is at most its error: a "
            "sharper bound takes a model fitted with a convex loss of the margin, named in loss_."
        )
    if not loss.is_calibrated():
        return (
            f"The loss {loss} of {name} is not calibrated: a small expected loss does not bound "
            "the excess error."
        )
    return ""


def _calibrate(
    model: Any, X: Any, positive: NDArray[np.bool_], delta: float, best_risk: float | None
) -> Calibration:
    inner = _inner(model)
    loss: Margin = inner.loss_
    least, start = _least(loss), float(loss.phi(np.zeros(1))[0])
    best = least if best_risk is None else best_risk
    if not (is_number(best) and least <= best <= start):
        raise ValueError(
            f"best_risk must lie between {least:g} and {start:g}, the loss of a score of zero, "
            f"got {best_risk!r}"
        )
    score = np.asarray(to_numpy(model.decision_function(X)), dtype=np.float64)
    margin = np.where(positive, score, -score)
    cut = _cut(loss, least, margin.size, delta)
    upper = _bernstein(loss, np.clip(margin, -cut, cut), least, cut, delta)
    gap = gap_cost = None
    proof = vars(inner).get("certificate_")
    # Of a weighted fit the gap is one of the weighted mean loss, which bounds no other.
    weighted = inner.get_params().get("class_weight") is not None
    if isinstance(proof, Certificate) and proof.kind != "estimate" and not weighted:
        gap = max(float(inner.loss_gap_), 0.0)
        if math.isfinite(gap):
            gap_cost = float(excess_risk_bound(loss, gap))
        else:
            gap = None
    excess = float(excess_risk_bound(loss, max(upper - best, 0.0)))
    risk = float(loss.phi(margin).mean())
    return Calibration(loss, risk, cut, upper, float(best), excess, gap, gap_cost)


def _cut(loss: Margin, least: float, n: int, delta: float) -> float:
    """B, from 1 to 64, of the least φ(B) + 7 (φ(−B) − inf φ) log(2/δ) / (3(n − 1)): what the cut
    adds to the loss of a sure decision, and what the range adds to the bound."""
    B = 2.0 ** (np.arange(25) / 4.0)
    price = loss.phi(B) + _share(n, delta) * (loss.phi(-B) - least)
    return float(B[int(np.argmin(price))])


def _bernstein(loss: Margin, margin: Floats, least: float, cut: float, delta: float) -> float:
    value = loss.phi(margin)
    top = float(np.max(loss.phi(np.array([-cut, cut]))))
    n = value.size
    if n < 2:
        return top
    spread = math.sqrt(2.0 * float(value.var(ddof=1)) * math.log(2.0 / delta) / n)
    return min(float(value.mean()) + spread + _share(n, delta) * (top - least), top)


def _share(n: int, delta: float) -> float:
    return 7.0 * math.log(2.0 / delta) / (3.0 * max(n - 1, 1))


def _calibrated(c: Calibration, sure: str) -> tuple[str, ...]:
    known = c.best_risk > _least(c.loss)
    least = f"at least {rounded(c.best_risk, DOWN)}" + (", as given," if known else "")
    lines = [
        f"The model was fitted with the calibrated loss φ = {c.loss}: its error R(f) exceeds the "
        "error R* of the best rule that exists by at most ψ⁻¹(R_φ(f) − R_φ*), where R_φ is the "
        "expected loss and R_φ* the least of any score (Bartlett, Jordan and McAuliffe 2006).",
        f"The mean loss on the test rows is {c.risk:.4g}, an estimate of R_φ(f); {sure}, the score "
        f"cut to [−{c.cut:.3g}, {c.cut:.3g}], which decides alike, has an expected loss of at most "
        f"{rounded(c.upper, UP)}, and R_φ* is {least} so that R(f) − R* is at most "
        f"{percent(c.excess, UP)}.",
    ]
    if not known:
        lines.append(
            "With no more known of R_φ*, ψ⁻¹(R_φ(f)) is never below R(f), and R(f) − R* ≤ R(f) is "
            "the better bound; a lower bound of R_φ*, given as best_risk, can sharpen this one."
        )
    if c.gap is not None and c.gap_cost is not None:
        gap = rounded(c.gap, UP)
        lines.append(
            f"The training objective is proved to be within ρ = {gap} of its minimum, on the scale "
            "of a mean loss. If every training row had the same weight, a bound a of "
            "R_φ(f) − R_φ* by uniform convergence, made for the exact minimiser, is a + ρ for this "
            "fit, and ψ⁻¹(a + ρ) ≤ ψ⁻¹(a) + ψ⁻¹(ρ): unfinished optimisation adds at most ψ⁻¹(ρ) = "
            f"{percent(c.gap_cost, UP)} to such a bound of its excess error."
        )
    return tuple(lines)


def _least(loss: Margin) -> float:
    """inf φ = −φ*(0)."""
    return 0.0 - float(loss.phi_star(np.zeros(1))[0])


def _sure(delta: float) -> str:
    """1 − δ in percent, δ rounded up to three digits: 99.99 % is not 100 %."""
    three = Context(prec=3, rounding=UP.rounding)
    return f"{100 - three.create_decimal(100 * Decimal(repr(delta))).normalize():f} %"
