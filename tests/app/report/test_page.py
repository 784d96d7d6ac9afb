"""The page as a file: escaped, small, of one piece; and the checks it tells."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from app import reports

from fenchel.app.catalogue import MODELS, Candidate
from fenchel.app.errors import BadData, BadUsage
from fenchel.app.report.analysis.data_card import correlation_matrix, correlations
from fenchel.app.report.build import Options, build
from fenchel.app.report.html.layout import shared, strip, value_of
from fenchel.app.report.html.markup import escaped, named, tag
from fenchel.app.report.split import CONTEST_ROWS, effort, sampled, split_rows
from fenchel.app.table.profile.column_profile import profile
from fenchel.app.table.task import find_task
from fenchel.models.lasso.lasso import Lasso

ALL = [
    *(reports.cancer, reports.wine, reports.diabetes, reports.hostile),
    *(reports.loose, reports.bottles),
]
LARGEST = 2_000_000


class Elements(HTMLParser):
    """All elements with their attributes, and the headings in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("report", ALL)
def test_a_page_is_one_file_that_asks_for_nothing(report):
    text = report().html()
    assert len(text.encode()) < LARGEST
    elements = Elements(text).found
    for name, attributes in elements:
        assert name not in ("link", "iframe", "object", "embed", "img", "base", "form"), name
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            assert key != "style", name
            if key in ("src", "href", "srcset", "action", "data"):
                assert value.startswith("#"), (name, key, value)
    assert dict(elements)["html"] == {"lang": "en"}


@pytest.mark.parametrize("report", ALL)
def test_the_policy_names_the_scripts_and_styles_that_are_there(report):
    text = report().html()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy
    bodies = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", text, re.DOTALL)
    assert len(bodies) == len(re.findall(r"'sha256-[^']*'", policy))
    for body in bodies:
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


@pytest.mark.parametrize("report", ALL)
def test_headings_come_in_order_and_ids_once(report):
    elements = Elements(report().html()).found
    levels = [int(name[1]) for name, _ in elements if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements:
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in ids


def test_whatever_came_from_data_stays_text():
    for report in (reports.hostile(), reports.loose()):
        text = report.html()
        assert reports.SCRIPT not in text
        for name, attributes in Elements(text).found:
            assert name not in ("b", "i", "img"), name
            assert "onload" not in attributes and "onerror" not in attributes
        assert html.escape(reports.SCRIPT) in text
    assert html.escape("</script><svg onload=alert(3)>") in reports.hostile().html()


def test_rows_are_shown_only_when_asked():
    frame = (
        reports.hostile_frame(80)
        .drop("leak")
        .with_columns(pl.Series("place", [f"hamlet {k % 40}" for k in range(80)]))
    )
    options = {"target": "</td>", "models": ("logistic",)}
    quiet = build(reports.source(frame), Options(**options))
    assert "secret person" not in quiet.html() and "secret person" not in quiet.json()
    assert all("cells" not in row for row in quiet.numbers["worst_rows"])
    open_ = build(reports.source(frame), Options(**options, show_rows=True))
    assert open_.numbers["worst_rows"][0]["cells"]


@pytest.mark.slow
def test_a_page_stays_small_whatever_the_table():
    rng = np.random.default_rng(0)
    rows, columns, classes = 400, 200, 12
    code = rng.integers(classes, size=rows)
    frame = pl.DataFrame(
        {f"column {k} {'é' * 200}": rng.normal(size=rows) + (code == k) for k in range(columns)}
        | {f"level {k}": [f"{j % 50} {'x' * 300}" for j in range(rows)] for k in range(3)}
        | {"y": [f"class {k} {'<' * 150}" for k in code]}
    )
    report = build(
        reports.source(frame), Options(target="y", models=("svm-squared",), challenger=False)
    )
    assert len(report.html().encode()) < LARGEST


def test_findings_name_what_is_wrong_and_what_to_do():
    found = {one["code"]: one for one in reports.hostile().numbers["findings"]}
    assert found["D5"]["severity"] == "problem" and "'leak'" in found["D5"]["what"]
    assert "'same', 'nothing'" in found["D2"]["what"]
    assert "'person', 'number of the row'" in found["D3"]["what"]
    assert "'copy'" in found["D4"]["what"] and "'gaps'" in found["D1"]["what"]
    for one in found.values():
        assert one["what"] and bool(one["do"]) == (one["severity"] != "passed")
    fine = {one["code"]: one["severity"] for one in reports.cancer().numbers["findings"]}
    assert fine["C1"] == fine["D5"] == fine["M1"] == fine["T1"] == "passed"


def test_findings_of_a_table_that_tells_nothing_and_repeats_itself():
    rng = np.random.default_rng(1)
    y = np.where(np.arange(300) < 12, "rare", "often")
    frame = pl.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300), "y": y})
    frame = pl.concat([frame, frame.head(60)])
    numbers = build(
        reports.source(frame), Options(target="y", models=("logistic",), challenger=False)
    ).numbers
    found = {one["code"]: one["severity"] for one in numbers["findings"]}
    assert found["M1"] in ("problem", "warning") and found["P3"] == "warning"
    assert found["D6"] == "warning" and found["P1"] == "problem"


# ------------------------------------------------------------------------------------- pieces


def test_markup_escapes_all_but_markup():
    assert (
        tag("p", "<&>", tag("b", "x"), title='"') == '<p title="&quot;">&lt;&amp;&gt;<b>x</b></p>'
    )
    assert escaped("a\x00\x1bb") == "a\ufffd\ufffdb"
    assert tag("input", type="range", hidden=True, max=None) == '<input type="range" hidden>'
    long = named("w" * 300)
    assert "…" in long and len(long) < 500


def test_numbers_are_written_with_intervals_or_reasons():
    entry = {"value": 0.5, "low": 0.4, "high": 0.61, "level": 0.95, "method": "exact"}
    assert "0.50" in value_of(entry) and "[0.40, 0.61]" in value_of(entry)
    assert "50.0 %" in shared(entry) and "[40.0, 61.0]" in shared(entry)
    assert "nothing is flagged" in value_of({"value": None, "reason": "nothing is flagged"})
    assert strip(entry, 0.0, 1.0, 0.2).count("<line") == 3


def test_parts_are_stratified_locked_and_repeatable():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=400), "y": ["a"] * 40 + ["b"] * 350 + [None] * 10})
    task = find_task(frame, "y")
    parts = split_rows(frame, task, 0.25, 3)
    assert parts.without_target == 10 and len(parts.test) == 98
    assert not set(parts.train) & set(parts.test)
    codes = parts.task.codes(parts.frame)
    assert codes[parts.test].sum() == 10  # a is the rarer, and so the positive one
    again = split_rows(frame, task, 0.25, 3)
    assert np.array_equal(parts.test, again.test)
    assert not np.array_equal(parts.test, split_rows(frame, task, 0.25, 4).test)
    folds = parts.folder().folds(codes, 5, 0)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(390))


def test_large_tables_are_compared_on_a_sample_that_keeps_every_class():
    y = np.zeros(100_000, dtype=np.int64)
    y[:10] = 1
    frame = pl.DataFrame({"y": np.where(y == 1, "yes", "no")})
    rows = sampled(find_task(frame, "y"), y, 0)
    assert len(rows) == CONTEST_ROWS and y[rows].sum() == 10
    even = np.arange(100_000) % 2
    kept = sampled(find_task(frame, "y"), even, 0)
    assert len(kept) == CONTEST_ROWS and abs(even[kept].mean() - 0.5) < 1e-3
    assert effort(500, 30, 2, None).n_jobs is None
    assert effort(500, 30, 40, None).outer == 3


def test_correlations_are_those_of_the_rows_that_have_both_values():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4)) * [1.0, 1e150, 1e-200, 1.0]
    x[:, 1] = 1e150 * (x[:, 0] + rng.normal(size=200))
    x[rng.random(x.shape) < 0.2] = np.nan
    frame = pl.DataFrame(x, schema=list("abcd"), nan_to_null=True)
    frame = frame.with_columns(e=-3.0 * pl.col("a") + 1.0)
    matrix = correlation_matrix(frame, profile(frame, find_task(frame, kind="none")))
    found = correlations(*matrix, 0.95)
    pairs = {(one["first"], one["second"]): one for one in found}
    line = pairs["a", "e"]["correlation"]
    assert line["reason"] == "one is a line of the other" and line["value"] == pytest.approx(-1.0)
    both = np.isfinite(x[:, 0]) & np.isfinite(x[:, 1])
    r = np.corrcoef(x[both, 0], x[both, 1] / 1e150)[0, 1]
    assert pairs["a", "b"]["correlation"]["value"] == pytest.approx(r, rel=1e-12)
    assert pairs["a", "b"]["rows"] == both.sum()


def test_a_model_that_fails_is_left_out_with_its_reason(monkeypatch):
    def broken(*rows, **options):
        raise ValueError("it  does\nnot work")

    entry = Candidate("broken", Lasso, {"alpha": [1.0]}, "a broken model")
    monkeypatch.setattr(Lasso, "fit", broken)
    monkeypatch.setitem(MODELS, "number", (*MODELS["number"][:2], entry))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] + rng.normal(size=60)})
    report = build(reports.source(frame), Options(target="y"))
    assert report.numbers["contest"]["left_out"] == [
        {"name": "broken", "words": "a broken model", "reason": "it does not work"}
    ]
    assert "it does not work" in report.html()
    monkeypatch.setitem(MODELS, "number", (entry,))
    with pytest.raises(BadData, match="no model can be fitted to this table: it does not work"):
        build(reports.source(frame), Options(target="y"))


def test_few_rows_for_many_columns_leave_out_models_that_would_meet_every_row():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 30))
    frame = pl.DataFrame(
        {f"x{k}": x[:, k] for k in range(30)} | {"y": x[:, 0] * 3.0 + x[:, 1] ** 2}
    )
    report = build(reports.source(frame), Options(target="y"))
    assert [one["name"] for one in report.numbers["contest"]["left_out"]] == ["huber", "median"]


def test_a_test_share_must_leave_rows_to_learn_from():
    frame = pl.DataFrame({"x": np.arange(40.0), "y": ["a"] * 10 + ["b"] * 30})
    task = find_task(frame, "y")
    with pytest.raises(BadUsage, match=r"a test share of 0\.5 leaves fewer than 6 of the 10 rows"):
        split_rows(frame, task, 0.5, 0)
    parts = split_rows(frame, task, 0.01, 0)  # raised until two rows of each class judge
    codes = parts.task.codes(parts.frame)
    assert np.bincount(codes[parts.test]).min() == 2


@pytest.mark.parametrize("report", [reports.cancer, reports.diabetes, reports.bottles])
def test_the_options_of_a_report_have_names_and_belong_to_its_task(report):
    _, _, block = report().html().partition('id="again"')
    terms = re.findall(r"<dt>(.*?)</dt>", block.partition("</section>")[0])
    assert "Coverage of the intervals" in terms
    assert all(term[0].isupper() and "_" not in term for term in terms)
    assert ("Cost of a miss" in terms) == (report is reports.cancer)
