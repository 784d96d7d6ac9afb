"""PairwiseRanker: its documented objective, its homes, groups, weights, bad input, its score."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.metrics import roc_auc_score

import fenchel
from fenchel import NotCertified, PairwiseRanker, certify, concordance
from tests.oracles import convex as oracles

LOSSES = ["hinge", "logistic", "squared_hinge"]
PHI = {
    "hinge": lambda t: max(0.0, 1 - t),
    "logistic": lambda t: np.log1p(np.exp(-t)),
    "squared_hinge": lambda t: max(0.0, 1 - t) ** 2,
}
HOMES = [
    "fortran",
    "csr",
    "float32",
    "pandas",
    "parquet",
    "dask",
    "dask frame",
    "torch",
    "torch float32",
]
NAMES = [f"x{j}" for j in range(4)]


def data(n=60, d=4, seed=0, grades=None):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 2)
    y = np.round(X @ rng.normal(size=d) + rng.normal(size=n), 3)
    return X, y if grades is None else np.digitize(y, np.quantile(y, grades))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_certificate_is_of_the_documented_objective(loss, alpha) -> None:
    X, y = data(grades=[0.3, 0.6])
    g = np.repeat(["a", "b", "c"], 20)
    s = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 60)
    model = PairwiseRanker(loss=loss, alpha=alpha).fit(X, y, groups=g, sample_weight=s)
    w = model.coef_
    objective = oracles.pair_mean(PHI[loss], y, g, s, X @ w) + alpha / 2 * w @ w
    assert model.converged_ and model.certificate_.kind == "duality"
    assert model.certificate_.value == pytest.approx(objective, rel=1e-12)
    assert model.certificate_.bound <= objective
    assert model.certificate_.relative_gap <= 1e-6
    assert len(model.history_) == model.n_iter_ + 1
    assert model.intercept_ == 0.0 and model.coef_.shape == (4,)
    np.testing.assert_array_equal(model.predict(X), X @ w)
    proof = certify(model, X, y, s, groups=g)
    assert proof.value == pytest.approx(objective, rel=1e-12)
    assert model.certificate_.bound <= proof.bound * (1 + 1e-7) and proof.relative_gap <= 1e-6


@pytest.mark.parametrize("loss", LOSSES)
def test_only_the_order_of_targets_counts(loss) -> None:
    X, y = data()
    plain = PairwiseRanker(loss=loss).fit(X, y)
    for same in (np.exp(y), 1e6 * y, np.unique(y, return_inverse=True)[1], -1 / (y - y.min() + 1)):
        np.testing.assert_allclose(PairwiseRanker(loss=loss).fit(X, same).coef_, plain.coef_)
    # A constant added to a column cancels in every pair.
    moved = PairwiseRanker(loss=loss, tol=1e-9).fit(X + np.array([5.0, 0.0, -3.0, 0.0]), y)
    still = PairwiseRanker(loss=loss, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(moved.coef_, still.coef_, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repeated_rows_and_zero_is_no_row(loss) -> None:
    X, y = data(40)
    g = np.arange(40) % 4
    s = np.random.default_rng(0).integers(0, 3, 40)
    weighted = PairwiseRanker(loss=loss, tol=1e-8).fit(X, y, g, sample_weight=s)
    repeated = PairwiseRanker(loss=loss, tol=1e-8).fit(
        np.repeat(X, s, axis=0), np.repeat(y, s), np.repeat(g, s)
    )
    assert weighted.certificate_.value == pytest.approx(repeated.certificate_.value, rel=3e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2e-3)
    scaled = PairwiseRanker(loss=loss, tol=1e-8).fit(X, y, g, sample_weight=7.0 * s)
    np.testing.assert_allclose(scaled.coef_, weighted.coef_, rtol=1e-6, atol=1e-9)
    some = s > 0
    mine = weighted.score(X, y, g, sample_weight=(s > 0).astype(float))
    assert mine == pytest.approx(weighted.score(X[some], y[some], g[some]))


def test_groups_of_any_label() -> None:
    X, y = data(40)
    number = np.arange(40) % 4
    names = np.array(["b", "a", "d", "c"])[number]
    pairs = np.empty(40, object)
    pairs[:] = [(int(k), "x") for k in number]
    base = PairwiseRanker(loss="logistic").fit(X, y, number)
    for groups in (names, pairs, names.tolist(), pd.Series(names), number.astype(float)):
        np.testing.assert_allclose(
            PairwiseRanker(loss="logistic").fit(X, y, groups).coef_, base.coef_, rtol=1e-7
        )
    apart = PairwiseRanker(loss="logistic").fit(X, y)
    assert np.abs(apart.coef_ - base.coef_).max() > 1e-3


def settle(home, X, y, tmp_path):
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    match home:
        case "fortran":
            return np.asfortranarray(X), y
        case "csr":
            return csr_array(X), y
        case "float32":
            return X.astype(np.float32), y
        case "pandas":
            return frame[NAMES], frame["y"]
        case "parquet":
            frame.to_parquet(tmp_path / "t.parquet")
            return fenchel.scan(tmp_path / "t.parquet", target="y"), None
        case "dask":
            da = pytest.importorskip("dask.array")
            return da.from_array(X, chunks=(2000, 4)), da.from_array(y, chunks=1500)
        case "dask frame":
            dd = pytest.importorskip("dask.dataframe")
            lazy = dd.from_pandas(frame, npartitions=3)
            return lazy[NAMES], lazy["y"]
    torch = pytest.importorskip("torch")
    rows = X.astype(np.float32) if home == "torch float32" else X
    return torch.from_numpy(rows), torch.from_numpy(y)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_same_answer_in_every_home(loss, home, tmp_path) -> None:
    X, y = data(6200)
    g = np.arange(6200) % 3
    there, beside = settle(home, X, y, tmp_path)
    tol = 1e-6 if "float32" in home else 1e-8
    reference = PairwiseRanker(loss=loss, tol=1e-8).fit(X, y, g)
    model = PairwiseRanker(loss=loss, tol=tol).fit(there, beside, groups=g)
    assert model.converged_
    bound = 2e-3 if "float32" in home else 2e-4
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=bound)
    assert model.score(there, beside, groups=g) == pytest.approx(reference.score(X, y, g), abs=1e-4)
    if home == "float32":
        assert model.coef_.dtype == np.float32
    if home == "pandas":
        assert model.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("loss", LOSSES)
def test_many_sparse_columns(loss) -> None:
    rng = np.random.default_rng(0)
    X = csr_array(random_array((400, 600), density=0.03, rng=rng, format="csr"))
    y = X @ rng.normal(size=600) + 0.1 * rng.normal(size=400)
    model = PairwiseRanker(loss=loss, alpha=1e-2, tol=1e-5).fit(X, y)
    dense = PairwiseRanker(loss=loss, alpha=1e-2, tol=1e-5).fit(X.toarray(), y)
    assert model.converged_ and dense.converged_
    assert model.certificate_.value == pytest.approx(dense.certificate_.value, rel=1e-5)


def test_warm_start_and_steps() -> None:
    X, y = data(3000)
    model = PairwiseRanker(loss="logistic", warm_start=True, verbose=0).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= 1 < first
    with pytest.warns(NotCertified, match="max_iter=1"):
        PairwiseRanker(max_iter=1, tol=1e-12).fit(X, y)


# ------------------------------------------------------------------------------------------ score


def test_score_is_the_concordance() -> None:
    X, y = data(80, grades=[0.4, 0.8])
    g, s = np.arange(80) % 3, np.random.default_rng(0).uniform(size=80)
    model = PairwiseRanker().fit(X, y, g)
    expected = oracles.concordance(y, g, s, X @ model.coef_)
    assert model.score(X, y, g, sample_weight=s) == pytest.approx(expected)
    assert model.score(X, y, g) > 0.7


def test_concordance_of_two_classes_is_the_area_under_the_curve() -> None:
    rng = np.random.default_rng(0)
    y, z, s = rng.integers(0, 2, 500), np.round(rng.normal(size=500), 1), rng.uniform(size=500)
    expected = roc_auc_score(y, z, sample_weight=s)
    assert concordance(y, z, sample_weight=s) == pytest.approx(expected)
    assert concordance(y, y) == 1.0 and concordance(y, -y) == 0.0 and concordance(y, 0 * y) == 0.5


# -------------------------------------------------------------------------------------- bad input


def test_bad_input_is_named() -> None:
    X, y = data(20)
    ranker = PairwiseRanker()
    groups = np.r_[np.zeros(19, int), 7]
    with pytest.raises(ValueError, match=r"groups .*at least 2 rows.*group 7.*row 19.*drop"):
        ranker.fit(X, y, groups)
    lone = np.r_[1.0, np.zeros(9), np.ones(10)]
    with pytest.raises(ValueError, match="groups must hold at least 2 rows each"):
        ranker.fit(X, y, np.repeat([0, 1], 10), sample_weight=lone)
    with pytest.raises(ValueError, match="y must hold at least 2 different values"):
        ranker.fit(X, np.ones(20))
    with pytest.raises(ValueError, match="y within each of groups"):
        ranker.fit(X, np.repeat([0, 1], 10), np.repeat([0, 1], 10))
    with pytest.raises(ValueError, match="groups must hold one label for each of 20 rows"):
        ranker.fit(X, y, np.arange(19))
    with pytest.raises(ValueError, match="n_samples=1"):
        ranker.fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="strings"):
        ranker.fit(X, np.repeat(["good", "bad"], 10))
    with pytest.raises(ValueError, match="'loss' parameter"):
        PairwiseRanker(loss="square").fit(X, y)
    for alpha in (0.0, -1.0):
        with pytest.raises(ValueError, match=r"'alpha' parameter.*\(0.0, inf\)"):
            PairwiseRanker(alpha=alpha).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        ranker.fit(X, np.r_[np.nan, y[1:]])
    with pytest.raises(ValueError, match="has no groups"):
        certify(fenchel.Ridge().fit(X, y), X, y, groups=np.zeros(20))


def test_labels_of_a_file_have_no_order(tmp_path) -> None:
    X, y = data(20)
    pd.DataFrame(X, columns=NAMES).assign(y=np.where(y > 0, "a", "b")).to_csv(
        tmp_path / "t.csv", index=False
    )
    with (
        fenchel.scan(tmp_path / "t.csv", target="y") as rows,
        pytest.raises(ValueError, match="no order"),
    ):
        PairwiseRanker().fit(rows)
