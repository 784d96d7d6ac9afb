"""What an import costs in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np

from .data import Table
from .gap import Verdict
from .machine import Work
from .protocol import Contender, Timed, Workload

STATEMENTS = {
    "numpy": "import numpy",
    "scikit-learn base": "import sklearn.base",
    "scikit-learn estimator": "from sklearn.linear_model import LogisticRegression",
    "fenchel": "import fenchel",
    "fenchel estimator": "from fenchel import LogisticRegression",
}


def contender(name: str, statement: str) -> Contender:
    script = f"from time import perf_counter as t; s = t()\n{statement}\nprint(t() - s)"

    def prepare(_: Table) -> Callable[[float], Timed]:
        def fit(_: float) -> Timed:
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip().splitlines()[-1])
            return Timed(float(done.stdout))

        return fit

    return Contender(
        name,
        prepare,
        read=lambda model: model,
        ladder=(0.0,),
        ours=name.startswith("fenchel"),
        yardstick=name == "numpy",
    )


def workloads(scale: str) -> list[Workload]:
    return [
        Workload(
            "import",
            0.0,
            lambda: Table(np.zeros((1, 1)), np.zeros(1)),
            lambda table, model: Verdict(1.0, 1.0),
            lambda table: Work(0.0, 0.0, "none"),
            tuple(contender(name, statement) for name, statement in STATEMENTS.items()),
            note="Nothing is fitted; the start of Python itself is not counted.",
        )
    ]
