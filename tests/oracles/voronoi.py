"""Voronoi cells and integrals over polygons by their definitions, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np


def exact(points):
    return [tuple(Fraction(float(x)) for x in point) for point in points]


def clipped(polygon, normal, offset):
    """The part of a convex polygon where normal . x ≤ offset, in exact fractions."""
    found = []
    for a, b in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        s, t = (normal[0] * p[0] + normal[1] * p[1] - offset for p in (a, b))
        if s <= 0:
            found.append(a)
        if (s < 0 < t) or (t < 0 < s):
            part = s / (s - t)
            found.append((a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])))
    return found


def voronoi(centers, corners):
    """The cell of every centre: all bisectors with all others; of equal centres the first."""
    C, found = exact(centers), []
    for i, c in enumerate(C):
        cell = exact(corners)
        for j, other in enumerate(C):
            if other == c:
                cell = [] if j < i else cell
                continue
            normal = (other[0] - c[0], other[1] - c[1])
            offset = sum(n * (p + q) for n, p, q in zip(normal, c, other, strict=True)) / 2
            cell = clipped(cell, normal, offset)
        found.append(cell)
    return found


def moments(polygon, origin):
    """∫ 1, x, y, x² + y² over a polygon, from an origin: by triangles from its first corner."""
    P = [(p[0] - origin[0], p[1] - origin[1]) for p in polygon]
    sums = [Fraction(0)] * 4
    for b, c in pairwise(P[1:]):
        a = P[0]
        area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2
        mids = [[(p[i] + q[i]) / 2 for i in (0, 1)] for p, q in ((a, b), (b, c), (c, a))]
        for i, value in enumerate(
            (lambda p: 1, lambda p: p[0], lambda p: p[1], lambda p: p[0] ** 2 + p[1] ** 2)
        ):
            # The middles of the sides: exact for squares.
            sums[i] += area * sum(Fraction(value(mid)) for mid in mids) / 3
    return sums


def image_moments(polygon, origin, image, box):
    """The same with the masses of pixels of an image over the box (x0, x1, y0, y1)."""
    x0, x1, y0, y1 = (Fraction(float(x)) for x in box)
    h, w = image.shape
    wide, tall = (x1 - x0) / w, (y1 - y0) / h
    sums = [Fraction(0)] * 4
    for i in range(h):
        for j in range(w):
            part = list(polygon)
            left, low = x0 + j * wide, y0 + i * tall
            for normal, offset in (
                ((-1, 0), -left),
                ((1, 0), left + wide),
                ((0, -1), -low),
                ((0, 1), low + tall),
            ):
                part = clipped(part, normal, offset) if part else part
            if len(part) > 2:
                height = Fraction(float(image[i, j])) / (wide * tall)
                sums = [s + height * m for s, m in zip(sums, moments(part, origin), strict=True)]
    return np.array([float(s) for s in sums])


def nearest_sums(f, centers, box, side=800):
    """Mass, energy and centroid of each cell of f by a midpoint rule, place by place."""
    x0, x1, y0, y1 = box
    x = x0 + (np.arange(side) + 0.5) * (x1 - x0) / side
    y = y0 + (np.arange(side) + 0.5) * (y1 - y0) / side
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    weight = f(*places.T) * (x1 - x0) * (y1 - y0) / side**2
    squares = ((places[:, None, :] - centers) ** 2).sum(axis=2)
    label = squares.argmin(axis=1)
    k = len(centers)
    mass = np.bincount(label, weight, k)
    energy = np.bincount(label, weight * squares.min(axis=1), k)
    sums = np.column_stack([np.bincount(label, weight * z, k) for z in places.T])
    return mass, energy, sums / np.maximum(mass, 1e-300)[:, None]
