from __future__ import annotations

import doctest
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import oracles.convex as oracles
import pytest
from convex.cases import MARGINS
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fenchel.convex.loss import calibration
from fenchel.convex.loss.calibration import excess_risk_bound
from fenchel.convex.loss.hinge import Hinge, SquaredHinge
from fenchel.convex.loss.margin import Exponential, Logistic, Margin

GRID = np.linspace(-1.0, 1.0, 41)


@dataclass(frozen=True, slots=True)
class _Pieces(Margin):
    """max over k of (height_k + slope_k m): any convex polygon."""

    slopes: tuple[float, ...] = (-1.0, 0.0)
    heights: tuple[float, ...] = (1.0, 0.0)
    smoothness: ClassVar[float] = math.inf

    def lines(self, m):
        return np.multiply.outer(m, self.slopes) + self.heights

    def phi(self, m):
        return self.lines(m).max(axis=-1)

    def dphi(self, m):
        return np.asarray(self.slopes)[self.lines(m).argmax(axis=-1)]

    def d2phi(self, m):
        return 0.0 * m

    def phi_star(self, t):
        """Only at 0, which is all that ψ asks for: minus the least value."""
        a = np.linspace(-50.0, 50.0, 1001)
        return np.where(t == 0.0, -self.phi(a).min(), np.inf)


@dataclass(frozen=True, slots=True)
class _SlowTail(Margin):
    """2 − m for m ≤ 1, 1/m beyond: a tail that no exponential reaches."""

    smoothness: ClassVar[float] = 2.0

    def phi(self, m):
        return np.where(m <= 1.0, 2.0 - m, 1.0 / np.maximum(m, 1.0))

    def dphi(self, m):
        return -1.0 / np.maximum(m, 1.0) ** 2

    def d2phi(self, m):
        return np.where(m <= 1.0, 0.0, 2.0 / np.maximum(m, 1.0) ** 3)

    def phi_star(self, t):
        return np.where((t <= 0.0) & (t >= -1.0), -2.0 * np.sqrt(np.clip(-t, 0.0, 1.0)), np.inf)


HINGE = _Pieces()
PERCEPTRON = _Pieces((-1.0, 0.0), (0.0, 0.0))
KINK_AT_0 = _Pieces((-2.0, -1.0, 0.0), (1.0, 1.0, 0.0))
RISING = _Pieces((0.0, 1.0), (0.0, 1.0))
TWO_KINKS = _Pieces((-3.0, -1.0, 0.0), (0.5, 1.0, 0.0))
POLYGONS = [HINGE, PERCEPTRON, KINK_AT_0, RISING, TWO_KINKS]


@pytest.mark.parametrize("loss", MARGINS, ids=repr)
def test_closed_forms_are_the_definition(loss):
    assert loss.psi(GRID) == pytest.approx(calibration.psi(loss, GRID), abs=1e-13)
    near = 1.0 - np.logspace(-15, -1, 15)
    assert loss.psi(near) == pytest.approx(calibration.psi(loss, near), abs=1e-13)


@pytest.mark.parametrize("loss", [*MARGINS, _SlowTail(), *POLYGONS], ids=repr)
def test_psi_is_the_envelope_of_the_definition(loss):
    # At ±1 the least risk may lie at infinity, where no grid reaches.
    inner = GRID[1:-1]
    assert loss.psi(inner) == pytest.approx(oracles.psi(loss.phi, inner), abs=2e-4)


@pytest.mark.parametrize("loss", [*MARGINS, _SlowTail(), *POLYGONS], ids=repr)
def test_psi_is_even_convex_and_zero_at_zero(loss):
    values = calibration.psi(loss, GRID)
    assert values[20] == pytest.approx(0.0, abs=1e-15) and (values >= 0.0).all()
    assert values == pytest.approx(values[::-1], abs=1e-14)
    assert (np.diff(values, 2) >= -1e-13).all()


def test_the_known_values():
    t = 0.6
    expected = {
        "SquareMargin": t**2,
        "Logistic": ((1 + t) * math.log(1 + t) + (1 - t) * math.log(1 - t)) / 2,
        "Hinge": t,
        "SquaredHinge": t**2,
        "Exponential": 1 - math.sqrt(1 - t**2),
        "ModifiedHuber": t**2,
    }
    for loss in MARGINS:
        assert loss.psi(t) == pytest.approx(expected[type(loss).__name__], rel=1e-14)
        assert loss.psi(-t) == loss.psi(t) and np.ndim(loss.psi(t)) == 0
    assert Logistic().psi(1.0) == pytest.approx(math.log(2.0))
    assert calibration.psi(Logistic(), 1.0) == pytest.approx(math.log(2.0))
    assert (Logistic().psi(GRID) >= GRID**2 / 2).all()


def test_psi_keeps_its_digits_near_zero():
    t = 1e-6
    assert Logistic().psi(t) == pytest.approx(t**2 / 2, rel=1e-9)
    assert Exponential().psi(t) == pytest.approx(t**2 / 2, rel=1e-11)


@pytest.mark.parametrize("loss", [*MARGINS, HINGE, TWO_KINKS, _SlowTail()], ids=repr)
def test_calibrated(loss):
    assert loss.is_calibrated()
    assert (loss.psi(GRID[21:]) > 0.0).all()


@pytest.mark.parametrize("loss", [PERCEPTRON, KINK_AT_0, RISING], ids=repr)
def test_not_calibrated(loss):
    assert not loss.is_calibrated()
    assert loss.psi(0.05) == 0.0


@pytest.mark.parametrize("loss", [*MARGINS, _SlowTail()], ids=repr)
def test_the_bound_inverts_psi(loss):
    t = np.linspace(0.0, 1.0, 21)
    assert excess_risk_bound(loss, loss.psi(t)) == pytest.approx(t, abs=1e-7)
    assert excess_risk_bound(loss, 0.0) == pytest.approx(0.0, abs=1e-7)
    assert excess_risk_bound(loss, 1e3) == 1.0
    assert excess_risk_bound(loss, np.full((2, 3), 0.1)).shape == (2, 3)
    assert np.ndim(excess_risk_bound(loss, 0.1)) == 0


def test_a_loss_that_is_not_calibrated_bounds_nothing():
    assert excess_risk_bound(PERCEPTRON, 0.0) == 1.0
    assert excess_risk_bound(KINK_AT_0, 0.0) == pytest.approx(1.0 / 3.0)


@pytest.mark.parametrize("loss", MARGINS, ids=repr)
@settings(max_examples=10)
@given(
    mass=hnp.arrays(float, 3, elements=st.floats(0.1, 1.0)),
    eta=hnp.arrays(float, 3, elements=st.floats(0.0, 1.0)),
    score=hnp.arrays(float, 3, elements=st.floats(-3.0, 3.0)),
)
def test_the_theorem_on_a_finite_world(loss, mass, eta, score):
    mass = mass / mass.sum()
    # sign(0) is a coin toss at worst: the rule errs on the larger side.
    wrong = np.where(score == 0.0, np.maximum(eta, 1 - eta), np.where(score > 0, 1 - eta, eta))
    excess = mass @ (wrong - np.minimum(eta, 1 - eta))
    risk = mass @ (eta * loss.phi(score) + (1 - eta) * loss.phi(-score))
    best = mass @ [oracles.optimal_risks(loss.phi, e)[0] for e in eta]
    assert loss.psi(min(excess, 1.0)) <= risk - best + 1e-4
    assert excess <= excess_risk_bound(loss, max(risk - best, 0.0) + 1e-4) + 1e-12


@pytest.mark.parametrize("theta", [1.1, -1.1, math.nan, [0.0, 2.0]])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), _SlowTail()], ids=repr)
def test_psi_has_a_domain(loss, theta):
    with pytest.raises(ValueError, match=r"theta must lie in \[-1, 1\]"):
        loss.psi(theta)


@pytest.mark.parametrize("excess", [-1e-9, math.nan])
def test_an_excess_is_not_negative(excess):
    with pytest.raises(ValueError, match="excess must be at least 0"):
        excess_risk_bound(Hinge(), excess)


def test_the_envelope_oracle_cuts_a_bump():
    x = np.linspace(-1.0, 1.0, 5)
    assert oracles.lower_envelope(x, np.array([1.0, 0.0, 0.5, 0.0, 1.0])) == pytest.approx(
        [1.0, 0.0, 0.0, 0.0, 1.0]
    )


def test_the_examples_run():
    assert doctest.testmod(calibration, raise_on_error=True).attempted > 0
