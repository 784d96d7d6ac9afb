"""Every solver closes, or refuses in one sentence, every loss under every penalty on all rows."""

from __future__ import annotations

import pytest
from solve.cases import LOSSES, PENALTIES, ROWS, SOLVERS, problem_of

from fenchel.solve.select import select
from fenchel.testing import check_solver


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_what_is_chosen_closes(loss, rows) -> None:
    for penalty in PENALTIES:
        problem = problem_of(loss, penalty, rows)
        check_solver(select(problem, 1e-6), [problem])


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_solver_closes_or_refuses(loss, solver) -> None:
    check_solver(solver, (problem_of(loss, p, rows) for p in PENALTIES for rows in ROWS))
