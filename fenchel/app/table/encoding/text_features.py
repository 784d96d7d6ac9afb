"""Bag of words: a text column as tf-idf weights of word and character n-grams.

A text is cut into words (runs of letters or of digits, lower case, every digit as #). Its features
are the words, the pairs of neighbouring words, and the runs of 3 and 4 characters inside words
(with · for the edge of a word). With tf the count of a feature in a text, df the number of training
texts that have it and n their number,

    weight = (1 + ln tf)(1 + ln((1 + n)/(1 + df))),   each text divided by its norm, times 5.

The vocabulary is counted on the training rows: the features that most texts have, at least
max(3, n/1000) and at most 95 % of them. Nothing is hashed, so that a coefficient has a name. Whole
columns are processed at once by polars; memory is that of the tokens of one batch.

Reference: Salton, Buckley, Term-weighting approaches in automatic text retrieval, 1988;
Cavnar, Trenkle, N-gram-based text categorization, 1994.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

MOST_WORDS = 2000  # words and pairs of words
MOST_PIECES = 1000  # runs of characters
MOST_TEXTS = 50_000  # training texts that the vocabulary is counted on; more change little
SCALE = 5.0  # beside columns of deviation 1, texts of norm 1 would be penalised 25 times as much
_PIECES = (3, 4)
_EDGE = "·"
_WORD = r"[\p{L}]+|[\p{Nd}]+"
_BATCH = 2**14  # texts whose tokens are held at a time
_LONGEST_WORD = 200  # characters of a word that are cut; what is longer is no word
_LOOK = 2000  # texts that decide whether a column is prose


@dataclass(frozen=True)
class TextFeatures:
    """The features of one text column: their names, and the logarithmic rarity of each."""

    grams: tuple[str, ...]
    idf: tuple[float, ...]

    @classmethod
    def fit(cls, column: pl.Series) -> TextFeatures | None:
        """The vocabulary of these texts; None where no feature is frequent enough."""
        texts = column.drop_nulls()
        if len(texts) > MOST_TEXTS:
            picks = np.random.default_rng(0).choice(len(texts), MOST_TEXTS, replace=False)
            texts = texts[np.sort(picks)]
        n = len(texts)
        least, most = max(3, n // 1000), 0.95 * n
        parts = [
            _grams(part).group_by("gram", "piece").agg(df=pl.col("row").n_unique())
            for part in texts.to_frame("text").iter_slices(_BATCH)
        ]
        if not parts:
            return None
        counted = pl.concat(parts).group_by("gram", "piece").agg(pl.col("df").sum())
        counted = counted.filter(pl.col("df").is_between(least, most))
        kept = [
            counted.filter(pl.col("piece") == piece)
            .sort("df", "gram", descending=[True, False])
            .head(count)
            for piece, count in ((False, MOST_WORDS), (True, MOST_PIECES))
        ]
        chosen = pl.concat(kept)
        if not chosen.height:
            return None
        df = chosen["df"].to_numpy().astype(np.float64)
        idf = 1.0 + np.log((1.0 + n) / (1.0 + df))
        return cls(tuple(chosen["gram"].to_list()), tuple(idf.tolist()))

    @property
    def words(self) -> int:
        """How many of the features are words or pairs of words."""
        return sum(not is_piece(gram) for gram in self.grams)

    def transform(self, column: pl.Series) -> sparse.csr_array:
        """The weights (n, features); a missing text has none."""
        vocabulary = pl.DataFrame(
            {"gram": self.grams, "feature": np.arange(len(self.grams), dtype=np.int64)}
        )
        frame = column.alias("text").to_frame()
        parts = [self._weights(part, vocabulary) for part in frame.iter_slices(_BATCH)]
        if not parts:
            return sparse.csr_array((0, len(self.grams)))
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def _weights(self, frame: pl.DataFrame, vocabulary: pl.DataFrame) -> sparse.csr_array:
        counts = (
            _grams(frame)
            .join(vocabulary, on="gram")
            .group_by("row", "feature")
            .agg(tf=pl.len())
            .sort("row", "feature")
        )
        rows = counts["row"].to_numpy().astype(np.int64)
        features = counts["feature"].to_numpy()
        weight = (1.0 + np.log(counts["tf"].to_numpy())) * np.asarray(self.idf)[features]
        norm = np.sqrt(np.bincount(rows, weight * weight, minlength=frame.height))
        weight *= SCALE / norm[rows]
        starts = np.searchsorted(rows, np.arange(frame.height + 1))
        shape = (frame.height, len(self.grams))
        return sparse.csr_array((weight, features, starts), shape=shape)

    @classmethod
    def from_parts(cls, grams: Sequence[str], idf: NDArray[np.float64]) -> TextFeatures:
        """Out of a file; ValueError for what `fit` cannot have made."""
        if len(grams) != len(idf) or not 0 < len(grams) <= MOST_WORDS + MOST_PIECES:
            raise ValueError("text features have one weight each, and are not too many")
        if len(set(grams)) < len(grams) or not (np.isfinite(idf) & (idf > 0.0)).all():
            raise ValueError("text features are listed once, with positive weights")
        return cls(tuple(grams), tuple(idf.tolist()))


def is_piece(gram: str) -> bool:
    """Whether a feature is a run of characters, which is marked by ~: no word has that sign."""
    return gram.startswith("~")


def _tokens(frame: pl.DataFrame) -> pl.DataFrame:
    """The words of every text in their order: row, word; every digit is #."""
    words = pl.col("text").str.to_lowercase().str.extract_all(_WORD)
    return (
        frame.select(words.alias("word"))
        .with_row_index("row")
        .explode("word")
        .drop_nulls("word")
        .with_columns(pl.col("word").str.replace_all(r"\p{Nd}", "#"))
    )


def _grams(frame: pl.DataFrame) -> pl.DataFrame:
    """Every feature of every text, as often as it occurs: row, gram, piece."""
    tokens = _tokens(frame)
    single = tokens.select("row", gram=pl.col("word"), piece=pl.lit(False))
    pairs = tokens.select(
        "row",
        gram=pl.col("word") + " " + pl.col("word").shift(-1).over("row"),
        piece=pl.lit(False),
    ).drop_nulls("gram")
    # Each distinct word is cut once, however often it occurs.
    vocabulary = tokens.select("word").unique()
    cut = pl.concat(_cut(vocabulary, size) for size in _PIECES)
    pieces = tokens.join(cut, on="word").select("row", "gram", piece=pl.lit(True))
    return pl.concat([single, pairs, pieces])


def _cut(words: pl.DataFrame, size: int) -> pl.DataFrame:
    """The runs of `size` characters of each word with its edges, marked by ~: word, gram."""
    edged = words.with_columns(edged=_EDGE + pl.col("word") + _EDGE)
    last = (pl.col("edged").str.len_chars().cast(pl.Int64) - size + 1).clip(0, _LONGEST_WORD)
    places = edged.with_columns(at=pl.int_ranges(0, last)).explode("at").drop_nulls("at")
    return places.select("word", gram="~" + pl.col("edged").str.slice(pl.col("at"), size))


def reads_as_prose(column: pl.Series) -> bool:
    """Whether texts are made of words that other texts have too: three or more on average, half of
    which occur in at least two texts. Names and codes of rows are not, nor is one text in which
    only numbers differ."""
    texts = column.drop_nulls()
    if len(texts) > _LOOK:
        picks = np.random.default_rng(0).choice(len(texts), _LOOK, replace=False)
        texts = texts[np.sort(picks)]
    tokens = _tokens(texts.alias("text").to_frame())
    if tokens.height < 3 * len(texts):
        return False
    df = tokens.group_by("word").agg(df=pl.col("row").n_unique(), count=pl.len())
    shared = df.filter(pl.col("df") >= 2)["count"].sum()
    kinds = tokens.group_by("row").agg(pl.col("word").str.join(" "))["word"].n_unique()
    letters = tokens.filter(pl.col("word").str.contains(r"\p{L}")).height
    varied = kinds >= max(5, 0.05 * len(texts))
    return bool(varied and min(shared, letters) >= 0.5 * tokens.height)
