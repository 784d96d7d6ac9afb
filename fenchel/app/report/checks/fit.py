"""Checks of the fit: its certificate, separation, dependent columns, overfitting, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fenchel.app.report.checks.finding import Finding, check
from fenchel.app.report.estimates import interval_words
from fenchel.app.report.verdict import ROUNDING
from fenchel.data.display.counts import plural

Numbers = dict[str, Any]
SMALL_LOSS, LARGE_LOSS = 0.02, 0.1  # of the score from training to test rows


def checks(numbers: Numbers) -> Iterator[Finding]:
    """What is proved of the fit, and what speaks against it."""
    proof = numbers["certificate"]
    yield check(
        "C1",
        "certificate of the fit",
        not proof["certified"],
        "warning",
        f"The fit is not certified: {proof.get('reason', '')}.",
        _proved(proof),
        "Another fit of the same model may be better by more than the tolerance.",
        "Raise max_iter, or strengthen the penalty.",
    )
    linear = numbers["model"]["linear"]
    if numbers["task"]["classes"]:
        two = len(numbers["task"]["classes"]) == 2
        apart = ": a plane separates the classes." if two else ": planes separate the classes."
        together = (
            ": its plane does not separate the classes."
            if two
            else ": its planes do not separate the classes."
        )
        yield check(
            "C2",
            "separable classes",
            numbers["training"]["separated"],
            "info",
            "The model classifies every training row correctly" + ("." if not linear else apart),
            "The model misclassifies some training rows" + ("." if not linear else together),
            "Without a penalty there is no finite optimum, and training scores say nothing."
            if linear
            else "Scores on the training rows then say nothing about other rows.",
            "Keep the penalty, and judge by the test rows."
            if linear
            else "Judge by the test rows.",
        )
    condition = proof.get("condition", {})
    value, columns = condition.get("value") or 0.0, proof.get("columns", 0)
    follow = columns - condition.get("rank", columns)
    # The 0/1 columns of a category sum to one: that much dependence is by construction.
    follow -= min(numbers["training"]["one_hot"], follow)
    yield check(
        "C5",
        "dependent columns",
        value > 1e6 or follow > 0,
        "info",
        f"{follow} of the {columns} encoded {plural(columns, 'column')} "
        f"{'is a linear combination' if follow == 1 else 'are linear combinations'} of the others."
        if follow
        else f"The encoded columns have condition number {value:.2g}.",
        "The encoded columns are far from linearly dependent."
        if condition.get("value")
        else "Dependence among the encoded columns was not computed: the table is large or sparse.",
        "The single coefficients of such columns mean little, though predictions are fine.",
        "Interpret columns that go together as a group, or drop some of them.",
    )
    yield from _agreement(numbers)
    if numbers["training"]["constant"]:
        yield check(
            "C7",
            "coefficients" if linear else "a constant model",
            True,
            "warning",
            "Every coefficient is 0: the model predicts the same for every row."
            if linear
            else "The model predicts the same for every training row.",
            "",
            "The penalty that did best in the folds leaves nothing: no column helps."
            if linear
            else "What did best in the folds makes no difference between rows: no column helps.",
            "Look for other columns or more rows.",
        )
    said = numbers["warnings"]
    first = said[0] if said else ""
    yield check(
        "C4",
        "warnings of the solvers",
        bool(said),
        "info",
        f"{len(said)} {plural(len(said), 'warning')} during the fits; the first: {first}",
        "No fit gave a warning.",
        "Some fits of the comparison stopped early or met a special case.",
        "Nothing, if the certificate of the chosen model is fine.",
    )


def _proved(proof: Numbers) -> str:
    """What is proved of a fit, of which there is a certificate."""
    gap = proof.get("relative_gap")
    if proof.get("definition"):
        return f"The {proof['definition']} was computed exactly: this model minimises nothing."
    if gap is None:
        return "The fit is proved."
    return (
        f"The fit is proved to be within {f'{gap:.2g}' if gap > ROUNDING else 'rounding'} of the "
        "best possible objective. That is a statement about the computation, not about the model."
    )


def _digits(score: float) -> str:
    """Three digits, and more where a score near 1 would be rounded to it."""
    texts = (f"{score:.{digits}g}" for digits in range(3, 17))
    return next((text for text in texts if score == 1.0 or float(text) != 1.0), "1")


def _agreement(numbers: Numbers) -> Iterator[Finding]:
    """Training rows against the folds: overfitting. Test rows against the folds: another draw."""
    held = numbers["contest"]
    metric = held["metric"]
    folds = next(one for one in held["models"] if one["name"] == held["chosen"])["score"]
    train, mean = numbers["training"]["score"], folds["value"]
    loss = train - mean
    said = f"{metric} is {_digits(train)} on the training rows and {_digits(mean)} over the folds"
    # Of neighbours and local averages every training row is the nearest to itself.
    local = numbers["model"]["leave_one_out"] is not None
    yield check(
        "C3",
        "overfitting",
        loss > SMALL_LOSS and train > folds.get("high", mean),
        "warning" if loss > LARGE_LOSS and not local else "info",
        f"{said}.",
        f"{said}.",
        "Each training row is among its own neighbours, so that the score there is too good."
        if local
        else "The model has fitted chance features of the training rows.",
        "A stronger penalty, fewer columns or more rows."
        if numbers["model"]["chosen_params"]
        else "Judge by the folds and the test rows."
        if local
        else "Fewer columns or more rows.",
    )
    test = numbers["headline"]["model"]
    if test["value"] is None:
        return
    low, high = test.get("low", test["value"]), test.get("high", test["value"])
    said = f"{metric} is {interval_words(test)} on the test rows"
    yield check(
        "C6",
        "test rows against folds",
        not low <= mean <= high,
        "info",
        f"{said} and {_digits(mean)} over the folds of the training rows.",
        f"{said}, an interval that holds the {_digits(mean)} of the folds.",
        "The test rows are an unlucky (or lucky) draw, or differ from the training rows.",
        "Trust the interval of the test rows; see whether another --seed gives the same picture.",
    )
