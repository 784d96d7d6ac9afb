"""Hinge losses over the tree of pairs: running sums while two sorted halves pass each other.

With e = 1 - t, t = zᵢ - zⱼ, the active pairs of a row are those with e > 0. From one row to the
next every e grows by the same δ, so Σs, Σse and Σse² follow by additions of positive numbers: no
digits are lost, however large the scores are.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray

from fenchel.data.pairs.compiled import merge, ordered_and_tied

_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # nothing calls these loops from C: a tenth less to compile
}


@njit(**_settings)
def hinge(
    tree: NDArray[Any],
    first: NDArray[Any],
    z: NDArray[Any],
    s: NDArray[Any],
    held: NDArray[Any],
    at: NDArray[Any],
    spare: NDArray[Any],
    places: NDArray[Any],
    width: float,
    margin: float,
    up: NDArray[Any],
    down: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """Σ over pairs of weight sᵢsⱼ, u = clip(e/width, 0, 1) being the slope of the smoothed hinge:

    up[i] += Σⱼ sⱼu, down[j] += Σᵢ sᵢu, and the sums of max(e, 0), of the smoothed hinge, of
    max(e, 0)(1 - u), and of 1 where 0 < u < 1; then the rounding error of up and down, each times
    its weight, and of the third sum. Here e = margin - t.

    What leaves a running sum leaves its rounding behind, which is therefore counted as it is made
    (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.3).
    """
    total, smooth, short, inside, stray, blur = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(tree)):
        lo, mid, hi, top = tree[k, 0], tree[k, 1], tree[k, 2], tree[k, 3]
        if mid == lo:
            for i in range(lo, hi):
                key, mine = z[i], s[i]
                pull, value, soft, lack, part = 0.0, 0.0, 0.0, 0.0, 0.0
                for j in range(lo, max(lo, first[i])):
                    e = max(margin - (key - z[j]), 0.0)
                    u = min(e / width, 1.0)
                    pull += s[j] * u
                    value += s[j] * e
                    soft += s[j] * u * (e - 0.5 * width * u)
                    lack += s[j] * e * (1.0 - u)
                    part += s[j] if 0.0 < u < 1.0 else 0.0
                    down[j] += mine * u
                up[i] += pull
                total += mine * value
                smooth += mine * soft
                short += mine * lack
                inside += mine * part
            if not top:
                ordered_and_tied(lo, hi, z, s, held, at, spare, places)
            continue
        # c, r: Σs and Σse of the active pairs; w, v, q: Σs, Σse, Σse² of those with e ≤ width;
        # full: Σs of the rest.
        # lost: the rounding error of v, over U; gone: of q.
        c, r, w, v, q, full, lost, gone = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        near, far, last = mid, mid, held[0, hi - 1]
        for i in range(hi - 1, mid - 1, -1):
            key = held[0, i]
            step = last - key
            last = key
            r += step * c
            gone += 2.0 * step * lost
            q += step * (2.0 * v + step * w)
            v += step * w
            lost += 3.0 * v
            gone += 6.0 * q
            while near > lo and key - held[0, near - 1] < margin:
                near -= 1
                e, sj = margin - (key - held[0, near]), held[1, near]
                c += sj
                r += sj * e
                w += sj
                v += sj * e
                q += sj * e * e
                lost += 3.0 * v
                gone += 4.0 * q
            while far > near and key - held[0, far - 1] < margin - width:
                far -= 1
                e, sj = margin - (key - held[0, far]), held[1, far]
                w -= sj
                lost += 3.0 * (abs(v) + sj * e)
                gone += 4.0 * (abs(q) + sj * e * e)
                v -= sj * e
                q -= sj * e * e
                full += sj
            if far == near:
                w, v, q, lost, gone = 0.0, 0.0, 0.0, 0.0, 0.0
            stray += held[1, i] * lost / width
            blur += held[1, i] * (lost + gone / width)
            mine, part = held[1, i], v / width
            bend = q / width
            up[at[i]] += full + part
            total += mine * r
            smooth += mine * (r - v + 0.5 * bend - 0.5 * width * full)
            short += mine * (v - bend)
            inside += mine * w
        w, v, full, lost = 0.0, 0.0, 0.0, 0.0
        near, far, last = mid, mid, held[0, lo]
        for j in range(lo, mid):
            key = held[0, j]
            v += (key - last) * w
            lost += 3.0 * v
            last = key
            while near < hi and held[0, near] - key < margin:
                sj = held[1, near]
                w += sj
                v += sj * (margin - (held[0, near] - key))
                lost += 3.0 * v
                near += 1
            while far < near and held[0, far] - key < margin - width:
                sj = held[1, far]
                w -= sj
                e = sj * (margin - (held[0, far] - key))
                lost += 3.0 * (abs(v) + e)
                v -= e
                full += sj
                far += 1
            if far == near:
                w, v, lost = 0.0, 0.0, 0.0
            stray += held[1, j] * lost / width
            down[at[j]] += full + v / width
        if not top:
            merge(lo, mid, hi, held, at, spare, places)
    sums[0] += total
    sums[1] += smooth
    sums[2] += short
    sums[3] += inside
    sums[4] += stray
    sums[5] += blur


@njit(**_settings)
def squared_hinge(
    tree: NDArray[Any],
    first: NDArray[Any],
    z: NDArray[Any],
    s: NDArray[Any],
    held: NDArray[Any],
    at: NDArray[Any],
    spare: NDArray[Any],
    places: NDArray[Any],
    width: float,
    margin: float,
    up: NDArray[Any],
    down: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """up[i] += Σⱼ 2sⱼe, down[j] += Σᵢ 2sᵢe, sums[0] += Σ e², over active pairs."""
    total = 0.0
    for k in range(len(tree)):
        lo, mid, hi, top = tree[k, 0], tree[k, 1], tree[k, 2], tree[k, 3]
        if mid == lo:
            for i in range(lo, hi):
                key, mine = z[i], s[i]
                pull, value = 0.0, 0.0
                for j in range(lo, max(lo, first[i])):
                    e = max(margin - (key - z[j]), 0.0)
                    pull += s[j] * e
                    value += s[j] * e * e
                    down[j] += 2.0 * mine * e
                up[i] += 2.0 * pull
                total += mine * value
            if not top:
                ordered_and_tied(lo, hi, z, s, held, at, spare, places)
            continue
        c, r, q = 0.0, 0.0, 0.0
        near, last = mid, held[0, hi - 1]
        for i in range(hi - 1, mid - 1, -1):
            key = held[0, i]
            step = last - key
            last = key
            q += step * (2.0 * r + step * c)
            r += step * c
            while near > lo and key - held[0, near - 1] < margin:
                near -= 1
                e, sj = margin - (key - held[0, near]), held[1, near]
                c += sj
                r += sj * e
                q += sj * e * e
            up[at[i]] += 2.0 * r
            total += held[1, i] * q
        c, r = 0.0, 0.0
        near, last = mid, held[0, lo]
        for j in range(lo, mid):
            key = held[0, j]
            r += (key - last) * c
            last = key
            while near < hi and held[0, near] - key < margin:
                sj = held[1, near]
                c += sj
                r += sj * (margin - (held[0, near] - key))
                near += 1
            down[at[j]] += 2.0 * r
        if not top:
            merge(lo, mid, hi, held, at, spare, places)
    sums[0] += total
