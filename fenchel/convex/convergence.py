"""Warnings of a fit whose certificate did not close; in a module of their own because the class
that they extend, scikit-learn's ConvergenceWarning, takes long to import."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class NotCertified(ConvergenceWarning):
    """The fit stopped before its certificate closed; the message says what was reached.

    A ConvergenceWarning of scikit-learn, so that filters and tests written for it apply.
    """


class DependentColumns(NotCertified):
    """Columns depend on others up to rounding alone: the fit is an optimum over the directions that
    float64 tells apart, and its certificate that of no more."""
