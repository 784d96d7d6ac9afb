"""Values in a manifest: each kind comes back as it was, and no other kind gets in."""

from __future__ import annotations

import json

import numpy as np
import pytest
from app.sameness import same

import fenchel
from fenchel.app.modelfile.decode import Decoder
from fenchel.app.modelfile.encode import NotStorable, ValueEncoder
from fenchel.convex.penalty import ElasticNet as ElasticPenalty


class OwnLoss(fenchel.Huber):
    """A loss of the user's own."""


def test_values_of_every_kind():
    """What parameters and attributes may hold, whether or not an estimator holds it today."""
    values = [
        *(None, True, 0, -(2**63), 2**64 - 1, 0.1, -0.0, np.inf, -np.inf, np.nan, "", "∂\0\ud800"),
        *(np.float32(0.1), np.float64(np.nan), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True)),
        *(np.str_("a"), np.float16(0.5), np.dtype(np.float32), np.dtype(bool), (), [], {}, ((),)),
        *([1, [2.5, None]], (1, (2, "x")), {1: "a", "1": 2, None: (3,), 2.5: {True: []}}),
        *(list(range(100)), tuple(np.linspace(0, 1, 100).tolist()), [1.0, *range(99)]),
        *([2**63] * 70, [np.nan] * 70, np.arange(6).reshape(2, 3), np.zeros((0, 3)), np.array(2.5)),
        *(
            np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            np.array(["a", "bcd"]),
            np.array([True]),
        ),
        *(
            np.array([], dtype="U3"),
            np.array([], dtype=object),
            np.array(["", "x∂", "y\0"], object),
            np.array([[b"", b"\xff\0"]], object),
        ),
        *(np.array([1, "a", None, 2.5, True, np.nan], object), np.array([["a"], ["b"]], object)),
        *(np.array([np.int64(3), np.str_("z")], object), np.random.RandomState(3)),
        *(fenchel.Huber(0.3), fenchel.Multinomial(4), ElasticPenalty(0.5, 0.25, True)),
        *(fenchel.Certificate(1.0, -np.inf, "estimate"), (fenchel.Certificate(1.0, np.nan),) * 3),
        fenchel.Certificate(-2.0, -np.inf, "stationary", residual=1e-9, scale=3.0),
        (
            fenchel.Certificate(1.0, 0.5, "spectral"),
            fenchel.Certificate(1.0, -np.inf, "eigen", residual=0.0, scale=2.0),
        ),
        fenchel.Threshold(1.5, k=3, n=5, alpha=0.1, delta=0.2, violation=0.05),
    ]
    for value in values:
        held = ValueEncoder()
        told = json.loads(json.dumps(held.value(value), allow_nan=False))
        decoder = Decoder(tuple(held.arrays))
        assert same(decoder.value(told, "it"), value), value
        decoder.finish()


def test_values_of_no_kind():
    frame = np.zeros(2, dtype=[("a", float)])
    days = np.array(["2020-01-01"], dtype="datetime64[D]")
    for value in (
        *(print, object(), {1, 2}, 2**64, 1j, b"x", range(3), np.longdouble(1), np.complex64(1)),
        *(frame, days, days[0], np.array([object()]), np.ma.zeros(3), np.random.default_rng(0)),
        *({(1, 2): 3}, [1, [print]], (fenchel.Ridge,), OwnLoss(1.0), np.dtype(object)),
    ):
        with pytest.raises(NotStorable):
            ValueEncoder().value(value)
