"""Voronoi cells and integrals over them: exact polygons, exact pixels, honest estimates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.voronoi import image_moments, moments, voronoi
from scipy.spatial import Voronoi

from fenchel import threads, voronoi_cells
from fenchel.geometry.voronoi.cells import cells_of
from fenchel.geometry.voronoi.domain import Domain
from fenchel.geometry.voronoi.function_density import FunctionDensity
from fenchel.geometry.voronoi.image_density import ImageDensity

SQUARE = (0.0, 1.0, 0.0, 1.0)
DOMAINS = {
    "square": SQUARE,
    "strip": (-3.0, 3.0, 0.0, 0.05),
    "triangle": [[0.0, 0.0], [1.0, 0.1], [0.3, 0.9]],
    "clockwise": [[0.0, 0.0], [0.0, 1.0], [0.7, 1.2], [1.0, 0.2]],
    "hexagon": [[np.cos(t), np.sin(t)] for t in np.arange(6) * np.pi / 3],
}
CENTRES = {
    "random": lambda rng, k: rng.random((k, 2)),
    "lattice": lambda rng, k: np.indices((5, 5)).reshape(2, -1).T[:k] / 4.0,
    "line": lambda rng, k: np.column_stack([rng.random(k), np.full(k, 0.5)]),
    "circle": lambda rng, k: (
        0.5 + 0.4 * np.column_stack([np.cos(a := np.arange(k) * 6.283 / k), np.sin(a)])
    ),
    "twins": lambda rng, k: rng.integers(0, 3, (k, 2)) / 2.0,
    "near twins": lambda rng, k: 0.5 + 1e-14 * rng.integers(-9, 9, (k, 2)),
    "outside": lambda rng, k: rng.normal(0.5, 2.0, (k, 2)),
}


def area_of(cell):
    x, y = (cell - cell.mean(axis=0)).T if len(cell) else np.zeros((2, 0))
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("kind", CENTRES)
@pytest.mark.parametrize("k", [1, 2, 7, 25])
def test_cells_are_those_of_exact_fractions(kind, domain, k):
    C = CENTRES[kind](np.random.default_rng(k), k)
    frame = Domain.of(DOMAINS[domain])
    expected = voronoi(C, frame.corners)
    found = voronoi_cells(C, DOMAINS[domain])
    for cell, exact in zip(found, expected, strict=True):
        sums = moments(exact, (0, 0)) if len(exact) > 2 else [0] * 4
        assert area_of(cell) == pytest.approx(float(sums[0]), rel=1e-9, abs=1e-14)
        if len(cell):
            assert_allclose(cell.min(axis=0), np.array(exact, float).min(axis=0), atol=1e-9)
            assert_allclose(cell.max(axis=0), np.array(exact, float).max(axis=0), atol=1e-9)
    whole = float(moments([tuple(p) for p in frame.corners], (0, 0))[0])
    assert sum(map(area_of, found)) == pytest.approx(whole, rel=1e-12)


def test_many_cells_are_those_of_a_triangulation_of_mirrored_points():
    C = np.random.default_rng(0).random((800, 2))
    mirrored = [C, C * [-1, 1], C * [1, -1], [2, 0] + C * [-1, 1], [0, 2] + C * [1, -1]]
    peer = Voronoi(np.concatenate(mirrored))
    for i, cell in enumerate(voronoi_cells(C, SQUARE)):
        corners = peer.vertices[peer.regions[peer.point_region[i]]]
        assert abs(area_of(corners)) == 0 or len(corners) == len(cell)
        order = np.lexsort(corners.round(9).T), np.lexsort(cell.round(9).T)
        assert_allclose(corners[order[0]], cell[order[1]], atol=1e-9)


def test_a_cell_with_very_many_neighbours():
    ring = np.arange(3000) * 2.0 * np.pi / 3000
    C = np.vstack([[0.0, 0.0], np.column_stack([np.cos(ring), np.sin(ring)])])
    cell = voronoi_cells(C, (-2, 2, -2, 2))[0]
    assert len(cell) == 3000
    assert area_of(cell) == pytest.approx(np.pi / 4, rel=1e-5)


def test_the_side_of_a_cell_says_whose_it_is():
    cells = cells_of(np.array([[-0.2, 0.0], [0.2, 0.0], [0.2, 0.0]]), Domain.of((-1, 1, -1, 1)))
    assert cells.counts.tolist() == [4, 4, 0]
    behind = set(cells.sides[cells.owners == 0].tolist())
    assert 1 in behind and min(behind) >= -4


@pytest.mark.parametrize("exponent", [-1000, -300, 300, 1000])
def test_cells_scale_by_powers_of_two_without_a_bit_of_difference(exponent):
    C, s = np.random.default_rng(1).random((30, 2)), 2.0**exponent
    plain = voronoi_cells(C, SQUARE)
    for one, cell in zip(plain, voronoi_cells(C * s, np.array(SQUARE) * s), strict=True):
        assert_array_equal(one * s, cell)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ((0, 0, 0, 1), "x0 < x1"),
        ((0, np.nan, 0, 1), "x0 < x1"),
        ([[0, 0], [1, 1]], "three or more"),
        ([[0, 0], [1, 0], [2, 0]], "inside"),
        ([[0, 0], [2, 0], [0.5, 0.5], [0, 2]], "convex"),
        ([[np.cos(t), np.sin(t)] for t in np.arange(5) * 0.8 * np.pi], "convex"),
    ],
)
def test_a_domain_that_is_none_is_said(domain, words):
    with pytest.raises(ValueError, match=words):
        voronoi_cells([[0.0, 0.0]], domain)


@pytest.mark.parametrize(
    ("centres", "words"),
    [
        ([[np.nan, 0.0]], "finite"),
        ([0.0, 1.0], "shape"),
        (np.zeros((0, 2)), "shape"),
        ([[0.5, 0.5], [1e9, 0.0]], "centre 1 lies"),
        ([[1e308, 1e308]], "centre 0 lies"),
    ],
)
def test_centres_that_are_none_are_said(centres, words):
    with pytest.raises(ValueError, match=words):
        voronoi_cells(centres, SQUARE)


# Integrals


def pixels_of(kind, rng, shape):
    if kind == "even":
        return np.ones(shape)
    if kind == "holes":
        return np.where(rng.random(shape) < 0.6, 0.0, rng.random(shape))
    return 10.0 ** rng.integers(-12, 12, shape).astype(float)


@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.sampled_from(["even", "holes", "wild"]),
    st.sampled_from(["square", "strip", "triangle"]),
    st.sampled_from(["random", "lattice", "outside"]),
)
def test_integrals_of_images_are_those_of_exact_fractions(seed, k, shape, kind, name, where):
    rng = np.random.default_rng(seed)
    image = pixels_of(kind, rng, shape)
    if not image.any():
        return
    domain = Domain.of(DOMAINS[name])
    C = CENTRES[where](rng, k)
    density = ImageDensity.of(image, DOMAINS[name])
    found = density.moments(cells_of(domain.inward(C), domain), 1e-3)
    low, high = domain.corners.min(axis=0), domain.corners.max(axis=0)
    box = low[0], high[0], low[1], high[1]
    unit, mass = 2.0**domain.exponent, 2.0**density.mass_exponent
    for j, cell in enumerate(voronoi(C, domain.corners)):
        origin = tuple(map(type(cell[0][0]), C[j])) if cell else (0, 0)
        exact = image_moments(cell, origin, image, box) if len(cell) > 2 else np.zeros(4)
        off = np.array(
            [
                found.mass[j] - exact[0] / mass,
                np.hypot(*(found.first[j] - exact[1:3] / (mass * unit))),
                found.second[j] - exact[3] / (mass * unit**2),
            ]
        )
        assert (np.abs(off) <= found.errors[j]).all(), (off, found.errors[j])
        if found.mass[j] == 0.0:
            assert exact[0] <= mass * found.errors[j, 0]


def test_integrals_of_an_image_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    density = ImageDensity.of(rng.random((50, 60)))
    cells = cells_of(density.draw(2000, rng), density.domain)
    with threads(1):
        one = density.moments(cells, 1.0)
    with threads(4):
        four = density.moments(cells, 1.0)
    for name in ("mass", "first", "second", "errors", "farthest"):
        assert_array_equal(getattr(one, name), getattr(four, name))
    assert one.mass.sum() * 2.0**density.mass_exponent == pytest.approx(density_sum(density))


def density_sum(density):
    wide, tall = np.ptp(density.domain.polygon, axis=0) / density.heights.shape[::-1]
    return density.heights.sum() * wide * tall * 2.0**density.exponent


FUNCTIONS = {
    "cubic": lambda x, y: 1.0 + x**3 + x * y * y,
    "smooth": lambda x, y: np.exp(-3.0 * (x * x + y * y) + x),
    "peak": lambda x, y: 1.0 / (0.001 + (x - 0.3) ** 2 + (y - 0.6) ** 2),
    "kink": lambda x, y: np.abs(x - 0.3 * y - 0.2),
    "root": lambda x, y: np.hypot(x - 0.4, y - 0.5) ** -0.5,
    "disc": lambda x, y: 1.0 * (np.hypot(x - 0.5, y - 0.4) < 0.3),
    "half": lambda x, y: 1.0 * (x + 0.7 * y > 0.8),
    "bars": lambda x, y: 1.0 * (np.floor(5 * x) % 2 == 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_of_quadrature_are_below_their_estimate(name):
    """Against an estimate a thousand times as fine, for 30 cells at three accuracies."""
    density = FunctionDensity.of(FUNCTIONS[name], SQUARE)
    cells = cells_of(density.draw(30, np.random.default_rng(0)), density.domain)
    fine = density.moments(cells, 1e-5)
    for accuracy in (0.1, 0.01, 0.001):
        found = density.moments(cells, accuracy)
        off = np.abs(found.mass - fine.mass), np.abs(found.second - fine.second)
        within = off[0] <= found.errors[:, 0] + fine.errors[:, 0]
        within &= off[1] <= found.errors[:, 2] + fine.errors[:, 2]
        assert within.mean() >= 0.9, (accuracy, off[0] / found.errors[:, 0])
        assert off[0].sum() <= found.errors[:, 0].sum() + fine.errors[:, 0].sum()
        assert (found.gain_error / found.energy) ** 0.5 <= accuracy
    assert (fine.gain_error / fine.energy) ** 0.5 <= 1e-4


def test_quadrature_is_exact_for_cubics():
    density = FunctionDensity.of(FUNCTIONS["cubic"], SQUARE)
    found = density.moments(cells_of(np.zeros((1, 2)), density.domain), 1.0)
    assert found.mass[0] * 2.0**density.mass_exponent == pytest.approx(1 + 1 / 4 + 1 / 6, rel=1e-14)
    assert found.errors[0, 0] < 1e-13 * found.mass[0]


def test_a_function_is_never_asked_on_the_boundary():
    """It may be infinite there."""

    def inverse_root(x, y):
        assert (x > 0.0).all() and (y > 0.0).all() and (x < 1.0).all()
        return 0.25 / np.sqrt(x * y)

    density = FunctionDensity.of(inverse_root, SQUARE)
    found = density.moments(
        cells_of(density.draw(9, np.random.default_rng(0)), density.domain), 0.01
    )
    assert found.mass.sum() * 2.0**density.mass_exponent == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("kind", ["function", "image", "triangle"])
def test_places_are_drawn_by_the_density(kind):
    image = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    domain = [[0.0, 0.0], [3.0, 0.0], [3.0, 2.0]] if kind == "triangle" else (0, 3, 0, 2)
    density = ImageDensity.of(image, domain)
    if kind == "function":
        look = lambda x, y: image[y.astype(int), x.astype(int)]  # noqa: E731
        density = FunctionDensity.of(look, domain)
    places = density.domain.outward(density.draw(20_000, np.random.default_rng(0)))
    counts = np.histogram2d(places[:, 1], places[:, 0], [2, 3], [[0, 2], [0, 3]])[0]
    share = image / image.sum()
    if kind == "triangle":
        share = np.array([[1 / 3, 0.0, 3.0], [0.0, 1 / 6, 0.0]])  # under the diagonal
        share /= share.sum()
        assert density.domain.covers(density.domain.inward(places)).all()
    assert_allclose(counts / 20_000, share, atol=0.02)
