"""fenchel certify: the proof made again from nothing but the model file and the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from math import ceil, nan
from typing import TYPE_CHECKING, Any

import click

from fenchel.app.command_line import options
from fenchel.app.command_line.terminal import problem, say, say_json, stepper
from fenchel.app.errors import BadData, BadUsage

if TYPE_CHECKING:
    import polars as pl

    from fenchel.app.table.text.reading_options import Reading
    from fenchel.convex.certificate import Certificate
    from fenchel.score.decision.risk import RiskCertificate

_NAMES = ("gap", "error", "false_positive", "false_negative")


@click.command()
@options.model_file
@options.table
@click.option(
    "--test", metavar="TABLE", help="Rows that the model has not seen, to bound its error."
)
@options.delta
@options.require
@options.reading
@options.as_json
@options.quiet
def command(
    model_file: str,
    table: str,
    test: str | None,
    delta: float,
    require: tuple[str, ...],
    reading: Reading,
    as_json: bool,
    quiet: bool,
) -> None:
    """Prove anew how far the model is from the optimum of its objective on TABLE.

    TABLE is the one that the model was fitted to; its fingerprint is compared with the one in the
    model file. Rows that were kept apart from the fit, or those of --test, bound the error of a
    classifier: exactly, for any law of the rows. A TABLE with another fingerprint serves for both.

    \b
    Examples:
      fenchel certify model.fen train.csv --require "gap<=1e-6"
      fenchel certify model.fen train.csv --test test.csv --require "error.high<=0.05"
    """
    from fenchel.app.command_line.requirements import bar_entries, check_bars, parse_bars
    from fenchel.app.command_line.shared_output import opened_model

    bars = parse_bars(require, _NAMES)
    held = opened_model(model_file)
    step = stepper(quiet)
    step(f"reading {table}")
    rows = _Rows(held, table, reading)
    step("certifying")
    stored = vars(held.model).get("certificate_")
    proof, definition, reason = _gap(held.model, *rows.encoded(rows.train))
    if rows.is_alike and not rows.is_file and not _agrees(proof, stored):
        rows.take_all()
        proof, definition, reason = _gap(held.model, *rows.encoded(rows.train))
    unseen, of = rows.unseen, table
    if test is not None:
        step(f"reading {test}")
        unseen, of = _Rows(held, test, reading).test_rows(), test
    bounds, why = None, "bounds of an error rate are for classes: run 'fenchel score' for numbers"
    if held.task.kind == "none":
        why = "clusters predict no target, and have no error rate"
    elif held.task.kind != "number":
        why = "no rows that the model has not seen: give them by --test"
        if unseen is not None and unseen.height:
            bounds = _bounds(held, rows.encoded(unseen), delta)
    results = _results(proof, bounds)
    if as_json:
        document = _document(model_file, held, rows, proof, reason, stored)
        document["bounds"] = None if bounds is None else _bounds_entry(bounds, of)
        document["no_bounds"] = None if bounds is not None else why
        document["bars"] = bar_entries(bars, results)
        say_json(document)
    else:
        _words(rows, proof, definition, reason, stored)
        for sentence in (f"Not bounded: {why}.",) if bounds is None else _quotable(bounds):
            say(sentence)
        if held.task.kind == "none" and proof is not None:
            say(_cluster_words(proof))
        _verdict(proof, definition, bounds)
    check_bars(bars, results)


class _Rows:
    """The rows of a table that have a target, in what the model learnt from and what it did not."""

    def __init__(self, held: Any, path: str, reading: Reading) -> None:
        from fenchel.app.command_line.shared_output import origin_of
        from fenchel.app.prepare import of_table
        from fenchel.app.table.files.table_reader import read_table

        self.held = held
        source = read_table(
            path, text=held.encoder.text_columns, reading=reading, expected=held.encoder.formats
        )
        for line in source.problems:
            problem(line)
        with of_table(source.name):
            held.encoder.check(source.frame.columns)
        self.name, self.sha256, self.problems = source.name, source.sha256, source.problems
        self.origin = origin_of(held)
        self.is_file = self.origin.get("sha256") == source.sha256
        # A copy in another format has as many rows, and the same objective: the caller will see.
        self.is_alike = self.is_file or self.origin.get("rows") == source.frame.height
        sampled = self.origin.get("sampled")
        self.is_sampled = self.is_alike and sampled not in (None, source.frame.height)
        self.frame = source.frame
        self.train = held.task.kept(source.frame)
        self.unseen: pl.DataFrame | None = self.train
        if self.is_alike:
            self.unseen = None
            share, seed = self.origin.get("test_share"), self.origin.get("seed")
            if isinstance(share, float) and isinstance(seed, int) and 0.0 < share < 1.0:
                with of_table(source.name):
                    self._part(source.frame, share, seed)

    def take_all(self) -> None:
        """All rows for both purposes: they are not those of the fit."""
        self.is_alike = False
        self.train = self.unseen = self.held.task.kept(self.frame)

    def test_rows(self) -> pl.DataFrame:
        """Rows to bound the error by, which are none of those of the fit."""
        if not self.is_file:
            return self.held.task.kept(self.frame)
        if self.unseen is None:
            raise BadUsage(
                f"--test {self.name} is the table that the model was fitted to: give rows that it "
                "has not seen"
            )
        return self.unseen

    def _part(self, frame: pl.DataFrame, share: float, seed: int) -> None:
        """The rows as they were parted for the fit."""
        from fenchel.app.prepare import asked_task
        from fenchel.app.report.split import Grouping, split_rows

        task = self.held.task
        kind = "number" if task.kind == "number" else "classes"
        by = Grouping(self.origin.get("groups"), self.origin.get("time"))
        for asked in (None, kind):  # the kind may have been found, or asked for
            again = asked_task(frame, task.target, asked, task.positive)
            parts = split_rows(frame, again, share, seed, by)
            if (parts.task.kind, parts.task.classes) == (task.kind, task.classes):
                self.train, self.unseen = parts.frame[parts.train], parts.frame[parts.test]
                return
        raise BadData("the rows of the fit cannot be told from those kept apart")

    @property
    def words(self) -> str:
        """Whether this is the table of the fit."""
        if self.is_sampled:
            count = f"{self.origin.get('sampled'):,} rows of it, drawn at random"
            return f"the model was fitted to {count}; what follows is of all rows of {self.name}"
        if self.is_alike:
            kept = ", less the rows kept apart" if self.unseen is not None else ""
            copy = "" if self.is_file else ", in another file"
            return f"{self.name} is the table that the model was fitted to{copy}{kept}"
        if not self.origin:
            return f"the model file does not say which table it was fitted to; {self.name} is taken"
        return (
            f"{self.name} is not the table that the model was fitted to, "
            f"{self.origin.get('name')}: the gap is that of these rows, and the bounds hold if "
            "none of them was in the fit"
        )

    def encoded(self, frame: pl.DataFrame) -> tuple[Any, Any]:
        """Matrix and target."""
        from fenchel.app.prepare import of_table

        if not frame.height:
            raise BadData(f"{self.name} has no row with a target '{self.held.task.target}'")
        with of_table(self.name):
            X = self.held.encoder.transform(frame)
            return X, None if self.held.task.target is None else self.held.task.codes(frame)


def _gap(model: Any, X: Any, y: Any) -> tuple[Certificate | None, str, str]:
    """The proof, what its number is called where it is a definition, and why there is none."""
    from fenchel.models.certificates.certified import SelfCertified
    from fenchel.models.certificates.certify import certify

    try:
        proof = certify(model, X, y)
        words = model.definition_on(X, y) if isinstance(model, SelfCertified) else ""
        return proof, words, ""
    except (TypeError, ValueError) as error:
        return None, "", " ".join(str(error).split())


def _bounds(held: Any, rows: tuple[Any, Any], delta: float) -> RiskCertificate:
    """Bounds with the classes called by their names."""
    from fenchel.score.decision.risk import risk_certificate

    return replace(risk_certificate(held.model, *rows, delta), classes=held.task.classes)


def _quotable(bounds: RiskCertificate) -> tuple[str, ...]:
    """The bounds and what they assume; JSON has the ones by calibration too."""
    sides = [side for side in (bounds.false_positive, bounds.false_negative) if side is not None]
    return bounds.sentences[: 2 + len(sides)]


def _results(proof: Certificate | None, bounds: RiskCertificate | None) -> dict[str, Any]:
    from fenchel.score.estimate import Estimate

    found: dict[str, Any] = {"gap": nan if proof is None else proof.relative_gap}
    for name in _NAMES[1:]:
        rate = None if bounds is None else getattr(bounds, name)
        if bounds is not None and rate is not None:
            found[name] = Estimate(
                rate.rate, 0.0, rate.upper, level=1.0 - bounds.delta, method="exact binomial bound"
            )
    return found


def _agrees(proof: Certificate | None, stored: Any) -> bool:
    if proof is None or stored is None:
        return False
    return abs(proof.value - stored.value) <= 1e-8 * max(abs(stored.value), stored.floor)


def _words(
    rows: _Rows, proof: Certificate | None, definition: str, reason: str, stored: Any
) -> None:
    say(f"{rows.words}.")
    if proof is None:
        say(f"Not certified: {reason}.")
        return
    if stored is not None and rows.is_alike and not rows.is_sampled:
        agrees = "agrees" if _agrees(proof, stored) else "does not agree"
        what = definition or "objective"
        say(f"The {what} {agrees} with the one in the model file, {stored.value:.10g}.")


def _cluster_words(proof: Certificate) -> str:
    """How far the clusters are from the best possible at most, and how sure that is."""
    from fenchel.data.display.rounding import UP, percent

    if not math.isfinite(proof.excess):
        return "Nothing is proved of how far the clusters are from the best possible."
    sure = "" if proof.confidence == 1.0 else f", with confidence {100.0 * proof.confidence:g} %"
    if proof.kind == "exact":
        return f"No other clusters, as many, leave less variance inside them{sure}."
    most = percent(proof.excess, UP)
    return (
        f"The variance inside the clusters is at most {most} above the least possible for as "
        f"many{sure}."
    )


def _verdict(proof: Certificate | None, definition: str, bounds: RiskCertificate | None) -> None:

    if proof is not None:
        proved = proof.kind != "estimate"
        words = proof.words(definition)
        say(f"gap         {words}", bold=True, fg="green" if proved else "yellow")
    else:
        say("gap         not certified", bold=True, fg="yellow")
    if bounds is not None:
        e, sure = bounds.error, 100.0 * (1.0 - bounds.delta)
        most = ceil(1e4 * e.upper) / 1e2  # rounded up, to stay true
        say(
            f"error       {e.errors} of {e.n} rows, for new ones at most {most:g} % "
            f"(with probability {sure:g} %)",
            bold=True,
        )


def _document(
    path: str, held: Any, rows: _Rows, proof: Certificate | None, reason: str, stored: Any
) -> dict[str, Any]:
    from fenchel.app.command_line.shared_output import certificate_entry, task_entry

    return {
        "verb": "certify",
        "model": {"file": path, "sha256": held.sha256, "class": type(held.model).__name__},
        "table": {"name": rows.name, "sha256": rows.sha256, "rows": rows.train.height},
        "fitted_to": rows.origin or None,
        "is_training_table": rows.is_alike,
        "problems": list(rows.problems),
        "task": task_entry(held.task),
        "certificate": certificate_entry(proof),
        "not_certified": reason or None,
        "stored": certificate_entry(stored),
        "agrees": _agrees(proof, stored) if proof is not None and stored is not None else None,
    }


def _bounds_entry(bounds: RiskCertificate, table: str) -> dict[str, Any]:
    found: dict[str, Any] = {"table": table, "delta": bounds.delta}
    for name in _NAMES[1:]:
        rate = getattr(bounds, name)
        found[name] = rate and {
            "errors": rate.errors,
            "rows": rate.n,
            "rate": rate.rate,
            "upper": rate.upper,
        }
    return {**found, "sentences": list(bounds.sentences)}
