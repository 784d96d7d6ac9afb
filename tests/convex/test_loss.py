from __future__ import annotations

import doctest
import inspect
import math
import pkgutil
from dataclasses import FrozenInstanceError, asdict, dataclass
from importlib import import_module
from typing import ClassVar

import numpy as np
import oracles.convex as oracles
import pytest
from convex.cases import LOSSES, PENALTIES
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fenchel.convex
import fenchel.testing
from fenchel.convex.loss.base import Loss, round_inward
from fenchel.convex.loss.distance import (
    Absolute,
    Distance,
    EpsilonInsensitive,
    FormulaDistance,
    Huber,
    Pinball,
    Square,
)
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.loss.margin import Exponential, Logistic, Margin
from fenchel.convex.loss.multiclass import Joint, MulticlassHinge, Multinomial, project_simplex
from fenchel.convex.penalty import Penalty
from fenchel.testing import check_loss

NAIVE = {
    "Square": oracles.square,
    "Absolute": oracles.absolute,
    "Huber": oracles.huber,
    "Pinball": oracles.pinball,
    "EpsilonInsensitive": oracles.epsilon_insensitive,
    "SquaredEpsilonInsensitive": oracles.squared_epsilon_insensitive,
    "SquareMargin": oracles.square_margin,
    "Logistic": oracles.logistic,
    "Hinge": oracles.hinge,
    "SquaredHinge": oracles.squared_hinge,
    "Exponential": oracles.exponential,
    "ModifiedHuber": oracles.modified_huber,
}
SCALAR = [loss for loss in LOSSES if not isinstance(loss, Joint)]
# The laws are enough for a loss; an oracle says that it is also the one of its name.
WITH_ORACLE = [loss for loss in SCALAR if type(loss).__name__ in NAIVE]
finite = st.floats(-30, 30)


def targets(loss):
    return st.sampled_from([-1.0, 1.0]) if isinstance(loss, Margin) else finite


def naive(loss, y):
    return lambda z: NAIVE[type(loss).__name__](y, z, **asdict(loss))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_laws(loss, global_random_seed):
    check_loss(loss, seed=global_random_seed)


@pytest.mark.parametrize(("kind", "cases"), [(Loss, LOSSES), (Penalty, PENALTIES)])
def test_every_public_class_is_a_case(kind, cases):
    listed = {type(case) for case in cases}
    for module in pkgutil.walk_packages(fenchel.convex.__path__, "fenchel.convex."):
        for name, found in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(found, kind) and not inspect.isabstract(found) and name[0] != "_":
                assert found in listed, f"{name} is in no list of tests/convex/cases.py"


@pytest.mark.parametrize("loss", WITH_ORACLE, ids=repr)
@settings(max_examples=40)
@given(data=st.data())
def test_value_is_the_textbook_formula(loss, data):
    y, z = data.draw(targets(loss)), data.draw(finite)
    given = loss.value(np.array([y]), np.array([z]))[0]
    assert given == pytest.approx(naive(loss, y)(z), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("loss", WITH_ORACLE, ids=repr)
@settings(max_examples=15)
@given(data=st.data())
def test_conjugate_is_the_naive_supremum(loss, data):
    y, theta = data.draw(targets(loss)), data.draw(st.floats(-3, 3).map(lambda t: round(t, 3)))
    reach = 500.0
    brute = oracles.conjugate(naive(loss, y), theta, reach)
    given = loss.conjugate(np.array([y]), np.array([theta]))[0]
    around = loss.conjugate(np.array([y, y]), theta * np.array([1.0 - 1e-9, 1.0 + 1e-9]))
    # At 0.1 = 1 - 0.9 rounding says on which side of the domain's end a point lies, and a search
    # of finite reach cannot see a slope of 1e-17.
    assume(np.isinf(around[0]) == np.isinf(around[1]))
    if math.isinf(brute) or math.isinf(given):
        assert given == brute
    else:
        assert given == pytest.approx(brute, rel=1e-6, abs=1e-5)


@settings(max_examples=60)
@given(
    z=hnp.arrays(float, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=finite),
    data=st.data(),
)
def test_multinomial_is_the_textbook_formula(z, data):
    n, k = z.shape
    y = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    value, gradient, P = Multinomial(k).evaluate(y, z)
    assert value == pytest.approx([oracles.multinomial(*row) for row in zip(y, z, strict=True)])
    assert P.sum(axis=1) == pytest.approx(np.ones(n), rel=1e-14)
    assert gradient == pytest.approx(P - np.eye(k)[y], abs=1e-15)


@settings(max_examples=60)
@given(
    z=hnp.arrays(float, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=finite),
    data=st.data(),
)
def test_multiclass_hinge_is_the_textbook_formula(z, data):
    n, k = z.shape
    y = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    value = MulticlassHinge(k).value(y, z)
    naive = [oracles.multiclass_hinge(*row) for row in zip(y, z, strict=True)]
    assert value == pytest.approx(naive, abs=1e-13)


@settings(max_examples=60)
@given(hnp.arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=finite))
def test_a_projection_onto_the_simplex_is_the_nearest_point(v):
    q = project_simplex(v)
    assert (q >= 0.0).all() and q.sum(axis=1) == pytest.approx(np.ones(len(v)), abs=1e-12)
    # The nearest point: no corner of the simplex lies on the other side of the plane through it.
    for corner in np.eye(v.shape[1]):
        assert (((v - q) * (corner - q)).sum(axis=1) <= 1e-9 * (1.0 + np.abs(v).max())).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_multinomial_leaves_scores_of_any_layout_alone(order):
    z = np.asarray(np.random.default_rng(0).standard_normal((20, 3)), order=order)
    before, y = z.copy(), np.arange(20) % 3
    Multinomial(3).evaluate(y, z)
    assert np.array_equal(z, before)


def test_two_classes_are_the_logistic_loss():
    z = np.linspace(-40, 40, 81)
    scores = np.column_stack([0 * z, z])
    for y in (-1.0, 1.0):
        code = np.full(81, int(y > 0))
        value, gradient, P = Multinomial(2).evaluate(code, scores)
        binary = Logistic().evaluate(np.full(81, y), z)
        assert value == pytest.approx(binary[0], rel=1e-14, abs=1e-15)
        assert gradient[:, 1] == pytest.approx(binary[1], abs=1e-15)
        assert P[:, 0] * P[:, 1] == pytest.approx(binary[2], abs=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logistic_keeps_relative_precision_in_both_tails(dtype):
    m = np.array([80.0, 40.0, 10.0, 0.0, -10.0, -40.0, -80.0, -1e4], dtype=dtype)
    value, gradient, curvature = Logistic().evaluate(np.ones_like(m), m)
    e = np.exp(-np.abs(m.astype(float)))
    eps = 8 * float(np.finfo(dtype).eps)
    assert value == pytest.approx(np.maximum(-m, 0.0) + np.log1p(e), rel=eps)
    assert -gradient == pytest.approx(np.where(m > 0, e, 1.0) / (1 + e), rel=eps)
    assert curvature[:7] == pytest.approx((e / (1 + e) ** 2)[:7], rel=eps)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_smoothness_is_reached(loss):
    if isinstance(loss, Joint):
        z = np.full((1, loss.n_classes), -40.0)
        z[0, :2] = 0.0  # two classes of probability 1/2
        u = np.zeros_like(z)
        u[0, :2] = 1.0, -1.0
        code = np.zeros(1, dtype=int)
        most = (u * loss.curvature_product(loss.curvature(code, z), u)).sum() / 2.0
    else:
        z = np.array([-0.01, 0.0, 0.01, 3.0])  # the last beyond every flat zone
        most = loss.curvature(np.full(4, 1.0 if isinstance(loss, Margin) else 0.0), z).max()
    assert loss.smoothness == (pytest.approx(most) if math.isfinite(loss.smoothness) else math.inf)


@settings(max_examples=60)
@given(
    weight=hnp.arrays(float, 12, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0])),
    theta=hnp.arrays(float, 12, elements=st.floats(-1, 1)),
    cut=st.integers(0, 12),
)
def test_centring_with_ties_and_zero_weights(weight, theta, cut):
    y = np.zeros(12)
    for loss in (Absolute(), Square()):
        total = loss.centring_sums(y[:cut], theta[:cut], weight[:cut])
        total = total + loss.centring_sums(y[cut:], theta[cut:], weight[cut:])
        moved = loss.centre_dual(y, theta, total)
        assert abs(weight @ moved) <= 1e-14 * (1 + weight @ abs(theta))
        assert np.isfinite(loss.conjugate(y, moved)).all()


@settings(max_examples=60)
@given(
    weight=hnp.arrays(float, 9, elements=st.sampled_from([0.0, 0.25, 1.0])),
    z=hnp.arrays(float, (9, 3), elements=st.floats(-50, 50)),
    y=hnp.arrays(np.int64, 9, elements=st.integers(0, 2)),
)
def test_centring_of_classes(weight, z, y):
    loss = Multinomial(3)
    theta = loss.gradient(y, z)
    moved = loss.centre_dual(y, theta, loss.centring_sums(y, theta, weight))
    assert abs(weight @ moved).max() <= 1e-14 * (1 + weight.sum())
    assert np.isfinite(loss.conjugate(y, moved)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Huber(eps=0.0), "eps must be positive"),
        (lambda: Huber(eps=math.nan), "eps must be positive"),
        (lambda: Huber(eps=math.inf), "eps must be positive"),
        (lambda: EpsilonInsensitive(eps=-0.1), "eps must be nonnegative"),
        (lambda: Pinball(quantile=0.0), "quantile must lie strictly between 0 and 1"),
        (lambda: Pinball(quantile=1.0), "quantile must lie strictly between 0 and 1"),
        (lambda: Multinomial(n_classes=1), "n_classes must be at least 2"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_losses_are_values():
    assert Huber(1.0) == Huber(eps=1) and hash(Huber(1.0)) == hash(Huber(eps=1))
    assert Huber(1.0) != Huber(2.0) and Square() == Square()
    with pytest.raises(FrozenInstanceError):
        Huber().eps = 2.0
    assert Multinomial(np.int64(3)) == Multinomial(3)
    with pytest.raises(TypeError):
        Multinomial(2.5)


@pytest.mark.parametrize("make", [Huber, Pinball, EpsilonInsensitive])
def test_a_numpy_parameter_does_not_widen_float32(make):
    loss = make(np.float64(0.3))
    y = np.linspace(-1, 1, 5, dtype=np.float32)
    parts = (*loss.evaluate(y, -y), loss.conjugate(y, 0 * y))
    assert {part.dtype for part in parts} == {np.dtype(np.float32)}


def test_a_bound_is_rounded_towards_zero():
    narrow = np.zeros(1, dtype=np.float32)
    for bound in (0.1, -0.1, 0.9, 1.35, -1.35, 0.5):
        near = round_inward(bound, narrow)
        assert near == np.float32(near) and abs(near) <= abs(bound)
        assert abs(bound - near) <= 2e-7 * abs(bound)
        assert round_inward(bound, np.zeros(1)) == bound


def test_exponential_overflows_to_infinity_without_a_warning():
    value, gradient, curvature = Exponential().evaluate(np.ones(1), np.array([-1e4]))
    assert value[0] == curvature[0] == math.inf and gradient[0] == -math.inf


# A law that no broken loss breaks proves nothing: each of these has one fault.


@dataclass(frozen=True, slots=True)
class _Broken(Distance):
    """The Huber loss with ε = 1, and one fault."""

    fault: str = ""
    smoothness: ClassVar[float] = 1.0
    sound: ClassVar[Huber] = Huber(1.0)

    def phi(self, r):
        value = self.sound.phi(r)
        if self.fault == "not convex":
            return np.sqrt(value)
        return value.astype(float) if self.fault == "widens float32" else value

    def dphi(self, r):
        slope = self.sound.dphi(r)
        if self.fault == "gradient outside the domain":
            return slope * (1 + 1e-13)
        return -slope if self.fault == "wrong gradient" else slope

    def d2phi(self, r):
        return self.sound.d2phi(r) * (0.5 if self.fault == "wrong curvature" else 1.0)

    def phi_star(self, theta):
        if self.fault == "warns":
            np.log(theta - 5.0)
        if self.fault == "conjugate without a domain":
            return theta**2 / 2
        if self.fault == "conjugate with slack":
            return np.where(abs(theta) <= 1 + 1e-9, theta**2 / 2, np.inf)
        star = self.sound.phi_star(theta)
        wrong = {"wrong sign of the conjugate": -1.0, "conjugate too large": 1.01}
        return wrong.get(self.fault, 1.0) * star

    def value(self, y, z):
        value = self.phi(z - y)
        if self.fault == "overflows":
            return np.where(abs(z) > 1e3, np.inf, value)
        if self.fault == "changes its argument":
            z += 1.0
        return value

    def evaluate(self, y, z):
        value, gradient, curvature = Distance.evaluate(self, y, z)
        return value + (self.fault == "evaluate differs"), gradient, curvature

    def centre_dual(self, y, theta, imbalance):
        if self.fault == "does not centre":
            return theta
        if self.fault == "centres out of the domain":
            return theta - (imbalance[0] - imbalance[1]) / 100
        return Distance.centre_dual(self, y, theta, imbalance)


@dataclass(frozen=True, slots=True)
class _TooSmooth(FormulaDistance):
    """The absolute value, said to be smooth."""

    smoothness: ClassVar[float] = 1.0
    value_formula = staticmethod(Absolute.value_formula)
    slope_formula = staticmethod(Absolute.slope_formula)
    curvature_formula = staticmethod(Absolute.curvature_formula)
    conjugate_formula = staticmethod(Absolute.conjugate_formula)


def test_the_sound_twin_of_the_broken_losses_passes():
    check_loss(_Broken())


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("overflows", "finite value"),
        ("evaluate differs", "evaluate agrees with value"),
        ("changes its argument", "evaluate agrees|unchanged"),
        ("not convex", "convexity"),
        ("wrong gradient", "gradient against finite differences"),
        ("wrong curvature", "curvature against finite differences"),
        ("wrong sign of the conjugate", "Fenchel-Young"),
        ("conjugate too large", "Fenchel-Young equality"),
        ("gradient outside the domain", "lies in the domain|Fenchel-Young equality"),
        ("conjugate without a domain", "Fenchel-Young inequality|infinite outside"),
        ("conjugate with slack", "infinite outside"),
        ("warns", "without a warning"),
        ("does not centre", "weighted sum 0"),
        ("centres out of the domain", "centred point"),
        ("widens float32", "keeps the type"),
    ],
)
def test_a_broken_loss_is_caught(fault, law):
    with pytest.raises(AssertionError, match=f"{fault}.* law .*({law})"):
        check_loss(_Broken(fault))


class _Narrowed(Huber):
    """Huber's loss, whose continuation narrows the threshold in place of widening it."""

    def with_threshold(self, eps):
        return Huber(0.5 * eps)


def test_a_continuation_sets_the_threshold():
    with pytest.raises(AssertionError, match="with_threshold sets the threshold"):
        check_loss(_Narrowed())


def test_a_kink_is_not_smooth():
    with pytest.raises(AssertionError, match="smoothness bounds the change of gradient"):
        check_loss(_TooSmooth())


def test_reach_is_what_must_be_finite():
    check_loss(Exponential())
    with pytest.raises(AssertionError, match="finite value"):
        check_loss(Exponential(), reach=1e4)
    check_loss(Hinge(), reach=1e6)


def test_the_examples_run():
    assert doctest.testmod(fenchel.testing, raise_on_error=True).attempted > 0
