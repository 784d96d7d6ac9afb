"""The report in a few lines, for a terminal and for the top of the page."""

from __future__ import annotations

import shlex
from typing import Any

from fenchel.app.report.estimates import estimate_of
from fenchel.data.display.counts import counted
from fenchel.data.display.rounding import DOWN, UP, percent
from fenchel.score.estimate import Estimate
from fenchel.show.formatting import estimated, number

Numbers = dict[str, Any]
ROUNDING = 1e-15  # a relative gap that no float64 computation can tell from none


def verdict(numbers: Numbers) -> list[str]:
    """Task, model, score with interval, certificate, findings: one line each."""
    if numbers["task"]["kind"] == "none":
        lines = [
            *candidate_lines(numbers),
            task_line(numbers),
            no_target_line(numbers),
            *shape_lines(numbers),
            findings_line(numbers),
        ]
    else:
        lines = [
            task_line(numbers),
            *positive_lines(numbers),
            model_line(numbers),
            score_line(numbers),
            certificate_line(numbers),
            *worth_lines(numbers),
            findings_line(numbers),
        ]
    return [_printable(line) for line in lines]


def _printable(line: str) -> str:
    """Names come from the data, and a terminal obeys control characters."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line)


def task_line(numbers: Numbers) -> str:
    """The table and what it was asked."""
    source, task, rows = numbers["source"], numbers["task"], numbers["rows"]
    columns = counted(source["columns"], "column")
    left = rows["read"] - rows["used"]
    some = f"{rows['used']:,} of {rows['read']:,} rows" if left else f"{rows['used']:,} rows"
    table = f"{source['name']}: {some}, {columns}"
    if task["kind"] == "none":
        return table
    if task["kind"] == "number":
        return f"{table}; predict the number {task['target']}"
    if task["positive"] is not None:
        other = next(one for one in task["classes"] if one != task["positive"])
        return f"{table}; predict {task['target']}: {task['positive']} or {other}"
    return f"{table}; predict {task['target']}, one of {len(task['classes'])} classes"


def positive_lines(numbers: Numbers) -> list[str]:
    """Which class is the positive one, why, and how to choose."""
    task = numbers["task"]
    if task["positive"] is None:
        return []
    how = "" if numbers["reproduction"]["options"]["positive"] else "; --positive chooses"
    return [f"positive class: {task['positive']} ({task['positive_by']}{how})"]


def worth_lines(numbers: Numbers) -> list[str]:
    """That the model is of no use, where it is: a certificate does not say so."""
    worth = numbers["worth"]
    return [] if worth["better"] else [f"but the model {worth['short']}: {worth['words']}"]


def candidate_lines(numbers: Numbers) -> list[str]:
    """Columns that look like a target, where none was named, and the command that predicts one."""
    found = numbers["task"]["candidates"]
    if not found:
        return []
    said = ", ".join(f"'{one['name']}' ({one['words']})" for one in found)
    command = numbers["reproduction"]["command"] or "fenchel report TABLE"
    more = shlex.join(["--target", found[0]["name"]])
    return [
        f"no target was named, but these columns look like one: {said}",
        f"to predict the first of them: {command} {more}",
    ]


def model_line(numbers: Numbers) -> str:
    """The chosen model and its parameters."""
    model, contest = numbers["model"], numbers["contest"]
    params = {**model["chosen_params"], **model["found_params"]}
    chosen = ", ".join(f"{key}={short(value)}" for key, value in params.items())
    rivals = len(contest["models"]) - 1
    against = f"{counted(rivals, 'other model')} and a constant" if rivals else "a constant"
    how = "chosen against" if rivals else "compared with"
    return f"model: {model['words']}{f' ({chosen})' if chosen else ''}, {how} {against}"


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
    if proof["definition"]:
        return f"certified: the {proof['definition']} is exact, {number(proof['objective'], 4)}"
    gap = proof["relative_gap"]
    if gap is None:
        return f"certified: its equations are solved to within {_near(proof['residual'])}"
    near = f"{_near(gap)} of the best possible objective ({proof['kind']})"
    if proof["kind"] == "exact":
        return f"certified: a closed form, within {near}"
    return f"certified: the fit is within {near}"


def _near(error: float) -> str:
    return f"{error:.2g}" if error > ROUNDING else "rounding"


def findings_line(numbers: Numbers) -> str:
    """How many checks were made, and what they found."""
    found = numbers["findings"]
    count = {kind: sum(one["severity"] == kind for one in found) for kind in ("problem", "warning")}
    parts = [counted(many, kind) for kind, many in count.items() if many]
    codes = ", ".join(f"{one['code']} {one['name']}" for one in found if one["severity"] in count)
    said = " and ".join(parts) or "no problem and no warning"
    return f"{len(found)} checks: {said}{f' ({codes})' if codes else ''}"


def clusters_line(one: Numbers) -> str:
    """How many clusters, what they leave over, and what is proved of that."""
    words, count = one["words"], one["chosen"]
    if count == 1:
        last = one["tried"][-1]["clusters"]
        return (
            f"{words}: no clusters; 2 to {last} of them explain no more than they would of "
            "uniformly distributed rows"
        )
    left = one["left"]["value"]
    said = f"{words}: {count} clusters with {percent(left)} of the variance inside them"
    return said + excess_words(one)


def excess_words(one: Numbers) -> str:
    """How far the clusters are from the best possible at most, and how sure that is."""
    left, count, proof = one["left"]["value"], one["chosen"], one["certificate"]
    gap, excess, sure = proof["relative_gap"], proof["excess"], proof["confidence"]
    if gap is None:
        return ""
    doubt = f", with confidence {100.0 * sure:g} %" if sure < 1.0 else ""
    if gap <= ROUNDING or proof["kind"] == "exact":
        return f", proved to be the least possible for {count} clusters{doubt}"
    above = "" if excess is None else f", at most {percent(excess, UP)} above the least possible"
    least = percent(left * (1.0 - gap), DOWN)
    return f"{above}; no {count} clusters can have less than {least}{doubt}"


def plane_line(one: Numbers) -> str:
    """What the plane of an embedding holds, and what is proved of that."""
    held, flat = one["held"]["value"], len(one["axes"]) != 1
    said = f"{one['words']}: the first {'two hold' if flat else 'holds'} {100.0 * held:.1f} %"
    proof = one["certificate"]
    best = "" if proof is None else f", and no other {'plane' if flat else 'line'} holds more"
    if proof is not None and (proof["relative_gap"] or 0.0) > 1e-6:
        best = f", within {100.0 * proof['relative_gap']:.2g} % of the best of what is left"
    return f"{said} of the variance{best}"


def shape_lines(numbers: Numbers) -> list[str]:
    """Clusters and axes of a table without a target, or why there are none."""
    shape, used = numbers["shape"], numbers["rows"]["used"]
    if "reason" in shape:
        return [f"no clusters and no axes: {shape['reason']}"]
    part = [f"of {used:,} rows a random sample of {shape['rows']:,} was used"]
    return [
        *part * (shape["rows"] < used),
        *(clusters_line(one) for one in shape["clusterings"]),
        *(plane_line(one) for one in shape["embeddings"]),
    ]


def no_target_line(numbers: Numbers) -> str:
    """Why nothing is predicted."""
    return f"nothing to predict: {numbers['task']['reason']}"


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
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value, 4) if isinstance(value, int | float) else str(value)
