"""The engine of the spectral family: Nyström's formula gives back the rows of the fit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fenchel
from fenchel.models.estimator import validated_blocks
from fenchel.models.spectral.eigenfunctions import DataOperator, SpectralMap, eigenfunctions
from fenchel.solve.eigen.leading import eigenpairs


class Products:
    """P(x, xⱼ) = x·xⱼ sⱼ."""

    def __init__(self, rows, s):
        self.rows, self.s = rows, s

    def extend(self, X):
        return (X @ self.rows.T) * self.s


class Moment(SpectralMap):
    """Eigenfunctions of the uncentred linear kernel, the smallest method there is."""

    def __init__(self, k=2):
        self.k = k

    def _operator(self, blocks):
        block = blocks.gather()
        rows = np.asarray(block.X, np.float64)
        s = np.ones(len(rows)) if block.weight is None else np.asarray(block.weight, np.float64)
        members = np.flatnonzero(s > 0.0)
        rows, s = rows[members], s[members]
        root = np.sqrt(s)[:, None] * rows
        some = members if len(members) < blocks.n_rows else None
        return DataOperator(root @ root.T, Products(rows, s), s, some)

    def fit(self, X, y=None, sample_weight=None):
        blocks = validated_blocks(self, X, None, sample_weight)
        made = self._operator(blocks)
        found = eigenfunctions(eigenpairs(made.A, self.k), measure=made.measure)
        return self._record(found, made, blocks)


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [3.0, 2.0, 1.0][:d]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_training_rows_have_the_coordinates_of_the_embedding(weighted, dtype):
    X = rows().astype(dtype)
    s = np.arange(40.0) % 4 if weighted else None
    model = Moment().fit(X, sample_weight=s)
    assert model.embedding_.dtype == dtype and model.embedding_.shape == (40, 2)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    assert_allclose(model.transform(X), model.embedding_, atol=10 * tolerance)
    assert fenchel.certify(model, X, sample_weight=s).closed(tolerance)
    assert model.certificate_.kind == "eigen" and model.certificate_.closed(1e-12)
    assert model.get_feature_names_out().tolist() == ["moment0", "moment1"]


def test_whole_weights_are_repeated_rows():
    X, s = rows(), np.arange(40) % 4
    weighted = Moment().fit(X, sample_weight=s.astype(float))
    repeated = Moment().fit(np.repeat(X, s, axis=0))
    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-12)
    assert_allclose(np.abs(weighted.transform(X)), np.abs(repeated.transform(X)), atol=1e-10)


def test_columns_beyond_the_rank_are_zero():
    model = Moment(k=5).fit(rows())
    assert_array_equal(model.embedding_[:, 3:], 0.0)
    assert_array_equal(model.transform(rows(7, seed=1))[:, 3:], 0.0)
    assert (model.embedding_[:, :3] != 0.0).any(axis=0).all()


def test_other_rows_are_refused_by_their_number():
    model = Moment().fit(rows())
    with pytest.raises(ValueError, match="fitted on 40 rows, and X has 39"):
        model.certify_on(rows()[:39])


def test_a_scale_and_a_continuation_of_ones():
    A = np.diag([3.0, 2.0, 1.0])
    found = eigenfunctions(eigenpairs(A, 2), scale=np.ones(2), continued=np.ones(2))
    assert_array_equal(found.embedding, found.coefficients)
    assert found.rank == 2 and found.multiplicities == (1, 1)
