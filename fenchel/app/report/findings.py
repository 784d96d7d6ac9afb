"""What a careful reader would have checked: each check with its answer, its reason and a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fenchel.app.report.checks import Finding, check, listed, plural
from fenchel.app.report.shape_findings import shape_findings

Numbers = dict[str, Any]


def findings(numbers: Numbers) -> list[Finding]:
    """All checks, the most severe first; those that passed last."""
    found = [*_data(numbers)]
    if numbers["task"]["kind"] == "none":
        found += shape_findings(numbers)
    else:
        found += [*_parts(numbers), *_contest(numbers), *_fit(numbers), *_test(numbers)]
    order = ("problem", "warning", "info", "passed")
    return sorted(found, key=lambda one: order.index(one["severity"]))


# ------------------------------------------------------------------------------------- data


def _data(numbers: Numbers) -> Iterator[Finding]:
    columns = numbers["columns"]
    missing = [one for one in columns if one["missing"] and one["kind"] != "empty"]
    empty = any(one["kind"] == "empty" for one in columns)
    share = max((one["missing"] / max(one["rows"], 1) for one in missing), default=0.0)
    yield check(
        "D1",
        "missing values",
        bool(missing),
        "warning" if share > 0.3 else "info",
        f"{len(missing)} of {len(columns)} columns have missing values, at most {share:.1%} of "
        f"the rows: {listed([one['name'] for one in missing])}.",
        "No column has missing values" + (" but those that are empty." if empty else "."),
        "Filled values are guesses, and that a value is missing may itself tell something.",
        "Missing cells are filled and flagged by columns of their own; find out why they are "
        "missing if they are many.",
    )
    for code, kind, name, what in (
        ("D2", ("constant", "empty"), "constant columns", "as constant or empty"),
        ("D3", ("identifier", "text"), "identifiers", "as names of the rows, which tell nothing"),
    ):
        held = [one["name"] for one in columns if one["kind"] in kind]
        yield check(
            code,
            name,
            bool(held),
            "info",
            f"Left out {what}: {listed(held)}.",
            f"No {name}.",
            "They can teach a model nothing that holds for new rows.",
            "Leave them out of the table, or turn them into something that describes a row.",
        )
    same = [one["name"] for one in columns if one["same_as"]]
    yield check(
        "D4",
        "columns that repeat another",
        bool(same),
        "info",
        f"Left out as equal to an earlier column: {listed(same)}.",
        "No two columns are equal.",
        "A copy adds nothing, and splits the weight of the column it repeats.",
        "The copies are left out; drop them from the table.",
    )
    leaks = [one for one in columns if one["leak"]]
    yield check(
        "D5",
        "suspected leaks",
        bool(leaks),
        "problem",
        f"{listed([one['name'] for one in leaks])}: {leaks[0]['leak'] if leaks else ''}.",
        "No column gives the target away by itself."
        if numbers["task"]["target"] is not None
        else "There is no target to give away.",
        "A column that tells the target by itself is often a consequence of it, unknown when a "
        "prediction is needed.",
        "Find out when the column is written; if it is after the fact, leave it out with --drop.",
    )
    far = [one["name"] for one in columns if one["extreme"]]
    yield check(
        "D7",
        "extreme values",
        bool(far),
        "warning",
        f"A few cells are so far from the others that they alone make the spread: {listed(far)}.",
        "No cell is ten thousand times farther out than almost all others.",
        "Scaled by such a spread, all other rows of the column look alike.",
        "Correct those cells, or empty them so that they count as missing.",
    )
    again = numbers["duplicates"]["rows"]
    yield check(
        "D6",
        "duplicate rows",
        again > 0,
        "info",
        f"Rows that equal an earlier one in every column: {again}.",
        "No two rows are equal.",
        "Rows that repeat are not independent, and intervals count them as if they were.",
        "Find out whether they were entered twice.",
    )


def _parts(numbers: Numbers) -> Iterator[Finding]:
    rows = numbers["rows"]
    both = numbers["duplicates"]["test_rows_in_training"]
    yield check(
        "P1",
        "test rows among the training rows",
        both > 0,
        "problem" if both > 0.05 * rows["test"] else "warning",
        f"{both} of {rows['test']} test rows equal a training row.",
        "No test row equals a training row.",
        "The model has seen these answers: the test score is too good by them.",
        "Remove duplicates from the table before the report.",
    )
    rare = rows["rare_classes"]
    yield check(
        "P2",
        "classes too small to be judged",
        bool(rare),
        "warning",
        f"{listed([one['class'] for one in rare])} have fewer than 8 rows and were left out.",
        "Every class has enough rows to be judged.",
        "A handful of rows can neither teach a class nor judge it.",
        "Gather more rows of them, or join them with a class they belong to.",
    )
    least = min((one["rows"] for one in numbers["balance"]), default=0)
    share = least / max(rows["used"], 1)
    if numbers["balance"]:
        yield check(
            "P3",
            "imbalance",
            share < 0.1,
            "warning" if least < 100 else "info",
            f"The rarest class has {least} rows, {share:.1%} of all.",
            f"The rarest class has {share:.1%} of the rows.",
            "Accuracy is then dominated by the other classes, and few rows decide all about this "
            "one.",
            "Read the rates of each class and the precision-recall curve, not the accuracy.",
        )
    made = numbers["encoding"]["columns"]
    per = rows["training"] / max(made, 1)
    yield check(
        "P4",
        "rows per column",
        per < 10,
        "warning" if per < 3 else "info",
        f"{rows['training']} training rows for {made} encoded columns: {per:.1f} each.",
        f"{per:.0f} training rows for each of {made} encoded columns.",
        "With few rows to a column a model can fit chance.",
        "The penalty is chosen to hold this down; fewer columns or more rows help more.",
    )
    surprises = numbers["encoding"]["surprises"]
    yield check(
        "P5",
        "test rows unlike the training rows",
        bool(surprises),
        "info",
        " ".join(f"{one[:1].upper()}{one[1:]}." for one in surprises[:3]),
        "The test rows hold no level and no gap that training had not.",
        "The model met something it had never seen and fell back to a rule.",
        "See the encoding of these columns; retrain when such rows become frequent.",
    )
    skew = abs((numbers["target"] or {}).get("skewness") or 0.0)
    if numbers["target"]:
        yield check(
            "P6",
            "skewed target",
            skew > 2.0,
            "info",
            f"The target has a skewness of {skew:.1f}.",
            f"The target is not far from symmetric (skewness {skew:.1f}).",
            "A few large values decide the squared error.",
            "Consider its logarithm as target, or read the mean absolute error.",
        )


# ------------------------------------------------------------------------------------ models


def _contest(numbers: Numbers) -> Iterator[Finding]:
    contest = numbers["contest"]
    chosen = next(one for one in contest["models"] if one["name"] == contest["chosen"])
    above = chosen["above_baseline"]
    low = above.get("low")
    beaten = above["value"] > 0.0 if low is None else low > 0.0
    yield check(
        "M1",
        "better than a constant",
        not beaten,
        "problem",
        f"Over the folds {contest['metric']} of the model is {above['value']:.3g} above that of a "
        "constant prediction, and the interval of the difference reaches zero.",
        f"The model is better than a constant prediction by {above['value']:.3g} in "
        f"{contest['metric']}.",
        "The columns may not tell the target, or the rows are too few to show it.",
        "Do not use the model as it is; look for other columns or more rows.",
    )
    scores = chosen["folds"]
    spread = max(scores) - min(scores)
    loose = {"R²": 0.3}.get(contest["metric"], 0.1)
    yield check(
        "M2",
        "stable over the folds",
        spread > loose,
        "warning",
        f"The folds range from {min(scores):.3g} (fold {chosen['worst_fold']}) to "
        f"{max(scores):.3g} in {contest['metric']}.",
        f"The folds range from {min(scores):.3g} (fold {chosen['worst_fold']}) to "
        f"{max(scores):.3g} in {contest['metric']}.",
        "The score depends on which rows were drawn: there are few rows, or groups among them.",
        "Trust the lower end of the interval; if rows come in groups, split by group.",
    )
    close = [
        one["name"]
        for one in contest["models"]
        if one["below_chosen"] and one["below_chosen"].get("low", 0.0) <= 0.0
    ]
    yield {
        "code": "M3",
        "name": "other models",
        "severity": "info" if close else "passed",
        "what": (
            f"The folds cannot tell {listed(close)} from the chosen model."
            if close
            else "The chosen model is better than each of the others over the folds."
        ),
        "why": "Their differences are within chance." if close else "",
        "do": "Any of them will do; the first of the list was taken." if close else "",
    }


def _fit(numbers: Numbers) -> Iterator[Finding]:
    proof = numbers["certificate"]
    gap = proof.get("relative_gap")
    yield check(
        "C1",
        "certified optimum",
        not proof["certified"],
        "warning",
        f"The fit is not certified: {proof.get('reason', '')}.",
        f"The fit is proved to be within {gap:.2g} of the best possible objective."
        if gap is not None
        else "The fit is proved.",
        "Another fit of the same model may be better by more than the tolerance.",
        "Raise max_iter, or strengthen the penalty.",
    )
    apart = numbers["training"]["separated"]
    if numbers["task"]["classes"]:
        yield check(
            "C2",
            "classes that a plane divides",
            apart,
            "info",
            "The model puts every training row on its side: a plane divides the classes.",
            "No plane of this model divides the training rows without error.",
            "Without a penalty there is no finite optimum, and training scores say nothing.",
            "Keep the penalty, and judge by the test part.",
        )
    held = proof.get("condition", {})
    condition, columns = held.get("value") or 0.0, proof.get("columns", 0)
    follow = columns - held.get("rank", columns)
    yield check(
        "C5",
        "columns that depend on each other",
        condition > 1e6 or follow > 0,
        "info",
        f"{follow} of the {columns} encoded {plural(columns, 'column')} "
        f"{'follows' if follow == 1 else 'follow'} from the others, as the last of the 0/1 columns "
        f"of a category does; the others have condition number {condition:.2g}."
        if follow
        else f"The encoded columns have condition number {condition:.2g}.",
        "The encoded columns are far from dependent on each other.",
        "Single coefficients then mean little, though predictions are fine.",
        "Read columns that go together as a group.",
    )
    train, test = numbers["training"]["score"], numbers["headline"]["model"]
    if test["value"] is not None:
        yield _agreement(train, test, numbers["contest"]["metric"])
    said = numbers["warnings"]
    first = said[0] if said else ""
    yield check(
        "C4",
        "warnings of the solvers",
        bool(said),
        "info",
        f"{len(said)} {plural(len(said), 'warning')} while fitting; the first: {first}",
        "No fit gave a warning.",
        "Some fits of the comparison stopped early or met a special case.",
        "Nothing, if the certificate of the chosen model is fine.",
    )


def _agreement(train: float, test: dict[str, Any], metric: str) -> Finding:
    value = test["value"]
    said = f"{metric} is {train:.3g} on the training rows and {value:.3g} on the test rows"
    return check(
        "C3",
        "training and test agree",
        train - value > 0.02 and train > test.get("high", value),
        "warning",
        f"{said}.",
        f"{said}, within its interval." if train <= test.get("high", value) else f"{said}.",
        "The model has learnt chance of the training rows.",
        "A stronger penalty, fewer columns or more rows.",
    )


def _test(numbers: Numbers) -> Iterator[Finding]:
    bins = numbers.get("calibration", {}).get("off")
    if bins is not None:
        yield check(
            "T1",
            "calibrated probabilities",
            bins > 0,
            "warning",
            f"In {bins} of {len(numbers['calibration']['bins'])} groups of test rows the observed "
            "share contradicts the predicted probability.",
            "In no group of test rows the observed share contradicts the predicted probability.",
            "A predicted 80 % does not mean 80 %.",
            "Use the scores for ranking and the threshold table for decisions, or calibrate them.",
        )
    marked = {row["key"]: row for row in numbers.get("decisions", {}).get("marked", ())}
    if "np" in marked:
        row = marked["np"]
        yield check(
            "T2",
            "a promised false positive rate",
            "reason" in row,
            "info",
            f"No threshold can be promised: {row.get('reason', '')}.",
            f"There is a threshold with a promise: {row.get('why', '')}.",
            "The test part has too few negatives for such a promise.",
            "Give a larger --alpha or --delta, or more rows.",
        )
    worse = [one for one in numbers["subgroups"] if one["worse"]]
    yield check(
        "T3",
        "groups that fare worse",
        bool(worse),
        "info",
        "The error is above that of all test rows for "
        + ", ".join(f"{one['column'][:40]} = {one['group'][:40]}" for one in worse[:3])
        + ".",
        "No group of test rows that was looked at errs more than all of them do, beyond chance.",
        "The model serves these rows worse than the rest.",
        "Check that they are represented in training, and add columns that describe them.",
    )
