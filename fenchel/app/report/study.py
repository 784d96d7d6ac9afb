"""The study of a table: parts, encoding, contest, fit, and the one judgement on the test part."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.prepare import is_by_construction, with_names
from fenchel.app.report.analysis.binary import chosen_threshold, own_threshold, positive_score
from fenchel.app.report.analysis.challenger import WORDS as CHALLENGER
from fenchel.app.report.analysis.challenger import Challenger, challenge
from fenchel.app.report.analysis.importance import importance
from fenchel.app.report.analysis.model_comparison import Contest, contest, scoring_of
from fenchel.app.report.analysis.selected_model import Winner, winner
from fenchel.app.report.analysis.unpenalised import unpenalised
from fenchel.app.report.options import Options
from fenchel.app.report.split import Rows, Split, all_rows, effort, sampled, split_rows
from fenchel.app.report.structure.clusters import Clustering, grouped
from fenchel.app.report.structure.embeddings import Embedding, mapped
from fenchel.app.table.encoding.encoder import Encoder, Surprises
from fenchel.app.table.files.table_reader import TableSource
from fenchel.app.table.profile.column_profile import ColumnProfile, profile
from fenchel.app.table.profile.redundancy import (
    NearDuplicate,
    TotalRow,
    near_duplicates,
    total_rows,
)
from fenchel.app.table.target_values import target_doubts
from fenchel.app.table.task import find_task
from fenchel.score.curves.curve import Curve
from fenchel.score.decision.risk import RiskCertificate, risk_certificate

Floats = NDArray[np.float64]


@dataclass
class Clock:
    """Seconds of each part, and a line of progress before it begins."""

    options: Options
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what is done inside, under that name."""
        self.say(name)
        began = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def say(self, line: str) -> None:
        """A line of progress."""
        if self.options.progress is not None:
            self.options.progress(line)


@dataclass(frozen=True, eq=False)
class Study:
    """Everything that was found out about a table with a target.

    `score` is of the test rows: of the positive class of two, None for other tasks; `chosen` is the
    threshold of least cost on the folds of the training part, `own` that of the model itself.
    """

    source: TableSource
    options: Options
    parts: Split
    profiles: tuple[ColumnProfile, ...]
    encoder: Encoder
    surprises: tuple[str, ...]
    X: Any  # an array, or CSR where there are texts
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    sample: Rows
    contest: Contest
    winner: Winner
    constant: Any
    said: NDArray[Any]
    score: Floats | None
    curve: Curve | None
    own: float
    chosen: float
    risk: RiskCertificate | None
    challenger: Challenger | None
    importance: dict[str, Any]
    unpenalised: dict[str, Any]
    near_duplicates: tuple[NearDuplicate, ...]
    total_rows: tuple[TotalRow, ...]
    target_doubts: tuple[str, ...]
    maps: tuple[Embedding, ...] = ()
    clusterings: tuple[Clustering, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def model(self) -> Any:
        return self.winner.model


def study(source: TableSource, options: Options, clock: Clock) -> Study:
    """Run every part on a table with a target."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = _studied(source, options, clock)
    names = found.encoder.names
    said = dict.fromkeys(
        with_names(" ".join(str(one.message).split()), names)
        for one in told
        if not is_by_construction(str(one.message), found.encoder)
    )
    return replace(found, warnings=tuple(said))


def _studied(source: TableSource, options: Options, clock: Clock) -> Study:
    with clock.part("reading columns"):
        seen = source.frame.drop(list(options.drop), strict=False)
        task = find_task(seen, options.target, options.kind, options.positive)
        parts = split_rows(source.frame, task, options.test_share, options.seed, options.by)
        asked, task = task, parts.task
        profiles = profile(parts.frame, task)
        doubles = near_duplicates(parts.frame, profiles)
        used = set(parts.numbers.tolist())
        totals = tuple(one for one in total_rows(source.frame) if one.row in used)
        whole = all_rows(source.frame, asked)
        doubts = target_doubts(whole.frame, asked, whole.numbers)
    with clock.part("encoding"):
        learners, judges = parts.frame[parts.train], parts.frame[parts.test]
        encoder = Encoder.fit(
            learners,
            task,
            profiles,
            drop=parts.by.left_out(options.drop),
            text=options.text,
            as_is=options.as_is,
            formats=source.formats,
        )
        surprises = Surprises()
        X, X_test = encoder.transform(learners), encoder.transform(judges, surprises)
        y, y_test = task.codes(learners), task.codes(judges)
        sample = sampled(task, y, options.seed)
        work = effort(len(sample), X.shape[1], len(task.classes), options.n_jobs)
    with clock.part("comparing models"):
        rivals = contest(
            task,
            X[sample],
            y[sample],
            options.models,
            work,
            options.seed,
            clock.say,
            parts.folder().of(sample),
        )
    with clock.part(f"fitting the chosen model, {rivals.entry.words}"):
        best = winner(task, X, y, sample, rivals, work, options.seed)
    with clock.part("judging on the test part"):
        constant = rivals.constant.make().fit(X, y)
        score = curve = risk = None
        own = chosen = 0.0
        said = np.asarray(best.model.predict(X_test))
        if task.kind == "two classes":
            score = positive_score(best.model, X_test)
            curve = Curve.of(y_test, score, pos_label=1)
            own = own_threshold(best.model, score, said)
            chosen = chosen_threshold(
                rivals, X[sample], y[sample], options.cost_fp, options.cost_fn
            )
        if task.kind != "number":
            risk = risk_certificate(best.model, X_test, y_test, options.delta)
        importances = importance(
            task, best.model, encoder, X_test, y_test, options.seed, options.level
        )
        plain_fit = unpenalised(task, encoder, X, y, options.level)
    with clock.part("mapping the rows"):
        maps = mapped(task, X, y, options.seed)
    clusterings: tuple[Clustering, ...] = ()
    if options.clusters:
        with clock.part("looking for clusters"):
            clusterings = grouped(X, options.seed)
    challenger = None
    if options.challenger:
        with clock.part(f"fitting the challenger, {CHALLENGER}"):
            challenger = challenge(
                task, encoder, X, y, X_test, y_test, sample, rivals, options.seed
            )
    return Study(
        source=source,
        options=options,
        parts=parts,
        profiles=profiles,
        encoder=encoder,
        surprises=surprises.sentences(),
        X=X,
        y=y,
        X_test=X_test,
        y_test=y_test,
        sample=sample,
        contest=rivals,
        winner=best,
        constant=constant,
        said=said,
        score=score,
        curve=curve,
        own=own,
        chosen=chosen,
        risk=risk,
        challenger=challenger,
        importance=importances,
        unpenalised=plain_fit,
        near_duplicates=doubles,
        total_rows=totals,
        target_doubts=doubts,
        maps=maps,
        clusterings=clusterings,
    )


def training_score(found: Study) -> float:
    """The score of the chosen model on the rows it was fitted to."""
    judge = scoring_of(found.parts.task)
    return float(judge(found.model, found.X, found.y))
