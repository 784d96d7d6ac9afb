"""One curve of a model wherever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import LogisticRegression, as_blocks, curve_of, scan

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :6]
MODEL = LogisticRegression().fit(X, Y)
WEIGHT = np.arange(len(Y)) % 4.0


def files(folder):
    import polars as pl

    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])})
    names = np.array(["malign", "benign"])[Y]
    frame = frame.with_columns(y=Y, kind=names)
    frame.write_parquet(folder / "rows.parquet", row_group_size=100)
    return folder / "rows.parquet"


def homes(folder):
    import dask.array as da

    path = files(folder)
    columns = [f"x{j}" for j in range(X.shape[1])]
    yield X, Y
    yield as_blocks(X, Y), None
    yield as_blocks(X), Y
    yield scan(path, columns=columns, target="y"), None
    yield da.from_array(X, chunks=(100, -1)), da.from_array(Y, chunks=100)


def test_the_same_curve_in_every_home(tmp_path):
    want = roc_auc_score(Y, MODEL.decision_function(X))
    for rows, y in homes(tmp_path):
        curve = curve_of(MODEL, rows, y)
        assert curve.auc() == pytest.approx(want, abs=1e-15)
        assert curve.is_exact and curve.is_counted
        pooled = curve_of(MODEL, rows, y, limit=50)
        low, high = pooled.auc_bounds()
        assert low <= want <= high < low + 0.02 and pooled.high.size <= 50


def test_weights_travel(tmp_path):
    want = roc_auc_score(Y, MODEL.decision_function(X), sample_weight=WEIGHT)
    for rows, y in [(X, Y), (as_blocks(X, Y, WEIGHT), None), (as_blocks(X, Y), None)]:
        given = None if y is None and rows.gather().weight is not None else WEIGHT
        assert curve_of(MODEL, rows, y, sample_weight=given).auc() == pytest.approx(want, abs=1e-14)
    # A block whose rows all have no weight adds nothing.
    late = np.where(np.arange(len(Y)) < 300, 0.0, 1.0)
    path = files(tmp_path)
    rows = scan(path, columns=[f"x{j}" for j in range(6)], target="y")
    found = curve_of(MODEL, rows, sample_weight=late).auc()
    assert found == pytest.approx(roc_auc_score(Y[300:], MODEL.decision_function(X[300:])))


def test_labels_that_a_file_keeps_as_words(tmp_path):
    path = files(tmp_path)
    rows = scan(path, columns=[f"x{j}" for j in range(6)], target="kind")
    model = LogisticRegression().fit(rows)
    assert list(model.classes_) == ["benign", "malign"]
    want = roc_auc_score(Y == 0, model.decision_function(rows))
    assert curve_of(model, rows).auc() == pytest.approx(want, abs=1e-14)
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(6)]
    turned = scan(path, columns=[f"x{j}" for j in (1, 0, 2, 3, 4, 5)], target="kind")
    with pytest.raises(ValueError, match="columns in another order"):
        curve_of(model, turned)
    with pytest.raises(ValueError, match="has no column 'x2'"):
        curve_of(model, scan(path, columns=["x0", "x1"], target="kind"))


def test_a_pipeline_fitted_on_named_columns(tmp_path):
    import polars as pl

    path = files(tmp_path)
    frame = pl.read_parquet(path).select([f"x{j}" for j in range(6)]).to_pandas()
    model = make_pipeline(StandardScaler(), Peer()).fit(frame, Y)
    rows = scan(path, columns=list(frame.columns), target="y")
    want = roc_auc_score(Y, model.decision_function(frame))
    assert curve_of(model, rows).auc() == pytest.approx(want, abs=1e-12)


def test_torch_rows():
    torch = pytest.importorskip("torch")
    got = curve_of(MODEL, torch.from_numpy(X), torch.from_numpy(Y)).auc()
    assert got == pytest.approx(roc_auc_score(Y, MODEL.decision_function(X)), abs=1e-12)


@pytest.mark.parametrize("peer", [Peer(max_iter=5000), GaussianNB()])
def test_any_classifier_with_a_score(peer):
    peer.fit(X, Y)
    want = roc_auc_score(Y, peer.predict_proba(X)[:, 1])
    assert curve_of(peer, X, Y).auc() == pytest.approx(want, abs=1e-12)


def test_errors_name_the_row_and_the_classes():
    strange = Y.copy()
    strange[7] = 5
    with pytest.raises(ValueError, match=r"y is .*5.* in row 7; the model knows .*0.* and .*1"):
        curve_of(MODEL, X, strange)
    with pytest.raises(ValueError, match="pass y, or target= to scan"):
        curve_of(MODEL, as_blocks(X))
    with pytest.raises(ValueError, match="needs labels"):
        curve_of(MODEL, X)
    three = LogisticRegression().fit(X, np.arange(len(Y)) % 3)
    with pytest.raises(ValueError, match="two classes; this one has 3"):
        curve_of(three, X, Y)
    with pytest.raises(ValueError, match="both classes"):
        curve_of(MODEL, X[Y == 1], Y[Y == 1])


def test_what_has_no_classes_is_refused():
    X = np.arange(6.0)[:, None]
    with pytest.raises(TypeError, match="a curve needs a classifier"):
        curve_of(Ridge().fit(X, X[:, 0]), X, X[:, 0] > 2)
