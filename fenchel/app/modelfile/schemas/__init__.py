"""The estimators that a model file may hold, a page for each family of `fenchel.models`."""
