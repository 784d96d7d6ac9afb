"""The models of each task, as plain lists: a new model joins by one line.

    for entry in MODELS[task.kind]:                  # compared with each other and the BASELINES
        select(entry.make(), entry.grid_for(y), X, y, scoring=SCORING[task.kind])

Columns are expected as `ValueEncoder` makes them, scaled. Every grid begins with its simplest model
and walks along its last parameter. Building an entry imports nothing; `make` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any

from fenchel.app.errors import BadUsage
from fenchel.app.suggest import nearest

Grid = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model by its name, how it is made, the values to try, and what it is in words."""

    name: str
    make: Callable[[], Any]
    grid: Grid  # for a number to predict, that of a target with deviation 1
    words: str
    scaled: Callable[[Grid, float], Grid] | None = None  # to a target with another deviation
    tall: bool = False  # compared only where there are three rows to a column
    tall_classes: bool = False  # the same of every class
    most_rows: int | None = None  # compared only up to as many: its fit takes longer than n d
    squares: bool = False  # it takes n d min(n, d) products, and is compared while these are few

    def grid_for(self, y: Any) -> Grid:
        """The values to try for this target: a penalty of y's units grows and shrinks with them."""
        if self.scaled is None:
            return dict(self.grid)
        import numpy as np

        deviation = float(np.std(np.asarray(y, dtype=np.float64)))
        return self.scaled(self.grid, deviation or 1.0)

    def left_out(self, rows: float, rarest: float, columns: int) -> str:
        """Why a comparison does without the model where fits have so many rows, as many of the
        rarest class, or nothing."""
        if self.tall and rows < 3 * columns:
            return "too few rows for so many columns"
        if self.tall_classes and rarest < 3 * columns:
            return "too few rows of the rarest class for so many columns"
        if self.most_rows is not None and rows > self.most_rows:
            return f"its fits take long beyond {self.most_rows:,} rows: name it to have it"
        if self.squares and rows * columns * min(rows, columns) > _PRODUCTS:
            return "its fits take long with so many columns: name it to have it"
        return ""


def _of(home: str, name: str, **parameters: Any) -> Callable[[], Any]:
    """The class of that name with those parameters, imported when it is made."""

    def make() -> Any:
        return getattr(import_module(home), name)(**parameters)

    return make


def _as_target(grid: Grid, deviation: float) -> Grid:
    """Square loss against |w|₁: the penalty's strength has the units of the target."""
    return {**grid, "alpha": [alpha * deviation for alpha in grid["alpha"]]}


def _against_target(grid: Grid, deviation: float) -> Grid:
    """A loss in the target's units against |w|²: the penalty's strength has their inverse."""
    return {**grid, "alpha": [alpha / deviation for alpha in grid["alpha"]]}


def _mixed(grid: Grid, deviation: float) -> Grid:
    """α(ρ|w|₁ + (1 - ρ)|w|²/2): the first part follows the target's units, the second does not."""
    (ratio,) = grid["l1_ratio"]
    total = ratio * deviation + 1.0 - ratio
    alphas = [alpha * total for alpha in grid["alpha"]]
    return {"l1_ratio": [ratio * deviation / total], "alpha": alphas}


def _tube(grid: Grid, deviation: float) -> Grid:
    """A loss in the target's units against a norm of the function, which is in them too; the width
    of the tube is one of the target."""
    return {name: [value * deviation for value in values] for name, values in grid.items()}


def _strengths(*values: float) -> dict[str, list[float]]:
    return {"C": list(values)}


_MODELS = "fenchel.models"
_LOGISTIC = _MODELS, "LogisticRegression"
_SVM = _MODELS, "LinearSVC"
_C = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
# Rows of a fit beyond which a model is left out of comparisons, so that none adds more than some
# ten seconds on two cores. A kernel machine with a grid of four is fitted 65 times: 0.02 s each
# with 1,000 rows, 0.1 s with 2,000, growing with the square or cube of the rows.
_KERNEL_ROWS = 2000
# Without a grid a model is fitted five times. All pairs of 15,000 rows take 1.2 s; those of 4,000
# with 30 bandwidths each, an exponential for every one, 1.3 s.
_NEIGHBOUR_ROWS = 15_000
_SMOOTHED_ROWS = 4000
# Sums of squares of the columns: 65 times 0.1 s.
_PRODUCTS = 1e9
_FACTOR_ROWS = 1000  # a factor grows with their cube: a fit takes 0.05 s, of 2,000 rows 0.4 s

_CLASSIFIERS = (
    Candidate("logistic", _of(*_LOGISTIC), _strengths(*_C), "logistic regression, L2 penalty"),
    Candidate(
        "logistic-l1",
        _of(*_LOGISTIC, l1_ratio=1.0),
        _strengths(*_C[1:]),
        "logistic regression, L1 penalty: leaves out columns",
    ),
    Candidate(
        "svm",
        _of(*_SVM, loss="hinge"),
        _strengths(*_C[:-1]),
        "linear support vector machine, hinge loss",
    ),
    Candidate(
        "svm-squared",
        _of(*_SVM),
        _strengths(*_C[:-1]),
        "linear support vector machine, squared hinge loss",
    ),
    Candidate(
        "lda",
        _of(_MODELS, "LinearDiscriminantAnalysis"),
        {},
        "linear discriminant analysis",
        tall=True,
        squares=True,
    ),
    Candidate(
        "fisher",
        _of(_MODELS, "FisherDiscriminant"),
        {"ridge": [1.0, 0.3, 0.1, 0.03, 0.01]},
        "Fisher's discriminant with a ridge",
        squares=True,
    ),
    Candidate(
        "rda",
        _of(_MODELS, "RegularizedDiscriminantAnalysis", gamma=0.1),
        {"lam": [1.0, 0.75, 0.5, 0.25, 0.0]},
        "discriminant analysis between linear and quadratic",
        tall=True,
        squares=True,
    ),
    Candidate(
        "qda",
        _of(_MODELS, "QuadraticDiscriminantAnalysis"),
        {"reg_param": [0.5, 0.1, 0.01]},
        "quadratic discriminant analysis",
        tall_classes=True,
        squares=True,
    ),
    Candidate(
        "knn",
        _of(_MODELS, "KNeighborsClassifier", n_neighbors="auto"),
        {},
        "nearest neighbours, as many as leave-one-out says",
        most_rows=_NEIGHBOUR_ROWS,
    ),
    Candidate(
        "nadaraya-watson",
        _of(_MODELS, "NadarayaWatsonClassifier"),
        {},
        "Nadaraya-Watson: shares of the classes nearby, bandwidth by leave-one-out",
        most_rows=_SMOOTHED_ROWS,
    ),
    Candidate(
        "svm-rbf",
        _of(_MODELS, "SVC"),
        _strengths(0.1, 1.0, 10.0, 100.0),
        "support vector machine, Gaussian kernel",
        most_rows=_KERNEL_ROWS,
    ),
    Candidate(
        "kernel-logistic",
        _of(_MODELS, "KernelLogisticRegression"),
        _strengths(0.1, 1.0, 10.0, 100.0),
        "logistic regression, Gaussian kernel",
        most_rows=_FACTOR_ROWS,
    ),
)

MODELS: dict[str, tuple[Candidate, ...]] = {
    "two classes": _CLASSIFIERS,
    "several classes": _CLASSIFIERS,
    "number": (
        Candidate("least-squares", _of(_MODELS, "LinearRegression"), {}, "least squares"),
        Candidate(
            "ridge",
            _of(_MODELS, "Ridge"),
            {"alpha": [10_000.0, 1000.0, 100.0, 10.0, 1.0, 0.1, 0.01]},
            "least squares, L2 penalty",
        ),
        Candidate(
            "lasso",
            _of(_MODELS, "Lasso"),
            {"alpha": [0.3, 0.1, 0.03, 0.01, 0.003, 0.001]},
            "least squares, L1 penalty: leaves out columns",
            _as_target,
        ),
        Candidate(
            "elastic-net",
            _of(_MODELS, "ElasticNet"),
            {"l1_ratio": [0.5], "alpha": [0.3, 0.1, 0.03, 0.01, 0.003, 0.001]},
            "least squares, L1 and L2 penalty",
            _mixed,
        ),
        Candidate(
            "huber",
            _of(_MODELS, "HuberRegressor"),
            {"alpha": [1000.0, 100.0, 10.0, 1.0, 0.1]},
            "Huber's loss, L2 penalty: outliers weigh less",
            _against_target,
            tall=True,
        ),
        Candidate(
            "median",
            _of(_MODELS, "QuantileRegressor", quantile=0.5),
            {"alpha": [0.1, 0.03, 0.01, 0.003, 0.001]},
            "median regression, L1 penalty: outliers weigh little",
            tall=True,
        ),
        Candidate(
            "knn",
            _of(_MODELS, "KNeighborsRegressor", n_neighbors="auto"),
            {},
            "mean of the nearest neighbours, as many as leave-one-out says",
            most_rows=_NEIGHBOUR_ROWS,
        ),
        Candidate(
            "nadaraya-watson",
            _of(_MODELS, "NadarayaWatson"),
            {},
            "Nadaraya-Watson: average of the rows nearby, bandwidth by leave-one-out",
            most_rows=_SMOOTHED_ROWS,
        ),
        Candidate(
            "svr-rbf",
            _of(_MODELS, "SVR"),
            {"epsilon": [0.1], "C": [0.1, 1.0, 10.0]},
            "support vector regression, Gaussian kernel",
            _tube,
            most_rows=_KERNEL_ROWS,
        ),
    ),
    "none": (),
}

# Models that `fit` takes besides, and that no comparison runs.
MORE: dict[str, tuple[Candidate, ...]] = {
    **dict.fromkeys(
        ("two classes", "several classes"),
        (
            Candidate(
                "erm",
                _of(_MODELS, "ERMClassifier"),
                {"lam": [1.0, 0.1, 0.01, 0.001, 0.0001]},
                "any margin loss with any penalty",
            ),
            Candidate(
                "perceptron",
                _of(_MODELS, "Perceptron"),
                {},
                "the perceptron, with a proof of separation or that there is none",
            ),
            Candidate("adaline", _of(_MODELS, "Adaline"), {}, "square loss learnt row by row"),
        ),
    ),
    "number": (
        Candidate(
            "quantile",
            _of(_MODELS, "QuantileRegressor"),
            {"alpha": [0.1, 0.03, 0.01, 0.003, 0.001]},
            "quantile regression, L1 penalty",
        ),
        Candidate(
            "lad",
            _of(_MODELS, "LeastAbsoluteDeviations"),
            {"alpha": [1.0, 0.1, 0.01, 0.001]},
            "least absolute deviations, L2 penalty",
            _against_target,
        ),
        Candidate(
            "svr",
            _of(_MODELS, "LinearSVR"),
            {"C": [0.001, 0.01, 0.1, 1.0, 10.0]},
            "linear support vector regression",
            lambda grid, deviation: {"C": [C * deviation for C in grid["C"]]},
        ),
        Candidate(
            "local-linear",
            _of(_MODELS, "NadarayaWatson", local_linear=True),
            {},
            "local lines, bandwidth by leave-one-out",
        ),
        Candidate(
            "kernel-ridge",
            _of(_MODELS, "KernelRidge", kernel="rbf"),
            {"alpha": [10.0, 1.0, 0.1, 0.01, 0.001]},
            "kernel ridge regression, Gaussian kernel, without an intercept",
        ),
        Candidate(
            "erm",
            _of(_MODELS, "ERMRegressor"),
            {"lam": [1.0, 0.1, 0.01, 0.001, 0.0001]},
            "any loss of the residual with any penalty",
        ),
    ),
    "none": (),
}

# What is tried on a table without a target: clusterers that `predict`, with 1, 2, … clusters from
# several starts (`n_init`, `random_state`), and maps that `transform`, into 1, 2, … dimensions.
CLUSTERS: tuple[Candidate, ...] = (
    Candidate(
        "k-means",
        _of(_MODELS, "KMeans", n_init=4, prove=False),
        {"n_clusters": list(range(1, 11))},
        "k-means",
    ),
)
EMBEDDINGS: tuple[Candidate, ...] = (
    Candidate(
        "principal-components",
        _of(_MODELS, "PCA"),
        {"n_components": list(range(1, 6))},
        "principal components",
    ),
)

_CONSTANT = _of("sklearn.dummy", "DummyClassifier", strategy="prior")
BASELINES: dict[str, Candidate] = {
    "two classes": Candidate("baseline", _CONSTANT, {}, "always the most frequent class"),
    "several classes": Candidate("baseline", _CONSTANT, {}, "always the most frequent class"),
    "number": Candidate(
        "baseline", _of("sklearn.dummy", "DummyRegressor", strategy="mean"), {}, "always the mean"
    ),
}

# What `fit` takes where no model is named.
DEFAULTS = {"two classes": "logistic", "several classes": "logistic", "number": "ridge"}

# What models are compared by: a name of `fenchel.scorer`, greater is better.
SCORING = {"two classes": "auc", "several classes": "accuracy", "number": "r2"}


def entry_named(kind: str, name: str) -> Candidate:
    """The model of that name for a task; BadUsage names those there are."""
    known = {entry.name: entry for entry in (*MODELS[kind], *MORE[kind])}
    if name in known:
        return known[name]
    if not known:
        raise BadUsage("there is no target, and every model needs one: name its column by --target")
    elsewhere = [
        task for task in MODELS if any(e.name == name for e in (*MODELS[task], *MORE[task]))
    ]
    hint = nearest(name, known, "choose one of")
    what = {"number": "a number"}.get(kind, kind)
    why = f"{name} does not predict {what}" if elsewhere else f"no model is called {name!r}"
    raise BadUsage(f"{why}: {hint}")


def chosen_parameters(
    parameters: Mapping[str, Any], attributes: Mapping[str, Any]
) -> dict[str, Any]:
    """What a fit has chosen in the place of a parameter, such as 17 neighbours for "auto"."""
    found = {}
    for name in sorted(parameters):
        value = attributes.get(f"{name}_")
        if isinstance(value, bool) or not isinstance(value, Real) or value == parameters[name]:
            continue
        found[name] = int(value) if isinstance(value, Integral) else float(value)
    return found
