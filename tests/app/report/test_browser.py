"""The report in a real browser: it opens from disk with the network cut, and does what it shows."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from app import reports
from app.browser import launched, opened

from fenchel.data.display.rounding import DOWN, percent

REPORTS = {
    "cancer": reports.cancer,
    "wine": reports.wine,
    "diabetes": reports.diabetes,
    "loose": reports.loose,
    "bottles": reports.bottles,
    "hostile": reports.hostile,
}
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
AXE = os.environ.get("FENCHEL_AXE")

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The page of each report, written when it is asked for."""
    room = tmp_path_factory.mktemp("reports")

    def written(name: str) -> Path:
        path = room / name / "report.html"
        if not path.exists():
            REPORTS[name]().write(path.parent)
        return path

    return written


@pytest.mark.parametrize("name", REPORTS)
def test_it_opens_offline_without_a_request_or_a_complaint(browser, files, name):
    report = REPORTS[name]()
    with opened(browser, files(name), viewport=DESK) as found:
        assert found.complaints() == []
        assert found.page.locator(".plot svg").count() == len(report.figures) + len(report.moving)
        assert found.page.locator("h1").count() == 1
        assert found.page.title().endswith("a report by fenchel")


def numbers_at(columns: dict[str, list[float]], row: int) -> tuple[float, int, int]:
    return columns["threshold"][row], columns["tp"][row], columns["fp"][row]


def test_the_slider_moves_the_four_figures_with_the_numbers(browser, files):
    path = files("cancer")
    held = json.loads(path.with_suffix(".json").read_text())["decisions"]["table"]
    columns, positives, negatives = held["columns"], held["positives"], held["negatives"]
    last = len(columns["threshold"]) - 1
    with opened(browser, path, viewport=DESK) as found:
        page = found.page
        slider = page.locator("#threshold-range")
        for row in (0, 1, last // 5, last // 2, last - 1, last):
            slider.fill(repr(columns["threshold"][row]))  # the scale is that of the score
            found.settle()
            threshold, tp, fp = numbers_at(columns, row)
            tpr, fpr = tp / positives, fp / negatives
            precision = tp / (tp + fp) if tp + fp else 1.0
            for key, x, y in (("roc", fpr, tpr), ("precision_recall", tpr, precision)):
                (mark,) = [
                    one
                    for one in found.marks(key)
                    if one["mark"] == "symbol" and one["opacity"] != 0 and "t" in one["datum"]
                ]
                assert (mark["datum"]["t"], mark["datum"]["p"], mark["datum"]["f"]) == (
                    threshold,
                    tp,
                    fp,
                )
                place = page.evaluate(
                    "([key, x, y]) => { const view = window.fenchelReport.views[key];"
                    " return [view.scale('x')(x), view.scale('y')(y)]; }",
                    [key, x, y],
                )
                assert [mark["x"], mark["y"]] == pytest.approx(place, abs=1e-6)
            (line,) = [
                one
                for one in found.marks("score_histogram")
                if "v" in one["datum"] and one["mark"] == "rule"
            ]
            assert line["datum"]["v"] == pytest.approx(min(max(threshold, 0.0), 1.0))
            cells = {
                one["datum"]["k"]: one["datum"]["n"]
                for one in found.marks("confusion")
                if one["mark"] == "rect"
            }
            wanted = {"tp": tp, "fp": fp, "fn": positives - tp, "tn": negatives - fp}
            assert cells == wanted
            said = page.locator("#threshold-words").text_content()
            assert f"flags {tp + fp} of {positives + negatives} rows" in said
            assert (
                f"finds {tp} of {positives} rows of class malignant and raises {fp} false" in said
            )
            tile = page.locator('[data-rate="tpr"]').text_content()
            assert percent(tpr) in tile
            assert f"{percent(columns['tpr_low'][row], DOWN)} to" in tile
        assert found.complaints() == []


def test_the_keyboard_moves_the_threshold(browser, files):
    path = files("cancer")
    columns = json.loads(path.with_suffix(".json").read_text())["decisions"]["table"]["columns"]
    rows = columns["threshold"]
    with opened(browser, path, viewport=DESK) as found:
        page = found.page

        def now() -> float:
            found.settle()
            signals = page.evaluate(
                "['roc', 'precision_recall', 'score_histogram', 'confusion', 'gains', 'lift',"
                " 'net_benefit'].map((key) => window.fenchelReport.views[key].signal('threshold'))"
            )
            assert len(set(signals)) == 1
            return signals[0]

        start = rows.index(now())
        page.locator("#threshold-range").focus()
        page.keyboard.press("ArrowRight")
        assert now() == rows[start - 1]
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        assert now() == rows[start + 1]
        page.keyboard.press("End")
        assert now() == rows[0]
        page.keyboard.press("Home")
        assert now() == rows[-1]
        number = page.locator("#threshold-number")
        number.fill("0.5")
        assert now() == min(t for t in rows if t >= 0.5)
        number.press("ArrowUp")
        assert now() == rows[rows.index(min(t for t in rows if t >= 0.5)) - 1]
        number.fill("")
        number.blur()
        page.get_by_role("button", name="Neyman–Pearson").press("Enter")
        marked = REPORTS["cancer"]().numbers["decisions"]["marked"][2]["threshold"]
        assert now() == min(t for t in rows if t >= marked)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body")


def test_names_from_the_data_stay_text(browser, files):
    with opened(browser, files("hostile"), viewport=DESK) as found:
        page = found.page
        assert found.complaints() == []
        assert page.locator("main script, main img, main b, main i").count() == 0
        assert reports.SCRIPT in page.locator("#data").text_content()
        heading = page.locator("h1").text_content()
        assert "<i>yes</i>" in heading or "</script>" in heading
        page.locator("#figure-coefficients").hover()
        drawn = page.locator("#figure-coefficients .plot").text_content()
        assert "<script>" in drawn
        for details in page.locator("details").all():
            details.locator("summary").first.click()
        assert found.complaints() == []


def test_the_data_of_a_figure_are_a_table(browser, files):
    with opened(browser, files("cancer"), viewport=DESK) as found:
        page = found.page
        page.locator("summary", has_text="The solver").click()
        page.locator("#figure-convergence svg").wait_for()
        found.settle()
        assert page.locator("#figure-convergence svg").bounding_box()["width"] > 300
        for key in ("roc", "calibration", "learning_curve", "convergence_time"):
            box = page.locator(f"#figure-{key} details.data")
            box.locator("summary").click()
            box.locator("tbody tr").nth(1).wait_for()
        head = page.locator("#figure-roc details.data th").all_text_contents()
        assert "threshold" in head and "true positives" in head


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_reader(browser, files, scheme):
    with opened(browser, files("cancer"), color_scheme=scheme, viewport=DESK) as found:
        ground, label = found.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('#figure-roc .role-axis-label text')).fill]"
        )
        shade = [sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 for colour in (ground, label)]
        assert (shade[0] < 60, shade[1] > 150) == ((scheme == "dark"),) * 2
        found.page.emulate_media(media="print")
        paper = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(255, 255, 255)"
        ink = found.page.evaluate(
            "getComputedStyle(document.querySelector('#figure-roc .role-axis-label text')).fill"
        )
        assert sum(map(int, re.findall(r"\d+", ink)[:3])) / 3 < 110


def test_it_prints(browser, files):
    with opened(browser, files("wine")) as found:
        paper = found.page.pdf(format="A4")
        assert paper.startswith(b"%PDF") and len(paper) > 20_000
        found.page.emulate_media(media="print")
        assert not found.page.locator("nav").is_visible()
        assert found.page.locator("#figure-confusion svg").is_visible()


@pytest.mark.parametrize("name", ["cancer", "diabetes", "hostile", "loose", "bottles"])
def test_no_width_makes_the_page_scroll_sideways(browser, files, name):
    with opened(browser, files(name), viewport={"width": 320, "height": 700}) as found:
        for width in (320, 390, 480, 768, 1024, 1440):
            found.page.set_viewport_size({"width": width, "height": 800})
            found.settle()
            wide = "document.documentElement.scrollWidth <= window.innerWidth"
            found.page.wait_for_function(wide, timeout=5000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", REPORTS)
def test_axe_finds_no_violation(browser, files, name, scheme):
    if AXE is None:
        pytest.skip("FENCHEL_AXE does not name axe.min.js of the npm package axe-core")
    viewport = PHONE if scheme == "dark" else DESK
    context = {"color_scheme": scheme, "viewport": viewport, "reduced_motion": "reduce"}
    with opened(browser, files(name), Path(AXE), **context) as found:
        found.page.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
        )
        found.page.wait_for_function(
            "[...document.querySelectorAll('details.data')].every((one) => one.children.length > 1)"
        )
        result = found.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        told = [
            f"{one['id']}: {node['html'][:150]} {node['failureSummary'][:300]}"
            for one in result["violations"]
            for node in one["nodes"][:2]
        ]
        assert told == []
