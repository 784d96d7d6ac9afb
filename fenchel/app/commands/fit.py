"""fenchel fit: one model, one table, one certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fenchel.app.command_line import options
from fenchel.app.command_line.terminal import note, say, say_json, stepper
from fenchel.data.display.counts import counted

if TYPE_CHECKING:
    from fenchel.app.prepare import Training
    from fenchel.app.report.split import Grouping
    from fenchel.app.table.text.reading_options import Reading


@click.command()
@options.table
@options.target
@options.model(
    "--model",
    "name",
    multiple=False,
    help=f"{options.listed_models()}. Left out: logistic, or ridge.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the model, the value in JSON or plain; may be repeated.",
)
@click.option("--tune", is_flag=True, help="Choose the penalty's strength by cross-validation.")
@click.option("-o", "--out", metavar="FILE", help="The model file to write, by custom *.fen.")
@options.share(
    "--test-share",
    default=0.0,
    zero=True,
    help="Share of the rows to keep apart and judge the model by.",
)
@options.kind
@options.positive
@options.by
@options.drop
@options.text
@options.as_is
@options.seed
@options.level
@options.reading
@options.as_json
@options.quiet
def command(
    table: str,
    target: str | None,
    name: str | None,
    settings: tuple[str, ...],
    tune: bool,
    out: str | None,
    test_share: float,
    kind: str | None,
    positive: str | None,
    by: Grouping,
    drop: tuple[str, ...],
    text: tuple[str, ...],
    as_is: bool,
    seed: int,
    level: float,
    reading: Reading,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a model to TABLE and print the proof of how near it is to its optimum.

    Columns are encoded by rules that are learnt from the table and travel in the model file:
    numbers scaled, categories one-hot, texts by their words, missing values filled and flagged. An
    unpenalised logistic regression (--set C=inf) gives odds ratios with intervals.

    \b
    Examples:
      fenchel fit patients.csv --target diagnosis -o model.fen
      fenchel fit patients.csv --target diagnosis --model svm --set C=0.1
      fenchel fit patients.csv --target diagnosis --set C=inf
      fenchel fit houses.parquet --target price --model lasso --tune --test-share 0.2
      fenchel fit patients.csv --set 'class_weight={"ill": 5, "well": 1}'
      fenchel fit houses.csv --target price --model quantile --set quantile=0.9
      fenchel fit patients.csv --model erm --set loss=modified_huber --set penalty=l1
    """
    from fenchel.app.catalogue import DEFAULTS, entry_named
    from fenchel.app.metrics import metrics
    from fenchel.app.output_paths import check_output
    from fenchel.app.predictions import answers_of
    from fenchel.app.prepare import configured, fitted, prepare, refused

    if out is not None:
        check_output(out, (table,), model=True)
    step = stepper(quiet)
    data = prepare(
        table,
        target,
        kind=kind,
        positive=positive,
        by=by,
        drop=drop,
        text=text,
        as_is=as_is,
        test_share=test_share,
        seed=seed,
        reading=reading,
        step=step,
    )
    if not quiet:
        for line in data.notes:
            note(line)
    entry = entry_named(data.task.kind, name or DEFAULTS[data.task.kind])
    model = configured(entry.make(), settings, data.task)
    if tune:
        model.set_params(**_tuned(entry, model, settings, data, seed, step))
    step(f"fitting {entry.words}")
    model = fitted(model, data, settings)
    judged: dict[str, Any] | None = None
    with refused(model, settings, "predict"):
        if data.test is not None:
            answers = answers_of(model, data.encoder.transform(data.test))
            judged = metrics(data.task, data.task.codes(data.test), answers, level)
        if out is not None:
            _save(model, out, data, test_share, seed, by)
    if as_json:
        say_json(_document(entry, model, data, judged, out, level))
        return
    _verdict(entry, model, data, judged, out, level)


def _tuned(
    entry: Any, model: Any, settings: tuple[str, ...], data: Training, seed: int, step: Any
) -> dict[str, Any]:
    """The values of the grid that do best in folds of these rows; what was set stays as it is."""
    from fenchel.app.catalogue import SCORING
    from fenchel.app.errors import BadUsage
    from fenchel.app.prepare import check_folds, parse_setting
    from fenchel.score.selection.parameter_search import select

    given = {parse_setting(text)[0] for text in settings}
    whole = entry.grid_for(data.y)
    grid = {name: values for name, values in whole.items() if name not in given}
    if not grid:
        why = f"--set gives {', '.join(whole)} already" if whole else f"{entry.name} has none"
        raise BadUsage(f"--tune chooses the strength of a penalty, and {why}: leave --tune out")
    step(f"choosing {', '.join(grid)} by cross-validation")
    folds = check_folds(data.task, data.y, 5)
    found = select(
        model,
        grid,
        data.X,
        data.y,
        cv=data.folder.splitter(folds, seed),
        groups=data.folder.groups,
        scoring=SCORING[data.task.kind],
        refit=False,
        random_state=seed,
    )
    return found.params


def _save(model: Any, out: str, data: Training, test_share: float, seed: int, by: Grouping) -> None:
    from fenchel.app.modelfile import save
    from fenchel.app.predictions import answers_of
    from fenchel.app.prepare import origin
    from fenchel.app.table.profile.reference import Reference

    reference = Reference.of(data.encoder, data.train, answers_of(model, data.X).single)
    extra = {
        "data": origin(data.source, test_share, seed, by),
        "reference": reference.to_list(),
    }
    save(model, out, encoder=data.encoder, task=data.task, extra=extra)


def _told(entry: Any, model: Any) -> dict[str, Any]:
    """The parameters that are not at their defaults, and those of the grid."""
    usual = type(model)().get_params(deep=False)
    held = model.get_params(deep=False)
    return {
        name: held[name] for name in sorted(held) if name in entry.grid or held[name] != usual[name]
    }


def _found(model: Any) -> dict[str, Any]:
    """What the fit has chosen in the place of a parameter."""
    from fenchel.app.catalogue import chosen_parameters

    return chosen_parameters(model.get_params(deep=False), vars(model))


def _proof(model: Any, data: Training) -> Any:
    """The certificate of the fit; of a model that proves itself when asked, that of its rows."""
    from fenchel.models.certificates.certified import SelfCertified
    from fenchel.score.validation.run import certificate_of

    found = certificate_of(model)
    if found is None and isinstance(model, SelfCertified):
        return model.certify_on(data.X, data.y)
    return found


def _is_converged(model: Any, proof: Any) -> bool:
    """As the model says, or its certificate: a closed form has nothing to converge."""
    from fenchel.app.report.analysis.selected_model import tolerance_of

    known = vars(model)
    if proof is None or "converged_" in known:
        return bool(known.get("converged_", False))
    return bool(proof.closed(tolerance_of(model, proof)))


def _verdict(
    entry: Any,
    model: Any,
    data: Training,
    judged: dict[str, Any] | None,
    out: str | None,
    level: float,
) -> None:
    from fenchel.app.command_line.shared_output import say_metrics, task_words
    from fenchel.app.report.analysis.selected_model import definition_of

    task, (rows, columns) = data.task, data.X.shape
    said = f"{rows:,} rows, {counted(columns, 'column')} encoded"
    say(f"{data.source.name}: {said}; {task_words(task)}")
    if judged is not None and data.test is not None:
        say(f"judged by {data.test.height} rows kept apart:")
        say_metrics(task, judged, data.task.codes(data.test))
    set_to = ", ".join(f"{name}={value!r}" for name, value in _told(entry, model).items())
    found = ", ".join(f"{name} {value!r}" for name, value in _found(model).items())
    say(f"model       {_words(entry, model)}{f' ({set_to})' if set_to else ''}", bold=True)
    if found:
        say(f"chosen      {found}")
    proof = _proof(model, data)
    color = "green" if _is_converged(model, proof) else "yellow"
    words = "none: this model proves nothing"
    if proof is not None:
        words = proof.words(definition_of(model))
    say(f"certificate {words}", fg=color)
    _say_intervals(model, data, level)
    zero = not _coefficients(model).any()
    if zero:
        note("every coefficient is 0: weaken the penalty, or let --tune choose its strength")
    say(f"written     {out}" if out is not None else "written     nothing: name a file with -o")


def _intervals(model: Any, data: Training, level: float) -> dict[str, Any] | None:
    """Odds ratios or slopes with intervals, where the model has no penalty; None where it has."""
    from math import inf

    from fenchel.app.report.analysis.unpenalised import unpenalised

    known = model.get_params(deep=False)
    if type(model).__name__ == "LinearRegression" or (
        type(model).__name__ == "LogisticRegression" and known["C"] == inf
    ):
        return unpenalised(data.task, data.encoder, data.X, data.y, level)
    return None


def _say_intervals(model: Any, data: Training, level: float) -> None:
    from fenchel.app.command_line.terminal import estimate_words, say_rows
    from fenchel.app.report.estimates import estimate_of

    found = _intervals(model, data, level)
    if found is None:
        return
    if "reason" in found:
        note(f"no intervals of the coefficients: {found['reason']}")
        return
    rows = []
    for one in found["columns"]:
        value, between, _ = estimate_words(estimate_of(one["estimate"]))
        rows.append((one["column"], one["unit"], value, between, f"{one['p_value']:.2g}"))
    head = ("column", "for", found["kind"], f"{100 * level:g} % interval", "p-value")
    say_rows(head, rows, (2, 4))
    if found["method"] != "Wald":
        note("intervals allow for residuals of unequal spread (HC3)")


def _words(entry: Any, model: Any) -> str:
    """What the model is, with the penalty or the neighbours that it has."""
    from math import inf

    known = model.get_params(deep=False)
    words = str(entry.words)
    if known.get("n_neighbors", "auto") != "auto":
        words = words.partition(", as many")[0]
    return words.replace("L2 penalty", "no penalty") if known.get("C") == inf else words


def _coefficients(model: Any) -> Any:
    import numpy as np

    return np.asarray(vars(model).get("coef_", 1.0), dtype=np.float64)


def _document(
    entry: Any,
    model: Any,
    data: Training,
    judged: dict[str, Any] | None,
    out: str | None,
    level: float,
) -> dict[str, Any]:
    from fenchel.app.command_line.shared_output import certificate_entry, task_entry

    coefficients, proof = _coefficients(model), _proof(model, data)
    return {
        "verb": "fit",
        "table": data.source.to_dict(),
        "task": task_entry(data.task),
        "rows": len(data.y),
        "columns": [
            {"name": plan.name, "kind": plan.kind, "rule": plan.rule} for plan in data.encoder.plans
        ],
        "encoded": list(data.encoder.names),
        "model": {
            "name": entry.name,
            "words": entry.words,
            "class": type(model).__name__,
            "parameters": {
                name: value if isinstance(value, bool | int | float | str | None) else str(value)
                for name, value in sorted(model.get_params(deep=False).items())
            },
            "chosen": _found(model),
        },
        "coefficients": coefficients,
        "intercept": vars(model).get("intercept_"),
        "intervals": _intervals(model, data, level),
        "certificate": certificate_entry(proof),
        "converged": _is_converged(model, proof),
        "test_rows": None if data.test is None else data.test.height,
        "metrics": judged,
        "file": out,
    }
