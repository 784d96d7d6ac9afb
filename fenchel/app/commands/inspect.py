"""fenchel inspect: what a model file tells of itself."""

from __future__ import annotations

from typing import Any

import click

from fenchel.app.catalogue import chosen_parameters
from fenchel.app.command_line import options
from fenchel.app.command_line.terminal import say, say_json, say_rows


@click.command()
@options.model_file
@options.as_json
def command(model_file: str, as_json: bool) -> None:
    """Tell what a model file holds: every byte is verified, and no model is loaded.

    \b
    Examples:
      fenchel inspect model.fen
      fenchel inspect model.fen --json | jq .certificate
    """
    from fenchel.app.modelfile import inspect_file

    told = inspect_file(model_file)
    if as_json:
        say_json({"verb": "inspect", "file": model_file, **told})
        return
    _summary(model_file, told)


def _summary(path: str, told: dict[str, Any]) -> None:
    parameters = ", ".join(f"{name}={value!r}" for name, value in told["parameters"].items())
    say(path, bold=True)
    lines = [("model", told["estimator"]), ("parameters", parameters)]
    found = chosen_parameters(told["parameters"], told["attributes"])
    if found:
        lines.append(("chosen", ", ".join(f"{name} {value!r}" for name, value in found.items())))
    task, extra = told["task"], told["extra"] or {}
    if task:
        lines.append(("task", _task_words(task)))
    if told["classes"] is not None and not task:
        lines.append(("classes", ", ".join(map(str, told["classes"][:20]))))
    proof = told["certificate"]
    lines.append(("certificate", proof["words"] if proof else "none"))
    data = extra.get("data")
    if isinstance(data, dict):
        lines.append(("fitted to", _data_words(data)))
    versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items())
    lines += [
        ("columns", str(told["columns"]["count"])),
        ("made by", versions),
        ("format", str(told["format"])),
        ("bytes", str(told["bytes"])),
        ("sha256", told["sha256"]),
    ]
    for name, text in lines:
        say(f"{name:<12}{text}")
    if told["encoder"] is None:
        return
    say()
    say_rows(("column", "kind", "levels"), [_plan(plan) for plan in _plans(told["encoder"])])


def _task_words(task: dict[str, Any]) -> str:
    if task.get("kind") == "none":
        return "the cluster of a row"
    classes = task.get("classes") or []
    listed = f": {', '.join(classes[:10])}" if classes else ""
    return f"{task.get('kind')} ('{task.get('target')}'{listed})"


def _data_words(data: dict[str, Any]) -> str:
    share = data.get("test_share") or 0.0
    kept = f", {100 * share:g} % kept apart (seed {data.get('seed')})" if share else ""
    return f"{data.get('name')}, {data.get('rows')} rows{kept}, sha256 {data.get('sha256')}"


def _plans(encoder: dict[str, Any]) -> list[dict[str, Any]]:
    state = encoder["state"]
    plans = state.get("plans", []) if isinstance(state, dict) else []
    return [plan for plan in plans if isinstance(plan, dict)]


def _plan(plan: dict[str, Any]) -> tuple[str, str, str]:
    levels = plan.get("levels") or []
    more = f", … {len(levels)} in all" if len(levels) > 5 else ""
    words = ", ".join(map(str, levels[:5])) + more
    return str(plan.get("name")), str(plan.get("kind")), words or str(plan.get("reason") or "")
