"""The judges of groups, classes, maps and kernels, and the four suites that rest on them."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture
from sklearn.svm import SVC

from benchmarks import gap
from benchmarks.geometric import (
    classes,
    densities,
    expansions,
    groups,
    kernels,
    maps,
    partitions,
    subspaces,
)
from benchmarks.geometric.tables import blobs, some_rows, swiss_roll

SUITES = {"groups": groups, "classes": classes, "maps": maps, "kernels": kernels}
WORKLOADS = [
    pytest.param(workload, id=f"{suite}: {workload.name}")
    for suite, module in SUITES.items()
    for workload in module.workloads("small")
]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_everyone_solves_the_problem_that_is_judged(workload):
    if workload.missing:
        pytest.skip(workload.missing)
    table = workload.table()
    known = workload.known(table) if workload.known else None
    assert workload.work(table).flops >= 0.0
    for contender in workload.contenders:
        if not contender.name.startswith(("fenchel", "scikit-learn", "scipy", "numpy")):
            continue  # not installed with the tests
        if "intelex" in contender.name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # steps are cut short on purpose
            fit = contender.prepare(table)
            answers = (contender.read(fit(tol)) for tol in contender.ladder)
            verdicts = [workload.judge(table, answer) for answer in answers]
        bound = known[contender.problem] if known else -np.inf
        gaps = [gap.Verdict(v.value, max(v.bound, bound)).relative_gap for v in verdicts]
        if not contender.yardstick:
            assert min(gaps) <= workload.target, (contender.name, gaps)


def test_workloads_and_their_contenders_have_names_of_their_own():
    full = [load for module in SUITES.values() for load in module.workloads("full")]
    assert len({load.name for load in full}) == len(full) == len(WORKLOADS)
    for load in full:
        assert len({one.name for one in load.contenders}) == len(load.contenders)


def test_lloyd_ends_where_scikit_learn_does(global_random_seed):
    X = blobs(600, 3, 6, seed=global_random_seed)[0]
    start = some_rows(X, 5, global_random_seed)
    right = KMeans(5, init=start, n_init=1, tol=0.0).fit(X)
    C = partitions.lloyd(X, start, 300)
    np.testing.assert_allclose(C, right.cluster_centers_, atol=1e-9)
    assert partitions.inertia(X, C) == pytest.approx(right.inertia_, rel=1e-12)
    assert partitions.inertia(X, C) <= partitions.inertia(X, partitions.lloyd(X, start, 2))


def test_mixtures_of_the_judge_are_those_of_their_names(global_random_seed):
    X = blobs(500, 2, 3, seed=global_random_seed, spread=3.0)[0]
    means = some_rows(X, 3, global_random_seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianMixture(
            3, means_init=means, weights_init=np.full(3, 1 / 3), precisions_init=[np.eye(2)] * 3,
            max_iter=4, tol=0.0, reg_covar=0.0,
        ).fit(X)  # fmt: skip
    found = partitions.em(X, means, 4)
    np.testing.assert_allclose(found.means, model.means_, atol=1e-9)
    assert partitions.log_likelihood(X, found) == pytest.approx(model.score(X), rel=1e-9)


def test_scores_of_gaussian_classes_are_log_densities(global_random_seed):
    X, y = blobs(400, 3, 4, seed=global_random_seed)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    seen = densities.class_moments(X, y)
    right = model.decision_function(X[:50])
    assert densities.quadratic_error(seen, X[:50], right) < 1e-12
    assert densities.quadratic_error(seen, X[:50], right + 0.1) > 1e-4
    assert densities.linear_error(seen, np.ones((4, 3))) > 0.5


def test_neighbours_are_judged_against_the_nearest():
    X = blobs(300, 4, 5, seed=0)[0]
    D = ((X[:20, None] - X) ** 2).sum(axis=2)
    right = np.argsort(D, axis=1)[:, :5]
    found, best = densities.neighbour_sums(X, X[:20], right)
    assert found == pytest.approx(best, rel=1e-14)
    assert best == pytest.approx(np.sort(D, axis=1)[:, :5].sum(), rel=1e-12)
    found, best = densities.neighbour_sums(X, X[:20], np.argsort(D, axis=1)[:, 1:6])
    assert found > 1.01 * best
    with pytest.raises(ValueError, match="named twice"):
        densities.neighbour_sums(X, X[:20], np.zeros((20, 5), int))


def test_leave_one_out_is_what_its_name_says():
    X, y = blobs(60, 2, 3, seed=1)
    errors = densities.leave_one_out_errors(X, y, 4)
    for k in range(1, 5):
        wrong = 0
        for i in range(60):
            others = np.delete(np.arange(60), i)
            near = others[np.argsort(((X[others] - X[i]) ** 2).sum(axis=1))[:k]]
            wrong += np.bincount(y[near], minlength=3).argmax() != y[i]
        assert errors[k - 1] == pytest.approx(wrong / 60)


def test_angles_and_projections_are_told():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    turned = basis @ rng.standard_normal((3, 3))
    assert subspaces.sine(basis, turned) < 1e-14
    small = np.linalg.qr(np.column_stack([basis[:, :2], basis[:, 2] + 1e-5 * rng.random(9)]))[0]
    assert 1e-7 < subspaces.sine(basis, small) < 1e-4
    X = rng.standard_normal((100, 4)) * [4.0, 3.0, 1.0, 0.5]
    axes = np.linalg.svd(X - X.mean(axis=0))[2]
    found, best = subspaces.projection_error(X, axes[:2])
    assert found == pytest.approx(best, rel=1e-12)
    left = (X - X.mean(axis=0)) @ axes[2:].T
    assert best == pytest.approx((left**2).sum(), rel=1e-12)


def test_the_judge_unrolls_the_sheet_and_cuts_where_it_is_thin():
    X, flat = swiss_roll(1000, seed=0)
    axes = np.column_stack([subspaces.geodesic_axes(X, 7, 2), np.ones(1000)])
    left = flat - axes @ np.linalg.lstsq(axes, flat, rcond=None)[0]
    assert (left**2).sum() < 0.05 * ((flat - flat.mean(axis=0)) ** 2).sum()
    W = subspaces.barycentric_axes(X, 7, 2)
    assert np.allclose(W.sum(axis=0), 0.0, atol=1e-4)
    Y, labels = blobs(300, 2, 3, seed=4, spread=30.0)
    A = subspaces.gaussian(Y, 0.05)
    found = subspaces.spectral_groups(A, 3)
    cut = subspaces.normalised_cut(A, found)
    assert cut == pytest.approx(subspaces.normalised_cut(A, labels), abs=1e-9)
    E = found[:, None] == np.unique(found)
    B = A - np.diag(np.diag(A))
    naive = sum(B[e][:, ~e].sum() / B[e].sum() for e in E.T)
    assert cut == pytest.approx(naive, abs=1e-12)


def test_svm_gap_holds_everywhere_and_closes_at_the_optimum(global_random_seed):
    X, y = kernels.two_groups(300, 5)
    model = SVC(C=2.0, gamma=0.1, tol=1e-6).fit(X, y)
    best = expansions.svm(X, y, 2.0, 0.1, model.support_, model.dual_coef_)
    assert -1e-12 <= best.relative_gap < 1e-5
    rng = np.random.default_rng(global_random_seed)
    for scale in (0.1, 1.0, 10.0):
        c = scale * rng.standard_normal(300)
        other = expansions.svm(X, y, 2.0, 0.1, np.arange(300), c)
        assert other.value >= best.bound - 1e-9 and other.bound <= best.value + 1e-9


def test_kernel_logistic_gap_holds_everywhere(global_random_seed):
    X, y = kernels.two_groups(120, 5)
    rng = np.random.default_rng(global_random_seed)
    verdicts = [
        expansions.logistic(X, y, 1.0, 0.1, scale * rng.standard_normal(120), 0.1)
        for scale in (0.0, 0.01, 1.0)
    ]
    for one, other in itertools.product(verdicts, verdicts):
        assert one.value >= other.bound


def test_ridge_equations_are_judged_by_their_residual():
    X, y = kernels.waves(80)
    K = np.exp(-0.02 * ((X[:, None] - X) ** 2).sum(axis=2))
    c = np.linalg.solve(K + 0.1 * np.eye(80), y)
    assert expansions.ridge_residual(X, y, 0.1, 0.02, c) < 1e-12
    assert expansions.ridge_residual(X, y, 0.1, 0.02, 1.001 * c) > 1e-4


def test_subsequences_are_summed_over_all_places():
    s, t, k, decay = b"gattaca", b"tacat", 3, 0.7
    naive = sum(
        decay ** (a[-1] - a[0] + 1 + b[-1] - b[0] + 1)
        for a in itertools.combinations(range(len(s)), k)
        for b in itertools.combinations(range(len(t)), k)
        if [s[i] for i in a] == [t[j] for j in b]
    )
    found = expansions.subsequences(list(s), list(t), k, decay)
    assert naive > 0.0 and found == pytest.approx(naive, rel=1e-12)
