"""Neighbours and local averages: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.schema import Kind

ESTIMATORS: dict[str, Kind] = {}
