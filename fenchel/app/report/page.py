"""The page: one HTML file with its styles, its script, its charts and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from fenchel.app.report.figures import Figure
from fenchel.app.report.html.markup import Markup, named, tag
from fenchel.app.report.html.sections.data import again_section, data_section
from fenchel.app.report.html.sections.decisions import decisions_section
from fenchel.app.report.html.sections.models import contest_section, model_section
from fenchel.app.report.html.sections.proof import proof_section
from fenchel.app.report.html.sections.scores import errors_section, scores_section
from fenchel.app.report.html.sections.shape import clusters_section, embedding_section
from fenchel.app.report.html.sections.top import findings_section, verdict_box
from fenchel.app.report.html.vega_bundle import runtime
from fenchel.show.theme import theme

Numbers = dict[str, Any]
TITLES = {
    "verdict": "Verdict",
    "findings": "Findings",
    "decisions": "Decisions",
    "scores": "Test scores",
    "models": "Models",
    "model": "Chosen model",
    "proof": "Proof",
    "errors": "Errors",
    "clusters": "Clusters",
    "embedding": "Map",
    "data": "Data",
    "again": "Reproduction",
}


def page(numbers: Numbers, figures: dict[str, Figure], moving: dict[str, Figure]) -> str:
    """The whole document; all that differs from run to run is on the line of id "clock"."""
    clock = {**numbers["clock"], "figures": {key: one["spec"] for key, one in moving.items()}}
    sections: dict[str, Markup | None] = {
        "verdict": verdict_box(numbers),
        "findings": findings_section(numbers),
    }
    if numbers["task"]["kind"] == "none":
        sections |= {
            "clusters": clusters_section(numbers, figures),
            "embedding": embedding_section(numbers, figures),
        }
    else:
        sections |= {
            "decisions": decisions_section(numbers, figures),
            "scores": scores_section(numbers, figures),
            "models": contest_section(numbers, figures),
            "model": model_section(numbers, figures),
            "proof": proof_section(numbers, figures, moving_words(moving)),
            "errors": errors_section(numbers),
            "clusters": clusters_section(numbers, figures),
            "embedding": embedding_section(numbers, figures),
        }
    sections |= {"data": data_section(numbers, figures), "again": again_section(numbers)}
    there = {key: text for key, text in sections.items() if text}
    links = [tag("li", tag("a", TITLES[key], href=f"#{key}")) for key in there]
    config, colours = looks()
    style = colours + _asset("page.css")
    held = {
        "config": config,
        "figures": {key: one["spec"] for key, one in figures.items()},
        "decisions": numbers.get("decisions"),
        "classes": numbers["task"]["classes"],
    }
    scripts = [runtime(), _asset("page.js")] if figures else [_asset("page.js")]
    policy = (
        "default-src 'none'; "
        f"script-src {' '.join(_hash(script) for script in scripts)}; "
        f"style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    name = numbers["source"]["name"]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="fenchel"),
        tag("title", f"{name[:100]}: a report by fenchel"),
        tag("style", Markup(style)),
    ]
    body = [
        tag("a", "Skip to the verdict", href="#verdict", class_="skip"),
        tag(
            "header",
            tag("p", "fenchel report", class_="eyebrow"),
            tag("h1", _title(numbers)),
            tag("p", named(name, 120), class_="source"),
        ),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", *there.values(), id="main"),
        tag("div", id="tip", hidden=True),
        _data("clock", clock),
        _data("held", held),
        *(tag("script", Markup(script)) for script in scripts),
    ]
    text = "\n".join([*head, "</head>", "<body>", *body, "</body>"])
    return f'<!doctype html>\n<html lang="en">\n<head>\n{text}\n</html>\n'


def _title(numbers: Numbers) -> Markup:
    task = numbers["task"]
    if task["kind"] == "none":
        return Markup("Clusters and principal axes of a table without a target")
    title = f"Predicting {named(task['target'], 60)}"
    if task["kind"] == "two classes":
        other = next(one for one in task["classes"] if one != task["positive"])
        title += f": {named(task['positive'], 40)} or {named(other, 40)}"
    elif task["kind"] == "several classes":
        title += f", one of {len(task['classes'])} classes"
    return Markup(title)


def moving_words(moving: dict[str, Figure]) -> dict[str, Figure]:
    """Figures of the clock, with words that do not differ from run to run."""
    title, notes = "The gap against time", "Seconds of this run, on this machine."
    return {
        key: {**one, "title": title, "notes": notes, "spec": {"description": f"{title}. {notes}"}}
        for key, one in moving.items()
    }


def _data(key: str, value: Any) -> Markup:
    """Data for the script, on one line, with nothing in it that HTML could take for its own."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    safe = safe.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return tag("script", Markup(safe), type="application/json", id=key)


@cache
def _asset(name: str) -> str:
    return files("fenchel.app.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def looks() -> tuple[dict[str, Any], str]:
    """One chart config for light and dark: where the two differ it names a colour of the style."""
    light: list[str] = []
    dark: list[str] = []
    config = _mixed(theme(False), theme(True), light, dark)
    config["background"] = "transparent"

    def block(colours: list[str]) -> str:
        return "".join(f"--figure-{k}:{colour};" for k, colour in enumerate(colours))

    style = (
        f":root{{{block(light)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{block(dark)}}}}}\n"
    )
    return config, style


def _mixed(light: Any, dark: Any, lights: list[str], darks: list[str]) -> Any:
    if isinstance(light, dict):
        return {key: _mixed(light[key], dark[key], lights, darks) for key in light}
    if light == dark or not isinstance(light, str):
        return light
    pairs = list(zip(lights, darks, strict=True))
    if (light, dark) not in pairs:
        pairs.append((light, dark))
        lights.append(light)
        darks.append(dark)
    return f"var(--figure-{pairs.index((light, dark))})"
