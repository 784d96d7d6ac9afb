"""Quantization of densities: hexagons, falling energies, holes, scales, and what is claimed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.voronoi import nearest_sums

from fenchel import KMeans, NotCertified, quantize_density, threads

SQUARE = (0.0, 1.0, 0.0, 1.0)
HEXAGON = 5.0 / (18.0 * 3.0**0.5)  # ∫ ‖x‖² over a regular hexagon of area 1 about its centre


def bell(x, y):
    return np.exp(-0.5 * (x * x + y * y))


def ring(x, y):
    return 1.0 * ((np.hypot(x, y) > 1.0) & (np.hypot(x, y) < 2.0))


def values(found):
    return np.array([one.value for one in found.history])


def holes(seed, shape=(12, 9)):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.7, 0.0, rng.random(shape))


def test_cells_of_a_uniform_density_become_hexagons():
    found = quantize_density(np.ones((1, 1)), 2000, tol=1e-3, max_iter=700)
    centers, areas = found.centers, found.masses
    inside = (np.abs(centers - 0.5).max(axis=1) < 0.5 - 4.0 / 2000**0.5) & found.converged
    assert inside.sum() > 1000
    shape = found.energies[inside] / areas[inside] ** 2
    assert shape.min() > 0.5 / np.pi  # no cell is rounder than a disc
    assert shape.mean() < 1.01 * HEXAGON
    assert found.energy > HEXAGON / 2000  # the hexagons of a whole plane are the best (Fejes Tóth)
    assert np.mean([len(found.cells[i]) == 6 for i in np.flatnonzero(inside)]) > 0.8


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 12, 19])
@pytest.mark.parametrize("kind", ["even", "holes", "peak", "octagon"])
def test_no_start_comes_below_the_bound(k, kind):
    turn = np.arange(8) * np.pi / 4
    octagon = np.column_stack([np.cos(turn), np.sin(turn)])
    image = {"even": np.full((2, 3), 0.7), "holes": holes(4), "octagon": np.ones((1, 1))}.get(
        kind, np.diag([1.0, 5.0, 1.0])
    )
    domain = octagon if kind == "octagon" else None
    for seed in range(8):
        found = quantize_density(image, k, domain, random_state=seed, tol=1e-3, max_iter=5000)
        assert 0.0 < found.certificate.bound <= found.energy
    if kind == "even":
        assert found.certificate.relative_gap < 0.2


def test_a_small_peak_does_not_spoil_the_bound():
    image = np.ones((40, 40))
    image[3, 3] = 1e6
    even = quantize_density(np.ones((40, 40)), 30).certificate.bound
    assert quantize_density(image, 30).certificate.bound >= even * (1.0 - 1e-9)


def test_the_bound_of_many_even_cells_is_near():
    found = quantize_density(np.ones((1, 1)), 700, tol=2e-3, max_iter=3000)
    assert found.certificate.bound == pytest.approx(HEXAGON / 700, rel=1e-11)
    assert found.certificate.relative_gap < 0.03
    assert quantize_density(bell, 3, SQUARE).certificate.bound == -np.inf


def test_a_hexagonal_lattice_stays_where_it_is():
    """Twenty by twenty, in a domain that its cells fill but for the edge."""
    i, j = np.indices((20, 20)).reshape(2, -1)
    lattice = np.column_stack([i + 0.5 * (j % 2), j * 0.75**0.5])
    found = quantize_density(
        lambda x, y: np.ones_like(x),
        400,
        (-0.5, 20.0, -0.5, 17.0),
        init=lattice,
        tol=0.2,
    )
    inner = (i > 1) & (i < 18) & (j > 1) & (j < 18)
    area = 0.75**0.5
    assert found.steps == 0
    assert_allclose(found.masses[inner], area, rtol=1e-12)
    assert_allclose(found.energies[inner], HEXAGON * area**2, rtol=1e-12)


@pytest.mark.parametrize("f", [bell, ring], ids=["bell", "ring"])
def test_masses_and_energies_are_those_of_a_fine_grid(f):
    box = (-3.0, 2.5, -2.0, 3.0)
    found = quantize_density(f, 12, box)
    mass, energy, centroids = nearest_sums(f, found.centers, box)
    assert_allclose(found.masses, mass, rtol=0.01)
    assert_allclose(found.energies, energy, rtol=0.01)
    assert found.energy == pytest.approx(energy.sum(), rel=0.002)
    assert found.error < 0.002 * found.energy
    off = found.masses @ ((found.centers - centroids) ** 2).sum(axis=1) / found.energy
    assert off**0.5 <= found.certificate.residual + 0.002
    assert found.converged and found.certificate.residual <= 0.01


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from(["teleport", "drop"]))
def test_energy_never_rises_on_an_image(seed, k, empty):
    rng = np.random.default_rng(seed)
    image = holes(seed)
    start = rng.uniform(-2.0, 14.0, (k, 2)).round(rng.integers(0, 3))
    found = quantize_density(image, k, init=start, empty=empty, tol=1e-3, max_iter=2000)
    assert (np.diff(values(found)) <= 1e-12 * values(found)[:-1]).all()
    assert found.masses.sum() == pytest.approx(image.sum(), rel=1e-12)
    assert (found.masses > 0.0).all() and found.converged
    assert len(found.centers) == k if empty == "teleport" else len(found.centers) <= k
    assert found.energy == pytest.approx(found.energies.sum(), rel=1e-12)


def test_energy_of_a_function_rises_by_its_error_at_most():
    found = quantize_density(ring, 15, (-2.5, 2.5, -2.5, 2.5))
    assert found.converged
    assert np.diff(values(found)).max() <= 0.01 * found.energy
    assert values(found)[0] > 1.3 * found.energy


def test_centres_without_mass_move_or_are_dropped():
    image = np.zeros((10, 10))
    image[2, 3] = 5.0
    corner = np.zeros((7, 2))
    found = quantize_density(image, 7, init=corner, tol=1e-3)
    assert found.n_reseeds == 7 - 1 and len(found.centers) == 7
    assert ((found.centers > [3.0, 2.0]) & (found.centers < [4.0, 3.0])).all()
    assert_allclose(found.masses.sum(), 5.0)
    dropped = quantize_density(image, 7, init=corner, empty="drop", tol=1e-3)
    assert_allclose(dropped.centers, [[3.5, 2.5]])
    assert len(dropped.cells) == len(dropped.masses) == 1 and dropped.n_reseeds == 0


def test_a_function_with_holes_gets_all_its_centres():
    spot = lambda x, y: 1.0 * (np.hypot(x - 0.2, y - 0.3) < 0.15)  # noqa: E731
    start = np.random.default_rng(0).random((9, 2)) * 0.3 + 0.7
    found = quantize_density(spot, 9, SQUARE, init=start, tol=0.02)
    assert found.n_reseeds >= 8 and found.converged
    assert (np.hypot(*(found.centers - [0.2, 0.3]).T) < 0.15).all()
    assert found.masses.sum() == pytest.approx(np.pi * 0.15**2, rel=1e-3)


def test_an_image_of_points_is_clustered_as_rows_are():
    """k-means of weighted rows, as long as no pixel lies in two cells."""
    rng = np.random.default_rng(3)
    image = np.zeros((200, 200))
    at = rng.integers(0, 30, (60, 2)) + np.repeat([[10, 10], [90, 50], [150, 160]], 20, axis=0)
    image[at[:, 0], at[:, 1]] = rng.integers(1, 5, 60)
    rows, columns = np.nonzero(image)
    X = np.column_stack([columns, rows]) + 0.5
    start = X[[0, 30, 59]]
    peer = KMeans(3, init=start, tol=0.0).fit(X, sample_weight=image[rows, columns])
    found = quantize_density(image, 3, init=start, tol=1e-9)
    assert_allclose(found.centers, peer.cluster_centers_, rtol=1e-12)
    inner = image.sum() / 6.0  # of the pixels about their own middles
    assert found.energy == pytest.approx(peer.inertia_ + inner, rel=1e-12)


@pytest.mark.parametrize("exponent", [-500, -120, 200, 500])
def test_the_scale_of_the_domain_changes_no_bit(exponent):
    s = 2.0**exponent
    plain = quantize_density(bell, 12, (-3.0, 3.0, -2.0, 2.0))
    other = quantize_density(
        lambda x, y: bell(x / s, y / s), 12, np.array([-3.0, 3.0, -2.0, 2.0]) * s
    )
    assert_array_equal(other.centers / s, plain.centers)
    with np.errstate(over="ignore", under="ignore"):
        assert_array_equal(other.masses, plain.masses * s * s)
        assert_array_equal(other.energies, plain.energies * s * s * s * s)
    assert other.certificate.residual == plain.certificate.residual


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**-3, 2.0**900])
def test_the_height_of_the_density_changes_no_bit(factor):
    for density, domain in ((bell, SQUARE), (holes(1), None)):
        plain = quantize_density(density, 9, domain)
        high = (lambda x, y: bell(x, y) * factor) if callable(density) else density * factor
        other = quantize_density(high, 9, domain)
        assert_array_equal(other.centers, plain.centers)
        assert_array_equal(other.masses, plain.masses * factor)


def test_far_from_the_origin_the_cells_are_the_same():
    plain = quantize_density(holes(2), 9, (0, 9, 0, 12))
    other = quantize_density(holes(2), 9, (2e8, 2e8 + 9, -1e8, -1e8 + 12))
    assert_allclose(other.centers - [2e8, -1e8], plain.centers, atol=1e-6)
    assert other.energy == pytest.approx(plain.energy, rel=1e-12)


def test_convex_domains():
    hexagon = np.column_stack([np.cos(a := np.arange(6) * np.pi / 3), np.sin(a)])
    found = quantize_density(lambda x, y: 1.0, 1, hexagon, tol=1e-9)
    area = 1.5 * 3.0**0.5
    assert_allclose(found.centers, 0.0, atol=1e-9)
    assert found.masses[0] == pytest.approx(area, rel=1e-13)
    assert found.energy == pytest.approx(HEXAGON * area**2, rel=1e-13)
    image = quantize_density(np.ones((3, 4)), 5, hexagon)
    assert image.masses.sum() == pytest.approx(12.0 * 0.75, rel=1e-12)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(global_random_seed):
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(quantize_density(holes(5), 30, random_state=global_random_seed))
    assert_array_equal(found[0].centers, found[1].centers)
    assert_array_equal(found[0].energies, found[1].energies)
    other = quantize_density(holes(5), 30, random_state=global_random_seed + 1)
    assert not np.array_equal(other.centers, found[0].centers)


def test_inputs_are_left_as_they_are_and_integers_will_do():
    image, start = np.arange(12, dtype=np.uint8).reshape(3, 4), np.array([[0, 0], [3, 2]])
    copies = image.copy(), start.copy()
    found = quantize_density(image, 2, init=start)
    assert_array_equal(image, copies[0])
    assert_array_equal(start, copies[1])
    assert_array_equal(found.centers, quantize_density(image * 1.0, 2, init=start * 1.0).centers)


def test_the_result_is_a_table_and_its_weights_a_law():
    found = quantize_density(holes(3), 6)
    frame = found.to_frame("pandas")
    assert frame.columns.tolist() == ["x", "y", "mass", "energy", "corners"]
    assert found.weights.sum() == pytest.approx(1.0, rel=1e-15)
    assert_allclose(found.weights, found.masses / found.masses.sum())
    assert "6 cells after" in found.caption() and "stationary" in found.caption()
    assert [len(cell) for cell in found.cells] == frame["corners"].tolist()
    assert found.history[-1] is found.certificate and len(found.history) == found.steps + 1


def test_steps_that_run_out_are_said():
    with pytest.warns(NotCertified, match="max_iter=2"):
        found = quantize_density(bell, 30, SQUARE, max_iter=2)
    assert not found.converged and found.steps == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((bell, 3), "needs a domain"),
        ((bell, 0, SQUARE), "k must be"),
        ((bell, True, SQUARE), "k must be"),
        ((lambda x, y: x - 0.5, 3, SQUARE), "not negative"),
        ((lambda x, y: x * np.nan, 3, SQUARE), "is nan"),
        ((lambda x, y: np.ones((2, 2)), 3, SQUARE), "one number for each"),
        ((lambda x, y: 0.0, 3, SQUARE), "zero at all"),
        ((np.zeros((2, 2)), 3), "no mass"),
        ((np.diag([0, 0, 0, 1.0]), 3, [[0, 0], [1, 0], [0, 0.2]]), "no mass"),
        ((-np.ones((2, 2)), 3), r"pixel \[0, 0\]"),
        ((np.array([[1.0, np.inf]]), 3), r"pixel \[0, 1\]"),
        ((np.ones(3), 3), r"array \(h, w\)"),
        ((np.array([["a"]]), 3), "function of"),
    ],
)
def test_what_is_no_density_is_said(arguments, words):
    with pytest.raises(ValueError, match=words):
        quantize_density(*arguments)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"init": "k-means++"}, "init must be"),
        ({"init": np.zeros((2, 2))}, "has 2 centres"),
        ({"init": [[np.inf, 0.0]] * 3}, "finite"),
        ({"empty": "keep"}, "empty must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"tol": "small"}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_parameters_that_are_none_are_said(given_, words):
    with pytest.raises(ValueError, match=words):
        quantize_density(np.ones((2, 2)), 3, **given_)
