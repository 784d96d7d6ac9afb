from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
import oracles.convex as oracles
import pytest
from convex.cases import PENALTIES
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fenchel.convex.penalty import L1, L2, ElasticNet, NonNegative, Penalty
from fenchel.testing import check_penalty

NAIVE = {
    "L2": oracles.l2,
    "L1": oracles.l1,
    "ElasticNet": oracles.elastic_net,
    "NonNegative": oracles.non_negative,
}


# The laws are enough for a penalty; an oracle, for a sum over entries, says that it is also the one
# of its name.
WITH_ORACLE = [penalty for penalty in PENALTIES if type(penalty).__name__ in NAIVE]


def euclid(u, v):
    return float((u * v).sum())


def naive(penalty):
    return lambda w: NAIVE[type(penalty).__name__](w, **asdict(penalty))


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_laws(penalty, global_random_seed):
    check_penalty(penalty, seed=global_random_seed)


@pytest.mark.parametrize("penalty", WITH_ORACLE, ids=repr)
@settings(max_examples=30)
@given(
    w=hnp.arrays(float, st.integers(1, 5), elements=st.floats(-20, 20).map(lambda x: round(x, 6))),
    step=st.floats(0.01, 10),
)
def test_the_textbook_formula(penalty, w, step):
    f = naive(penalty)
    value = sum(f(x) for x in w)
    assert penalty.value(w, euclid) == pytest.approx(value, rel=1e-12, abs=1e-300)
    brute = [oracles.prox(f, x, step) if math.isfinite(f(x)) else 0.0 for x in w]
    assert penalty.prox(w, step) == pytest.approx(brute, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("penalty", WITH_ORACLE, ids=repr)
@pytest.mark.parametrize("v", [-2.0, -0.25, 0.0, 0.05, 3.0])
def test_conjugate_is_the_naive_supremum(penalty, v):
    brute = oracles.conjugate(naive(penalty), v) if v else 0.0
    given = penalty.conjugate(np.array([v]), euclid)
    assert given == brute or given == pytest.approx(brute, rel=1e-6)


def test_a_kernel_has_its_own_inner_product():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 4))
    K = A @ A.T
    w, v = rng.standard_normal((2, 6))

    def inner(a, b):
        return float(a @ K @ b)

    penalty = L2(0.3)
    assert penalty.value(w, inner) == pytest.approx(0.15 * w @ K @ w)
    assert penalty.conjugate(v, inner) == pytest.approx(v @ K @ v / 0.6)
    equal = penalty.value(w, inner) + penalty.conjugate(0.3 * w, inner)
    assert equal == pytest.approx(inner(w, 0.3 * w))


def test_elastic_net_contains_its_ends():
    rng = np.random.default_rng(1)
    w = rng.standard_normal((5, 3))
    for net, end in ((ElasticNet(0.4, 1.0), L1(0.4)), (ElasticNet(0.4, 0.0), L2(0.4))):
        assert net.value(w, euclid) == end.value(w, euclid)
        assert net.conjugate(w, euclid) == end.conjugate(w, euclid)
        assert np.array_equal(net.prox(w, 0.5), end.prox(w, 0.5))
        assert net.dual_scale(w) == end.dual_scale(w)


@settings(max_examples=100)
@given(
    lam=st.floats(1e-12, 1e6),
    v=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.integers(1, 4),
        elements=st.floats(-1e6, 1e6, width=32),
    ),
)
def test_shrink_of_l1_is_exact(lam, v):
    c = L1(lam).dual_scale(v)
    assert L1(lam).conjugate(c * v, euclid) == 0.0
    assert L1(lam).conjugate(c * v.astype(float), euclid) == 0.0
    if c < 1.0:
        assert c * abs(v).max() >= lam * (1.0 - 1e-6)


def test_no_penalty_allows_only_the_zero_of_the_dual():
    free = L2(0.0)
    assert free.value(np.ones(3), euclid) == 0.0
    assert free.conjugate(np.zeros(3), euclid) == 0.0 and free.dual_scale(np.zeros(3)) == 1.0
    assert free.conjugate(np.full(3, 1e-200), euclid) == math.inf
    assert free.dual_scale(np.full(3, 1e-200)) == 0.0
    assert free.conjugate(np.full(3, math.nan), euclid) == math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L2(-1.0), "lam must be nonnegative"),
        (lambda: L1(math.nan), "lam must be nonnegative"),
        (lambda: L1(math.inf), "lam must be nonnegative"),
        (lambda: ElasticNet(-1e-9), "lam must be nonnegative"),
        (lambda: ElasticNet(1.0, 1.1), r"l1_ratio must lie in \[0, 1\]"),
        (lambda: ElasticNet(1.0, -0.1), r"l1_ratio must lie in \[0, 1\]"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_penalties_are_values():
    assert L1(np.float64(0.5)) == L1(0.5) and hash(L1(0.5)) == hash(L1(0.5))
    assert L1(0.5) != L2(0.5) and NonNegative() == NonNegative()
    w = np.ones(2, dtype=np.float32)
    assert L1(np.float64(0.5)).prox(w, np.float64(0.1)).dtype == np.float32


@dataclass(frozen=True, slots=True)
class _Broken(Penalty):
    """A sound penalty with one fault."""

    sound: Penalty
    fault: str = ""

    def value(self, w, inner):
        value = self.sound.value(w, inner)
        return math.sqrt(value) if self.fault == "not convex" else value

    def conjugate(self, v, inner):
        if self.fault == "conjugate without a domain":
            return 0.0
        star = self.sound.conjugate(v, inner)
        return 0.9 * star if self.fault == "wrong conjugate" else star

    def dual_scale(self, v):
        factor = {"shrinks too much": 0.99, "shrinks too little": 1.01}.get(self.fault, 1.0)
        return min(1.0, factor * self.sound.dual_scale(v))

    def prox(self, w, step):
        if self.fault == "prox forgets the step":
            step = 1.0
        u = self.sound.prox(w, step)
        return u.astype(float) if self.fault == "widens float32" else u


@pytest.mark.parametrize("sound", [L1(0.5), ElasticNet(0.5, 0.5)])
def test_the_sound_twin_of_the_broken_penalties_passes(sound):
    check_penalty(_Broken(sound))


@pytest.mark.parametrize(
    ("fault", "sound", "law"),
    [
        ("not convex", L1(0.5), "convexity"),
        ("conjugate without a domain", L1(0.5), "shrink is the largest factor"),
        ("wrong conjugate", ElasticNet(0.5, 0.5), "Fenchel-Young equality"),
        ("shrinks too much", L1(0.5), "shrink is the largest factor"),
        ("shrinks too little", L1(0.5), "shrink reaches the domain"),
        ("prox forgets the step", L1(0.5), "prox"),
        ("widens float32", L1(0.5), "keeps the type"),
    ],
)
def test_a_broken_penalty_is_caught(fault, sound, law):
    with pytest.raises(AssertionError, match=f"{fault}.* law .*{law}"):
        check_penalty(_Broken(sound, fault))
