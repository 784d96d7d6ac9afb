"""The linear least squares sets of the NIST Statistical Reference Datasets, from their text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "data_files" / "nist"
NAMES = ["Norris", "Pontius", "NoInt1", "NoInt2", "Filip", "Longley"]
NAMES += [f"Wampler{k}" for k in range(1, 6)]


@dataclass(frozen=True)
class Reference:
    X: np.ndarray  # the columns besides the constant
    y: np.ndarray
    constant: bool
    coef: np.ndarray  # certified, the constant first
    bse: np.ndarray
    scale: float
    r2: float


def read(name: str) -> Reference:
    lines = (FOLDER / f"{name}.dat").read_text("ascii").splitlines()
    head = "\n".join(lines[:12])

    def part(title: str) -> list[str]:
        first, last = re.search(rf"{title}\s+\(lines\s+(\d+) to\s+(\d+)\)", head).groups()
        return lines[int(first) - 1 : int(last)]

    certified = "\n".join(part("Certified Values"))
    pairs = re.findall(r"^ +B\d+ +(\S+) +(\S+) *$", certified, re.M)
    coef, bse = np.array(pairs, dtype=float).T
    table = np.array([row.split() for row in part("Data") if row.strip()], dtype=float)
    constant = not name.startswith("NoInt")
    y, X = table[:, 0], table[:, 1:]
    if X.shape[1] == 1 and len(coef) > 2:  # a polynomial in one variable
        X = X ** np.arange(1, len(coef))
    return Reference(
        X,
        y,
        constant,
        coef,
        bse,
        float(re.search(r"Residual\s+Standard Deviation +(\S+)", certified)[1]),
        float(re.search(r"R-Squared +(\S+)", certified)[1]),
    )


def digits(found, certified) -> float:
    """The least number of correct digits: log relative error, absolute where zero is certified."""
    found, certified = np.atleast_1d(found), np.atleast_1d(certified)
    error = np.abs(found - certified) / np.where(certified == 0.0, 1.0, np.abs(certified))
    return float(np.min(-np.log10(np.maximum(error, 1e-15))))
