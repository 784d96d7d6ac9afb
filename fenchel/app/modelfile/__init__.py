"""Model files: a fitted estimator as a zip of a JSON manifest and raw arrays, without any code."""

from fenchel.app.modelfile.inspect import inspect_file
from fenchel.app.modelfile.read import ModelFile, load, open_model
from fenchel.app.modelfile.write import save

__all__ = ["ModelFile", "inspect_file", "load", "open_model", "save"]
