"""A table without a target: clusters and axes, against scikit-learn and against proof."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from app import reports, shell
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import StandardScaler

from fenchel import certify_clusters, open_model, threads
from fenchel.app.catalogue import CLUSTERS
from fenchel.app.errors import BadUsage
from fenchel.app.report.build import Options, build
from fenchel.app.report.structure import unsupervised as loose
from fenchel.app.report.structure.clusters import clustered
from fenchel.app.report.verdict import excess_words
from fenchel.convex.partition.spectral_bounds import CentredRows

X = StandardScaler().fit_transform(load_wine().data)


def severities(report) -> dict[str, str]:
    return {one["code"]: one["severity"] for one in report.numbers["findings"]}


def test_the_clusters_are_the_cultivars_and_their_numbers_are_right():
    found = clustered(CLUSTERS[0], X, CentredRows(X), 0)
    assert found.count == 3
    assert adjusted_rand_score(load_wine().target, found.labels) > 0.85
    assert np.all(np.diff(np.bincount(found.labels)) <= 0)  # the largest is the first
    assert found.starts.min() == pytest.approx(KMeans(3, n_init=30, random_state=1).fit(X).inertia_)
    (told,) = reports.bottles().numbers["shape"]["clusterings"]
    proof = certify_clusters(X, found.labels)
    assert told["certificate"]["objective"] == pytest.approx(proof.value)
    # By a semidefinite relaxation: far above the spectral bound, which is within 20 %.
    assert told["certificate"]["kind"] == "sdp" and told["certificate"]["confidence"] == 1.0
    assert proof.bound < 0.98 * proof.value < told["certificate"]["bound"] < proof.value
    assert told["left"]["value"] == pytest.approx(proof.value / X.size)
    assert told["silhouette"]["value"] == pytest.approx(silhouette_score(X, found.labels))
    assert [group["rows"] for group in told["clusters"]] == np.bincount(found.labels).tolist()
    many = [KMeans(k, n_init=9, random_state=0).fit(X).labels_ for k in range(2, 11)]
    assert told["choices"]["gap"] == 3 and set(told["choices"]) == {"gap", "silhouette", "penalty"}
    assert told["choices"]["silhouette"] == 2 + np.argmax(
        [silhouette_score(X, one) for one in many]
    )
    assert found.tree.n_clusters == 10 and found.tree.mass[0] == len(X)
    names = load_wine().feature_names
    for k, group in enumerate(told["clusters"]):
        for mark in group["marks"]:
            mine = X[found.labels == k, names.index(mark["column"])]
            assert mark["shift"]["value"] == pytest.approx(mine.mean())
    for row in told["tried"]:
        assert row["left_at_least"]["value"] <= row["left"]["value"] <= 1.0
        assert row["left_by_chance"]["value"] <= 1.0 + 1e-12


def test_the_axes_are_the_principal_ones():
    (told,) = reports.bottles().numbers["shape"]["embeddings"]
    pca = PCA(5).fit(X)
    shares = [row["share"]["value"] for row in told["dimensions"]]
    assert shares == pytest.approx(pca.explained_variance_ratio_)
    Z = pca.transform(X)
    for row in told["dimensions"]:
        r = row["dimensions"]
        want = trustworthiness(X, Z[:, :r], n_neighbors=10)
        assert row["trustworthiness"]["value"] == pytest.approx(want)
        want = trustworthiness(Z[:, :r], X, n_neighbors=10)
        assert row["continuity"]["value"] == pytest.approx(want)
    assert told["certificate"]["relative_gap"] <= 1e-9
    first = told["axes"][0]["columns"][0]
    j = load_wine().feature_names.index(first["column"])
    assert abs(first["weight"]["value"]) == pytest.approx(np.abs(pca.components_[0]).max())
    assert abs(pca.components_[0, j]) == pytest.approx(abs(first["weight"]["value"]))


def test_every_row_has_its_place(monkeypatch, tmp_path):
    found = clustered(CLUSTERS[0], X, CentredRows(X), 0)
    rows = reports.bottles().rows
    assert rows.columns == [
        *("row", "k-means cluster", "principal-components 1", "principal-components 2")
    ]
    assert rows["row"].to_list() == list(range(1, 179))
    assert np.array_equal(rows["k-means cluster"].to_numpy(), found.labels + 1)
    Z = PCA(2, svd_solver="full").fit_transform(X)
    assert rows.select(pl.col("^principal.*$")).to_numpy() == pytest.approx(Z, abs=1e-9)
    path = reports.bottles().write(tmp_path)[1]
    assert pl.read_csv(path).height == 178
    # In pieces, and for rows beside the sample, it is the same.
    frame = pl.DataFrame(load_wine().data, schema=list(load_wine().feature_names))
    monkeypatch.setattr(loose, "MOST_ROWS", 100)
    parts = build(reports.source(frame), Options()).rows
    assert parts.height == 178 and parts["row"].to_list() == list(range(1, 179))
    assert adjusted_rand_score(parts["k-means cluster"], found.labels) > 0.85


def test_figures_come_with_what_they_show():
    drawn = set(reports.bottles().figures)
    assert drawn == {
        *("elbow_0", "choice_0", "restarts_0", "silhouettes_0", "dendrogram_0"),
        *("embedding_0", "scree_0", "biplot_0", "correlation"),
    }


def test_the_clusters_are_kept_in_a_model_file(tmp_path):
    """Raw rows get the cluster that the report gave them; the proof holds for its own table."""
    table = tmp_path / "bottles.csv"
    names = load_wine().feature_names
    pl.DataFrame(load_wine().data, schema=names).write_csv(table)
    made, predicted, proved, judged, shown, alike = shell.together(
        [
            ["report", str(table), "-o", str(tmp_path), "-q"],
            ["predict", str(tmp_path / "model.fen"), str(table)],
            ["certify", str(tmp_path / "model.fen"), str(table), "--json"],
            ["score", str(tmp_path / "model.fen"), str(table)],
            ["inspect", str(tmp_path / "model.fen")],
            ["certify", str(tmp_path / "model.fen"), str(table)],
        ],
        tmp_path,
        tmp_path / "room",
    )
    assert "model.fen" in made.fine()
    rows = pl.read_csv(tmp_path / "rows.csv")
    assert predicted.out.splitlines() == ["cluster", *map(str, rows["k-means cluster"])]
    frame = open_model(tmp_path / "model.fen").predict(pl.read_csv(table))
    assert frame["cluster"].to_list() == rows["k-means cluster"].to_list()
    (told,) = reports.bottles().numbers["shape"]["clusterings"]
    document = proved.document()
    assert document["certificate"]["value"] == pytest.approx(told["certificate"]["objective"])
    assert document["certificate"]["kind"] == "sdp"
    assert document["certificate"]["relative_gap"] < 0.02
    assert "clusters predict no target" in document["no_bounds"]
    assert "holds clusters, which predict no target" in judged.failed(2)
    assert "the cluster of a row" in shown.fine() and "agrees with the one" in alike.fine()
    assert "above the least possible for as many." in alike.fine()


def test_rows_without_clusters_are_not_divided():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(rng.normal(size=(300, 5)), schema=list("abcde"))
    report = build(reports.source(frame), Options())
    assert "no clusters; 2 to 10 of them explain no more" in report.verdict()[2]
    assert severities(report)["S2"] == "info" and "S3" not in severities(report)
    shown = {"elbow_0", "embedding_0", "scree_0", "biplot_0", "correlation"}
    assert set(report.figures) == shown
    tips = json.dumps(report.figures["biplot_0"]["spec"]["datasets"])
    assert all(f'"s": "{name}"' in tips for name in "abcde")
    assert "like the average row" in report.html()


def test_clouds_that_touch_are_said_to():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {name: rng.normal(size=400) + 1.1 * (np.arange(400) % 2) for name in "abcdefgh"}
    )
    report = build(reports.source(frame), Options())
    found = report.numbers["shape"]["clusterings"][0]
    assert found["chosen"] == 2 and found["silhouette"]["value"] < 0.25
    assert severities(report)["S3"] == "warning"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pl.DataFrame({"a": [1.0, 2.0, 4.0]}), "3 rows are too few, 10 are needed"),
        (pl.DataFrame({"a": [1.0] * 30, "b": ["k"] * 30}), "no column of the table can be used"),
    ],
)
def test_what_has_no_shape_says_why(frame, reason):
    report = build(reports.source(frame), Options())
    assert reason in report.verdict()[2] and reason in report.html()
    assert severities(report)["S1"] == "info" and not report.figures


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": np.arange(12.0) ** 2}),
        pl.DataFrame({"a": [0.0, 1.0] * 10, "b": [5.0, 2.0] * 10}),
        pl.DataFrame({"a": ["x", "y", "z"] * 8, "b": [None, 1.5, 2.5, None] * 6}),
        pl.DataFrame({"a": np.geomspace(1e-300, 1e300, 40), "b": np.arange(40.0)}),
    ],
    ids=["one column", "two points", "levels and gaps", "extreme"],
)
def test_awkward_tables(frame):
    report = build(reports.source(frame), Options())
    assert "reason" not in report.numbers["shape"]
    for key, one in report.figures.items():
        assert one["title"] and one["spec"]["description"], key
    assert report.html()


def test_a_sample_of_a_large_table_is_said_and_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3)) + 8.0 * rng.integers(3, size=(3000, 1))
    frame = pl.DataFrame(rows, schema=list("abc"))
    monkeypatch.setattr(loose, "MOST_ROWS", 2500)
    told = []
    for count in (1, 2):
        with threads(count):
            told.append(build(reports.source(frame), Options(seed=5)))
    first, second = (report.numbers["shape"] for report in told)
    assert first == second and told[0].figures == told[1].figures
    (found,) = first["clusterings"]
    assert "A random sample of 2,500 rows was used." in told[0].html()
    assert "of 3,000 rows a random sample of 2,500 was used" in told[0].verdict()
    assert found["rows"] == 2500 and found["chosen_on"] == 2000 and found["chosen"] == 3


def test_rare_levels_and_outliers_are_no_clusters():
    rng = np.random.default_rng(0)
    levels = rng.choice([f"level {k}" for k in range(400)], 2000)
    frame = pl.DataFrame({"level": levels, "x": rng.normal(size=2000)})
    far = np.append(rng.normal(size=99), 1e9)
    for table in (frame, pl.DataFrame({"far": far, "y2": rng.normal(size=100)})):
        report = build(reports.source(table), Options())
        assert report.numbers["shape"]["clusterings"][0]["chosen"] == 1
        assert severities(report)["S2"] == "info"
    assert severities(report)["D7"] == "warning"


def test_clusters_that_the_sample_misses():
    """Three far rows beside the sample: k-means gives them a cluster, and no silhouette is left."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 2)) + 6.0 * (np.arange(6000)[:, None] % 2) * [1.0, 0.0]
    sample = np.random.default_rng(0).choice(6000, 2000, replace=False)
    rows[np.setdiff1d(np.arange(6000), sample)[:3]] = 1e4
    frame = pl.DataFrame(rows, schema=["a", "b"])
    clipped = build(reports.source(frame), Options()).numbers["shape"]["clusterings"][0]
    assert all(group["rows"] > 3 for group in clipped["clusters"])  # clipped, they join others
    report = build(reports.source(frame), Options(as_is=True))
    (found,) = report.numbers["shape"]["clusterings"]
    assert [group["rows"] for group in found["clusters"]] == [5997, 3]
    assert found["silhouette"]["value"] is None and "silhouettes_0" not in report.figures
    assert severities(report)["S3"] == "warning" and severities(report)["S5"] == "info"
    assert report.html()


def test_bounds_are_rounded_down():
    report = reports.bottles()
    (found,) = report.numbers["shape"]["clusterings"]
    said = float(report.verdict()[2].rpartition("less than ")[2].removesuffix(" %"))
    proved = 100 * found["left"]["value"] * (1.0 - found["certificate"]["relative_gap"])
    assert proved - 0.1 <= said <= proved
    above = re.search(r"at most (\S+) % above the least possible", report.verdict()[2])
    assert above and 0.0 <= float(above[1]) - 100 * found["certificate"]["excess"] <= 0.1
    assert found["start_promise"]["value"] == pytest.approx(8.0 * (2.0 + np.log(3.0)))
    assert "promises at most 8 (2 + ln 3) = 24.8 times the least possible" in report.html()


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        ({"relative_gap": None}, ""),
        ({"kind": "exact"}, ", proved to be the least possible for 3 clusters"),
        ({"relative_gap": 1.0, "excess": None}, "; no 3 clusters can have less than 0 %"),
        (
            {"confidence": 0.99},
            ", at most 25.0 % above the least possible; no 3 clusters can have less than 40.0 %, "
            "with confidence 99 %",
        ),
    ],
)
def test_what_is_proved_is_said_with_its_confidence(proof, said):
    whole = {"relative_gap": 0.2, "excess": 0.25, "kind": "sdp", "confidence": 1.0, **proof}
    assert excess_words({"left": {"value": 0.5}, "chosen": 3, "certificate": whole}) == said


def test_models_that_need_a_target_are_refused():
    frame = pl.DataFrame({"a": np.arange(30.0)})
    with pytest.raises(BadUsage, match="every model needs one"):
        build(reports.source(frame), Options(models=("logistic",)))


def test_the_levels_of_a_single_category_are_no_clusters():
    frame = pl.DataFrame({"kind": ["ham", "spam", "ham"] * 40})
    numbers = build(reports.source(frame), Options(kind="none")).numbers
    assert numbers["shape"]["reason"] == (
        "the one column that can be used, 'kind', holds categories"
    )


def test_texts_that_are_left_out_of_clusters_are_not_sent_to_text():
    rng = np.random.default_rng(0)
    words = [
        "see",
        "you",
        "later",
        "ok",
        "home",
        "dinner",
        "love",
        "tomorrow",
        "going",
        "to",
        "work",
        "with",
        "them",
    ]
    texts = [" ".join(rng.choice(words, 8)) for _ in range(80)]
    frame = pl.DataFrame({"a": np.arange(80.0) % 7, "b": np.arange(80.0) % 11, "text": texts})
    found = build(reports.source(frame), Options(kind="none")).numbers["findings"]
    (one,) = [one for one in found if one["code"] == "D13"]
    assert "clusters" in one["what"] and "--text" not in one["do"]
