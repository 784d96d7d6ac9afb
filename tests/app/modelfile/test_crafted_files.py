"""Files made with intent, their digests right: refused with a reason, or a model that predicts."""

from __future__ import annotations

import copy
import io
import json
import re

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

import fenchel
from fenchel import ModelFileError, load
from fenchel.app.modelfile import container, inspect_file, open_model
from fenchel.app.modelfile.arrays import raw
from fenchel.app.modelfile.write import pack

STRAY = re.compile(r"[A-Z][A-Za-z]+Error,")
RIDGE = {"class": "Ridge", "parameters": {}, "attributes": {}}
NASTY = [
    *(None, True, -1, 0, 3, 2**63, 1e308, "", "x", "../../etc/passwd", [], [[]], {}, [1, "a"]),
    *({"array": 0}, {"array": -1}, {"array": 10**6}, {"array": True}, {"array": "0"}),
    *({"float": "nan"}, {"float": "1"}, {"tuple": 3}, {"list": []}, {"tuple": {"array": 1}}),
    *({"dict": [[[], 1]]}, {"dict": [[1, 1], [1, 2]]}, {"dict": {}}, {"dict": [[1]]}),
    *({"numpy": ["<f8", "a"]}, {"numpy": ["<f4", 1e300]}, {"numpy": ["|i1", 1000]}),
    *({"numpy": ["<U9", "a"]}, {"numpy": []}, {"dtype": "|O"}, {"dtype": []}, {"texts": [1]}),
    *({"bytestrings": [1]}, {"bytestrings": [[1], 1, 2]}, {"bytestrings": [[0], [], []]}),
    *({"bytestrings": [[1], {"array": 0}, {"array": 1}]}, {"bytestrings": {}}),
    *({"objects": [[2], [1]]}, {"objects": [[-1], []]}, {"objects": [[0, 2**70], []]}),
    *({"value": {"class": "Huber", "fields": {}}}, {"value": {"class": [], "fields": 1}}),
    *({"value": {"class": "os.system", "fields": {"command": "true"}}}, {"pickle": "gASVAAAA"}),
    *({"value": {"class": "Huber", "fields": {"eps": -1.0}}}, {"parameter": "base"}, {"random": 1}),
    *({"value": {"class": "Multinomial", "fields": {"n_classes": 9}}}, {"parameter": ["C"]}),
    *({"random": [{"array": 0}, 0, 0, 0.0]}, {"estimator": RIDGE}, {"frozen": {}}),
    *({"frozen": {"estimator": RIDGE}}, {"certificates": [{"array": 0}, {"array": 1}]}),
    *({"a": 1, "b": 2}, {"__class__": "x"}, {"tuple": [{"tuple": []}]}, {"float": []}),
]
NAMES = ("logistic", "separated", "ridge", "voted", "adaline", "formula", "rule")


def models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=60), [-0.5, 0.5])
    two, texts = (y > 0).astype(int), np.array(["low", "mid", "high"], dtype=object)[y]
    fits = {
        "logistic": fenchel.LogisticRegression().fit(X, texts),
        "separated": fenchel.LogisticRegression(C=np.inf).fit(X, X[:, 0] > 0),
        "ridge": fenchel.RidgeCV(alphas=np.array([0.1, 1.0])).fit(X, X[:, :2]),
        "voted": fenchel.Perceptron(average="voted", max_iter=3).fit(X, two),
        "adaline": fenchel.Adaline(max_iter=3, average=True).fit(X, y),
        "formula": fenchel.ERMClassifier(fenchel.Hinge(), fenchel.L1(0.01)).fit(X, two),
    }
    frozen = FrozenEstimator(fits["formula"])
    rule = fenchel.NeymanPearsonClassifier(frozen, alpha=0.25, delta=0.6)
    fits["rule"] = rule.fit(X, two)
    return fits


@pytest.fixture(scope="module")
def packs():
    """The manifest and arrays of each model."""
    with pytest.warns(fenchel.NotCertified):
        fits = models()
    out = {}
    for name, model in fits.items():
        data, held = pack(model)
        out[name] = json.loads(data), held.arrays
    return out


@pytest.fixture
def signed(tmp_path):
    """Writes a file whose digests are all right, whatever its manifest says."""

    def write(manifest, arrays):
        out = io.BytesIO()
        text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        container.write(out, text, [raw(array)[1] for array in arrays])
        (tmp_path / "m.fen").write_bytes(out.getvalue())
        return tmp_path / "m.fen"

    return write


def refused(path, reason="", readers=(load, open_model, inspect_file)):
    for read in readers:
        with pytest.raises(ModelFileError, match=reason or "."):
            read(path)


def places(node, path=()):
    """The path of every value in a tree of JSON."""
    yield path
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(value, (*path, key))


def replaced(tree, path, value):
    """A copy with one value put in the place of another."""
    if not path:
        return value
    tree = copy.copy(tree)
    tree[path[0]] = replaced(tree[path[0]], path[1:], value)
    return tree


def check_taken_or_refused(path):
    """The only error is ours, and foreseen; a model that is made answers, or says why not."""
    for read in (inspect_file, load):
        try:
            model = read(path)
        except ModelFileError as error:
            assert not STRAY.search(str(error)), error
            if read is load:
                return 0
    try:
        answer = model.predict(np.ones((2, vars(model).get("n_features_in_", 3))))
    except ValueError as error:  # a parameter that is a label, and not one of the classes
        assert "pos_label" in str(error), error
        return 0
    assert len(answer) == 2
    return 1


@pytest.mark.parametrize("name", NAMES)
def test_every_value_replaced(name, packs, signed):
    manifest, arrays = packs[name]
    where = [path for path in places(manifest) if path and path[0] != "arrays"]
    rng = np.random.default_rng(0)
    taken = 0
    for path in where:
        for k in rng.choice(len(NASTY), 5, replace=False):
            taken += check_taken_or_refused(signed(replaced(manifest, path, NASTY[k]), arrays))
    assert taken > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_name_changed(name, packs, signed):
    """Keys of every object: unknown ones are refused, as are those that Python would listen to."""
    manifest, arrays = packs[name]
    for path in places(manifest):
        if not path or type(path[-1]) is not str:
            continue
        node = manifest
        for key in path[:-1]:
            node = node[key]
        for other in ("__class__", "fit"):
            changed = {other if key == path[-1] else key: value for key, value in node.items()}
            check_taken_or_refused(signed(replaced(manifest, path[:-1], changed), arrays))
        if "attributes" in path[-2:-1]:
            dropped = {key: value for key, value in node.items() if key != path[-1]}
            check_taken_or_refused(signed(replaced(manifest, path[:-1], dropped), arrays))
            for more in ("__class__", "__dict__", "predict", "fit", "_validate_params", "extra_"):
                added = {**node, more: 1}
                with pytest.raises(ModelFileError, match="not known there"):
                    load(signed(replaced(manifest, path[:-1], added), arrays))


LOGISTIC = ("estimator", "attributes")


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("estimator", "class"), "LinearRegression2", "not an estimator of this library"),
        (("estimator", "class"), "sklearn.linear_model.Ridge", "not an estimator"),
        (("estimator", "class"), "ElasticNet", "not known there"),
        (("estimator", "class"), ["Ridge"], "not an estimator"),
        (("estimator", "parameters", "C"), -1.0, "does not take its parameters"),
        (("estimator", "parameters", "C"), "1", "does not take its parameters"),
        (("estimator", "parameters", "tol"), {"float": "nan"}, "does not take its parameters"),
        (("estimator", "left_out"), {"C": "KFold()"}, "not known there"),
        (("estimator", "left_out"), {"random_state": "x"}, "leaves out"),
        (("estimator", "attributes"), {}, "not fitted"),
        ((*LOGISTIC, "n_features_in_"), 4, "coef_ is float64 of shape"),
        ((*LOGISTIC, "n_features_in_"), 0, "n_features_in_ is 0"),
        ((*LOGISTIC, "n_features_in_"), -3, "n_features_in_ is -3"),
        ((*LOGISTIC, "n_features_in_"), True, "n_features_in_ is True"),
        ((*LOGISTIC, "converged_"), "yes", "converged_ is 'yes', and should be True or False"),
        ((*LOGISTIC, "certificate_"), 1.0, "certificate_ is 1.0, and should be Certificate"),
        ((*LOGISTIC, "loss_", "value", "fields", "n_classes"), 4, "loss_ is a Multinomial"),
        ((*LOGISTIC, "loss_", "value", "fields", "n_classes"), 1, "is no Multinomial"),
        ((*LOGISTIC, "classes_"), {"objects": [[3], ["a", "b", "a"]]}, "distinct labels"),
        ((*LOGISTIC, "classes_"), {"objects": [[2], ["a", "b"]]}, "coef_|intercept_|loss_|belongs"),
        (("versions",), {"numpy": 2}, "versions"),
        (("extra",), [], "extra is not an object"),
        (("task",), 3, "task is not an object"),
        (("encoder",), {"state": {}}, "lacks 'arrays'"),
        (("more",), 1, "holds 'more'"),
        (("arrays", 0, "dtype"), "|O", "which model files do not hold"),
        (("arrays", 0, "dtype"), ">f8", "which model files do not hold"),
        (("arrays", 0, "dtype"), "<U0", "which model files do not hold"),
        (("arrays", 0, "dtype"), "<f8,<f8", "which model files do not hold"),
        (("arrays", 0, "dtype"), "<U99999999", "cut short or added to"),
        (("arrays", 0, "dtype"), {"a": 1}, "which model files do not hold"),
        (("arrays", 0, "shape"), [2**62, 2**62], "larger than any memory"),
        (("arrays", 0, "shape"), [0, 2**62], "larger than any memory"),
        (("arrays", 0, "shape"), [10**12], "cut short or added to"),
        (("arrays", 0, "shape"), [-1], "not a whole number"),
        (("arrays", 0, "shape"), [2.0], "not a whole number"),
        (("arrays", 0, "shape"), [True], "not a whole number"),
        (("arrays", 0, "shape"), [1] * 40, "at most 32 lengths"),
        (("arrays", 0, "shape"), 3, "at most 32 lengths"),
        (("arrays", 0, "order"), "K", "order"),
        (("arrays", 0, "sha256"), "0" * 64, "SHA-256"),
        (("arrays", 0, "sha256"), "A" * 64, "SHA-256"),
        (("arrays", 0, "sha256"), None, "SHA-256"),
        (("arrays", 0, "name"), "../x", "holds 'name'"),
        (("arrays", 0), 7, "not an object"),
        (("arrays",), {}, "no list of arrays"),
        (("arrays",), [{"dtype": "|u1", "shape": [0], "sha256": "0" * 64}] * 10_000, "10000"),
    ],
)
def test_claims_that_are_refused(path, value, reason, packs, signed):
    manifest, arrays = packs["logistic"]
    tree = copy.deepcopy(manifest)
    node = tree
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    with pytest.raises(ModelFileError, match=reason):
        load(signed(tree, arrays))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (b'{"format": 1', b'{"format": 1, "format": 1', "names 'format' twice"),
        (b'"C": 1.0', b'"C": 1.0, "C": 1.0', "names 'C' twice"),
        (b'"C": 1.0', b'"C": NaN', "NaN"),
        (b'"C": 1.0', b'"C": -Infinity', "Infinity"),
        (b'"C": 1.0', b'"C": 1e999', "no finite float64"),
        (b'"C": 1.0', b'"C": 1.' + b"1" * 9_000_000, "no finite float64"),
        (b'"C": 1.0', b'"C": ' + b"9" * 5000, "beyond 64 bits"),
        (b'"C": 1.0', b'"C": 99999999999999999999', "beyond 64 bits"),
        (b'"C": 1.0', b'"C": ' + b"[" * 33 + b"]" * 33, "deeper than 32"),
        (b'"C": 1.0', b'"C": ' + b"[" * 3_000_000, "deeper than 32"),
        (b'"C": 1.0', b'"C": "' + b"[" * 100 + b'"', "does not take its parameters"),
        (b'"C": 1.0', b'"C": "' + b"x" * 10_000_000 + b'"', "at most 10000000 are read"),
        (b'"C": 1.0', b'"C": "\xc3\xa9"', "not JSON"),
        (b'"C": 1.0', b"\xff", "not JSON"),
        (b'"C": 1.0', b"", "not JSON"),
        (b'{"format": 1', b'[{"format": 1', "not JSON"),
        (b'{"format"', b' {"format"', None),
    ],
)
def test_json_that_is_refused(before, after, reason, packs, signed):
    manifest, arrays = packs["logistic"]
    path = signed(json.dumps(manifest).encode().replace(before, after, 1), arrays)
    if reason is None:
        assert load(path).n_features_in_ == 3
    else:
        refused(path, reason) if "parameters" not in reason else refused(path, reason, (load,))


def test_a_manifest_that_is_no_object(packs, signed):
    for text in (b"[]", b"3", b'"a"', b"null", b"", b"{}"):
        refused(signed(text, packs["logistic"][1]))


def changed_array(manifest, arrays, name, array):
    """The pack with another array in the place of an attribute's."""
    where = manifest["estimator"]["attributes"][name]["array"]
    tree, arrays = copy.deepcopy(manifest), list(arrays)
    tree["arrays"][where], arrays[where] = raw(array)[0].to_json(), array
    return tree, arrays


@pytest.mark.parametrize(
    ("model", "name", "array"),
    [
        ("logistic", "coef_", np.zeros((3, 4))),
        ("logistic", "coef_", np.zeros((2, 3))),
        ("logistic", "coef_", np.zeros(3)),
        ("logistic", "coef_", np.full((3, 3), np.inf)),
        ("logistic", "coef_", np.zeros((3, 3), dtype=int)),
        ("logistic", "coef_", np.array([["a"] * 3] * 3)),
        ("logistic", "intercept_", np.zeros(1)),
        ("logistic", "intercept_", np.full(3, np.nan)),
        ("separated", "classes_", np.array([False])),
        ("separated", "classes_", np.array([[False], [True]])),
        ("separated", "classes_", np.array([1, 1])),
        ("separated", "classes_", np.arange(3)),
        ("ridge", "coef_", np.zeros((2, 4))),
        ("ridge", "coef_", np.zeros((3, 3))),
        ("ridge", "intercept_", np.zeros(3)),
        ("voted", "margin_", np.zeros(3)),
    ],
)
def test_arrays_that_do_not_agree(model, name, array, packs, signed):
    with pytest.raises(ModelFileError, match=r"should be|refers to|belongs"):
        load(signed(*changed_array(*packs[model], name, array)))


@pytest.mark.parametrize(
    ("data", "dtype", "reason"),
    [
        (np.array([0, 2], np.uint8), "|b1", "neither 0 nor 1"),
        (np.frombuffer(b"\xff" * 8, np.uint8), "<U1", "character"),
    ],
)
def test_bytes_that_are_not_of_their_type(data, dtype, reason, packs, signed):
    manifest, arrays = changed_array(*packs["separated"], "classes_", data)
    where = manifest["estimator"]["attributes"]["classes_"]["array"]
    manifest["arrays"][where] |= {"dtype": dtype, "shape": [2]}
    with pytest.raises(ModelFileError, match=reason):
        load(signed(manifest, arrays))


def test_hidden_and_shared_arrays(packs, signed):
    manifest, arrays = packs["logistic"]
    tree = copy.deepcopy(manifest)
    tree["arrays"].append(raw(np.arange(3))[0].to_json())
    refused(signed(tree, [*arrays, np.arange(3)]), "belongs to nothing")
    tree = copy.deepcopy(manifest)
    tree["estimator"]["attributes"]["intercept_"] = tree["estimator"]["attributes"]["coef_"]
    refused(signed(tree, arrays), "used already")
