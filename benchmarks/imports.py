"""What importing costs, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np

from .data import Table
from .gap import Verdict
from .machine import Work
from .protocol import Contender, Workload

STATEMENTS = {
    "python alone": "",
    "numpy": "import numpy",
    "scikit-learn base": "import sklearn.base",
    "scikit-learn estimator": "from sklearn.linear_model import LogisticRegression",
    "fenchel": "import fenchel",
    "fenchel estimator": "from fenchel import LogisticRegression",
}


def contender(name: str, statement: str) -> Contender:
    def prepare(_: Table) -> Callable[[float], None]:
        def fit(_: float) -> None:
            done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True)
            if done.returncode:
                raise ImportError(done.stderr.strip().splitlines()[-1])

        return fit

    return Contender(
        name,
        prepare,
        read=lambda model: model,
        ladder=(0.0,),
        ours=name.startswith("fenchel"),
        yardstick=name in {"python alone", "numpy"},
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
            note="Nothing is fitted. Each time includes the start of Python: subtract its row.",
        )
    ]
