"""Model files with rows of strings: the same answers, a format for bytes, no tricks."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path

import numpy as np
import pytest
from app.sameness import same
from estimators import answer

import fenchel
from fenchel import ModelFileError, kernels, load, save
from fenchel.app.modelfile import container, inspect_file
from fenchel.app.modelfile.arrays import raw
from fenchel.app.modelfile.write import pack

FROZEN = Path(__file__).parents[2] / "data_files"
rng = np.random.default_rng(0)
TEXTS = ["".join(rng.choice(list("ACGT"), rng.integers(3, 12))) for _ in range(24)]
TEXTS[3], TEXTS[4], TEXTS[5] = "é\ud800∂", "", "a\0"
BYTES = [text.encode("utf-8", "surrogatepass") for text in TEXTS]
CODES, TARGET = np.arange(24) % 2, np.linspace(-1.0, 1.0, 24)
KERNELS = [
    kernels.Spectrum(2),
    kernels.Mismatch(2, 1),
    kernels.Subsequence(2, 0.4),
    2.0 * kernels.Spectrum(1) * kernels.Subsequence(2) + kernels.Mismatch(2),
]
MODELS = [
    (fenchel.SVC(), CODES),
    (fenchel.SVR(), TARGET),
    (fenchel.OneClassSVM(), None),
    (fenchel.KernelRidge(), TARGET),
    (fenchel.KernelRidgeCV(), TARGET),
    (fenchel.KernelLogisticRegression(), CODES),
    (fenchel.KernelFisherDiscriminant(), CODES),
    (fenchel.KNeighborsClassifier(3), CODES),
    (fenchel.KNeighborsRegressor(3), TARGET),
    (fenchel.NearestNeighbors(n_neighbors=2, kernel=kernels.EditDistance(0.3, False)), None),
]


@pytest.mark.parametrize("model, y", MODELS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_strings_come_back(model, y, kernel, tmp_path):
    if "EditDistance" not in repr(model):
        model.set_params(kernel=kernel)
    for rows, number in ((TEXTS, 1), (BYTES, 2)):
        model.fit(rows, y)
        save(model, tmp_path / "m.fen")
        found = load(tmp_path / "m.fen")
        assert same(found, model) and np.array_equal(answer(found, rows), answer(model, rows))
        told = inspect_file(tmp_path / "m.fen")
        assert told["format"] == number and told["columns"]["count"] == 1
        save(found, tmp_path / "again.fen")
        assert (tmp_path / "again.fen").read_bytes() == (tmp_path / "m.fen").read_bytes()


def test_an_alphabet_comes_back(tmp_path):
    model = fenchel.SVC(kernel=kernels.Mismatch(2, 1, "ACGT")).fit(["AC", "GT", "CA"], [0, 1, 0])
    save(model, tmp_path / "m.fen")
    assert load(tmp_path / "m.fen").kernel_ == kernels.Mismatch(2, 1, "ACGT")


@pytest.fixture
def refused(tmp_path):
    """Writes a changed file whose digests are right, and gives what refuses it."""
    strings = fenchel.KernelRidge(kernel=kernels.Spectrum(2)).fit(BYTES, TARGET)

    def told(change, model=strings):
        data, held = pack(model)
        manifest, arrays = copy.deepcopy(json.loads(data)), list(held.arrays)
        change(manifest, arrays)
        manifest["arrays"] = [raw(array)[0].to_json() for array in arrays]
        out = io.BytesIO()
        text = json.dumps(manifest, separators=(",", ":")).encode()
        container.write(out, text, [raw(array)[1] for array in arrays])
        (tmp_path / "m.fen").write_bytes(out.getvalue())
        with pytest.raises(ModelFileError) as error:
            load(tmp_path / "m.fen")
        return str(error.value)

    return told


def rows_of(manifest):
    return manifest["estimator"]["attributes"]["X_fit_"]


def test_bytes_that_do_not_agree_are_refused(refused):
    def lengths(manifest, arrays):
        number = rows_of(manifest)["bytestrings"][2]["array"]
        arrays[number] = arrays[number] + 1

    def negative(manifest, arrays):
        number = rows_of(manifest)["bytestrings"][2]["array"]
        arrays[number] = arrays[number] * np.array([-1] + [1] * 23)

    def wide(manifest, arrays):
        number = rows_of(manifest)["bytestrings"][1]["array"]
        arrays[number] = arrays[number].astype(np.int64)

    def shape(manifest, arrays):
        rows_of(manifest)["bytestrings"][0] = [12, 1]

    assert "lengths do not agree" in refused(lengths)
    assert "bytes and lengths" in refused(negative) and "bytes and lengths" in refused(wide)
    assert "shape does not agree" in refused(shape)


def test_the_format_is_the_least_that_holds_the_file(refused):
    def older(manifest, arrays):
        manifest["format"] = 1

    def unknown(manifest, arrays):
        manifest["format"] = 3

    def texts(manifest, arrays):
        rows = rows_of(manifest)
        numbers = rows["bytestrings"]
        arrays[numbers[1]["array"]] = np.frombuffer(b"a" * 24, np.uint8)
        arrays[numbers[2]["array"]] = np.ones(24, np.int64)
        rows["texts"] = rows.pop("bytestrings")

    assert "it is of format 1, and what it holds of 2" in refused(older)
    assert "reads the formats 1 and 2" in refused(unknown)
    assert "it is of format 2, and what it holds of 1" in refused(texts)


def test_a_kernel_must_take_the_rows_beside_it(refused):
    def kernel(name, **fields):
        return {"value": {"class": name, "fields": fields}}

    def placed(value):
        def change(manifest, arrays):
            manifest["estimator"]["attributes"]["kernel_"] = value

        return change

    numbers = fenchel.KernelRidge(kernel=kernels.Gaussian()).fit(TARGET[:, None], TARGET)
    spectrum, gaussian = kernel("Spectrum", k=2, normalised=True), kernel("Gaussian", gamma=1.0)
    assert "KernelRidge's X_fit_ is object of shape (24, 1)" in refused(placed(gaussian))
    assert "KernelRidge's X_fit_ is float64 of shape (24, 1)" in refused(placed(spectrum), numbers)
    mixed = refused(placed(kernel("Sum", first=spectrum, second=gaussian)))
    assert "is no Sum: " in mixed and "compares strings" in mixed
    assert "is no Spectrum" in refused(placed(kernel("Spectrum", k=0, normalised=True)))


def test_a_frozen_file_of_format_2_is_read():
    expected = json.loads((FROZEN / "model_v2_expected.json").read_text("utf-8"))["strings"]
    path = FROZEN / "model_v2_strings.fen"
    told, found = inspect_file(path), load(path)
    assert told["sha256"] == expected["sha256"] and told["format"] == 2
    rows = [row.encode("latin-1") for row in expected["X"]]
    np.testing.assert_allclose(found.decision_function(rows), expected["decision_function"], 1e-12)
    assert found.predict(rows).tolist() == expected["predict"]
