"""The laws of the library as functions: what every loss and every penalty must satisfy.

A law raises an AssertionError that names the law, the object that breaks it and the point where.
The laws hold for the losses of this library and for yours.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fenchel.convex.loss import Loss
from fenchel.convex.margin import Exponential, Margin
from fenchel.convex.multiclass import Multinomial
from fenchel.convex.penalty import Penalty
from fenchel.data.arrays import host

__all__ = ["check_loss", "check_penalty"]


def check_loss(loss: Loss, *, reach: float | None = None, seed: int = 0) -> None:
    """Check that a loss is convex, and that its derivatives and its conjugate belong to it.

    Fenchel-Young inequality at random points and equality at gradients; the conjugate against a
    brute-force supremum and infinite outside its domain; gradient and curvature against finite
    differences; the smoothness; gradients inside the domain; centring, at once and by blocks;
    float32 against float64 and, where torch is installed, torch against numpy.

    Parameters
    ----------
    loss : Loss
        A `Margin` is given targets ±1, `Multinomial` codes, any other loss real targets.
    reach : float, optional
        The largest score at which value and derivatives must be finite: 1e4, and 1e2 for
        `Exponential`, whose values leave the floating-point range soon after.
    seed : int, default 0
        Seed of the random points.

    Raises
    ------
    AssertionError
        With the law, the loss and the first point at which the law fails.

    Examples
    --------
    >>> from fenchel.convex.distance import Huber
    >>> from fenchel.testing import check_loss
    >>> check_loss(Huber(eps=0.5))
    """
    if reach is None:
        reach = 1e2 if isinstance(loss, Exponential) else 1e4
    for law in _LOSS_LAWS:
        with _no_floating_point_warning(loss, law):
            law(loss, reach, np.random.default_rng(seed))


def check_penalty(penalty: Penalty, *, seed: int = 0) -> None:
    """Check that a penalty is convex, and that its conjugate and its prox belong to it.

    Fenchel-Young inequality, and equality where the prox attains it; the conjugate against a
    brute-force supremum; `shrink` exact; the prox against perturbations and against brute force;
    float32 and, where torch is installed, torch against numpy.

    Parameters
    ----------
    penalty : Penalty
        The penalty, in the Euclidean inner product.
    seed : int, default 0
        Seed of the random points.

    Raises
    ------
    AssertionError
        With the law, the penalty and the point at which the law fails.

    Examples
    --------
    >>> from fenchel.convex.penalty import ElasticNet
    >>> from fenchel.testing import check_penalty
    >>> check_penalty(ElasticNet(lam=0.3, l1_ratio=0.9))
    """
    for law in _PENALTY_LAWS:
        with _no_floating_point_warning(penalty, law):
            law(penalty, np.random.default_rng(seed))


@contextmanager
def _no_floating_point_warning(subject: Any, law: Callable[..., None]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            yield
        except RuntimeWarning as warning:
            name = law.__name__.strip("_").replace("_", " ")
            raise AssertionError(f"{subject!r} warns under the law '{name}': {warning}") from None


def _require(subject: Any, law: str, holds: Any, **point: Any) -> None:
    """Raise unless `holds` is true everywhere; the message shows the first row where it is not."""
    rows = np.atleast_1d(np.asarray(holds, dtype=bool))
    rows = rows.reshape(len(rows), -1).all(axis=1)
    if rows.all():
        return
    i = int(np.argmin(rows))
    shown = {
        name: host(values)[i] if np.ndim(values) and len(values) == len(rows) else values
        for name, values in point.items()
    }
    where = ", ".join(f"{name} = {value}" for name, value in shown.items())
    raise AssertionError(f"{subject!r} breaks the law '{law}'" + (f" at {where}" if where else ""))


def _libraries() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """numpy, and torch where it is installed: a name and a function that makes its arrays."""
    yield "numpy", np.asarray
    if importlib.util.find_spec("torch") is not None:
        import torch

        yield "torch", torch.tensor


# ---------------------------------------------------------------------------------------- losses


def _targets(loss: Loss, rng: np.random.Generator, n: int) -> Any:
    if isinstance(loss, Multinomial):
        return rng.integers(0, loss.n_classes, n)
    return rng.choice([-1.0, 1.0], n) if isinstance(loss, Margin) else 3.0 * rng.standard_normal(n)


def _scores(loss: Loss, rng: np.random.Generator, y: Any) -> Any:
    """Scores near and far, on the scale of the targets."""
    vector = isinstance(loss, Multinomial)
    z = rng.standard_normal((len(y), loss.n_classes) if isinstance(loss, Multinomial) else len(y))
    far = 10.0 ** rng.uniform(-2.0, 1.0, len(y))
    return far[:, None] * z if vector else far * z + (0.0 if isinstance(loss, Margin) else y)


def _points(loss: Loss, rng: np.random.Generator, n: int = 120) -> tuple[Any, Any]:
    y = _targets(loss, rng, n)
    return y, _scores(loss, rng, y)


def _dot(a: Any, b: Any) -> Any:
    """⟨a, b⟩ row by row: a product for scalar scores, a sum over the classes otherwise."""
    return a * b if np.ndim(a) == 1 else (a * b).sum(axis=-1)


def _column(step: Any, z: Any) -> Any:
    return step if np.ndim(z) == 1 else step[:, None]


def _size(z: Any) -> Any:
    return np.sqrt(_dot(z, z))


def _finite(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    y, z = _points(loss, rng)
    far = reach * np.sign(z)
    for name in ("value", "gradient", "curvature"):
        for at in (z, 0.0 * z, far):
            holds = np.isfinite(getattr(loss, name)(y, at))
            _require(loss, f"finite {name}", holds, y=y, z=at)
    _require(loss, "finite evaluate", [np.isfinite(part).all() for part in loss.evaluate(y, far)])


def _evaluate(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    y, z = _points(loss, rng)
    z[0] *= reach / 10.0
    before = y.copy(), z.copy()
    for name, part in zip(("value", "gradient", "curvature"), loss.evaluate(y, z), strict=True):
        alone = getattr(loss, name)(y, z)
        _require(loss, f"shape of {name}", part.shape == alone.shape, shape=part.shape)
        holds = np.isclose(part, alone, rtol=1e-12, atol=1e-15)
        _require(loss, f"evaluate agrees with {name}", holds, y=y, z=z)
    loss.center(y, z, loss.imbalance(y, z, np.ones(len(y))))
    loss.conjugate(y, z)
    unchanged = np.array_equal(before[0], y) and np.array_equal(before[1], z)
    _require(loss, "arguments are left unchanged", unchanged)


def _convex(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    y, z = _points(loss, rng)
    other, t = _scores(loss, rng, y), rng.random(len(y))
    chord = t * loss.value(y, z) + (1.0 - t) * loss.value(y, other)
    middle = loss.value(y, _column(t, z) * z + _column(1.0 - t, z) * other)
    _require(loss, "convexity", middle <= chord + 1e-12 * (1.0 + abs(chord)), y=y, z=z, other=other)


def _gradient(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    """Between the difference quotients on the two sides, which holds at kinks too."""
    y, z = _points(loss, rng)
    if not isinstance(loss, Multinomial):
        z[:4] = y[:4] * [0.0, 1.0, -1.0, 0.0] if isinstance(loss, Margin) else y[:4]
    u = rng.choice([-1.0, 1.0], z.shape)
    h = 1e-4 * (1.0 + _size(z))
    slope = _dot(loss.gradient(y, z), u)
    here, step = loss.value(y, z), _column(h, z) * u
    left, right = loss.value(y, z - step), loss.value(y, z + step)
    slack = 1e-13 * (1.0 + abs(left) + abs(right)) / h
    holds = ((here - left) / h <= slope + slack) & (slope - slack <= (right - here) / h)
    _require(loss, "gradient against finite differences", holds, y=y, z=z)


def _curvature(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    y, z = _points(loss, rng)
    u = rng.standard_normal(z.shape)
    h = _column(1e-5 * (1.0 + _size(z)), z)
    bent, here = loss.bend(loss.curvature(y, z), u), loss.gradient(y, z)
    left = (here - loss.gradient(y, z - h * u)) / h
    right = (loss.gradient(y, z + h * u) - here) / h
    slack = 1e-3 * np.minimum(abs(left), abs(right)) + 1e-6 + 1e-9 * abs(here)
    holds = (np.minimum(left, right) - slack <= bent) & (bent <= np.maximum(left, right) + slack)
    _require(loss, "curvature against finite differences", holds, y=y, z=z)


def _smooth(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    bound = loss.smoothness
    _require(loss, "smoothness is positive", bound > 0.0, smoothness=bound)
    if bound == math.inf:
        return
    y, z = _points(loss, rng)
    u = rng.standard_normal(z.shape)
    most = _dot(u, loss.bend(loss.curvature(y, z), u))
    holds = most <= bound * _dot(u, u) * (1.0 + 1e-9)
    _require(loss, "smoothness bounds the curvature", holds, y=y, z=z, smoothness=bound)
    here = loss.gradient(y, z)
    for other in (_scores(loss, rng, y), z + 0.1 * u, z + 1e-3 * u):
        jump = _size(loss.gradient(y, other) - here)
        holds = jump <= bound * _size(other - z) * (1.0 + 1e-9) + 1e-12 * (1.0 + _size(here))
        _require(loss, "smoothness bounds the change of gradient", holds, y=y, z=z, other=other)


def _fenchel_young(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    y, z = _points(loss, rng)
    here = loss.gradient(y, z)
    for theta in (loss.gradient(y, _scores(loss, rng, y)), rng.standard_normal(z.shape)):
        value, conjugate, product = loss.value(y, z), loss.conjugate(y, theta), _dot(theta, z)
        holds = value + conjugate >= product - 1e-11 * (1.0 + abs(value) + abs(product))
        _require(loss, "Fenchel-Young inequality", holds, y=y, z=z, theta=theta)
    value, conjugate, product = loss.value(y, z), loss.conjugate(y, here), _dot(here, z)
    slack = 1e-11 * (1.0 + abs(value) + abs(product))
    holds = abs(value + conjugate - product) <= slack
    _require(loss, "Fenchel-Young equality at the gradient", holds, y=y, z=z, theta=here)


def _supremum(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    """At θ between two gradients, where the supremum is attained between their scores."""
    y, z = _points(loss, rng, 6 if isinstance(loss, Multinomial) else 120)
    other = _scores(loss, rng, y)
    t = _column(rng.uniform(0.05, 0.95, len(y)), z)
    theta = t * loss.gradient(y, z) + (1.0 - t) * loss.gradient(y, other)
    if isinstance(loss, Multinomial):
        found = np.array([_climb(loss, *row) for row in zip(y, theta, strict=True)])
    else:
        low, high = np.minimum(z, other), np.maximum(z, other)
        for _ in range(120):
            a, b = (2.0 * low + high) / 3.0, (low + 2.0 * high) / 3.0
            left = theta * a - loss.value(y, a) >= theta * b - loss.value(y, b)
            low, high = np.where(left, low, a), np.where(left, b, high)
        found = theta * low - loss.value(y, low)
    conjugate = loss.conjugate(y, theta)
    slack = 1e-6 * (1.0 + abs(found) + abs(loss.value(y, z)))
    holds = abs(conjugate - found) <= slack
    _require(loss, "conjugate is the supremum", holds, y=y, theta=theta, brute_force=found)


def _climb(loss: Loss, y: Any, theta: Any) -> float:
    """sup_z ⟨θ, z⟩ − l(y, z) for one row, without the gradient of the loss."""
    y = np.asarray([y])

    def fall(z: Any) -> float:
        return float(loss.value(y, z[None, :])[0] - theta @ z)

    return -float(minimize(fall, np.zeros(len(theta)), method="BFGS").fun)


def _domain(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    """Infinite beyond the slopes at infinity, finite at every gradient."""
    y, z = _points(loss, rng)
    far = reach * np.where(z >= 0.0, 1.0, -1.0)
    for at in (z, 0.0 * z, far):
        theta = loss.gradient(y, at)
        holds = np.isfinite(loss.conjugate(y, theta))
        _require(loss, "the gradient lies in the domain", holds, y=y, z=at, theta=theta)
    law = "the conjugate is infinite outside its domain"
    if isinstance(loss, Multinomial):
        theta, k = loss.gradient(y, z), loss.n_classes
        for size in (1e-9, 1.0):
            off = theta + size * np.eye(k)[rng.integers(0, k, len(y))]
            _require(loss, law, loss.conjugate(y, off) == np.inf, y=y, theta=off)
            # The row still sums to 0, but an entry of q is negative.
            low = -theta - np.eye(k)[y]
            low = theta + (low - size) * np.eye(k)[(y + 1) % k] - (low - size) * np.eye(k)[y]
            _require(loss, law, loss.conjugate(y, low) == np.inf, y=y, theta=low)
        return
    for side in (-1.0, 1.0):
        end, before = (np.full(len(y), side * reach * c) for c in (1.0, 0.5))
        theta = loss.gradient(y, end)
        settled = abs(theta - loss.gradient(y, before)) <= 1e-12 * (1.0 + abs(theta))
        for size in (1e-12, 1e-3, 1.0):
            off = theta + side * size * (1.0 + abs(theta))
            holds = ~settled | (loss.conjugate(y, off) == np.inf)
            _require(loss, law, holds, y=y, theta=off)


def _center(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    y, z = _points(loss, rng)
    weight = rng.random(len(y)) * (rng.random(len(y)) < 0.7)
    if isinstance(loss, Multinomial):
        shifts = [z, z + 3.0 * np.eye(loss.n_classes)[0], z * 0.0]
    else:
        shifts = [z, abs(z) + abs(y), -abs(z) - abs(y), z + 1.0]
    for at in shifts:
        theta = loss.gradient(y, at)
        for s in (weight, weight / weight.sum(), None):
            one = np.ones(len(y)) if s is None else s
            total = loss.imbalance(y, theta, s)
            _require(loss, "imbalance is float64 of numpy", total.dtype == np.float64)
            moved = loss.center(y, theta, total)
            holds = np.isfinite(loss.conjugate(y, moved))
            _require(loss, "a centred point lies in the domain", holds, y=y, theta=moved)
            slack = 1e-13 * (one @ abs(theta))
            balanced = (abs(one @ moved) <= slack + 1e-300).all()
            _require(loss, "a centred point has weighted sum 0", balanced, total=one @ moved)
            again = loss.center(y, moved, loss.imbalance(y, moved, s))
            holds = np.isclose(again, moved, rtol=1e-9, atol=1e-12)
            _require(loss, "centring twice is centring once", holds, y=y, theta=theta)
            parts = [slice(0, 37), slice(37, None)]
            sums = [loss.imbalance(y[p], theta[p], None if s is None else s[p]) for p in parts]
            holds = np.allclose(sums[0] + sums[1], total, rtol=1e-12, atol=1e-13 * one.sum())
            _require(loss, "imbalances of blocks add up", holds, sums=sums, total=total)
            blocks = np.concatenate([loss.center(y[p], theta[p], total) for p in parts])
            holds = np.isclose(blocks, moved, rtol=1e-12, atol=1e-15)
            _require(loss, "centring by blocks is centring at once", holds, y=y, theta=theta)


def _libraries_agree(loss: Loss, reach: float, rng: np.random.Generator) -> None:
    """Every library and floating type gives the float64 answer of numpy, in its own type."""
    y, z = _points(loss, rng)
    y, z = (y if y.dtype.kind == "i" else y.astype(np.float32)), z.astype(np.float32)
    weight = rng.random(len(y)).astype(np.float32)
    names = ("value", "gradient", "curvature")
    for library, make in _libraries():
        for dtype, slack in ((np.float64, 1e-12), (np.float32, 1e-5)):
            law = f"{library} {np.dtype(dtype).name} agrees with numpy float64"
            target, exact = (y, y) if y.dtype.kind == "i" else (y.astype(dtype), y.astype(float))
            target, score, s = make(target), make(z.astype(dtype)), make(weight.astype(dtype))
            theta = loss.gradient(target, score)
            total = loss.imbalance(target, theta, s)
            moved = loss.center(target, theta, total)
            off = host(theta) if dtype is np.float64 or theta.ndim == 1 else None
            pairs = [
                *((n, getattr(loss, n)(target, score), getattr(loss, n)(exact, host(score))) for n in names),
                *zip(names, loss.evaluate(target, score), loss.evaluate(exact, host(score)), strict=True),
                ("center", moved, loss.center(exact, host(theta), total)),
                ("bend", loss.bend(score, theta), loss.bend(host(score), host(theta))),
            ]
            if off is not None:
                # A gradient in float32 must lie in the domain when read in float64 as well.
                wide = loss.conjugate(exact, off)
                _require(loss, f"{law}: the gradient lies in the domain", np.isfinite(wide), y=y, z=z)
                pairs.append(("conjugate", loss.conjugate(target, theta), wide))
            for name, given, wanted in pairs:
                kept = type(given) is type(score) and given.dtype == score.dtype
                _require(loss, f"{law}: {name} keeps the type", kept, type=type(given))
                holds = abs(host(given) - wanted) <= slack * (1.0 + abs(wanted))
                _require(loss, f"{law}: {name}", holds, y=y, z=z)


_LOSS_LAWS = (
    _finite,
    _evaluate,
    _convex,
    _gradient,
    _curvature,
    _smooth,
    _fenchel_young,
    _supremum,
    _domain,
    _center,
    _libraries_agree,
)
