"""The report in a few lines, for a terminal and for the top of the page."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.entries import estimate_of
from fenchel.score.estimate import Estimate
from fenchel.show.words import estimated, number

Numbers = dict[str, Any]


def verdict(numbers: Numbers) -> list[str]:
    """Task, model, score with interval, certificate, findings: one line each."""
    parts = [task_line, model_line, score_line, certificate_line, findings_line]
    if numbers["task"]["kind"] == "none":
        parts = [task_line, no_target_line, findings_line]
    return [_printable(part(numbers)) for part in parts]


def _printable(line: str) -> str:
    """Names come from the data, and a terminal obeys control characters."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line)


def task_line(numbers: Numbers) -> str:
    """The table and what it was asked."""
    source, task, rows = numbers["source"], numbers["task"], numbers["rows"]
    table = f"{source['name']}: {rows['used']:,} rows, {source['columns']} columns"
    if task["kind"] == "none":
        return table
    if task["kind"] == "number":
        return f"{table}; predict the number {task['target']}"
    if task["positive"] is not None:
        other = next(one for one in task["classes"] if one != task["positive"])
        return f"{table}; predict {task['target']}: {task['positive']} or {other}"
    return f"{table}; predict {task['target']}, one of {len(task['classes'])} classes"


def model_line(numbers: Numbers) -> str:
    """The chosen model and its parameters."""
    model, contest = numbers["model"], numbers["contest"]
    chosen = ", ".join(f"{key}={short(value)}" for key, value in model["chosen_params"].items())
    rivals = len(contest["models"]) - 1
    against = "a constant" if not rivals else f"{rivals} other models and a constant"
    against = against.replace("1 other models", "1 other model")
    return f"model: {model['words']}{f' ({chosen})' if chosen else ''}, chosen against {against}"


def score_line(numbers: Numbers) -> str:
    """The headline number on the test part, beside the constant's."""
    head, rows = numbers["headline"], numbers["rows"]
    return (
        f"{head['name']} on {rows['test']:,} locked test rows: {spoken(head['model'])}; "
        f"a constant has {short(head['baseline']['value'])}"
    )


def certificate_line(numbers: Numbers) -> str:
    """What is proved of the fit."""
    proof = numbers["certificate"]
    if not proof["certified"]:
        return f"not certified, because {proof['reason']}"
    return (
        f"certified: the fit is within {proof['relative_gap']:.2g} of the best possible "
        f"objective ({proof['kind']})"
    )


def findings_line(numbers: Numbers) -> str:
    """How many checks were made, and what they found."""
    found = numbers["findings"]
    count = {kind: sum(one["severity"] == kind for one in found) for kind in ("problem", "warning")}
    parts = [f"{many} {kind}{'s' if many > 1 else ''}" for kind, many in count.items() if many]
    codes = ", ".join(f"{one['code']} {one['name']}" for one in found if one["severity"] in count)
    said = " and ".join(parts) or "no problem and no warning"
    return f"{len(found)} checks: {said}{f' ({codes})' if codes else ''}"


def no_target_line(numbers: Numbers) -> str:
    """Why there is no model."""
    return (
        "no model: the table has no target, and models for tables without one (clusters, "
        f"embeddings) are not here yet; {numbers['task']['reason']}"
    )


def spoken(entry: dict[str, Any]) -> str:
    """A number with its interval, or with the reason why it has none."""
    found = estimate_of(entry)
    if found is None:
        return f"none ({entry['reason']})"
    if isinstance(found, Estimate):
        return f"{estimated(found)} ({100 * found.level:g} %)"
    return f"{number(found, 4)} ({entry['reason']})"


def short(value: Any) -> str:
    """A parameter or a bare number."""
    if value is None:
        return "none"
    return number(value, 4) if isinstance(value, int | float) else str(value)
