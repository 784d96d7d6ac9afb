"""Loading: the model in a file, with every byte of it verified first."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fenchel.app.errors import BadData, BadUsage, ModelFileError
from fenchel.app.modelfile import container
from fenchel.app.modelfile.container import Container
from fenchel.app.modelfile.decode import Decoder
from fenchel.app.modelfile.manifest import fields, named
from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.display.counts import counted
from fenchel.data.display.result_table import frame_like

if TYPE_CHECKING:
    from fenchel.app.predictions import Answers

T = TypeVar("T")
SHOWN = 6  # classes that a model file tells of itself
_STRAY = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, repr=False)
class ModelFile:
    """What a model file holds.

    sha256: of the manifest, which holds that of every array: one number that names the model.
    """

    manifest: dict[str, Any]
    model: Any
    encoder: Any | None
    task: Any | None
    sha256: str

    def predict(self, table: Any) -> Any:
        """Predictions for a raw table, as `fenchel predict` writes them.

        Parameters
        ----------
        table : polars or pandas DataFrame, pyarrow Table, or dict of columns
            With the columns that the model was fitted to, by their names.

        Returns
        -------
        dataframe
            Of the kind that was given: pandas with the same index, pyarrow, else polars. Classes
            come by their names, each with a column of its probability (or score).
        """
        from fenchel.app.predictions import prediction_frame

        answers, task = self._answers(table)
        return frame_like(prediction_frame(task, self.model, answers), table)

    def predict_proba(self, table: Any) -> Any:
        """The probability of each class for the rows of a raw table: a column a class, by its name.

        Takes and gives back the same kinds of tables as `predict`.
        """
        import polars as pl

        answers, task = self._answers(table)
        if task.kind in ("number", "none"):
            what = "the target is a number, which has" if task.target else "clusters have"
            raise TypeError(f"{what} no probabilities: use predict")
        if answers.probability is None:
            raise TypeError(
                f"{type(self.model).__name__} gives scores and no probabilities: predict has them"
            )
        classes = dict(zip(task.classes, answers.probability.T, strict=True))
        return frame_like(pl.DataFrame(classes), table)

    def __repr__(self) -> str:
        """The estimator, what it predicts from how many columns, and its proof, in a line."""
        parts = [type(self.model).__name__]
        own = vars(self.model)
        if self.task is not None:
            said = f"{self.task.kind}, target {self.task.target!r}"
            parts[0] += f", {'clusters' if self.task.kind == 'none' else said}"
        classes = own.get("classes_", ()) if self.task is None else self.task.classes
        if len(classes):
            named = [str(one) for one in list(classes)[:SHOWN]]
            more = f", … {len(classes)} in all" if len(classes) > SHOWN else ""
            parts.append(f"classes {', '.join(named)}{more}")
        columns = own.get("n_features_in_") if self.encoder is None else len(self.encoder.columns)
        if columns is not None:
            parts.append(counted(columns, "column"))
        proof = own.get("certificate_")
        parts.append(str(proof) if isinstance(proof, Certificate) else "no certificate")
        return f"<ModelFile: {'; '.join(parts)}>"

    def _answers(self, table: Any) -> tuple[Answers, Any]:
        """What the model says of the rows of a table, and the task."""

        from fenchel.app.predictions import answers_of
        from fenchel.app.table.encoding.column_plan import Surprises
        from fenchel.app.table.files.frames import polars_frame

        if self.encoder is None or self.task is None:
            raise ModelFileError("the file holds no encoder of a table: use its model on arrays")
        try:
            frame = polars_frame(table)
        except BadUsage as error:
            raise TypeError(str(error)) from None
        if not frame.height:
            raise BadData("the table has no rows: there is nothing to predict")
        surprises = Surprises()
        answers = answers_of(self.model, self.encoder.transform(frame, surprises))
        for line in surprises.sentences(loud=True):
            warn_outside(line, UserWarning)
        return answers, self.task


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator that `save` put into a file.

    It predicts what the saved one predicts, bit for bit. Every byte of the file is verified, and
    nothing in it is executed, imported by name, fetched or written. A model of the command line was
    fitted to encoded columns and to codes of classes: `open_model` takes the raw table.

    Raises
    ------
    ModelFileError
        With the reason, for any file that `save` did not write or that was changed since.
    """
    return verified(path, lambda held: _model(held, parts=False).model)


def open_model(path: str | os.PathLike[str]) -> ModelFile:
    """The estimator with its manifest and, where they were saved, the table's encoder and task.

    Examples
    --------
    A file that `fenchel fit` or `fenchel report` wrote takes the raw table:

    >>> import fenchel
    >>> held = fenchel.open_model("model.fen")  # doctest: +SKIP
    >>> held.predict({"age": [41, 60], "town": ["Bath", "Ely"]})  # doctest: +SKIP
    >>> held.predict_proba(pandas.read_csv("new.csv"))  # doctest: +SKIP
    """
    return verified(path, lambda held: _model(held, parts=True))


def verified(path: str | os.PathLike[str], use: Callable[[Container], T]) -> T:
    """What is made of a verified file; whatever fails is a ModelFileError that names the file."""
    name = os.fspath(path)
    try:
        return use(_sections(_open(name)))
    except ModelFileError as error:
        raise ModelFileError(f"{name} cannot be loaded: {error}") from None
    except OSError as error:
        raise ModelFileError(f"cannot read {name}: {error.strerror or error}") from error
    except _STRAY as error:  # no check foresaw it, and still nothing of the file is used
        kind = type(error).__name__
        raise ModelFileError(f"{name} cannot be loaded: {kind}, {error}") from error


def _open(name: str) -> Container:
    mode = os.stat(name).st_mode  # before it is opened: to open a pipe is to wait for it
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a file"
        raise ModelFileError(f"it is {what}")
    with open(name, "rb") as file:
        return container.read(file, os.fstat(file.fileno()).st_size)


def _sections(held: Container) -> Container:
    manifest = fields(
        held.manifest,
        "manifest.json",
        ("format", "versions", "estimator", "arrays"),
        ("encoder", "task", "extra"),
    )
    for name in ("versions", "task", "extra"):
        named(manifest.get(name, {}), name)
    if any(type(number) is not str for number in manifest["versions"].values()):
        raise ModelFileError("versions holds what is not a text")
    return held


def _model(held: Container, parts: bool) -> ModelFile:
    """The model; parts: whether encoder and task are made too, for which polars is needed."""
    manifest = held.manifest
    decoder = Decoder(held.arrays)
    model = decoder.estimator(manifest["estimator"], "the model")
    if not manifest["estimator"]["attributes"]:
        raise ModelFileError("its model is not fitted")
    state, arrays = None, {}
    if "encoder" in manifest:
        found = fields(manifest["encoder"], "the encoder", ("state", "arrays"))
        state, given = found["state"], named(found["arrays"], "the encoder's arrays")
        arrays = {name: decoder.value(v, f"the encoder's {name}") for name, v in given.items()}
    decoder.finish()
    decoder.check_format(manifest["format"])
    encoder = task = None
    if parts and state is not None:
        encoder = _encoder(state, arrays, model)
    if parts and "task" in manifest:
        task = _task(manifest["task"])
    return ModelFile(manifest, model, encoder, task, held.sha256)


def _encoder(state: Any, arrays: dict[str, Any], model: Any) -> Any:
    from fenchel.app.table.encoding.encoder import Encoder

    try:
        encoder = Encoder.from_state(state, arrays)
    except (BadData, *_STRAY) as error:
        raise ModelFileError(f"its encoder is not valid: {error}") from None
    width = vars(model).get("n_features_in_", len(encoder.names))
    if len(encoder.names) != width:
        raise ModelFileError(
            f"its encoder makes {len(encoder.names)} columns, and its model takes {width}"
        )
    return encoder


def _task(found: dict[str, Any]) -> Any:
    from fenchel.app.table.task import Task

    try:
        return Task.from_dict(found)
    except (BadData, *_STRAY) as error:
        raise ModelFileError(f"its task is not valid: {error}") from None
