"""What a file tells of a model whose number is a definition."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel.app.modelfile import inspect_file
from fenchel.app.modelfile.estimators import ESTIMATORS, estimator_class
from fenchel.models.certificates.certified import SelfCertified


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_schemas_say_what_the_classes_say(name):
    kind = estimator_class(name)
    own = kind.definition if issubclass(kind, SelfCertified) else ""
    assert ESTIMATORS[name].definition == own


def test_inspect_names_the_definition(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    model = fenchel.KNeighborsClassifier("auto").fit(X, y)
    fenchel.save(model, tmp_path / "m.fen")
    words = inspect_file(tmp_path / "m.fen")["certificate"]["words"]
    assert words == f"leave-one-out error {model.certificate_.value:.10g}, exact by its definition"
