"""Saving: a fitted model, and what belongs to it, into one file."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from importlib.metadata import version
from typing import Any

from fenchel.app.atomic_file import atomic_file
from fenchel.app.errors import ModelFileError
from fenchel.app.modelfile import container
from fenchel.app.modelfile.decode import Decoder
from fenchel.app.modelfile.encode import ValueEncoder
from fenchel.app.modelfile.manifest import FORMATS, check_plain, dump

LIBRARIES = ("numpy", "scipy", "scikit-learn")


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    encoder: Any = None,
    task: Any = None,
    extra: dict[str, Any] | None = None,
) -> None:
    """Save a fitted estimator of this library to a file that `load` reads.

    The file appears when it is whole: if anything fails, what was at `path` stays as it was. The
    same model gives the same bytes. No code is in it, and loading runs none.

    Parameters
    ----------
    model : fitted estimator
        Of this library; NeymanPearsonClassifier with a base of this library.
    path : str or path
        By custom it ends in .fen.
    encoder, task : optional
        What turns a table into the model's rows, and the question the table was asked.
    extra : dict, optional
        Texts, numbers, lists and dicts to keep in the manifest, such as the data's fingerprint.

    Raises
    ------
    ModelFileError
        For a model that files do not hold, or a path that cannot be written.

    Notes
    -----
    Of the parameters cv, scoring and random_state, which direct a fit, objects such as splitters
    and functions are left out with a warning; the loaded model has their defaults.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import fenchel
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fenchel.LogisticRegression().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.fen")
    ...     fenchel.save(model, path)
    ...     same = fenchel.load(path)
    >>> bool((same.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    manifest, held = pack(model, encoder, task, extra)
    try:
        with atomic_file(path) as file:
            container.write(file, manifest, held.data)
    except OSError as error:
        raise ModelFileError(
            f"cannot write {os.fspath(path)}: {error.strerror or error}"
        ) from error
    if held.notes:
        warnings.warn(
            f"left out of {os.fspath(path)}, for a file cannot hold it: {'; '.join(held.notes)}. "
            "The loaded model predicts the same; to fit it again, set that anew.",
            UserWarning,
            stacklevel=2,
        )


def pack(
    model: Any, encoder: Any = None, task: Any = None, extra: dict[str, Any] | None = None
) -> tuple[bytes, ValueEncoder]:
    """The manifest's bytes and the arrays of a file; verified to be read back."""
    held = ValueEncoder()
    manifest: dict[str, Any] = {
        "format": FORMATS[0],
        "versions": _versions(),
        "estimator": held.estimator(model),
    }
    if not manifest["estimator"]["attributes"]:
        raise ModelFileError(f"this {type(model).__name__} is not fitted: fit it, then save it")
    if encoder is not None:
        manifest["encoder"] = _encoder(held, encoder, vars(model).get("n_features_in_"))
    if task is not None:
        manifest["task"] = task if type(task) is dict else task.to_dict()
        check_plain(manifest["task"], "the task")
    if extra is not None:
        if type(extra) is not dict:
            raise ModelFileError(f"extra is a dict, not a {type(extra).__name__}")
        check_plain(extra, "extra")
        manifest["extra"] = extra
    manifest["format"] = held.format
    manifest["arrays"] = [layout.to_json() for layout in held.layouts]
    data = dump(manifest)
    # What cannot be read back is refused here, not when it is needed.
    Decoder(tuple(held.arrays)).estimator(manifest["estimator"], "the model")
    return data, held


def _versions() -> dict[str, str]:
    own = sys.modules["fenchel"].__version__  # the public page's: it need not be installed
    others = {name: version(name) for name in LIBRARIES}
    return {"fenchel": own, "python": platform.python_version(), **others}


def _encoder(held: ValueEncoder, encoder: Any, width: int | None) -> dict[str, Any]:
    if width not in (None, len(encoder.names)):
        raise ModelFileError(
            f"the encoder makes {len(encoder.names)} columns, and the model takes {width}: save "
            "the encoder that the model was fitted with"
        )
    state, arrays = encoder.to_state()
    check_plain(state, "the encoder")
    return {"state": state, "arrays": {name: held.value(arrays[name]) for name in sorted(arrays)}}
