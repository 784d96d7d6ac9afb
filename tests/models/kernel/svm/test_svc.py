"""Support vector classification: scikit-learn's answers, and a proof that attacks do not break."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import StandardScaler

from fenchel import SVC, NotCertified, certify, kernels

CANCER, MALIGN = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)
IRIS, KINDS = load_iris(return_X_y=True)
TIGHT = {"tol": 1e-8}


def noisy(n=200, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(n) > 0).astype(int)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "linear", "C": 0.1},
        {"kernel": "poly", "coef0": 1.0, "degree": 2},
        {"gamma": 0.05, "C": 10.0},
        {"gamma": "auto", "class_weight": {0: 3.0, 1: 0.5}},
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", ["two", "three"])
def test_the_answers_of_scikit_learn(settings, rows):
    X, y = (CANCER, MALIGN) if rows == "two" else (IRIS, KINDS)
    if rows == "three" and "class_weight" in settings:
        settings = {**settings, "class_weight": {0: 3.0, 1: 0.5, 2: 1.0}}
    ours, theirs = SVC(**settings, **TIGHT).fit(X, y), svm.SVC(**settings, **TIGHT).fit(X, y)
    size = np.abs(theirs.dual_coef_).max()
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.array_equal(ours.n_support_, theirs.n_support_)
    assert np.array_equal(ours.support_vectors_, theirs.support_vectors_)
    assert np.allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4 * size)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.shape_fit_ == theirs.shape_fit_ and ours.fit_status_ == 0
    if settings.get("kernel") == "linear":
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    else:
        with pytest.raises(AttributeError, match="linear kernel"):
            _ = ours.coef_
    proof = certify(ours, X, y)
    assert proof.relative_gap <= 1e-6
    assert proof.value == pytest.approx(ours.certificate_.value, rel=1e-9)
    assert proof.bound <= certify(theirs, X, y).value * (1 + 1e-12)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_shapes_and_ties_of_three_classes(shape, break_ties):
    X, y = load_digits(n_class=4, return_X_y=True)
    settings = {"decision_function_shape": shape, "gamma": 1e-3, "C": 0.01, "tol": 1e-8}
    ours, theirs = SVC(**settings).fit(X[::4], y[::4]), svm.SVC(**settings).fit(X[::4], y[::4])
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    if shape == "ovo" and break_ties:
        with pytest.raises(ValueError, match="break_ties=True needs"):
            ours.set_params(break_ties=True).predict(X)
        return
    ours.set_params(break_ties=break_ties), theirs.set_params(break_ties=break_ties)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_one_against_the_rest_is_a_machine_a_class():
    ours = SVC(multi_class="ovr", **TIGHT).fit(IRIS, KINDS)
    for k in range(3):
        one = SVC(**TIGHT, gamma=ours.kernel_.gamma).fit(IRIS, k == KINDS)
        assert np.allclose(ours.decision_function(IRIS)[:, k], one.decision_function(IRIS))
    assert ours.dual_coef_.shape == (3, len(ours.support_))
    assert certify(ours, IRIS, KINDS).relative_gap <= 1e-6


def test_weights_are_repeated_rows():
    X, y = noisy()
    s = np.random.default_rng(1).integers(0, 4, 200)
    weighted = SVC(gamma=0.5).fit(X, y, sample_weight=s)
    repeated = SVC(gamma=0.5).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    value = repeated.certificate_.value
    assert weighted.certificate_.value == pytest.approx(value, rel=2e-3)
    assert weighted.certificate_.bound <= value and repeated.certificate_.bound <= (
        weighted.certificate_.value
    )
    assert certify(weighted, X, y, s).value == pytest.approx(weighted.certificate_.value, rel=1e-9)


def test_kernels_of_every_kind_agree():
    X, y = noisy()
    expected = SVC(kernel="rbf", gamma=0.5).fit(X, y).decision_function(X)
    K = kernels.Gaussian(0.5).tile(X, X)
    for kernel, rows in (
        (kernels.Gaussian(0.5), X),
        (0.5 * kernels.Gaussian(0.5) + 0.5 * kernels.Gaussian(0.5), X),
        (lambda a, b: kernels.Gaussian(0.5).tile(a, b), X),
        ("precomputed", K),
        ("rbf", sparse.csr_array(X)),
        ("rbf", sparse.coo_matrix(X)),
    ):
        model = SVC(kernel=kernel, gamma=0.5).fit(rows, y)
        assert np.allclose(model.decision_function(rows), expected, atol=1e-9)
        assert certify(model, rows, y).relative_gap <= 1e-9


def test_sparse_rows_with_wide_or_repeated_numbers():
    """int64 numbers of columns, and entries given in two halves: libsvm reads these wrongly."""
    X, y = noisy()
    X[np.random.default_rng(2).random(X.shape) < 0.5] = 0.0
    plain = sparse.csr_array(X)
    wide = plain.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    halves = sparse.csr_array(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), 2 * plain.indptr), X.shape
    )
    before = halves.data.copy()
    expected = SVC(gamma=0.5).fit(X, y).decision_function(X)
    for rows in (wide, halves):
        model = SVC(gamma=0.5).fit(rows, y)
        assert np.allclose(model.decision_function(rows), expected, atol=1e-9)
    assert np.array_equal(halves.data, before)


def test_a_kernel_that_is_not_positive_semi_definite():
    X, y = noisy(120)
    with pytest.warns(UserWarning, match="smallest eigenvalue of its matrix on these rows is -"):
        model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    assert model.certificate_.kind == "stationary" and model.certificate_.bound == -np.inf
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        assert np.isfinite(model.decision_function(X)).all()
        with pytest.raises(ValueError, match="has no certificate"):
            certify(model, X, y)


@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")
@pytest.mark.parametrize("C", [1e-10, 1e-3, 1e3, 1e10])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_proof_holds_for_any_C(C, kernel):
    X, y = noisy(80)
    model = SVC(C=C, kernel=kernel, gamma=0.5, max_iter=200_000).fit(X, y)
    proof = model.certificate_
    assert 0.0 <= proof.bound <= proof.value
    again = certify(model, X, y)
    assert again.value == pytest.approx(proof.value, rel=1e-6)
    other = svm.SVC(C=C, kernel=kernel, gamma=0.5, max_iter=200_000)
    with np.errstate(all="ignore"):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other.fit(X, y)
    assert proof.bound <= certify(other, X, y).value * (1 + 1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_proof_holds_under_attack(offset, dtype):
    """Rows that are repeated, with both labels, weights from 1e-6 to 1e6, far from zero."""
    X, y = noisy(150)
    X, y = np.r_[X, X[:50]], np.r_[y, 1 - y[:50]]
    s = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 200)
    X = (X * (16.0 if offset else 1.0) + offset).astype(dtype)
    model = SVC(gamma=0.5).fit(X, y, sample_weight=s)
    proof = model.certificate_
    assert 0.0 < proof.bound <= proof.value and proof.relative_gap <= 1e-2
    assert certify(model, X, y, s).value == pytest.approx(proof.value, rel=1e-6)
    exact = np.exp(-0.5 * ((X[:, None].astype(float) - X.astype(float)) ** 2).sum(axis=2))
    f = exact[:, model.support_] @ model.dual_coef_[0]
    t = 2.0 * y - 1.0
    value = s @ np.maximum(0.0, 1.0 - t * (f + model.intercept_[0]))
    value += 0.5 * model.dual_coef_[0] @ f[model.support_]
    assert value == pytest.approx(proof.value, rel=1e-6)


def test_many_rows_in_blocks():
    """More rows than a block, a store that forgets, rows in float32: the same machine."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((3000, 5))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(3000) > 0).astype(int)
    model = SVC(gamma=0.2, cache_size=1.0).fit(X, y)
    other = svm.SVC(gamma=0.2, tol=1e-6).fit(X, y)
    assert model.certificate_.residual <= 1e-3 and model.certificate_.relative_gap <= 1e-3
    difference = model.decision_function(X) - other.decision_function(X)
    assert np.abs(difference).max() <= 5e-3
    assert certify(model, X, y).relative_gap <= 1e-3


def test_what_is_refused():
    X, y = noisy(40)
    with pytest.raises(ValueError, match="one class"):
        SVC().fit(X, np.zeros(40))
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="not symmetric"):
        SVC(kernel="precomputed").fit(np.triu(np.ones((40, 40))), y)
    with pytest.raises(ValueError, match="gamma"):
        SVC(gamma=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="pass the rows it was fitted on"):
        certify(SVC().fit(X, y), X[::-1], y[::-1])
    with pytest.warns(NotCertified, match="max_iter|residual|gap"):
        SVC(max_iter=2).fit(X, y)


def test_labels_are_the_signs_of_the_scores():
    """Labels come from sums in float32 where their bound decides, scores from float64."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((900, 6))
    z = X[:, 0] * X[:, 1] + X[:, 2]
    model = SVC(C=1e4, gamma=0.5).fit(X, z > 0.0)
    # Rows at which the score changes its sign, to rounding.
    low, high = X[z <= 0.0][:300], X[z > 0.0][:300]
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = model.decision_function(middle) > 0.0
        low, high = np.where(above[:, None], low, middle), np.where(above[:, None], middle, high)
    near = np.concatenate([low, high, X])
    sums, errors = model._rough(model.dual_coef_.T)(near)
    undecided = np.abs(sums[:, 0] + model.intercept_) <= errors[:, 0]
    assert undecided[:600].all() and not undecided[600:].all()
    scores = model.decision_function(near)
    sure = np.abs(scores) > 1e-9
    assert np.array_equal(model.predict(near)[sure], scores[sure] > 0.0)
    parts = SVC(gamma=0.5).fit(X, np.digitize(z, [-1.0, 1.0]))
    labels = parts.predict(X)
    assert np.array_equal(labels, parts.predict(sparse.csr_array(X)))
    assert parts.score(X, np.digitize(z, [-1.0, 1.0])) > 0.8
