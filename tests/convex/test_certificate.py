"""The certificate: what closes it, what a sum proves, and what it says."""

from __future__ import annotations

import itertools
import math
from typing import get_args

import pytest

from fenchel import Certificate
from fenchel.convex.certificate import STRENGTH, Kind, weakest

INF = math.inf
CASES = [
    Certificate(2.0, 1.5),
    Certificate(2.0, 2.0 - 1e-9),
    Certificate(2.0, 2.0, "exact"),
    Certificate(2.0, 1.0, "spectral"),
    Certificate(2.0, 2.0, "eigen"),
    Certificate(-3.0, -INF, "eigen", residual=1e-9),
    Certificate(-3.0, -INF, "eigen", residual=0.1),
    Certificate(1e-9, -INF, "stationary", residual=1e-8, scale=2.0),
    Certificate(0.1, -INF, "stationary"),
    Certificate(0.1, 0.1, "estimate"),
    Certificate(0.1, -INF, "estimate", residual=0.0),
    Certificate(1e-12, -1e-7, scale=3.0),
    Certificate(math.nan, 0.0),
    Certificate(1.0, -INF, "eigen", residual=math.nan),
]
TOLS = (0.0, 1e-8, 1e-3, 0.2, 1.0)


def test_kinds_are_all_ordered() -> None:
    assert set(STRENGTH) == set(get_args(Kind)) and len(STRENGTH) == len(set(STRENGTH))
    assert weakest("exact", "duality") == "duality"
    assert weakest("spectral", "eigen") == "spectral"
    assert weakest("stationary", "duality") == "stationary"
    assert weakest("estimate", "exact") == "estimate"


def test_what_closes() -> None:
    closed = {
        (i, tol) for i, proof in enumerate(CASES) for tol in TOLS if proof.closed(tol) is True
    }
    least = {1: 1e-8, 2: 0.0, 4: 0.0, 5: 1e-8, 7: 1e-8, 11: 1e-3, 0: 1.0, 3: 1.0, 6: 0.2}
    assert closed == {(i, tol) for i, low in least.items() for tol in TOLS if tol >= low}


@pytest.mark.parametrize(("a", "b"), list(itertools.product(CASES, CASES)))
def test_a_sum_is_of_the_weakest_kind_and_closed_only_where_both_are(a, b) -> None:
    both = a + b
    assert both.kind == weakest(a.kind, b.kind)
    if a.residual is not None or b.residual is not None:
        for tol in TOLS:
            assert both.closed(tol) == (a.closed(tol) and b.closed(tol))
    else:
        worst = max(a.error, b.error)
        assert not both.error > worst * (1.0 + 1e-12) or not math.isfinite(both.value)
    assert str(both) and both.caption().endswith(".")


def test_a_factor_changes_no_error() -> None:
    for proof in CASES:
        twice = proof.scaled(2.0)
        assert twice.error == proof.error or math.isnan(proof.error)
        assert [twice.closed(tol) for tol in TOLS] == [proof.closed(tol) for tol in TOLS]


def test_each_kind_has_its_sentence() -> None:
    said = [str(proof) for proof in CASES]
    assert said[0].endswith("optimum at least 1.5: within 0.25 of the best possible (duality)")
    assert said[2].endswith("within rounding of the best possible (exact)")
    assert said[3].endswith("within 0.5 of the best possible (spectral, a bound that may be loose)")
    assert said[5] == "objective -3: eigenpairs to within 1e-09"
    assert said[7].endswith("a stationary point, perhaps not the best, to within 1e-08")
    assert said[8].endswith("nothing proved about the optimum")
    assert said[9].endswith("not proved (estimated gap 0)")
    assert said[10].endswith("not proved (estimated residual 0)")
    assert "of the best possible, relative to a scale of " in said[11]


def test_a_table_of_one_row() -> None:
    columns = CASES[5].columns()
    assert columns["residual"] == [1e-9] and "residual" not in CASES[0].columns()
