"""How many components or clusters: held-out likelihood, BIC, penalty, silhouette, gap statistic."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from fenchel.data.blocks import Blocks

MOST = 10  # components that "auto" tries


def likely_components(model: Any, blocks: Blocks, rows: int) -> int:
    """The number of components, from 1 to 10, of the least BIC."""
    values = []
    for k in range(1, min(MOST, rows) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            values.append(clone(model).set_params(n_components=k).fit(blocks).bic(blocks))
    return int(np.argmin(values)) + 1
