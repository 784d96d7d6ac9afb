"""The file itself: a plain zip, the same bytes each time, whole or not there, told by inspect."""

from __future__ import annotations

import doctest
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from app.sameness import same

import fenchel
from fenchel import ModelFileError, load, save
from fenchel.app.modelfile import container, inspect_file, open_model, write
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import find_task

FROZEN = Path(__file__).parents[2] / "data_files"


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return fenchel.LogisticRegression().fit(X, np.array(["no", "yes"])[(X[:, 0] > 0.1).astype(int)])


def test_it_is_a_plain_zip(model, tmp_path):
    save(model, tmp_path / "m.fen", extra={"data": {"sha256": "0" * 64, "rows": 60}})
    with zipfile.ZipFile(tmp_path / "m.fen") as packed:
        assert packed.testzip() is None
        names = packed.namelist()
        manifest = json.loads(packed.read("manifest.json"))
        assert names == ["manifest.json", *(f"arrays/{k}.bin" for k in range(len(names) - 1))]
        assert all(info.compress_type == zipfile.ZIP_STORED for info in packed.infolist())
        assert {info.date_time for info in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.external_attr >> 16 for info in packed.infolist()} == {0o100644}
        for name, told in zip(names[1:], manifest["arrays"], strict=True):
            assert hashlib.sha256(packed.read(name)).hexdigest() == told["sha256"]
        where = manifest["estimator"]["attributes"]["coef_"]["array"]
        coef = np.frombuffer(packed.read(f"arrays/{where}.bin"), "<f8")
    assert manifest["format"] == 1 and manifest["extra"]["data"]["rows"] == 60
    assert manifest["versions"]["numpy"] == np.__version__
    assert coef.tolist() == model.coef_.ravel().tolist()


def test_the_example_is_true():
    assert doctest.testmod(write, raise_on_error=True).attempted > 5


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    for name in ("a.fen", "b.fen"):
        save(model, tmp_path / name, extra={"x": 1})
    assert (tmp_path / "a.fen").read_bytes() == (tmp_path / "b.fen").read_bytes()
    save(load(tmp_path / "a.fen"), tmp_path / "b.fen", extra={"x": 1})
    assert (tmp_path / "a.fen").read_bytes() == (tmp_path / "b.fen").read_bytes()


def test_a_file_larger_than_32_bits_tell(model, tmp_path, monkeypatch):
    """The wide fields of zip, tried on a small file by lowering the limit."""
    plain = tmp_path / "plain.fen"
    save(model, plain)
    header = container.StoredFile("a", 5 * 2**30, 1).header()
    assert header[18:26] == b"\xff" * 8 and (5 * 2**30).to_bytes(8, "little") in header
    expected = load(plain)
    wide = property(lambda self: self.name != container.MANIFEST)
    monkeypatch.setattr(container.StoredFile, "large", wide)
    save(model, tmp_path / "wide.fen")
    assert (tmp_path / "wide.fen").stat().st_size > plain.stat().st_size
    assert same(load(tmp_path / "wide.fen"), expected)
    with zipfile.ZipFile(tmp_path / "wide.fen") as packed:
        assert packed.testzip() is None
    with pytest.raises(ModelFileError):
        load(plain)


def test_far_positions_are_written_as_zip_readers_read_them():
    big = [container.StoredFile("a", 5 * 2**30, 1), container.StoredFile("b", 3, 2)]

    class Gap(io.RawIOBase):
        """A file of which only the end is held."""

        def __init__(self) -> None:
            self.end = container.tail(big, b"x")
            self.start = sum(len(e.header()) + e.size for e in big)
            self.place = 0

        def seekable(self) -> bool:
            return True

        def readable(self) -> bool:
            return True

        def seek(self, offset: int, whence: int = 0) -> int:
            self.place = offset + {0: 0, 1: self.place, 2: self.start + len(self.end)}[whence]
            return self.place

        def tell(self) -> int:
            return self.place

        def read(self, size: int = -1) -> bytes:
            before = max(self.start - self.place, 0)
            assert before < 2**20
            held = bytes(before) + self.end[max(self.place - self.start, 0) :]
            data = held if size < 0 else held[:size]
            self.place += len(data)
            return data

    with zipfile.ZipFile(Gap()) as packed:
        first, second = packed.infolist()
    assert (first.file_size, second.file_size) == (5 * 2**30, 3)
    assert second.header_offset == 5 * 2**30 + len(big[0].header())


# ------------------------------------------------------------------------------ whole or not there


@pytest.mark.parametrize("broken", range(5))
def test_a_failed_write_leaves_what_was_there(model, tmp_path, monkeypatch, broken):
    path = tmp_path / "m.fen"
    path.write_bytes(b"before")
    path.chmod(0o600)
    calls = iter(range(100))
    write = container.StoredFile.header

    def header(self):
        if next(calls) == 2 * broken:
            raise OSError(28, "No space left on device")
        return write(self)

    with monkeypatch.context() as patch:
        patch.setattr(container.StoredFile, "header", header)
        with pytest.raises(ModelFileError, match="No space left"):
            save(model, path)
    assert path.read_bytes() == b"before" and [p.name for p in tmp_path.iterdir()] == ["m.fen"]
    save(model, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and same(load(path), model)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_system_call_leaves_what_was_there(model, tmp_path, monkeypatch, call):
    def fail(*args):
        raise KeyboardInterrupt if call == "replace" else OSError(5, "Input/output error")

    (tmp_path / "m.fen").write_bytes(b"before")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises((ModelFileError, KeyboardInterrupt)):
            save(model, tmp_path / "m.fen")
    assert (tmp_path / "m.fen").read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["m.fen"]


def test_a_killed_process_leaves_what_was_there(tmp_path):
    path = tmp_path / "m.fen"
    path.write_bytes(b"before")
    code = f"""
import os, signal
from fenchel.app.atomic_file import atomic_file
with atomic_file({str(path)!r}) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert path.read_bytes() == b"before"


def test_a_link_stays_one(model, tmp_path):
    (tmp_path / "real.fen").write_bytes(b"")
    (tmp_path / "link.fen").symlink_to("real.fen")
    save(model, tmp_path / "link.fen")
    assert (tmp_path / "link.fen").is_symlink() and same(load(tmp_path / "real.fen"), model)


def test_paths_that_are_none(model, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty.fen").touch()
    for name, reason in [("none.fen", "No such file"), (".", "a folder"), ("pipe", "not a file")]:
        for read in (load, open_model, inspect_file):
            with pytest.raises(ModelFileError, match=reason):
                read(tmp_path / name)
    with pytest.raises(ModelFileError, match="it is empty"):
        load(str(tmp_path / "empty.fen"))
    for name in ("no/m.fen", "."):
        with pytest.raises(ModelFileError, match="cannot write"):
            save(model, tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["empty.fen", "pipe"]


# ----------------------------------------------------------------------------- inspect, other parts


def test_inspect_tells_everything_in_plain_json(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    base = fenchel.LogisticRegression(C=np.inf, class_weight={0: 1.0, 1: 2.0})
    rule = fenchel.NeymanPearsonClassifier(base, alpha=0.25, delta=0.6).fit(X, y)
    save(rule, tmp_path / "m.fen", extra={"data": "abc"})
    told = inspect_file(tmp_path / "m.fen")
    json.dumps(told, allow_nan=False)
    assert told["estimator"] == "NeymanPearsonClassifier" and told["classes"] == [0, 1]
    assert told["parameters"]["base"]["parameters"]["C"] == "inf"
    assert told["parameters"]["base"]["parameters"]["class_weight"] == [[0, 1.0], [1, 2.0]]
    assert told["attributes"]["base_"]["attributes"]["coef_"]["shape"] == [1, 2]
    assert told["attributes"]["threshold_"]["k"] == rule.threshold_.k
    assert told["columns"] == {"count": 2, "names": None} and told["extra"] == {"data": "abc"}
    with zipfile.ZipFile(tmp_path / "m.fen") as packed:
        assert told["sha256"] == hashlib.sha256(packed.read("manifest.json")).hexdigest()


@pytest.mark.parametrize(
    ("call", "absent"),
    [("inspect_file", ("sklearn", "scipy", "numba", "polars")), ("load", ("polars", "torch"))],
)
def test_little_is_imported(call, absent, model, tmp_path):
    save(model, tmp_path / "m.fen")
    code = f"""
import sys
from fenchel.app.modelfile import {call}
print({call}({str(tmp_path / "m.fen")!r}))
print(sorted(set({absent!r}) & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


@dataclass(frozen=True)
class Fake:
    """A stand-in for the table's encoder and its task."""

    names: tuple[str, ...] = ("a", "b", "c")

    def to_state(self):
        return {"names": list(self.names)}, {"means": np.arange(3.0), "words": np.array(["x"], "O")}

    @classmethod
    def from_state(cls, state, arrays):
        if arrays["means"].tolist() != [0.0, 1.0, 2.0] or arrays["words"].tolist() != ["x"]:
            raise ValueError("other means")
        return cls(tuple(state["names"]))

    def to_dict(self):
        return {"kind": "two classes", "names": list(self.names)}

    @classmethod
    def from_dict(cls, given):
        if given["kind"] != "two classes":
            raise KeyError("kind")
        return cls(tuple(given["names"]))


def test_encoder_and_task_travel_inside(model, tmp_path, monkeypatch):
    path = tmp_path / "m.fen"
    monkeypatch.setattr("fenchel.app.table.encoding.encoder.Encoder", Fake)
    monkeypatch.setattr("fenchel.app.table.task.Task", Fake)
    save(model, path, encoder=Fake(), task=Fake(("u",)))
    held = open_model(path)
    assert held.encoder == Fake() and held.task == Fake(("u",)) and same(held.model, model)
    assert same(load(path), model) and inspect_file(path)["encoder"]["arrays"]["words"] == ["x"]
    assert held.sha256 == inspect_file(path)["sha256"] and held.manifest["task"]["names"] == ["u"]
    save(model, path)
    assert open_model(path).encoder is None and open_model(path).task is None
    with pytest.raises(ModelFileError, match="makes 1 columns, and the model takes 3"):
        save(model, path, encoder=Fake(("a",)))
    save(model, path, task={"kind": "none"})
    with pytest.raises(ModelFileError, match="its task is not valid"):
        open_model(path)
    save(model, path, encoder=Fake())
    for names in (("a",), None):
        monkeypatch.setattr(Fake, "from_state", lambda state, arrays, n=names: Fake(tuple(n)))
        with pytest.raises(ModelFileError, match="its encoder"):
            open_model(path)
        assert same(load(path), model)


def test_a_table_goes_through_a_file(tmp_path):
    """The raw table is all that predicting takes: the real encoder and task, saved and read."""
    frame = pl.DataFrame(
        {
            "length": [1.0, 2.5, None, 4.0, 3.0, 0.5, 2.0, 3.5],
            "colour": ["red", "blue", "red", None, "blue", "red", "blue", "red"],
            "kind": ["a", "b", "a", "b", "b", "a", "a", "b"],
        }
    )
    task = find_task(frame, "kind")
    encoder = Encoder.fit(frame, task)
    X = encoder.transform(frame)
    fitted = fenchel.LogisticRegression().fit(X, task.codes(frame))
    save(fitted, tmp_path / "m.fen", encoder=encoder, task=task)
    held = open_model(tmp_path / "m.fen")
    assert held.encoder == encoder and held.task == task
    new = pl.DataFrame({"length": [2.0, None], "colour": ["red", "green"]})
    scores = held.model.predict_proba(held.encoder.transform(new))
    assert same(scores, fitted.predict_proba(encoder.transform(new)))
    assert inspect_file(tmp_path / "m.fen")["task"]["target"] == "kind"


# --------------------------------------------------------------------------------- size and age


def test_a_million_coefficients_are_quick(tmp_path):
    d, path = 1_000_000, tmp_path / "m.fen"
    wide = fenchel.Ridge().fit(np.eye(3), np.arange(3.0))
    wide.n_features_in_, wide.coef_ = d, np.random.default_rng(0).normal(size=d)
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        save(wide, path)
        middle = time.perf_counter()
        loaded = load(path)
        seconds.append((middle - begun, time.perf_counter() - middle))
    assert same(wide, loaded)
    assert min(s for s, _ in seconds) < 0.2 and min(s for _, s in seconds) < 0.2, seconds
    wide.feature_names_in_ = np.array([f"column {k}" for k in range(d)], dtype=object)
    save(wide, path)
    assert same(wide, load(path))


@pytest.mark.parametrize("name", ["logistic", "neyman_pearson", "ridge", "voted"])
def test_frozen_files_of_format_1_are_read(name):
    """Files of November 2026: readable for two years at the least, whatever is added later."""
    expected = json.loads((FROZEN / "model_v1_expected.json").read_text("utf-8"))[name]
    path = FROZEN / f"model_v1_{name}.fen"
    told, found = inspect_file(path), load(path)
    assert told["sha256"] == expected["sha256"] and told["extra"]["data"]["rows"] == 120
    assert type(found).__name__ == told["estimator"] == expected["class"]
    X = np.array(expected["X"])
    if told["columns"]["names"]:
        X = pd.DataFrame(X, columns=told["columns"]["names"])
    if "decision_function" not in expected:
        np.testing.assert_allclose(found.predict(X), expected["predict"], 1e-12)
        return
    assert found.predict(X).tolist() == expected["predict"]
    np.testing.assert_allclose(found.decision_function(X), expected["decision_function"], 1e-12)
