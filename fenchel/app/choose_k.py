"""`fenchel.choose_k`: how many clusters or components a table has, by five criteria."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from fenchel.convex.partition.spectral_bounds import square_in_units
from fenchel.data.blocks import Block
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import as_blocks
from fenchel.models.cluster.centres import exponent_of, in_units
from fenchel.models.cluster.kmeans import KMeans
from fenchel.models.mixture.choose_k import (
    bic_values,
    clusterings,
    description_lengths,
    held_out,
    least_within_error,
    means_and_errors,
    rows_to_choose_on,
    weight_of,
)
from fenchel.models.mixture.gaussian import GaussianMixture
from fenchel.score.structure.choice_of_k import COLUMNS, METHODS, ChoiceOfK, Method
from fenchel.score.structure.gap_statistic import gap_statistic
from fenchel.score.structure.silhouettes import silhouette

STARTS = 4  # of k-means, for each number: a poor partition would speak against its number


def choose_k(
    X: Any,
    counts: Sequence[int] = tuple(range(1, 11)),
    method: Method = "likelihood",
    *,
    also: Sequence[Method] = (),
    estimator: Any = None,
    improve: bool = True,
    folds: int = 5,
    penalty: float | None = None,
    draws: int = 10,
    max_rows: int = 10_000,
    sample_weight: Any = None,
    random_state: int = 0,
) -> ChoiceOfK:
    """How many clusters or components: a table with a row for each number, and the chosen one.

    Parameters
    ----------
    X : array (n, d), CSR, dataframe, `scan`, dask or torch
    counts : increasing numbers
    method : the criterion that decides
        "likelihood": the mean log-likelihood of rows held out, of the mixture of Gaussian laws that
        k-means makes of the others; the least number within one standard error of the best.
        "bic": that mixture on all rows, -2 log-likelihood + p log n. "penalty": the scatter J of
        k-means, penalised: J + `penalty` k, or else nd/2 log(J/nd) + Σ nₖ log(n/nₖ) + p/2 log n,
        which tells each row by its label and a common variance. "silhouette": the mean silhouette,
        for 2 clusters or more. "gap": `gap_statistic`.
    also : further criteria, whose columns stand in the same table
    estimator : KMeans or GaussianMixture
        Cloned for each number; by default `KMeans(n_init=4)`.
    improve : bool
        Whether the mixture that k-means makes is improved by EM.
    folds : int
        Of the held-out likelihood.
    penalty : float, optional
        What one more cluster costs, in units of the scatter.
    draws : int
        Of the gap statistic.
    max_rows : int
        Evenly spaced rows of a larger table: silhouettes take the square of their number.
    sample_weight : array (n,), optional
    random_state : int

    Returns
    -------
    ChoiceOfK

    References
    ----------
    Smyth, Stat. Comput. 10 (2000). Schwarz, Ann. Stat. 6 (1978). Celeux and Govaert, Pattern
    Recognit. 28 (1995). Rousseeuw, J. Comput. Appl. Math. 20 (1987). Tibshirani, Walther and
    Hastie, J. R. Stat. Soc. B 63 (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import choose_k
    >>> X = load_iris().data[:, 2:]
    >>> found = choose_k(X, range(1, 7), also=("bic", "silhouette"))
    >>> found.k, found.values["silhouette"].round(2).tolist()
    (3, [nan, 0.77, 0.66, 0.61, 0.59, 0.58])
    """
    wanted = list(dict.fromkeys([method, *also]))
    tried = _checked(wanted, counts, folds, penalty, max_rows)
    given = as_blocks(X, weight=sample_weight)
    exponent = exponent_of(given)
    rows = rows_to_choose_on(in_units(given, exponent), max_rows)
    n, d = rows.n_rows, rows.n_cols
    if tried[-1] > n:
        raise ValueError(f"{tried[-1]} clusters need as many rows of weight, and there are {n}")
    model = _model(estimator, random_state)
    s = weight_of(rows)
    if "gap" in wanted and rows.whole.weight is not None and (s != s[0]).any():
        raise ValueError("the gap statistic takes no weights: repeat the rows, or choose another")
    values: dict[Method, Any] = {}
    errors: dict[Method, Any] = {}
    clear: dict[Method, tuple[int, bool]] = {}
    scatter = None
    shift = 2.0 * exponent * d * np.log(2.0)  # of -2 log p of a row, in the given units
    if "likelihood" in wanted:
        logs = held_out(model, rows, tried, folds, improve, random_state)
        means, errors["likelihood"] = means_and_errors(logs, s)
        values["likelihood"] = means - 0.5 * shift
        clear["likelihood"] = least_within_error(means, errors["likelihood"]), True
    if "bic" in wanted:
        values["bic"] = bic_values(model, rows, tried, improve) + shift * float(s.sum())
    if {"penalty", "silhouette"} & {*wanted}:
        labels, inner = clusterings(model, rows, tried)
        scatter = np.array([square_in_units(one, exponent) for one in inner])
        if "penalty" in wanted and penalty is not None:
            values["penalty"] = scatter + penalty * np.array(tried)
        elif "penalty" in wanted:
            values["penalty"] = description_lengths(inner, labels, s, d) + 0.5 * shift * s.sum()
        if "silhouette" in wanted:
            weight = rows.whole.weight
            values["silhouette"] = np.array(
                [silhouette(rows.whole.X, one, weight) if one.any() else np.nan for one in labels]
            )
    if "gap" in wanted:
        name = "n_components" if isinstance(model, GaussianMixture) else "n_clusters"
        plain = ArrayBlocks(Block(0, rows.whole.X))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of fewer different rows than clusters
            gap = gap_statistic(
                model, plain, tried, parameter=name, draws=draws, random_state=random_state
            )
        values["gap"], errors["gap"] = gap.gap, gap.error
        clear["gap"] = tried.index(gap.chosen), gap.is_clear
    for name in wanted:
        if name not in clear and (name == method or np.isfinite(values[name]).any()):
            clear[name] = _best(name, values[name]), True
    place, is_clear = clear[method]
    ended = place == len(tried) - 1 and len(tried) > 1
    return ChoiceOfK(
        counts=tried,
        method=method,
        values={name: values[name] for name in wanted},
        errors=errors,
        scatter=scatter,
        k=tried[place],
        choices={name: tried[clear[name][0]] for name in wanted if name in clear},
        rows=n,
        is_clear=is_clear and not ended,
    )


def _best(method: Method, values: Any) -> int:
    """The place of the best value; of equal ones the first."""
    if np.isnan(values).all():
        raise ValueError("silhouettes compare clusters: let counts hold a number of 2 or more")
    return int(np.nanargmax(values) if COLUMNS[method][1] else np.nanargmin(values))


def _model(estimator: Any, seed: int) -> Any:
    """What makes the clusters, without its proof, which nothing here asks for."""
    if estimator is None:
        return KMeans(n_init=STARTS, random_state=seed, prove=False)
    if isinstance(estimator, KMeans):
        return clone(estimator).set_params(prove=False)
    if isinstance(estimator, GaussianMixture):
        return estimator
    raise TypeError(
        f"estimator must be a KMeans or a GaussianMixture, got {type(estimator).__name__}: "
        "gap_statistic takes any clusterer"
    )


def _checked(
    wanted: Sequence[Any], counts: Any, folds: Any, penalty: Any, max_rows: Any
) -> tuple[int, ...]:
    """The numbers to try."""
    for name in wanted:
        if name not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {name!r}")
    tried = tuple(counts)
    whole = all(isinstance(k, Integral) and not isinstance(k, bool) for k in tried)
    if not tried or not whole or tried[0] < 1 or np.any(np.diff(tried) <= 0):
        raise ValueError(f"counts must be whole numbers that increase from 1 or more, got {tried}")
    if not isinstance(folds, Integral) or folds < 2:
        raise ValueError(f"folds must be a whole number, 2 or more, got {folds!r}")
    if penalty is not None and not 0.0 <= penalty < np.inf:
        raise ValueError(f"penalty must not be negative, got {penalty!r}")
    if not isinstance(max_rows, Integral) or max_rows < 2:
        raise ValueError(f"max_rows must be a whole number, 2 or more, got {max_rows!r}")
    return tuple(int(k) for k in tried)
