"""What several verbs tell alike: tables, tasks, certificates and metrics, in words and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fenchel.app.command_line.terminal import estimate_words, say_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fenchel.app.table.task import Task
    from fenchel.convex.certificate import Certificate


def task_words(task: Task) -> str:
    """The target and what it asks for."""
    if task.kind == "none":
        return "no target: the clusters of its rows"
    if task.kind == "number":
        return f"target '{task.target}', a number"
    more = f" and {len(task.classes) - 5} more" if len(task.classes) > 5 else ""
    listed = ", ".join(f"'{name}'" for name in task.classes[:5]) + more
    positive = f"; positive: '{task.positive}'" if task.positive is not None else ""
    return f"target '{task.target}', {task.kind} ({listed}{positive})"


def task_entry(task: Task) -> dict[str, Any]:
    """The task, for JSON."""
    return {**task.to_dict(), "positive": task.positive}


def certificate_entry(proof: Certificate | None) -> dict[str, Any] | None:
    """The certificate, for JSON."""
    if proof is None:
        return None
    names = ("value", "bound", "gap", "relative_gap", "kind", "confidence", "steps", "seconds")
    return {**{name: getattr(proof, name) for name in names}, "words": str(proof)}


def say_metrics(task: Task, judged: dict[str, Any], y: NDArray[Any]) -> None:
    """Metrics as a table, with what a constant reaches beside them."""
    from fenchel.app.metrics import constants

    constant = constants(task, y)
    rows = []
    for name, found in judged.items():
        value, between, method = estimate_words(found)
        if between:  # the method in short; all of it is in the JSON
            method = method.split(", ")[0]
        beside = f"{constant[name]:.4g}" if name in constant else ""
        rows.append((name, value, between, beside, method))
    level = next((100 * getattr(one, "level", 0.95) for one in judged.values()), 95)
    head = ("metric", "value", f"{level:g} % interval", "constant of these rows", "interval by")
    say_rows(head, rows, (1, 3))


def opened_model(path: str) -> Any:
    """A model file that holds all that a table needs: encoder and task."""
    from fenchel.app.errors import ModelFileError
    from fenchel.app.modelfile import open_model

    held = open_model(path)
    if held.encoder is None or held.task is None:
        raise ModelFileError(
            f"{path} holds a model without the encoder of a table: make it by 'fenchel fit', or "
            "give encoder= and task= to fenchel.save"
        )
    return held


def origin_of(held: Any) -> dict[str, Any]:
    """What a model file says of the table that its model was fitted to."""
    data = (held.manifest.get("extra") or {}).get("data")
    return data if isinstance(data, dict) else {}


def is_training_table(held: Any, path: str) -> bool:
    """Whether a file has the fingerprint of the table that the model was fitted to."""
    import hashlib
    from pathlib import Path

    known = origin_of(held).get("sha256")
    if known is None or not Path(path).is_file():
        return False
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == known
    except OSError:  # whoever reads its rows will say what is wrong
        return False
