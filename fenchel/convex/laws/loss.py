"""The laws of a loss: what makes a value, two derivatives and a conjugate belong together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fenchel.convex.laws.run import require
from fenchel.convex.loss.base import Loss, PiecewiseLinear
from fenchel.convex.loss.margin import Margin
from fenchel.convex.loss.multiclass import Joint, MulticlassHinge
from fenchel.data.arrays import to_numpy

Random = np.random.Generator
_PARTS = ("value", "gradient", "curvature")


def _targets(loss: Loss, rng: Random, n: int) -> Any:
    if isinstance(loss, Joint):
        return rng.integers(0, loss.n_classes, n)
    return rng.choice([-1.0, 1.0], n) if isinstance(loss, Margin) else 3.0 * rng.standard_normal(n)


def _scores(loss: Loss, rng: Random, y: Any) -> Any:
    """Scores near and far, on the scale of the targets."""
    z = rng.standard_normal((len(y), loss.n_classes) if isinstance(loss, Joint) else len(y))
    z *= _column(10.0 ** rng.uniform(-2.0, 1.0, len(y)), z)
    return z if isinstance(loss, Margin | Joint) else z + y


def _points(loss: Loss, rng: Random, n: int = 120) -> tuple[Any, Any]:
    y = _targets(loss, rng, n)
    return y, _scores(loss, rng, y)


def _dot(a: Any, b: Any) -> Any:
    """⟨a, b⟩ row by row: a product for scalar scores, a sum over the classes otherwise."""
    return a * b if np.ndim(a) == 1 else (a * b).sum(axis=-1)


def _column(step: Any, z: Any) -> Any:
    return step if np.ndim(z) == 1 else step[:, None]


def _size(z: Any) -> Any:
    return np.sqrt(_dot(z, z))


def finite(loss: Loss, reach: float, rng: Random) -> None:
    y, z = _points(loss, rng)
    far = reach * np.sign(z)
    for name in _PARTS:
        for at in (z, 0.0 * z, far):
            holds = np.isfinite(getattr(loss, name)(y, at))
            require(loss, f"finite {name}", holds, y=y, z=at)
    require(loss, "finite evaluate", [np.isfinite(part).all() for part in loss.evaluate(y, far)])


def evaluate(loss: Loss, reach: float, rng: Random) -> None:
    y, z = _points(loss, rng)
    z[0] *= reach / 10.0
    before = y.copy(), z.copy()
    for name, part in zip(_PARTS, loss.evaluate(y, z), strict=True):
        alone = getattr(loss, name)(y, z)
        require(loss, f"shape of {name}", part.shape == alone.shape, shape=part.shape)
        holds = np.isclose(part, alone, rtol=1e-12, atol=1e-15)
        require(loss, f"evaluate agrees with {name}", holds, y=y, z=z)
    loss.centre_dual(y, z, loss.centring_sums(y, z, np.ones(len(y))))
    loss.conjugate(y, z)
    unchanged = np.array_equal(before[0], y) and np.array_equal(before[1], z)
    require(loss, "arguments are left unchanged", unchanged)


def convex(loss: Loss, reach: float, rng: Random) -> None:
    y, z = _points(loss, rng)
    other, t = _scores(loss, rng, y), rng.random(len(y))
    chord = t * loss.value(y, z) + (1.0 - t) * loss.value(y, other)
    middle = loss.value(y, _column(t, z) * z + _column(1.0 - t, z) * other)
    require(loss, "convexity", middle <= chord + 1e-12 * (1.0 + abs(chord)), y=y, z=z, other=other)


def gradient(loss: Loss, reach: float, rng: Random) -> None:
    """Between the difference quotients on the two sides, which holds at kinks too."""
    y, z = _points(loss, rng)
    if not isinstance(loss, Joint):
        z[:4] = y[:4] * [0.0, 1.0, -1.0, 0.0] if isinstance(loss, Margin) else y[:4]
    u = rng.choice([-1.0, 1.0], z.shape)
    h = 1e-4 * (1.0 + _size(z))
    slope = _dot(loss.gradient(y, z), u)
    here, step = loss.value(y, z), _column(h, z) * u
    left, right = loss.value(y, z - step), loss.value(y, z + step)
    slack = 1e-13 * (1.0 + abs(left) + abs(right)) / h
    holds = ((here - left) / h <= slope + slack) & (slope - slack <= (right - here) / h)
    require(loss, "gradient against finite differences", holds, y=y, z=z)


def curvature(loss: Loss, reach: float, rng: Random) -> None:
    y, z = _points(loss, rng)
    u = rng.standard_normal(z.shape)
    h = _column(1e-5 * (1.0 + _size(z)), z)
    bent, here = loss.curvature_product(loss.curvature(y, z), u), loss.gradient(y, z)
    left = (here - loss.gradient(y, z - h * u)) / h
    right = (loss.gradient(y, z + h * u) - here) / h
    slack = 1e-3 * np.minimum(abs(left), abs(right)) + 1e-6 + 1e-9 * abs(here)
    holds = (np.minimum(left, right) - slack <= bent) & (bent <= np.maximum(left, right) + slack)
    require(loss, "curvature against finite differences", holds, y=y, z=z)


def smooth(loss: Loss, reach: float, rng: Random) -> None:
    bound = loss.smoothness
    require(loss, "smoothness is positive", bound > 0.0, smoothness=bound)
    if bound == math.inf:
        return
    y, z = _points(loss, rng)
    u = rng.standard_normal(z.shape)
    most = _dot(u, loss.curvature_product(loss.curvature(y, z), u))
    holds = most <= bound * _dot(u, u) * (1.0 + 1e-9)
    require(loss, "smoothness bounds the curvature", holds, y=y, z=z, smoothness=bound)
    here = loss.gradient(y, z)
    for other in (_scores(loss, rng, y), z + 0.1 * u, z + 1e-3 * u):
        jump = _size(loss.gradient(y, other) - here)
        holds = jump <= bound * _size(other - z) * (1.0 + 1e-9) + 1e-12 * (1.0 + _size(here))
        require(loss, "smoothness bounds the change of gradient", holds, y=y, z=z, other=other)


def fenchel_young(loss: Loss, reach: float, rng: Random) -> None:
    y, z = _points(loss, rng)
    here = loss.gradient(y, z)
    for theta in (loss.gradient(y, _scores(loss, rng, y)), rng.standard_normal(z.shape)):
        value, conjugate, product = loss.value(y, z), loss.conjugate(y, theta), _dot(theta, z)
        holds = value + conjugate >= product - 1e-11 * (1.0 + abs(value) + abs(product))
        require(loss, "Fenchel-Young inequality", holds, y=y, z=z, theta=theta)
    value, conjugate, product = loss.value(y, z), loss.conjugate(y, here), _dot(here, z)
    slack = 1e-11 * (1.0 + abs(value) + abs(product))
    holds = abs(value + conjugate - product) <= slack
    require(loss, "Fenchel-Young equality at the gradient", holds, y=y, z=z, theta=here)


def supremum(loss: Loss, reach: float, rng: Random) -> None:
    """At θ between two gradients, where the supremum is attained between their scores."""
    y, z = _points(loss, rng, 6 if isinstance(loss, Joint) else 120)
    other = _scores(loss, rng, y)
    t = _column(rng.uniform(0.05, 0.95, len(y)), z)
    ends = loss.gradient(y, z), loss.gradient(y, other)
    theta = np.clip(t * ends[0] + (1.0 - t) * ends[1], np.minimum(*ends), np.maximum(*ends))
    if isinstance(loss, Joint):
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
    require(loss, "conjugate is the supremum", holds, y=y, theta=theta, brute_force=found)


def _climb(loss: Loss, y: Any, theta: Any) -> float:
    """sup_z ⟨θ, z⟩ − l(y, z) for one row, without the gradient of the loss."""
    y = np.asarray([y])

    def fall(z: Any) -> float:
        return float(loss.value(y, z[None, :])[0] - theta @ z)

    origin = np.zeros(len(theta))
    if loss.smoothness < math.inf:
        return -float(minimize(fall, origin, method="BFGS").fun)
    # Straight pieces: a method that fits planes, begun again where it stopped.
    for size in (1.0, 0.1, 1e-3):
        options = {"rhobeg": size, "tol": 1e-10, "maxiter": 5000}
        origin = minimize(fall, origin, method="COBYLA", options=options).x
    return -fall(origin)


def domain(loss: Loss, reach: float, rng: Random) -> None:
    """Infinite beyond the slopes at infinity, finite at every gradient."""
    y, z = _points(loss, rng)
    far = reach * np.where(z >= 0.0, 1.0, -1.0)
    for at in (z, 0.0 * z, far):
        theta = loss.gradient(y, at)
        holds = np.isfinite(loss.conjugate(y, theta))
        require(loss, "the gradient lies in the domain", holds, y=y, z=at, theta=theta)
    law = "the conjugate is infinite outside its domain"
    if isinstance(loss, Joint):
        rows, theta = np.arange(len(y)), loss.gradient(y, z)
        other = (y + 1) % loss.n_classes
        for size in (1e-9, 1.0):
            off = theta.copy()
            off[rows, other] += size
            require(loss, law, loss.conjugate(y, off) == np.inf, y=y, theta=off)
            # The row sums to 0 again, but an entry of q is negative.
            taken = theta[rows, other] + size
            off[rows, other] = -size
            off[rows, y] = theta[rows, y] + taken
            require(loss, law, loss.conjugate(y, off) == np.inf, y=y, theta=off)
        return
    for side in (-1.0, 1.0):
        end, before = (np.full(len(y), side * reach * c) for c in (1.0, 0.5))
        theta = loss.gradient(y, end)
        settled = abs(theta - loss.gradient(y, before)) <= 1e-12 * (1.0 + abs(theta))
        for size in (1e-12, 1e-3, 1.0):
            off = theta + side * size * (1.0 + abs(theta))
            holds = ~settled | (loss.conjugate(y, off) == np.inf)
            require(loss, law, holds, y=y, theta=off)


def center(loss: Loss, reach: float, rng: Random) -> None:
    y, z = _points(loss, rng)
    weight = rng.random(len(y)) * (rng.random(len(y)) < 0.7)
    if isinstance(loss, Joint):
        shifts = [z, z + 3.0 * np.eye(loss.n_classes)[0], z * 0.0]
    else:
        shifts = [z, abs(z) + abs(y), -abs(z) - abs(y), z + 1.0]
    for at in shifts:
        theta = loss.gradient(y, at)
        for s in (weight, weight / weight.sum(), None):
            one = np.ones(len(y)) if s is None else s
            total = loss.centring_sums(y, theta, s)
            require(loss, "imbalance is float64", total.dtype == np.float64)
            moved = loss.centre_dual(y, theta, total)
            holds = np.isfinite(loss.conjugate(y, moved))
            require(loss, "a centred point lies in the domain", holds, y=y, theta=moved)
            balanced = (abs(one @ moved) <= 1e-13 * (one @ abs(theta))).all()
            require(loss, "a centred point has weighted sum 0", balanced, total=one @ moved)
            again = loss.centre_dual(y, moved, loss.centring_sums(y, moved, s))
            holds = np.isclose(again, moved, rtol=1e-9, atol=1e-12)
            require(loss, "centring twice is centring once", holds, y=y, theta=theta)
            parts = [slice(0, 37), slice(37, None)]
            sums = [loss.centring_sums(y[p], theta[p], None if s is None else s[p]) for p in parts]
            holds = np.allclose(sums[0] + sums[1], total, rtol=1e-12, atol=1e-13 * one.sum())
            require(loss, "imbalances of blocks add up", holds, sums=sums, total=total)
            blocks = np.concatenate([loss.centre_dual(y[p], theta[p], total) for p in parts])
            holds = np.isclose(blocks, moved, rtol=1e-12, atol=1e-15)
            require(loss, "centring by blocks is centring at once", holds, y=y, theta=theta)


def kin(
    loss: Loss, library: str, make: Callable[[Any], Any], dtype: type[np.floating[Any]], rng: Random
) -> None:
    """A library and a floating type give the float64 answer of numpy, in their own type."""
    law = f"{library} {np.dtype(dtype).name} agrees with numpy float64"
    y, z = _points(loss, rng)
    coded = isinstance(loss, Joint)
    target = make(y if coded else y.astype(np.float32).astype(dtype))
    score = make(z.astype(np.float32).astype(dtype))
    weight = make(rng.random(len(y)).astype(dtype))
    y, z = to_numpy(target), to_numpy(score)
    theta = loss.gradient(target, score)
    given = loss.centring_sums(target, theta, weight)
    total = to_numpy(given)  # blocks of a device add up there, and their sum comes to the host
    conjugate = loss.conjugate(target, theta)
    results = [
        *zip(_PARTS, loss.evaluate(target, score), loss.evaluate(y, z), strict=True),
        *((part, getattr(loss, part)(target, score), getattr(loss, part)(y, z)) for part in _PARTS),
        (
            "center",
            loss.centre_dual(target, theta, total),
            loss.centre_dual(y, to_numpy(theta), total),
        ),
        ("bend", loss.curvature_product(score, theta), loss.curvature_product(z, to_numpy(theta))),
    ]
    inside = np.isfinite(to_numpy(conjugate))
    if not (coded and dtype is np.float32):  # where q sums to 1 in float32 only
        # A gradient in float32 must lie in the domain when read in float64 as well.
        results.append(("conjugate", conjugate, loss.conjugate(y, to_numpy(theta))))
        inside &= np.isfinite(results[-1][2])
    require(loss, f"{law}: the gradient lies in the domain", inside, y=y, z=z)
    held = type(given) is type(score) and str(given.dtype).endswith("float64")
    require(loss, f"{law}: imbalance is float64 where the gradient lies", held)
    slack = 1e-12 if dtype is np.float64 else 1e-5
    for name, given, wanted in results:
        kept = type(given) is type(score) and given.dtype == score.dtype
        require(loss, f"{law}: {name} keeps the type", kept, kind=f"{type(given)} {given.dtype}")
        holds = abs(to_numpy(given) - wanted) <= slack * (1.0 + abs(wanted))
        require(loss, f"{law}: {name}", holds, y=y, z=z)


def smoothed(loss: Loss, reach: float, rng: Random) -> None:
    """yosida is a subgradient at its own prox, and `joint` says where its derivative is not 0."""
    if isinstance(loss, MulticlassHinge):
        _smoothed_joint(loss, rng)
    if not isinstance(loss, PiecewiseLinear):
        return
    y, z = _points(loss, rng)
    for step in (1e-6, 0.1, 30.0):
        t = loss.yosida(y, z, step)
        u = z - step * t
        require(loss, "yosida lies in the domain", np.isfinite(loss.conjugate(y, t)), y=y, z=z)
        gap = loss.value(y, u) + loss.conjugate(y, t) - t * u
        room = 1e-12 * (1.0 + np.abs(z) + np.abs(y))
        require(loss, "yosida is a subgradient at the prox", np.abs(gap) <= room, y=y, z=z)
        move = 1e-5 * step
        bend = (loss.yosida(y, z + move, step) - loss.yosida(y, z - move, step)) / (2.0 * move)
        told = loss.is_active(y, t) / (step + loss.smoothing)
        # Next to the end of a joint the difference sees both sides of it.
        near = loss.is_active(y, loss.yosida(y, z + move, step)) == loss.is_active(
            y, loss.yosida(y, z - move, step)
        )
        right = np.abs(bend - told) <= 1e-3 / step + 1e-9 * (1.0 + np.abs(z)) / move
        require(loss, "the curvature of the smoother loss", right | ~near, y=y, z=z)


def continued(loss: Loss, reach: float, rng: Random) -> None:
    """With a larger threshold the loss is the same inside the smaller one, and nowhere less."""
    if not np.isfinite(loss.threshold):
        return
    wide = loss.with_threshold(4.0 * loss.threshold)
    require(loss, "with_threshold sets the threshold", wide.threshold == 4.0 * loss.threshold)
    y, z = _points(loss, rng)
    given, found = loss.value(y, z), wide.value(y, z)
    inside = np.abs(z - y) <= loss.threshold
    require(loss, "the same inside the threshold", (given == found) | ~inside, y=y, z=z)
    require(loss, "a wider threshold lowers nothing", found >= given * (1.0 - 1e-14), y=y, z=z)


def _smoothed_joint(loss: MulticlassHinge, rng: Random) -> None:
    """The same about a dual point of each row."""
    y, z = _points(loss, rng)
    centre = loss.gradient(y, _scores(loss, rng, y))
    for step in (1e-6, 0.1, 30.0):
        t = loss.yosida(y, z, centre, step)
        u = z - step * (t - centre)
        require(loss, "yosida lies in the domain", np.isfinite(loss.conjugate(y, t)), y=y, z=z)
        gap = loss.value(y, u) + loss.conjugate(y, t) - _dot(t, u)
        room = 1e-12 * (1.0 + abs(z).max(axis=1) + step)
        require(loss, "yosida is a subgradient at the prox", np.abs(gap) <= room, y=y, z=z)


LAWS = (
    finite,
    evaluate,
    convex,
    gradient,
    curvature,
    smooth,
    fenchel_young,
    supremum,
    domain,
    center,
    smoothed,
    continued,
)
