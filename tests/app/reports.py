"""Reports that several tests look at, each built once."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
from sklearn.datasets import load_diabetes, load_wine

from fenchel.app.report.build import Options, Report, build
from fenchel.app.table.files.table_reader import TableSource, bundled

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'


def source(frame: pl.DataFrame, name: str = "table.csv") -> TableSource:
    return TableSource(frame, name, "CSV", "0" * 64)


@cache
def cancer() -> Report:
    """Two classes, numbers only."""
    return build(bundled(), Options(command="fenchel report"))


@cache
def wine() -> Report:
    """Three classes, one model."""
    data = load_wine()
    frame = pl.DataFrame(data.data, schema=list(data.feature_names))
    names = [str(data.target_names[code]) for code in data.target]
    frame = frame.with_columns(pl.Series("cultivar", names))
    return build(source(frame), Options(target="cultivar", models=("logistic",), challenger=False))


@cache
def bottles() -> Report:
    """The same table without its classes."""
    data = load_wine()
    return build(source(pl.DataFrame(data.data, schema=list(data.feature_names))), Options())


@cache
def diabetes() -> Report:
    """A number, two models."""
    data = load_diabetes(scaled=False)
    frame = pl.DataFrame(data.data, schema=list(data.feature_names))
    frame = frame.with_columns(pl.Series("progression", data.target))
    return build(
        source(frame), Options(target="progression", models=("ridge", "lasso"), challenger=False)
    )


@cache
def loose() -> Report:
    """No target, two clusters."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=80) + np.tile([0.0, 9.0], 40)
    frame = pl.DataFrame({"a": a, "b": a + rng.normal(size=80), SCRIPT: ["x", "z"] * 40})
    return build(source(frame, IMAGE), Options())


def hostile_frame(rows: int = 200) -> pl.DataFrame:
    """Names, levels and classes that would like to be HTML, and columns with every fault."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    y = x[:, 0] + rng.normal(size=rows) > 0
    return pl.DataFrame(
        {
            SCRIPT: x[:, 0],
            IMAGE: rng.choice(["<b>bold</b>", "</script>", "</style>", "-->", "'\"&"], rows),
            "a & b": x[:, 1],
            "person": [f"secret person {k}" for k in range(rows)],
            "number of the row": np.arange(rows),
            "same": ["always"] * rows,
            "gaps": [None if k % 3 else float(k % 7) for k in range(rows)],
            "nothing": [None] * rows,
            "copy": x[:, 1],
            "leak": y + 0.001 * x[:, 2],
            "</td>": np.where(y, "<i>yes</i>", "</script><svg onload=alert(3)>"),
        }
    )


@cache
def hostile() -> Report:
    """Two classes out of that table."""
    options = Options(
        target="</td>", models=("logistic-l1", "svm"), command=SCRIPT, challenger=False
    )
    return build(source(hostile_frame(), IMAGE), options)
