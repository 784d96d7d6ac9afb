"""The bar: silent unless asked, lines without rich, the count of any number of jobs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fenchel import cross_validate, nested_cross_validate
from fenchel.score.validation.progress import counted


def rows(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + y[:, None], y


def test_silent_unless_asked(capsys):
    cross_validate(GaussianNB(), *rows())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_lines_without_rich(n_jobs, hide, capsys):
    if n_jobs == 1:
        hide("rich")
        cross_validate(GaussianNB(), *rows(), cv=3, progress=True)
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.splitlines() == ["folds: 1 of 3", "folds: 2 of 3", "folds: 3 of 3"]
    else:
        cross_validate(GaussianNB(), *rows(), cv=3, n_jobs=2, progress=True)
        assert "folds: 3 of 3" in capsys.readouterr().err


def test_a_bar_with_rich(capsys):
    grid = {"var_smoothing": [1e-9, 1e-3]}
    nested_cross_validate(GaussianNB(), grid, *rows(), inner=2, outer=3, progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert "paths: 6 of 6" in told.err and "outer folds: 3 of 3" in told.err


def test_no_news_is_not_told(hide, capsys):
    hide("rich")
    with counted(True, "fits", 4) as show:
        for done in (0, 1, 1, 3, 2, 4):
            show(done)
    assert capsys.readouterr().err.splitlines() == ["fits: 1 of 4", "fits: 3 of 4", "fits: 4 of 4"]
