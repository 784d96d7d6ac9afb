"""The verdict box and the findings."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.entries import estimate_of
from fenchel.app.report.layout import capital, facts, folded, section, spelled, strip
from fenchel.app.report.markup import Markup, joined, named, tag
from fenchel.app.report.verdict import certificate_line, no_target_line, shape_lines, short
from fenchel.score.estimate import Estimate
from fenchel.show.words import estimated, number, percent

Numbers = dict[str, Any]
MARKS = {"problem": "✕", "warning": "!", "info": "i", "passed": "✓"}
WORDS = {"problem": "problem", "warning": "warning", "info": "remark", "passed": "passed"}


def verdict_box(numbers: Numbers) -> Markup:
    """Task, rows, columns, target, model, headline score, baseline, certificate."""
    task, rows = numbers["task"], numbers["rows"]
    if task["kind"] == "none":
        lines = [*shape_lines(numbers), no_target_line(numbers)]
        said = [tag("p", capital(line) + ".", class_="plain") for line in lines]
        return _box([*said, _facts(numbers), _tally(numbers)])
    head = numbers["headline"]
    found = estimate_of(head["model"])
    value, _, ends = (
        estimated(found).partition(" ") if isinstance(found, Estimate) else (short(found), "", "")
    )
    constant = head["baseline"]["value"]
    low = min(constant or 0.0, head["model"].get("low", 0.0), 0.5)
    score = tag(
        "div",
        tag("p", f"{head['name']} on {rows['test']:,} locked test rows", class_="label"),
        tag("p", tag("span", value, class_="big"), " ", tag("span", ends, class_="ends")),
        strip(head["model"], low, 1.0, constant),
        tag("p", spelled(head["model"]), class_="method"),
        tag("p", f"A constant prediction has {short(constant)}.", class_="base-words"),
        class_="score",
    )
    return _box(
        [
            tag("div", score, _facts(numbers), class_="verdict-grid"),
            tag("p", _plain_words(numbers), class_="plain"),
            _ribbon(numbers),
            _tally(numbers),
        ]
    )


def _box(children: list[Any]) -> Markup:
    title = tag("h2", "Verdict", id="verdict-title")
    return tag(
        "section", title, *children, id="verdict", class_="card", aria_labelledby="verdict-title"
    )


def _facts(numbers: Numbers) -> Markup:
    task, rows, source = numbers["task"], numbers["rows"], numbers["source"]
    pairs: list[tuple[str, Any]] = [
        ("Task", "no target" if task["kind"] == "none" else task["kind"])
    ]
    if task["target"] is not None:
        pairs.append(("Target", named(task["target"])))
    if task["positive"] is not None:
        pairs.append(("Positive class", named(task["positive"])))
    left = rows["read"] - rows["used"]
    used = f"{rows['used']:,}" + (f" of {rows['read']:,}" if left else "")
    if "test" in rows:
        used += f": {rows['training']:,} to learn, {rows['test']:,} locked to judge"
    pairs += [("Rows", used), ("Columns", f"{source['columns']:,}")]
    if "model" in numbers:
        model = numbers["model"]
        chosen = ", ".join(
            f"{key} = {short(value)}" for key, value in model["chosen_params"].items()
        )
        pairs.append(("Model", f"{model['words']}{f' ({chosen})' if chosen else ''}"))
    return facts(pairs)


def _plain_words(numbers: Numbers) -> Markup:
    """What the headline number means, in one sentence."""
    head, task = numbers["headline"], numbers["task"]
    value = head["model"]["value"]
    if value is None:
        return joined([head["model"]["reason"]])
    if task["kind"] == "two classes":
        other = next(one for one in task["classes"] if one != task["positive"])
        return joined(
            [
                "Of a random ",
                named(task["positive"], 40),
                " row and a random ",
                named(other, 40),
                f" row the model ranks the first higher in {percent(value)} of all pairs.",
            ]
        )
    if task["kind"] == "several classes":
        return joined([f"The model puts {percent(value)} of the test rows into their class."])
    error = next(one for one in numbers["metrics"] if one["key"] == "mae")["model"]["value"]
    return joined(
        [
            f"The model explains {percent(max(value, 0.0))} of the variance of ",
            named(task["target"], 40),
            f" on the test rows; its predictions are off by {number(error, 3)} in the mean.",
        ]
    )


def _ribbon(numbers: Numbers) -> Markup:
    proof = numbers["certificate"]
    kind = "passed" if proof["certified"] else "warning"
    said = certificate_line(numbers)
    return tag(
        "p",
        tag("span", MARKS[kind], class_="mark", aria_hidden="true"),
        " ",
        capital(said) + ".",
        class_=f"ribbon {kind}",
    )


def _tally(numbers: Numbers) -> Markup:
    found = numbers["findings"]
    parts = []
    for kind in ("problem", "warning", "info", "passed"):
        many = sum(one["severity"] == kind for one in found)
        if many or kind == "passed":
            word = WORDS[kind] + ("s" if many != 1 and kind != "passed" else "")
            parts.append(
                tag(
                    "span",
                    tag("span", MARKS[kind], class_="mark", aria_hidden="true"),
                    f" {many} {word}",
                    class_=f"chip {kind}",
                )
            )
    return tag("p", *parts, " ", tag("a", "All checks", href="#findings"), class_="tally")


def findings_section(numbers: Numbers) -> Markup:
    """Checks that found something, with what to do; then those that passed."""
    found = numbers["findings"]
    loud = [one for one in found if one["severity"] != "passed"]
    quiet = [one for one in found if one["severity"] == "passed"]
    cards = [_finding(one) for one in loud]
    passed = tag("ul", [tag("li", _line(one)) for one in quiet], class_="passed-list")
    nothing = tag("p", "Every check passed.") if not loud else None
    there = "" if numbers["task"]["kind"] == "none" else ", from the file to the test part"
    return section(
        "findings",
        "Findings",
        nothing,
        tag("ol", cards, class_="findings") if loud else None,
        folded(f"{len(quiet)} checks passed", passed),
        lead=f"{len(found)} checks were made{there}.",
    )


def _finding(one: dict[str, str]) -> Markup:
    kind = one["severity"]
    return tag(
        "li",
        tag(
            "h3",
            tag("span", MARKS[kind], class_="mark", aria_hidden="true"),
            tag("span", one["code"], class_="code"),
            " ",
            one["name"],
            tag("span", WORDS[kind], class_="severity"),
        ),
        tag("p", one["what"]),
        tag("p", tag("strong", "Why it matters: "), one["why"]) if one["why"] else None,
        tag("p", tag("strong", "What to do: "), one["do"]) if one["do"] else None,
        class_=f"card finding {kind}",
    )


def _line(one: dict[str, str]) -> Markup:
    mark = tag("span", MARKS["passed"], class_="mark", aria_hidden="true")
    return joined([mark, tag("span", one["code"], class_="code"), " ", one["what"]])
