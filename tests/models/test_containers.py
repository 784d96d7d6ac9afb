"""Every estimator gives the same coefficients wherever its rows lie, with one certificate each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import fenchel
from fenchel import (
    ElasticNet,
    ElasticNetCV,
    ERMRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LeastAbsoluteDeviations,
    LinearRegression,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
)
from fenchel.data.blocks import Blocks
from fenchel.data.in_memory import ArrayBlocks

N, D = 6000, 5
NAMES = [f"x{j}" for j in range(D)]
# Each estimator at a tight gap: what two homes may differ by is what the gap leaves open.
ESTIMATORS = [
    LinearRegression(),
    Ridge(alpha=3.0, tol=1e-11),
    RidgeCV(alphas=(0.1, 1.0, 10.0)),
    HuberRegressor(alpha=0.1, tol=1e-11),
    LogisticRegression(C=0.1, tol=1e-11),
    LogisticRegressionCV(Cs=[0.01, 1.0], cv=3, tol=1e-11),
    Lasso(alpha=0.1, tol=1e-12),
    ElasticNet(alpha=0.1, positive=True, tol=1e-12),
    LassoCV(alphas=[0.01, 0.1], cv=3, tol=1e-12),
    ElasticNetCV(alphas=4, l1_ratio=[0.5, 0.9], cv=3, tol=1e-12),
    LogisticRegression(C=0.01, l1_ratio=1.0, tol=1e-11),
]
HOMES = [
    "numpy",
    "fortran",
    "csr",
    "float32",
    "pandas",
    "polars",
    "pyarrow",
    "parquet",
    "csv",
    "npy",
    "dask",
    "dask frame",
    "torch",
    "torch float32",
]


def data(estimator, classes=2):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N, D)) * [1.0, 2.0, 0.5, 1.0, 3.0], 2)  # exact in text
    z = X @ rng.normal(size=D) + rng.normal(size=N)
    if "Logistic" not in type(estimator).__name__:
        return X, np.round(z, 3)
    return X, np.digitize(z, np.quantile(z, np.linspace(0, 1, classes + 1)[1:-1]))


def settle(home, X, y, tmp_path):
    """The rows in that home, and the target to pass beside them (None if it lies with them)."""
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    match home:
        case "numpy":
            return X, y
        case "fortran":
            return np.asfortranarray(X), y
        case "csr":
            return csr_array(X), y
        case "float32":
            return X.astype(np.float32), y
        case "pandas":
            return frame[NAMES], frame["y"]
        case "polars":
            return pl.from_pandas(frame[NAMES]), y
        case "pyarrow":
            return pa.Table.from_pandas(frame[NAMES]), y
        case "parquet":
            frame.to_parquet(tmp_path / "t.parquet")
            return fenchel.scan(tmp_path / "t.parquet", target="y"), None
        case "csv":
            frame.to_csv(tmp_path / "t.csv", index=False)
            return fenchel.scan(tmp_path / "t.csv", target="y"), None
        case "npy":
            np.save(tmp_path / "t.npy", np.column_stack([X, y]))
            return fenchel.scan(tmp_path / "t.npy", target=D), None
        case "dask":
            da = pytest.importorskip("dask.array")
            return da.from_array(X, chunks=(1000, D)), da.from_array(y, chunks=1500)
        case "dask frame":
            dd = pytest.importorskip("dask.dataframe")
            table = dd.from_pandas(frame, npartitions=4)
            return table[NAMES], table["y"]
        case "torch":
            torch = pytest.importorskip("torch")
            return torch.from_numpy(X), torch.from_numpy(y)
        case "torch float32":
            torch = pytest.importorskip("torch")
            return torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y)
    raise AssertionError(home)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_same_answer_in_every_home(estimator, home, tmp_path, monkeypatch) -> None:
    X, y = data(estimator)
    there, beside = settle(home, X, y, tmp_path)
    reference = type(estimator)(**estimator.get_params()).fit(X, y)
    low = "float32" in home
    params = estimator.get_params()
    if low and "tol" in params:
        params["tol"] = max(params["tol"], 1e-7)
    model = type(estimator)(**params)
    with monkeypatch.context() as patch:
        if isinstance(there, Blocks) or home.startswith("dask"):
            forbid_gathering(patch)
        model.fit(there) if beside is None else model.fit(there, beside)
    bound = 2e-4 if low else 1e-6
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=bound, atol=bound)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=bound, atol=bound)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.value == pytest.approx(reference.certificate_.value, rel=1e-5)
    predicted = np.asarray(model.predict(there))
    assert np.mean(np.abs(predicted - reference.predict(X)) < 1e-2) > 0.999
    if low and not home.startswith("torch"):
        assert model.coef_.dtype == np.float32


def forbid_gathering(monkeypatch) -> None:
    """No table of more than a sample's rows may be held by the driver."""
    held = ArrayBlocks.__init__

    def watched(self, whole, names=None):
        assert whole.X.shape[0] <= 3000, "rows were gathered on the driver"
        held(self, whole, names)

    monkeypatch.setattr(ArrayBlocks, "__init__", watched)


@pytest.mark.parametrize("home", ["csr", "float32", "parquet", "dask", "torch"])
def test_multinomial_in_every_home(home, tmp_path) -> None:
    estimator = LogisticRegression(C=0.1, tol=1e-7 if home == "float32" else 1e-9)
    X, y = data(estimator, classes=3)
    there, beside = settle(home, X, y, tmp_path)
    reference = LogisticRegression(C=0.1, tol=1e-9).fit(X, y)
    model = estimator.fit(there, beside)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=2e-4)
    assert model.converged_


@pytest.mark.parametrize(
    "estimator",
    [Lasso(), HuberRegressor(), LinearSVR(), LeastAbsoluteDeviations(), ERMRegressor(), Ridge()],
)
def test_a_regression_refuses_a_file_without_a_numeric_target(estimator, tmp_path) -> None:
    pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["no", "yes", "no"]}).to_csv(tmp_path / "t.csv")
    name = type(estimator).__name__
    for target, message in (("y", " of numbers.*'no'"), (None, ": pass y")):
        table = fenchel.scan(tmp_path / "t.csv", target=target, columns=["x"])
        with table, pytest.raises(ValueError, match=f"{name} needs a target{message}"):
            estimator.fit(table)


def test_string_labels_of_a_file(tmp_path) -> None:
    X, y = data(LogisticRegression())
    labels = np.where(y == 1, "yes", "no")
    pd.DataFrame(X, columns=NAMES).assign(y=labels).to_parquet(tmp_path / "t.parquet")
    with fenchel.scan(tmp_path / "t.parquet", target="y") as table:
        model = LogisticRegression(class_weight={"yes": 2.0, "no": 1.0}).fit(table)
        assert model.classes_.tolist() == ["no", "yes"]
        assert set(model.predict(table)) == {"no", "yes"}
    assert model.feature_names_in_.tolist() == NAMES
    same = LogisticRegression(class_weight={"yes": 2.0, "no": 1.0}).fit(X, labels)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-5)
