"""Bounds are rounded outward, values to the nearest, and one bound reads the same everywhere."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenchel import Estimate
from fenchel.data.display.rounding import DOWN, UP, fixed, interval_texts, percent, rounded
from fenchel.score.decision.risk import ErrorRate, RiskCertificate
from fenchel.show.formatting import estimated

SHARES = st.floats(0.0, 1.0)
NUMBERS = st.floats(-1e12, 1e12).filter(lambda x: x == 0.0 or abs(x) > 1e-12)


def exact(value):
    return Decimal(repr(float(value)))


@given(SHARES, SHARES, SHARES)
def test_a_percentage_holds_what_it_stands_for(a, b, c):
    low, value, high = sorted((a, b, c))
    shown, least, most = (Decimal(t) for t in interval_texts(value, low, high, percent=True))
    assert least <= 100 * exact(low) and 100 * exact(high) <= most
    assert least <= shown <= most
    # No farther than a unit of the last digit, and one place at least.
    assert 100 * exact(low) - least < Decimal("0.1") and most - 100 * exact(high) < Decimal("0.1")
    assert f"{most} %" == percent(high, UP) and f"{least} %" == percent(low, DOWN)


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from([None, 2, 3, 4, 6]))
def test_an_interval_holds_what_it_stands_for(a, b, c, digits):
    low, value, high = sorted((a, b, c))
    shown, least, most = (Decimal(t) for t in interval_texts(value, low, high, digits=digits))
    assert least <= exact(low) and exact(high) <= most
    assert least <= shown <= most


@given(NUMBERS, NUMBERS, NUMBERS)
def test_what_an_estimate_prints_holds_it(a, b, c):
    low, value, high = sorted((a, b, c))
    found = Estimate(value, low, high, level=0.95, method="m")
    for text in (str(found), estimated(found)):
        ends = text[text.index("[") + 1 : text.index("]")].split(", ")
        assert Decimal(ends[0]) <= exact(low) and exact(high) <= Decimal(ends[1])
        assert Decimal(ends[0]) <= Decimal(text.split(" ")[0]) <= Decimal(ends[1])


@given(SHARES, SHARES)
def test_a_larger_share_never_reads_smaller(a, b):
    a, b = sorted((a, b))
    for side in (None, UP, DOWN):
        assert Decimal(percent(a, side)[:-2]) <= Decimal(percent(b, side)[:-2])


@pytest.mark.parametrize(
    ("share", "nearest", "up", "down"),
    [
        (0.0, "0 %", "0 %", "0 %"),
        (1.0, "100 %", "100 %", "100 %"),
        (0.29742, "29.7 %", "29.8 %", "29.7 %"),
        (0.5, "50.0 %", "50.0 %", "50.0 %"),
        (0.0523, "5.2 %", "5.3 %", "5.2 %"),
        (0.00523, "0.52 %", "0.53 %", "0.52 %"),
        (0.99961, "99.961 %", "99.961 %", "99.961 %"),
        (0.9999999, "100 %", "100 %", "99.9999 %"),
        (1e-9, "0 %", "0.0001 %", "0 %"),
        (-0.12345, "-12.3 %", "-12.3 %", "-12.4 %"),
        (5.2341, "523.4 %", "523.5 %", "523.4 %"),
        (math.nan, "nan %", "nan %", "nan %"),
    ],
)
def test_percentages(share, nearest, up, down):
    assert (percent(share), percent(share, UP), percent(share, DOWN)) == (nearest, up, down)


def test_significant_digits_and_decimal_places():
    assert rounded(0.12345) == "0.123" and rounded(0.12345, UP) == "0.124"
    assert rounded(-0.12345, DOWN, 2) == "-0.13"
    assert rounded(math.inf, UP) == "inf" and rounded(-0.0, UP) == "0"
    assert (
        fixed(2.345, 2) == "2.34" and fixed(-0.004, 2) == "0.00" and fixed(-0.004, 2, UP) == "0.00"
    )
    assert fixed(1e300, 3, UP).startswith("1000") and fixed(math.nan, 2) == "nan"
    assert interval_texts(0.5, math.nan, math.nan)[1:] == ("nan", "nan")


def test_one_bound_reads_the_same_in_a_sentence_and_in_a_table():
    for errors, upper in ((0, 0.29742), (3, 0.05231), (9, 0.90004), (1, 0.99991)):
        rate = ErrorRate(errors, 10, upper)
        proof = RiskCertificate(rate, 0.05, ("no", "yes"), rate, None, None, "")
        in_table = interval_texts(rate.rate, 0.0, upper, percent=True)[2]
        assert f"is at most {in_table} %" in proof.sentences[0]
        assert f"is at most {in_table} %" in proof.sentences[1]
        assert 100 * exact(upper) <= Decimal(in_table)


def test_a_number_without_sampling_error():
    half = Estimate.exact(0.5, level=0.95, reason="the prediction is constant")
    assert half.is_exact and (half.low, half.high, half.standard_error) == (0.5, 0.5, 0.0)
    assert str(half) == "0.5 (exact: the prediction is constant)"
    assert estimated(half) == "0.5 exactly"
    # One that was written down and read again still knows.
    again = Estimate(0.5, 0.5, 0.5, level=0.95, method=half.method)
    assert again.is_exact and estimated(again) == "0.5 exactly"
    assert not Estimate(0.5, 0.5, 0.5, level=0.95, method="m").is_exact
