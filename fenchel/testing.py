"""The laws of the library as functions: what every loss, penalty and solver must satisfy.

A law raises an AssertionError that names the law, the object that breaks it and the point where.
The laws hold for the losses of this library and for yours.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from fenchel.convex.laws import (
    loss as loss_laws,
)
from fenchel.convex.laws import (
    penalty as penalty_laws,
)
from fenchel.convex.laws import (
    problem as problem_laws,
)
from fenchel.convex.laws.run import check_laws
from fenchel.convex.loss.base import Loss
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import Penalty
from fenchel.convex.problem import Problem
from fenchel.data.laws import check_blocks, check_statistic
from fenchel.data.strings import string_column
from fenchel.geometry.kernel import laws as kernel_laws
from fenchel.geometry.kernel.kernel_function import KernelFunction
from fenchel.solve.laws import closes_or_refuses
from fenchel.solve.solver import Solver

__all__ = [
    "check_blocks",
    "check_certificate",
    "check_kernel",
    "check_loss",
    "check_penalty",
    "check_solver",
    "check_statistic",
]


def check_loss(loss: Loss, *, reach: float | None = None, seed: int = 0) -> None:
    """Check that a loss is convex, and that its derivatives and its conjugate belong to it.

    Fenchel-Young inequality at random points and equality at gradients; the conjugate against a
    brute-force supremum and infinite outside its domain; gradient and curvature against finite
    differences; the smoothness; gradients inside the domain; centring, at once and by blocks;
    float32 against float64 and, where torch is installed, torch against numpy.

    Parameters
    ----------
    loss : Loss
        A `Margin` is given targets ±1, `Multinomial` codes, any other loss real targets.
    reach : float, optional
        The largest score at which value and derivatives must be finite: 1e4, and 1e2 for
        `Exponential`, whose values leave the floating-point range soon after.
    seed : int, default 0
        Seed of the random points.

    Raises
    ------
    AssertionError
        With the law, the loss and the first point at which the law fails.

    Examples
    --------
    >>> from fenchel.convex.loss.distance import Huber
    >>> from fenchel.testing import check_loss
    >>> check_loss(Huber(eps=0.5))
    """
    if reach is None:
        reach = 1e2 if loss.is_exponential else 1e4
    check_laws(loss, loss_laws.LAWS, reach, seed=seed)
    for kin in _kins():
        check_laws(loss, (loss_laws.kin,), *kin, seed=seed)


def check_penalty(penalty: Penalty, *, seed: int = 0) -> None:
    """Check that a penalty is convex, and that its conjugate and its prox belong to it.

    Fenchel-Young inequality, and equality where the prox attains it; the conjugate against a
    brute-force supremum; `shrink` exact; the prox against perturbations and against brute force;
    float32 and, where torch is installed, torch against numpy.

    Parameters
    ----------
    penalty : Penalty
        The penalty, in the Euclidean inner product.
    seed : int, default 0
        Seed of the random points.

    Raises
    ------
    AssertionError
        With the law, the penalty and the point at which the law fails.

    Examples
    --------
    >>> from fenchel.convex.penalty import ElasticNet
    >>> from fenchel.testing import check_penalty
    >>> check_penalty(ElasticNet(lam=0.3, l1_ratio=0.9))
    """
    check_laws(penalty, penalty_laws.LAWS, seed=seed)
    for kin in _kins():
        check_laws(penalty, (penalty_laws.kin,), *kin, seed=seed)


def check_certificate(problem: Problem, *, seed: int = 0) -> None:
    """Check that a problem's certificates are proofs.

    At points near and far no gap is negative, and no bound exceeds any value: that of the same
    point, of another, or of the best that proximal steps and a blind search find; at the optimum
    of a smooth loss value and bound meet; both follow from the definitions, written out in numpy.

    Parameters
    ----------
    problem : Problem
        A few dozen rows: the search evaluates the objective thousands of times.
    seed : int, default 0
        Seed of the random points.

    Raises
    ------
    AssertionError
        With the law, the problem and the numbers that break it.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import L2, Logistic, MatrixDesign, Problem, as_blocks
    >>> from fenchel.testing import check_certificate
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), np.array([-1.0, 1.0, 1.0])
    >>> check_certificate(Problem(Logistic(), L2(0.1), MatrixDesign(as_blocks(X, y))))
    """
    optimum = cache(lambda: problem_laws.descent(problem))
    check_laws(problem, problem_laws.LAWS, optimum, seed=seed)


def check_solver(
    solver: Solver,
    problems: Iterable[Objective[Any]],
    *,
    tol: float = 1e-6,
    max_steps: int = 2000,
    seed: int = 0,
) -> None:
    """Check that a solver closes the certificate of every problem that it does not refuse.

    A refusal is one sentence that says what the solver needs and what would work; the solver that
    it names takes the problem. A certificate that closes is no estimate, its value is that of the
    point, which lies in the domain, and no other point lies below its bound.

    Parameters
    ----------
    solver : Solver
    problems : iterable of Objective
        Of a few dozen rows, such as the product of all losses, penalties and kinds of rows.
    tol : float, default 1e-6
        The relative gap to reach.
    max_steps : int, default 2000
    seed : int, default 0
        Seed of the points that the bound is held against.

    Raises
    ------
    AssertionError
        With the law, the solver and the problem that breaks it.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import L1, L2, Logistic, MatrixDesign, Newton, Problem, as_blocks
    >>> from fenchel.testing import check_solver
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), np.array([-1.0, 1.0, 1.0])
    >>> design = MatrixDesign(as_blocks(X, y))
    >>> check_solver(Newton(), [Problem(Logistic(), p, design) for p in (L2(0.1), L1(0.1))])
    """
    for problem in problems:
        check_laws(solver, (_closing(problem, tol, max_steps),), seed=seed)


def _closing(problem: Objective[Any], tol: float, max_steps: int) -> Callable[..., None]:
    def closes(solver: Solver, rng: np.random.Generator) -> None:
        closes_or_refuses(solver, problem, tol, max_steps, rng)

    return closes


def check_kernel(kernel: KernelFunction, *, rows: Any = None, seed: int = 0) -> None:
    """Check that a kernel is symmetric, consistent and, where it says so, positive semi-definite.

    Symmetry; the diagonal; tiles equal to parts of the whole, of prepared rows too; the Gram matrix
    and the products that are made by tiles; no eigenvalue below -16 n ε times the trace, where
    `is_psd`.

    Parameters
    ----------
    kernel : KernelFunction
        One of `fenchel.kernels`, or of your own.
    rows : optional
        A few dozen of what the kernel takes, an array or a list of strings; by default random rows
        of 1, 3, 30 and 40 numbers, or random strings of two, four and more characters.
    seed : int, default 0
        Seed of the random rows.

    Raises
    ------
    AssertionError
        With the kernel and the law that it breaks.

    Examples
    --------
    >>> from fenchel.geometry.kernel.vector_kernels import Gaussian, Polynomial
    >>> from fenchel.testing import check_kernel
    >>> check_kernel(Gaussian(0.5) + 0.1 * Polynomial(3))
    """
    rng = np.random.default_rng(seed)
    if rows is not None:
        tables = [string_column(rows) if kernel.of_strings else rows]
    elif kernel.of_strings:
        tables = kernel_laws.sample_strings(rng)
    else:
        tables = kernel_laws.sample_rows(rng)
    for table in tables:
        kernel_laws.check(kernel, table, rng)


def _kins() -> Iterator[tuple[str, Callable[[Any], Any], type[np.floating[Any]]]]:
    """Libraries and floating types: a name, a function that makes the arrays, the type."""
    libraries: list[tuple[str, Callable[[Any], Any]]] = [("numpy", np.asarray)]
    if importlib.util.find_spec("torch") is not None:
        import torch

        libraries.append(("torch", torch.asarray))
    for name, make in libraries:
        yield name, make, np.float64
        yield name, make, np.float32
