"""One line for each figure, with plain and with hostile input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel import (
    Certificate,
    ChoiceOfK,
    Curve,
    Estimate,
    Hinge,
    Logistic,
    convergence_profile,
    show,
    voronoi_cells,
)
from fenchel.score.band import roc_band
from fenchel.score.folds.score_curves import LearningCurve, ValidationCurve

# Quotes, brackets, dots, signs of templates and of HTML; `zqx` is in no word of ours.
EVIL = "zqx\"'\\].[a.b]${x}<script>alert(1)</script>{{}}"
WORSE = "zqx\\"
LONG = "zqx " * 500

rng = np.random.default_rng(0)
Y = (rng.random(400) < 0.35).astype(int)
SCORE = Y * 1.4 + rng.normal(size=400)
PROBA = 1.0 / (1.0 + np.exp(0.6 - 1.5 * (SCORE - 0.5)))
CURVE = Curve.of(Y, PROBA)
MANY_Y = (rng.random(60_000) < 0.1).astype(int)
MANY_SCORE = MANY_Y * 1.2 + rng.normal(size=60_000)
MANY = Curve.of(MANY_Y, MANY_SCORE)
BAND = roc_band(Y, PROBA, method="exact")
MANY_BAND = roc_band(MANY_Y, MANY_SCORE, method="exact")
HISTORY = [
    Certificate(2.0, -40.0, "estimate", 0, 0.1),
    Certificate(1.6, 1.5, "duality", 1, 0.2),
    Certificate(1.5501, 1.55, "duality", 2, 0.3),
]
FOLDS = tuple((np.arange(80), np.arange(80, 100)) for _ in range(5))
TRAIN = np.linspace(0.6, 0.95, 7)[:, None] + 0.02 * rng.random((7, 5))
TEST = TRAIN - np.linspace(0.0, 0.2, 7)[:, None] ** 1.5


def tuned(name: str, values: Any) -> ValidationCurve:
    proofs = ((None,) * 5,) * 7
    return ValidationCurve(name, tuple(values), TRAIN, TEST, proofs, TRAIN, FOLDS)


STRENGTHS = np.geomspace(1e-3, 10.0, 7)
VALIDATION = tuned("C", STRENGTHS)
LEARNING = LearningCurve(
    np.array([10, 20, 40, 80, 160, 320, 640]), TRAIN, TEST, ((None,) * 5,) * 7, TRAIN, FOLDS
)
PATH = np.maximum(np.abs(np.linspace(-3.0, 3.0, 9)) - STRENGTHS[:, None], 0.0)
X = rng.normal(size=300)
Z = X + 0.5 * rng.normal(size=300)
MANY_X = rng.normal(size=20_000)
MANY_Z = MANY_X + rng.standard_t(3, size=20_000)
SIDE = np.linspace(-2.0, 2.0, 25)
H = np.array([[2.0, 1.2], [1.2, 1.4]])
WALK = [np.array([-2.0, 2.5])]
for _ in range(60):
    WALK.append(WALK[-1] - 0.5 * H @ WALK[-1])
CORRELATION = np.corrcoef(
    rng.normal(size=(60, 40)) + rng.normal(size=40) * (rng.random((60, 1)) - 0.5) * 4
)
MEAN = Estimate(0.9, 0.85, 0.93, level=0.95, method="a method")

BOX = (-9.0, 9.0, -9.0, 9.0)
PATHS = [np.stack([X, Z], axis=1)[: 4 + t] * 2.0**-t for t in range(7)]
CELLS = [voronoi_cells(C, BOX) for C in PATHS]
FINE = rng.random((230, 2))
MANY_CENTRES = 1e9 * rng.random((3000, 2))
CHOICE = ChoiceOfK(
    counts=(1, 2, 3, 4),
    method="likelihood",
    values={
        "likelihood": np.array([-9.0, -3.0, -3.1, -np.inf]),
        "bic": np.array([1e6, 2e5, 2.1e5, 3e5]),
        "silhouette": np.full(4, np.nan),
        "gap": np.array([0.1, 0.8, 0.85, 0.8]),
    },
    errors={"likelihood": np.array([0.5, 0.0, 0.1, 0.0]), "gap": np.full(4, 0.05)},
    scatter=None,
    k=2,
    choices={"likelihood": 2, "bic": 2, "gap": 3},
    rows=400,
    is_clear=True,
)


def ragged(P: Any) -> Any:
    """A rule that changes its mind everywhere."""
    return (np.floor(7.0 * P[:, 0]) * np.floor(5.0 * P[:, 1])).astype(int) % 9


CASES: dict[str, Callable[..., Any]] = {
    "roc": lambda **w: show.roc(CURVE, band=BAND, threshold=0.3, **w),
    "roc of many rows": lambda **w: show.roc(
        MANY,
        band=MANY_BAND,
        threshold=1.5,
        costs=(1.0, 7.0),
        **w,
    ),
    "roc with a title": lambda **w: show.roc(CURVE, title=EVIL, **w),
    "precision_recall": lambda **w: show.precision_recall(CURVE, threshold=0.3, **w),
    "precision_recall of many rows": lambda **w: show.precision_recall(
        MANY, threshold=1.5, precision=0.4, **w
    ),
    "score_histogram": lambda **w: show.score_histogram(
        CURVE, labels=[EVIL, WORSE], threshold=0.3, **w
    ),
    "score_histogram of many rows": lambda **w: show.score_histogram(MANY, threshold=9.0, **w),
    "confusion": lambda **w: show.confusion(CURVE, [EVIL, WORSE], threshold=0.3, **w),
    "confusion of counts": lambda **w: show.confusion([[50, 3], [0, 0]], [EVIL, WORSE], **w),
    "confusion of many classes": lambda **w: show.confusion(
        np.full((70, 70), 7.0), [f"{EVIL} {i}" for i in range(70)], **w
    ),
    "confusion of labels": lambda **w: show.confusion(
        [EVIL, WORSE, WORSE, LONG], [EVIL, EVIL, WORSE, LONG], **w
    ),
    "det": lambda **w: show.det(CURVE, threshold=0.3, **w),
    "det of many rows": lambda **w: show.det(MANY_Y, MANY_SCORE, **w),
    "gains": lambda **w: show.gains(CURVE, threshold=0.3, **w),
    "lift": lambda **w: show.lift(CURVE, threshold=0.3, **w),
    "lift of many rows": lambda **w: show.lift(MANY, **w),
    "calibration": lambda **w: show.calibration(Y, PROBA, **w),
    "calibration that is off": lambda **w: show.calibration(
        np.where(MANY_Y == 1, EVIL, WORSE),
        1.0 / (1.0 + np.exp(-MANY_SCORE)),
        simultaneous=False,
        **w,
    ),
    "net_benefit": lambda **w: show.net_benefit(Y, PROBA, threshold=0.3, **w),
    "convergence": lambda **w: show.convergence(HISTORY, tol=1e-3, **w),
    "convergence in time": lambda **w: show.convergence(HISTORY, against="seconds", **w),
    "convergence at once": lambda **w: show.convergence([Certificate(3.0, 3.0)], **w),
    "convergence without a bound": lambda **w: show.convergence(
        [Certificate(3.0, -np.inf, "estimate"), Certificate(2.0, -np.inf, "estimate")], **w
    ),
    "decision_boundary": lambda **w: show.decision_boundary(
        SIDE,
        SIDE,
        (SIDE[:, None] > SIDE**2).astype(int),
        np.stack([X, Z], axis=1),
        (Z > X).astype(int),
        sure=np.abs(SIDE[:, None] - SIDE**2),
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "decision_boundary of many classes": lambda **w: show.decision_boundary(
        1e-7 * SIDE,
        SIDE,
        rng.integers(9, size=(25, 25)),
        np.stack([1e-7 * MANY_X, MANY_Z], axis=1),
        rng.integers(9, size=20_000),
        **w,
    ),
    "decision_boundary of a function": lambda **w: show.decision_boundary(
        None,
        None,
        lambda P: np.where(P[:, 1] > P[:, 0] ** 2, EVIL, WORSE),
        np.stack([X, Z], axis=1),
        np.where(Z > X, EVIL, WORSE),
        sure=lambda P: np.abs(P[:, 1] - P[:, 0] ** 2),
        **w,
    ),
    "decision_boundary of a ragged rule": lambda **w: show.decision_boundary(
        None, None, ragged, np.stack([MANY_X, MANY_Z], axis=1), rng.integers(9, size=20_000), **w
    ),
    "boundary_lines": lambda **w: show.boundary_lines(
        {EVIL: lambda P: P[:, 0] > P[:, 1], WORSE: lambda P: P[:, 0] > 0.0, LONG: ragged},
        np.stack([X, Z], axis=1),
        Z > X,
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "boundary_lines of one class": lambda **w: show.boundary_lines(
        {"all": lambda P: np.zeros(len(P))}, [[1e9, 1e-9]] * 3, [0, 0, 0], **w
    ),
    "class_ellipses": lambda **w: show.class_ellipses(
        np.stack([X, 1e-9 * Z], axis=1),
        (Z > X).astype(int),
        [[0.5, 0.0], [-0.5, 0.0]],
        np.diag([1.0, 1e-18]),
        levels=[0.99, 0.5, 0.9],
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "class_ellipses of many classes": lambda **w: show.class_ellipses(
        np.stack([MANY_X, MANY_Z], axis=1),
        rng.integers(9, size=20_000),
        rng.normal(size=(9, 2)),
        [np.diag([1.0 + k, 0.0]) for k in range(9)],
        **w,
    ),
    "leave_one_out_curve": lambda **w: show.leave_one_out_curve(
        np.arange(1, 8),
        1.0 - TEST.mean(1),
        standard_errors=np.full(7, 0.02),
        chosen=3,
        name=EVIL,
        error=LONG,
        share=True,
        **w,
    ),
    "leave_one_out_curve of many values": lambda **w: show.leave_one_out_curve(
        np.arange(1, 20_001),
        1e-9 * np.abs(np.cumsum(MANY_X)),
        standard_errors=1e-9 * np.abs(MANY_Z),
        **w,
    ),
    "leave_one_out_curve of one value": lambda **w: show.leave_one_out_curve([5], [0.0], **w),
    "local_average": lambda **w: show.local_average(
        X, Z, SIDE, np.sin(SIDE), np.where(np.abs(SIDE) < 0.3, np.inf, 0.1), names=[EVIL, LONG], **w
    ),
    "local_average of many rows": lambda **w: show.local_average(
        1e9 + MANY_X,
        1e-9 * MANY_Z,
        1e9 + np.linspace(-8.0, 8.0, 3000),
        1e-9 * np.sin(np.linspace(-8.0, 80.0, 3000)),
        np.full(3000, 1e-10),
        reach=0.1,
        **w,
    ),
    "local_average without a band": lambda **w: show.local_average([1.0], [2.0], [5.0], [2.0], **w),
    "elbow": lambda **w: show.elbow(
        [1, 2, 3, 4],
        [9.0, 3.0, 2.5, 2.2],
        bound=[9.0, 2.5, 1.0, 0.0],
        reference=[12.0, 8.0, 6.0, 5.0],
        chosen=2,
        **w,
    ),
    "elbow of one cluster": lambda **w: show.elbow([1], [1e-200], chosen=1, **w),
    "restarts": lambda **w: show.restarts([3.0, 2.0, 2.0], bound=1.2, **w),
    "restarts all alike": lambda **w: show.restarts(np.full(10, 1e-9), **w),
    "silhouettes": lambda **w: show.silhouettes(
        np.clip(MANY_X, -1.0, 1.0), rng.integers(9, size=20_000), labels=[EVIL] * 9, **w
    ),
    "silhouettes of few rows": lambda **w: show.silhouettes([0.5, -0.5, 1.0], [0, 2, 2], **w),
    "scree": lambda **w: show.scree(np.linspace(1.0, 0.0, 100), **w),
    "scree of one column": lambda **w: show.scree([2.0], **w),
    "embedding": lambda **w: show.embedding(
        np.stack([1e9 + MANY_X, 1e-9 * MANY_Z], axis=1),
        rng.integers(9, size=20_000),
        labels=[EVIL, WORSE, LONG, *range(6)],
        names=[EVIL, LONG],
        **w,
    ),
    "embedding without groups": lambda **w: show.embedding([[0.0, 0.0]] * 3, **w),
    "lloyd_iterations": lambda **w: show.lloyd_iterations(
        np.stack([X, Z], axis=1)[:60], PATHS[:2], CELLS[:2], names=[EVIL, LONG]
    ),
    "lloyd_iterations of many": lambda **w: show.lloyd_iterations(
        np.stack([MANY_X, MANY_Z], axis=1) * 1e-200,
        [1e-200 * C for C in PATHS],
        [[1e-200 * cell for cell in cells] for cells in CELLS],
        codes=rng.integers(9, size=20_000),
        labels=[EVIL, WORSE, LONG, *range(6)],
    ),
    "lloyd_iterations without cells": lambda **w: show.lloyd_iterations(
        [[1.0, 2.0]] * 3, [[[1.0, 2.0]]], steps=[7]
    ),
    "cluster_classes": lambda **w: show.cluster_classes(
        [0, 0, 1, 2, 2],
        [EVIL, EVIL, WORSE, LONG, EVIL],
        labels=[WORSE, EVIL, LONG],
        **w,
    ),
    "cluster_classes of many": lambda **w: show.cluster_classes(
        rng.integers(40, size=999), rng.integers(30, size=999), class_labels=[EVIL] * 30, **w
    ),
    "choice_of_k": lambda **w: show.choice_of_k(CHOICE, **w),
    "choice_of_k of many numbers": lambda **w: show.choice_of_k(
        ChoiceOfK(
            tuple(range(1, 400)), "gap", {"gap": np.full(399, 1e9)}, {}, None, 1, {}, 9, False
        ),
        **w,
    ),
    "dendrogram": lambda **w: show.dendrogram(
        [0, 1, 2], [9.0, 3.0, 4.0, 1.0, 1.0, 2.0, 0.0], [9, 5, 4, 2, 3, 1, 3], cut=3, **w
    ),
    "dendrogram of many clusters": lambda **w: show.dendrogram(
        np.arange(99), np.geomspace(1e9, 1.0, 199), np.arange(199), cut=40, **w
    ),
    "dendrogram of one cluster": lambda **w: show.dendrogram([], [0.0], [3.0], cut=1, **w),
    "mixture_ellipses": lambda **w: show.mixture_ellipses(
        np.stack([X, Z], axis=1)[:30],
        [0.2, 0.8],
        [[-1.0, 0.0], [1.0, 1.0]],
        [np.eye(2), [[1.0, 0.9], [0.9, 1.0]]],
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "mixture_ellipses of many": lambda **w: show.mixture_ellipses(
        1e-9 * np.stack([MANY_X, MANY_Z], axis=1),
        np.full(30, 1 / 30),
        1e-9 * rng.normal(size=(30, 2)),
        np.full(30, 1e-18),
        covariance_type="spherical",
        levels=[0.1, 0.5, 0.9, 0.99],
        labels=[EVIL] * 30,
        **w,
    ),
    "mixture_ellipses of one": lambda **w: show.mixture_ellipses(
        [[0.0, 0.0]], [1.0], [[0.0, 0.0]], np.eye(2), covariance_type="tied", **w
    ),
    "density_cells": lambda **w: show.density_cells(
        PATHS[0], CELLS[0], lambda x, y: np.exp(-x * x), history=HISTORY, names=[EVIL, LONG], **w
    ),
    "density_cells of an image": lambda **w: show.density_cells(
        FINE, voronoi_cells(FINE, (0, 1, 0, 1)), rng.random((99, 80)), **w
    ),
    "density_cells of many": lambda **w: show.density_cells(
        MANY_CENTRES, voronoi_cells(MANY_CENTRES, (0, 1e9, 0, 1e9)), rng.random((3, 2)), **w
    ),
    "objective": lambda **w: show.objective(HISTORY, **w),
    "objective of many steps": lambda **w: show.objective(
        [Certificate(1.0 + 0.99**t, 1.0 - 0.99**t, steps=t) for t in range(3000)], **w
    ),
    "validation_curve": lambda **w: show.validation_curve(
        VALIDATION, simplest="first", score=EVIL, **w
    ),
    "validation_curve of names": lambda **w: show.validation_curve(
        tuned(EVIL, [EVIL, WORSE, None, True, 1, LONG, ("a", 2)]), chosen=None, **w
    ),
    "learning_curve": lambda **w: show.learning_curve(LEARNING, score=EVIL, **w),
    "regularisation_path": lambda **w: show.regularisation_path(
        STRENGTHS,
        PATH,
        names=[EVIL, WORSE, *range(7)],
        chosen=0.1,
        strength=EVIL,
        **w,
    ),
    "regularisation_path of many": lambda **w: show.regularisation_path(
        np.geomspace(1e-3, 1.0, 100), np.cumsum(rng.normal(size=(100, 500)), axis=0), **w
    ),
    "coefficients": lambda **w: show.coefficients(
        [EVIL, WORSE, EVIL, LONG], [1.0, -2.0, 0.5, 0.1], what=EVIL, **w
    ),
    "coefficients with intervals": lambda **w: show.coefficients(
        [f"{EVIL} {i}" for i in range(99)],
        np.linspace(-2.0, 5.0, 99),
        intervals=(np.linspace(-3.0, 4.0, 99), np.linspace(-1.0, 6.0, 99)),
        **w,
    ),
    "predicted_observed": lambda **w: show.predicted_observed(Z, X, **w),
    "predicted_observed of 2000 rows": lambda **w: show.predicted_observed(
        MANY_Z[:2000] * 1e-7, MANY_X[:2000] * 1e-7, **w
    ),
    "predicted_observed of many rows": lambda **w: show.predicted_observed(MANY_Z, MANY_X, **w),
    "residuals": lambda **w: show.residuals(Z, X, **w),
    "residuals of many rows": lambda **w: show.residuals(MANY_Z, MANY_X, **w),
    "residuals of none": lambda **w: show.residuals([3.0, 3.0], [3.0, 3.0], **w),
    "quantile_plot": lambda **w: show.quantile_plot(Z, X, **w),
    "quantile_plot of many rows": lambda **w: show.quantile_plot(MANY_Z, MANY_X, **w),
    "leverage": lambda **w: show.leverage(np.abs(X) / 300.0, Z, columns=3, **w),
    "fold_scores": lambda **w: show.fold_scores(
        {EVIL: TEST[3], WORSE: TEST[4]}, means={EVIL: MEAN}, score=EVIL, **w
    ),
    "comparison": lambda **w: show.comparison(
        {EVIL: MEAN, WORSE: 0.5}, baseline=WORSE, score=EVIL, **w
    ),
    "column_histograms": lambda **w: show.column_histograms(
        {EVIL: ([5, 3, 0], [EVIL, WORSE, LONG]), WORSE: ([1, 2], [0.0, 1e-9, 3.5])}
    ),
    "column_histograms of many": lambda **w: show.column_histograms(
        {f"{EVIL} {i}": (rng.integers(1, 10**6, 30), np.linspace(-1e5, 1e5, 31)) for i in range(99)}
    ),
    "class_histograms": lambda **w: show.class_histograms(
        {EVIL: [5, 3, 0, 9], WORSE: [0, 7, 7, 1]}, [0.0, 1.0, 2.0, 3.0, 4.0], column=LONG, **w
    ),
    "class_histograms of many classes": lambda **w: show.class_histograms(
        {f"{EVIL} {i}": rng.integers(0, 99, 300) for i in range(9)},
        np.geomspace(1e-9, 1e-3, 301),
        **w,
    ),
    "class_histograms of levels": lambda **w: show.class_histograms(
        {EVIL: np.arange(30), WORSE: np.ones(30)}, [f"{EVIL} {i}" for i in range(30)], **w
    ),
    "correlation_heatmap": lambda **w: show.correlation_heatmap(
        CORRELATION[:6, :6], [EVIL, WORSE, LONG, 3, 4, 5], **w
    ),
    "correlation_heatmap of many": lambda **w: show.correlation_heatmap(
        CORRELATION, [f"{EVIL} {i}" for i in range(60)], **w
    ),
    "correlation_heatmap of one": lambda **w: show.correlation_heatmap([[1.0]], **w),
    "drift": lambda **w: show.drift([EVIL, WORSE, LONG], [0.4, 0.01, 0.15], **w),
    "drift of many": lambda **w: show.drift(range(99), np.linspace(0.0, 3.0, 99), **w),
    "importance": lambda **w: show.importance(
        [EVIL, WORSE, LONG], [0.3, -0.01, 0.1], ([0.2, -0.03, 0.05], [0.4, 0.01, 0.2]), **w
    ),
    "importance of many": lambda **w: show.importance(
        range(99), np.linspace(-1e-6, 1e-4, 99), what=EVIL, **w
    ),
    "surrogates": lambda **w: show.surrogates(**w),
    "surrogates that are given": lambda **w: show.surrogates(
        {EVIL: Hinge(), WORSE: Logistic()}, **w
    ),
    "level_lines": lambda **w: show.level_lines(H, path=WALK, **w),
    "eigen_errors": lambda **w: show.eigen_errors(convergence_profile(H, 0.5), WALK, **w),
}
