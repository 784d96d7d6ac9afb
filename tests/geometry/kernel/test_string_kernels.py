"""Kernels of strings against their definitions, at any length, and what they refuse."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, isqrt

import numpy as np
import oracles.strings as oracle
import pytest
from geometry.cases import STRINGS
from hypothesis import given, settings
from hypothesis import strategies as st

from fenchel import kernels, threads
from fenchel.data.design.kernel_tiles import gram_matrix, kernel_columns, kernel_product
from fenchel.data.strings import string_column
from fenchel.geometry.strings import subsequence
from fenchel.geometry.strings.mismatch import common_neighbours

ALPHABETS = ("a", "ab", "ACGT", "aé∂\U0001f600")


def drawn(n, longest, alphabet="ACGT", seed=0, least=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(least, longest + 1, n)
    return ["".join(rng.choice(list(alphabet), length)) for length in lengths]


def texts(longest):
    return st.sampled_from(ALPHABETS).flatmap(
        lambda alphabet: st.lists(st.text(alphabet, max_size=longest), min_size=1, max_size=5)
    )


@given(texts(9), texts(9), st.integers(1, 4), st.booleans())
def test_spectrum_counts_substrings(A, B, k, normalised):
    K = kernels.Spectrum(k, normalised).tile(A, B)
    expected = oracle.matrix(lambda s: oracle.spectrum_features(s, k), A, B, normalised)
    np.testing.assert_allclose(K, expected, rtol=0.0 if not normalised else 1e-15, atol=0.0)


@given(texts(7), texts(7), st.integers(1, 4), st.sampled_from([0.1, 0.5, 1.0]), st.booleans())
def test_subsequence_sums_over_all_places(A, B, k, decay, normalised):
    K = kernels.Subsequence(k, decay, normalised).tile(A, B)
    expected = oracle.matrix(lambda s: oracle.subsequence_features(s, k, decay), A, B, normalised)
    np.testing.assert_allclose(K, expected, rtol=1e-13, atol=0.0)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 3), st.integers(0, 2), st.booleans())
def test_mismatch_counts_neighbours_of_every_k_mer(data, k, m, normalised):
    m = min(m, k - 1)
    alphabet = data.draw(st.sampled_from(ALPHABETS))
    rows = st.lists(st.text(alphabet, max_size=7), min_size=1, max_size=3)
    A, B = data.draw(rows), data.draw(rows)
    K = kernels.Mismatch(k, m, alphabet, normalised).tile(A, B)
    expected = oracle.matrix(
        lambda s: oracle.mismatch_features(s, k, m, alphabet), A, B, normalised
    )
    np.testing.assert_allclose(K, expected, rtol=1e-14, atol=0.0)


@given(texts(12), texts(12), st.booleans())
def test_edit_distance_substitution(A, B, normalised):
    kernel = kernels.EditDistance(0.3, normalised)
    expected = [[oracle.edit_kernel(s, t, 0.3, normalised) for t in B] for s in A]
    np.testing.assert_allclose(kernel.tile(A, B), expected, rtol=1e-14)
    if not normalised:
        plain = [[oracle.edit_distance(s, t) for t in B] for s in A]
        assert kernel.distances(A, B).tolist() == plain


@pytest.mark.parametrize(("k", "m", "alphabet"), [(2, 1, "ab"), (3, 1, "abc"), (4, 3, "ab")])
def test_how_many_neighbours_two_k_mers_have_in_common(k, m, alphabet):
    every = list(product(alphabet, repeat=k))

    def apart(u, v):
        return sum(a != b for a, b in zip(u, v, strict=True))

    for v in every:
        d = apart(every[0], v)
        both = sum(apart(u, every[0]) <= m and apart(u, v) <= m for u in every)
        assert common_neighbours(k, m, d, len(alphabet)) == both


def test_long_k_mers_are_told_apart_in_full():
    """Beyond 31 characters of four a k-mer is no longer one key; the strings share long pieces."""
    piece = drawn(1, 300, seed=1, least=300)[0]
    A = [piece, piece[:150] + "A" + piece[150:], piece[40:] + piece[:40], piece[:59], ""]
    for k in (30, 31, 32, 33, 60, 61, 64, 127, 200, 299, 300, 301):
        K = kernels.Spectrum(k, normalised=False).tile(A, A)
        assert K.tolist() == oracle.matrix(lambda s, k=k: Counter(oracle.kmers(s, k)), A, A, False)


@pytest.mark.parametrize("size", [4, 80])
def test_mismatches_of_long_k_mers(size):
    """Of 80 characters twelve no longer fit a key; for m = 1 the weights are known formulas."""
    alphabet = "".join(map(chr, range(40, 40 + size)))
    base = drawn(1, 60, alphabet, seed=2, least=60)[0]
    A = [base, base[:20] + "(" + base[21:], base[:20] + ")(" + base[22:], base[5:40]]
    k = 12
    weight = (1 + k * (size - 1), size, 2)
    K = kernels.Mismatch(k, 1, alphabet, normalised=False).tile(A, A)
    for i, s in enumerate(A):
        for j, t in enumerate(A):
            value = 0
            for u in oracle.kmers(s, k):
                for v in oracle.kmers(t, k):
                    d = sum(a != b for a, b in zip(u, v, strict=True))
                    value += weight[d] if d <= 2 else 0
            assert K[i, j] == value


def test_every_way_to_multiply_counts():
    """Most k-mers in most rows, few, and rows that hold a small part of all k-mers."""
    for k, longest in ((1, 40), (2, 40), (4, 60), (8, 60)):
        A = drawn(300, longest, seed=k)
        (prepared,) = kernels.Spectrum(k, False).prepared(A)
        for rows in (slice(0, 3), slice(0, 40), slice(None)):
            K = kernels.Spectrum(k, False).tile(prepared[rows], prepared[5:9])
            features = [Counter(oracle.kmers(s, k)) for s in A]
            expected = [[oracle.inner(f, g) for g in features[5:9]] for f in features[rows]]
            assert K.tolist() == expected


@pytest.mark.parametrize("decay", [0.5, 0.95, 1.0])
def test_subsequences_of_strings_longer_than_a_strip(decay):
    lengths = (0, 1, 3, 255, 256, 257, 300, 530)
    A = [drawn(1, n, seed=n, least=n)[0] for n in lengths]
    K = kernels.Subsequence(3, decay, False).tile(A, A)
    assert np.array_equal(K, K.T)
    for i, s in enumerate(A):
        for j in range(i, len(A)):
            expected = decay**6 * oracle.subsequence_value(s, A[j], 3, decay)
            assert K[i, j] == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_subsequences_keep_their_digits():
    """Against fractions: sums of positive terms lose next to nothing."""
    s, t = drawn(2, 90, "ab", seed=5, least=80)
    for k in (2, 7):
        exact = oracle.subsequence_value(s, t, k, Fraction(3, 4)) * Fraction(3, 4) ** (2 * k)
        assert kernels.Subsequence(k, 0.75, False).tile([s], [t])[0, 0] == pytest.approx(
            float(exact), rel=4e-15
        )


def test_long_runs_of_one_character_keep_their_digits():
    """Of equal terms plain sums lose digits one way, and with them semi-definiteness."""
    value = kernels.Subsequence(3, 1.0, False).tile(["x" * 3000], ["x" * 2999])[0, 0]
    assert value == pytest.approx(comb(3000, 3) * comb(2999, 3), rel=5e-16)
    A = ["a" + "x" * n + "b" for n in range(0, 3000, 300)]
    for decay in (0.05, 0.5, 0.99):
        K = gram_matrix(kernels.Subsequence(3, decay), A)
        assert np.linalg.eigvalsh(K)[0] >= -1e-15 * len(A)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 128, 129, 200])
def test_edit_distances_across_words(n):
    s = drawn(1, n, "ab", seed=n, least=n)[0]
    others = ["", s, s[::-1], s[1:] + "b", *drawn(4, 200, "ab", seed=n + 1)]
    D = kernels.EditDistance(1.0, False).distances([s], others)[0]
    assert D.tolist() == [oracle.edit_distance(s, t) for t in others]


def test_strings_of_a_hundred_thousand_characters():
    s, t = drawn(2, 100_000, seed=3, least=100_000)
    counts = Counter(oracle.kmers(s, 6)), Counter(oracle.kmers(t, 6))
    assert kernels.Spectrum(6, False).tile([s], [t])[0, 0] == oracle.inner(*counts)
    (D,) = kernels.EditDistance(1.0, False).distances([s], [s[:50_000] + "G" + s[50_001:]])
    assert D[0] == (s[50_000] != "G")
    K = kernels.Mismatch(8, 1, "ACGT").tile([s, s[:99_000]], [s])
    assert K[0, 0] == 1.0 and 0.99 < K[1, 0] < 1.0


@pytest.mark.parametrize("kernel", STRINGS, ids=repr)
def test_bits_do_not_depend_on_threads_and_tiles(kernel):
    A, v = drawn(90, 30, seed=7), np.linspace(-1.0, 1.0, 90)
    with threads(1):
        K, w = gram_matrix(kernel, A), kernel_product(kernel, A, A, v)
    with threads(3):
        assert np.array_equal(gram_matrix(kernel, A), K)
        assert np.array_equal(kernel_product(kernel, A, A, v), w)
        assert np.array_equal(kernel_columns(kernel, A, A[:7]), K[:, :7])
    assert np.array_equal(kernel.tile(A, A), K) and np.array_equal(kernel.tile(A, A).T, K)
    (prepared,) = kernel.prepared(A)
    assert np.array_equal(kernel.tile(prepared[::3], prepared[10:11]), K[::3, 10:11])


@pytest.mark.parametrize("kernel", STRINGS, ids=repr)
def test_bytes_are_strings_of_their_code_points(kernel):
    A = [*drawn(12, 9), ""]
    as_bytes = [s.encode() for s in A]
    if isinstance(kernel, kernels.Mismatch):  # of all characters there are fewer bytes
        kernel = replace(kernel, alphabet="ACGT")
    assert np.array_equal(kernel.tile(as_bytes, as_bytes), kernel.tile(A, A))


def test_equal_strings_have_the_value_one_and_short_ones_zero():
    A = ["ACGTACGTAA", "AC", "", "ACGTACGTAA", "G" * 400]
    for kernel in (kernels.Spectrum(3), kernels.Mismatch(3, 1), kernels.Subsequence(3, 0.3)):
        K = kernel.tile(A, A)
        assert K[0, 0] == K[0, 3] == K[4, 4] == 1.0
        assert not K[1].any() and not K[2].any()
        assert kernel.diagonal(A).tolist() == [1.0, 0.0, 0.0, 1.0, 1.0]
        raw = type(kernel)(3, normalised=False)
        np.testing.assert_allclose(raw.diagonal(A), np.diagonal(raw.tile(A, A)), rtol=1e-15)


def test_any_unicode_counts_by_code_points():
    A = ["e\u0301", "\u00e9", "\ud800\U0010ffff", "\0a\0", "\0a"]
    K = kernels.Spectrum(1, False).tile(A, A)
    assert np.diagonal(K).tolist() == [2.0, 1.0, 2.0, 5.0, 2.0] and K[0, 1] == 0.0
    assert kernels.EditDistance(1.0, False).distances(A, A)[3, 4] == 1.0


def test_sums_beyond_float64_are_normalised_or_refused():
    """C(560, 200)² is above 2¹⁰²⁴."""
    kernel, raw = kernels.Subsequence(200, 1.0), kernels.Subsequence(200, 1.0, normalised=False)
    A, B = ["a" * 560], ["a" * 570]
    assert kernel.tile(A, B)[0, 0] == pytest.approx(1.0, rel=1e-12)
    message = "string of 560 characters and one of 570 exceeds the largest float64: take normalised"
    with pytest.raises(ValueError, match=message):
        raw.tile(A, B)
    with pytest.raises(ValueError, match="560 characters and one of 560 exceeds"):
        raw.diagonal(A)


@pytest.fixture
def wide(monkeypatch):
    """Every sum with an exponent of its own."""
    monkeypatch.setattr(subsequence, "LARGEST", -np.inf)


def test_sums_with_exponents_are_exact(wide):
    """Against whole numbers above 2²⁵⁶, the largest that has exponent zero."""
    exact = comb(300, 60) * comb(280, 60)
    assert exact > 2**400
    whole = kernels.Subsequence(60, 1.0, False).tile(["a" * 300], ["a" * 280])[0, 0]
    assert whole == pytest.approx(float(exact), rel=1e-12)
    s, k = "ab" * 60, 50
    own = oracle.subsequence_value(s, s, k, 1)
    ratio = isqrt(10**60 * comb(60, k) ** 2 // own) / 10**30
    (K,) = kernels.Subsequence(k, 1.0).tile([s], ["a" * 300, s])
    assert K[0] == pytest.approx(ratio, rel=1e-12) and K[1] == 1.0


def test_sums_with_exponents_are_the_plain_ones(wide):
    A = drawn(6, 60, "ab", seed=4)
    for decay in (0.3, 0.9, 1.0):
        K = kernels.Subsequence(4, decay, False).tile(A, A)
        for i, s in enumerate(A):
            expected = [decay**8 * oracle.subsequence_value(s, t, 4, decay) for t in A]
            np.testing.assert_allclose(K[i], expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kernels.Spectrum(0), "k must be a whole number of at least 1, got 0"),
        (lambda: kernels.Spectrum(2.5), "k must be a whole number"),
        (lambda: kernels.Spectrum(True), "k must be a whole number"),
        (lambda: kernels.Mismatch(3, 3), "m must be less than k = 3, got 3"),
        (lambda: kernels.Mismatch(3, -1), "m must be a whole number of at least 0"),
        (lambda: kernels.Mismatch(20, 5), "take 616666 products of counts.*take a smaller m"),
        (lambda: kernels.Mismatch(3, 1, ""), "alphabet must be a string of characters"),
        (lambda: kernels.Mismatch(3, 1, 4), "alphabet must be a string of characters, got 4"),
        (lambda: kernels.Mismatch(3, 1, "ACGA"), "alphabet names a character twice: 'ACGA'"),
        (lambda: kernels.Subsequence(3, 0.0), r"decay must lie in \(0, 1\], got 0.0"),
        (lambda: kernels.Subsequence(3, 1.5), "decay must lie in"),
        (lambda: kernels.Subsequence(3, np.nan), "decay must lie in"),
        (lambda: kernels.Subsequence(90, 0.01, False), "would vanish: take normalised=True"),
        (lambda: kernels.EditDistance(0.0), "gamma must be positive and finite"),
        (lambda: kernels.Spectrum(3) + kernels.Gaussian(), "Spectrum.*compares strings and Gauss"),
        (lambda: kernels.Gaussian() * kernels.Spectrum(3), "kernels of a product must take the"),
        (lambda: kernels.Spectrum(2).tile(["ab"], [b"ab"]), "'ab' is str and b'ab' is bytes: dec"),
        (lambda: kernels.Spectrum(2).tile(["ab", None], ["a"]), r"row 1 of X is missing \(None\)"),
        (lambda: kernels.Spectrum(2).tile([1.0], ["a"]), r"row 0 of X holds 1.0 \(float\) where a"),
        (
            lambda: kernels.Mismatch(2, 1, "ACGT").tile(["AC", "ANG"], ["A"]),
            "row 1, 'ANG', holds 'N' at position 1, which is not in the alphabet 'ACGT'",
        ),
    ],
)
def test_bad_parameters_and_rows(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_alphabet_of_bytes_is_that_of_their_characters():
    assert kernels.Mismatch(3, 1, b"ACGT") == kernels.Mismatch(3, 1, "ACGT")
    A = drawn(5, 9)
    as_bytes = [s.encode() for s in A]
    kernel = kernels.Mismatch(3, 1, "ACGT")
    assert np.array_equal(kernel.tile(A, A), kernel.tile(as_bytes, as_bytes))


def test_tables_of_two_preparations_do_not_meet():
    kernel = kernels.Spectrum(2)
    (first,), (second,) = kernel.prepared(["abc"]), kernel.prepared(["abc"])
    for other in (second, ["abc"]):
        with pytest.raises(ValueError, match="prepared together"):
            kernel.tile(first, other)


def test_no_rows_are_a_tile_too():
    none = string_column(["a"])[:0]
    for kernel in STRINGS:
        assert kernel.tile(none, ["ab", "c"]).shape == (0, 2)
        assert kernel.tile(["ab", "c"], none).shape == (2, 0)
        assert kernel.diagonal(none).shape == (0,)


def test_only_edit_distance_is_flagged():
    assert [kernel.is_psd for kernel in STRINGS] == ["Edit" not in repr(k) for k in STRINGS]
    assert all(kernel.of_strings for kernel in STRINGS) and not kernels.Gaussian().of_strings
