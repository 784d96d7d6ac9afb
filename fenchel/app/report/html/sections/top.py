"""The verdict box and the findings."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.estimates import estimate_of
from fenchel.app.report.html.layout import facts, folded, section, spelled, strip
from fenchel.app.report.html.markup import Markup, joined, named, tag
from fenchel.app.report.verdict import (
    candidate_lines,
    certificate_line,
    no_target_line,
    shape_lines,
    short,
)
from fenchel.data.display.counts import plural
from fenchel.score.estimate import Estimate
from fenchel.show.formatting import capital, estimated, number, percent

Numbers = dict[str, Any]
MARKS = {"problem": "✕", "warning": "!", "info": "i", "passed": "✓"}
WORDS = {"problem": "problem", "warning": "warning", "info": "remark", "passed": "passed"}


def verdict_box(numbers: Numbers) -> Markup:
    """Task, rows, columns, target, model, headline score, baseline, certificate."""
    task, rows = numbers["task"], numbers["rows"]
    if task["kind"] == "none":
        lines = [*candidate_lines(numbers), *shape_lines(numbers), no_target_line(numbers)]
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
        given = numbers["reproduction"]["options"]["positive"]
        why = task["positive_by"] + ("" if given else "; --positive chooses another")
        words = [named(task["positive"]), " ", tag("span", f"({why})", class_="why")]
        pairs.append(("Positive class", joined(words)))
    left = rows["read"] - rows["used"]
    used = f"{rows['used']:,}" + (f" of {rows['read']:,}" if left else "")
    if "test" in rows:
        used += f": {rows['training']:,} for training, {rows['test']:,} locked for the test"
    pairs += [("Rows", used), ("Columns", f"{source['columns']:,}")]
    if "model" in numbers:
        model = numbers["model"]
        params = {**model["chosen_params"], **model["found_params"]}
        chosen = ", ".join(f"{key} = {short(value)}" for key, value in params.items())
        pairs.append(("Model", f"{model['words']}{f' ({chosen})' if chosen else ''}"))
    if "test" in rows and rows["split"]["words"] != "at random":
        pairs.append(("Split", rows["split"]["words"]))
    return facts(pairs)


def _plain_words(numbers: Numbers) -> Markup:
    """What the headline number means, in one sentence."""
    head, task = numbers["headline"], numbers["task"]
    value = head["model"]["value"]
    if value is None:
        return joined([head["model"]["reason"]])
    if task["kind"] == "two classes":
        other = next(one for one in task["classes"] if one != task["positive"])
        if numbers["training"]["constant"]:
            return joined(["The model gives every row the same score: it ranks nothing."])
        return joined(
            [
                "Of a random row of class ",
                named(task["positive"], 40),
                " and a random row of class ",
                named(other, 40),
                f" the model ranks the first higher in {percent(value)} of all pairs.",
            ]
        )
    if task["kind"] == "several classes":
        words = f"The model predicts the class of {percent(value)} of the test rows correctly."
        return joined([words])
    error = next(one for one in numbers["metrics"] if one["key"] == "mae")["model"]["value"]
    off = f" The mean absolute error is {number(error, 3)}."
    if value <= 0.0:
        words = f"The predictions are worse than the mean of the test rows (R² {number(value, 3)})."
        return joined([words, off])
    return joined(
        [
            f"The model explains {percent(value)} of the variance of ",
            named(task["target"], 40),
            f" on the test rows.{off}",
        ]
    )


def _ribbon(numbers: Numbers) -> Markup:
    """What is proved of the fit, and in the same breath whether the model is of any use: green only
    where both are well."""
    proof, worth = numbers["certificate"], numbers["worth"]
    said = f"{capital(certificate_line(numbers))}."
    kind = "passed" if proof["certified"] else "warning"
    if not worth["better"]:
        kind = worth["severity"]
        said += f" But the model {worth['short']}: the certificate is about the computation alone."
    return tag(
        "p",
        tag("span", MARKS[kind], class_="mark", aria_hidden="true"),
        " ",
        said,
        class_=f"ribbon {kind}",
    )


def _tally(numbers: Numbers) -> Markup:
    found = numbers["findings"]
    parts = []
    for kind in ("problem", "warning", "info", "passed"):
        many = sum(one["severity"] == kind for one in found)
        if many or kind == "passed":
            word = WORDS[kind] if kind == "passed" else plural(many, WORDS[kind])
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
    there = "" if numbers["task"]["kind"] == "none" else ", from the file to the test rows"
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
