"""A fit as it goes: its gap in the terminal, and scikit-learn's callbacks around its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from sklearn.callback import CallbackContext, CallbackSupportMixin

from fenchel.convex.certificate import Certificate
from fenchel.data.design.matrix import Point
from fenchel.data.display.progress_bar import bar

Show = Callable[[int, Any, Certificate], None]


def _quiet(step: int, point: Any, certificate: Certificate) -> None:
    pass


@contextmanager
def watch(verbose: int | bool, tol: float) -> Iterator[Show]:
    """A callback that shows the gap on its way down to tol; silent unless verbose."""
    if not verbose:
        yield _quiet
        return
    with bar(True, "fitting") as advance:

        def show(step: int, point: Any, certificate: Certificate) -> None:
            proved = "estimated" if certificate.kind == "estimate" else "proved"
            gap = max(certificate.relative_gap, 1e-300)
            done = math.log(min(gap, 1.0)) / math.log(max(min(tol, 0.1), 1e-300))
            text = f"step {step}: objective {certificate.value:.6g}, {proved} gap {gap:.1e}"
            advance(done, text)

        yield show


class Callbacks(list[Any]):
    """Callbacks that are written by their classes: a note in a model file holds no address."""

    def __repr__(self) -> str:
        return f"[{', '.join(type(one).__name__ for one in self)}]"


class StepCallbacks(CallbackSupportMixin):
    """An estimator whose solver's steps scikit-learn's callbacks may follow and stop."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn's callbacks, in place of those before; without any, none."""
        super().set_callbacks(*callbacks)
        if callbacks:
            self._skl_callbacks = Callbacks(callbacks)
        return self


class StepTasks:
    """One task for each step: its callbacks see a model that is fitted as far as the steps went.

    Whether there is a next step is known only after it, so that the last task is an empty one, as
    with scikit-learn's L-BFGS.

    attributes: from a point to the fitted attributes that make the estimator predict.
    """

    def __init__(
        self,
        estimator: Any,
        data: dict[str, Any],
        most: int,
        attributes: Callable[[Point], dict[str, Any]],
    ) -> None:
        self.estimator, self.data, self.attributes = estimator, data, attributes
        self.root: CallbackContext = estimator._init_callback_context(max_subtasks=max(most, 1) + 1)
        self.task: CallbackContext | None = None
        self.root.call_on_fit_task_begin(estimator=estimator, **data)

    def step(self, point: Point) -> bool:
        """End the task that led to the point, begin the next; whether a callback asks to stop."""
        fitted = {"reconstruction_attributes": lambda: self.attributes(point)}
        stop = False
        if self.task is not None:
            end = self.task.call_on_fit_task_end
            stop = bool(end(estimator=self.estimator, **self.data, **fitted))
        self.task = self.root.subcontext(task_name="solver-iter")
        self.task.call_on_fit_task_begin(estimator=self.estimator, **self.data, **fitted)
        return stop

    def close(self) -> None:
        """End the empty task and the whole fit."""
        if self.task is not None:
            self.task.call_on_fit_task_end(estimator=self.estimator)
        self.root.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes={}
        )
