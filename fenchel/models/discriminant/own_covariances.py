"""What classifiers whose classes have covariances of their own share, once those are estimated."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.blocks import Blocks
from fenchel.geometry.mahalanobis.scores import QuadraticScores
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.discriminant.classifier import GaussianClassifier
from fenchel.models.discriminant.estimates.class_sums import ClassSums, class_sums
from fenchel.models.discriminant.estimates.covariance import (
    InverseRoot,
    oracle_share,
    root_of,
    shrunk_in_units,
)
from fenchel.models.discriminant.estimates.settings import priors_of
from fenchel.models.discriminant.proof import GaussianClassesFit, generative_certificate
from fenchel.models.estimator import as_numpy, validated_blocks
from fenchel.models.labels import check_two
from fenchel.models.rank_deficiency import RankDeficient

Floats = NDArray[np.float64]


class OwnCovariances(GaussianClassifier):
    """Gaussian classes with a covariance each, from the moments of the classes."""

    tol: float
    priors: Any
    store_covariance: bool

    @abstractmethod
    def _targets(self, sums: ClassSums, blocks: Blocks) -> Sequence[Floats]:
        """The covariance that each class aims at, in the units of the sums."""

    def _solve(self, sums: ClassSums, blocks: Blocks) -> None:
        """Every fitted attribute, from the moments."""
        self.priors_ = priors_of(self, sums.weight)
        targets = self._targets(sums, blocks)
        targets, ranks, shares, roots = self._full_rank(sums, targets, warn=True)
        dtype = blocks.dtype
        self.means_ = as_dtype(np.ldexp(sums.mean, sums.exponent), dtype)
        self.ranks_, self.repairs_ = ranks, shares
        outer = [root.rescaled(sums.exponent) for root in roots]
        self._roots = np.array([root.R for root in outer])
        self._log_dets = np.array([root.log_det for root in outer])
        axes = [principal_axes(T, sums.exponent) for T in targets]
        self.rotations_ = [as_dtype(V, dtype) for V, _ in axes]
        self.scalings_ = [as_dtype(values, dtype) for _, values in axes]
        forget(self, "covariance_")
        if self.store_covariance:
            self.covariance_ = [as_dtype(squared_units(T, sums), dtype) for T in targets]
        self.moments_ = (sums.weight, sums.mean, sums.scatter, sums.exponent)
        self.certificate_ = self._proof(sums, targets, roots)

    def _full_rank(
        self, sums: ClassSums, targets: Sequence[Floats], *, warn: bool
    ) -> tuple[list[Floats], NDArray[np.int64], Floats, list[InverseRoot]]:
        """The targets, those of less than full rank shrunk; their ranks before, the shares of
        shrinkage and the roots after."""
        K, d = sums.mean.shape
        spread = np.sqrt(np.diagonal(sums.within) / sums.weight.sum())
        whole = np.sqrt(sums.total_variance)
        unit = np.where(spread > 0.0, spread, np.where(whole > 0.0, whole, 1.0))
        found, roots = list(targets), []
        ranks, shares = np.full(K, d), np.zeros(K)
        for k, T in enumerate(targets):
            if sums.weight[k] == 0.0:  # a class named to partial_fit of which no row was seen
                roots.append(root_of(np.diag(unit**2), 0.0))
                found[k] = np.diag(unit**2)
                continue
            root = root_of(T, self.tol)
            if root.rank < d:
                ranks[k] = root.rank
                if root.rank == 0:
                    # Equal rows tell nothing of a covariance: it is that of the other classes.
                    if sums.weight[k] <= 1.0 or not spread.any():
                        raise ValueError(self._without_variance(k, bool(spread.any())))
                    T = sums.within / sums.weight.sum()
                C = T / unit / unit[:, None]
                rows = sums.weight[k] if root.rank else sums.weight.sum()
                shares[k] = oracle_share(C, float(rows))
                found[k] = shrunk_in_units(T, float(shares[k]), unit)
                root = root_of(found[k], 0.0)
            roots.append(root)
        if warn and shares.any():
            warn_outside(self._singular(sums, ranks, shares), RankDeficient)
        return found, ranks, shares, roots

    def _without_variance(self, k: int, others_vary: bool) -> str:
        label = self.classes_.tolist()[k]
        if not others_vary:
            return (
                "within the classes all rows are the same, and their covariances are zero: give "
                "the classes rows that differ"
            )
        return (
            f"y has only 1 sample in class {label!r}, and one row has no covariance. Give the "
            "class more rows, or let the classes share a covariance: LinearDiscriminantAnalysis, "
            "RegularizedDiscriminantAnalysis(lam=...)"
        )

    def _singular(self, sums: ClassSums, ranks: NDArray[np.int64], shares: Floats) -> str:
        d, labels = sums.mean.shape[1], self.classes_.tolist()
        said = [
            f"class {labels[k]!r} has a covariance of rank {ranks[k]} in {d} columns "
            f"(weight {sums.weight[k]:.4g}), "
            + (f"shrunk by {shares[k]:.2g}" if ranks[k] else "replaced by that within all classes")
            for k in np.flatnonzero(shares)
        ]
        more = f"; and {len(said) - 5} more classes" if len(said) > 5 else ""
        return (
            f"{'; '.join(said[:5])}{more}. Choose the shrinkage yourself, or let the classes share "
            "a covariance"
        )

    def _densities(self) -> QuadraticScores:
        means, d = np.asarray(as_numpy(self.means_), np.float64), self.n_features_in_
        with np.errstate(divide="ignore"):
            offset = np.log(np.asarray(as_numpy(self.priors_), np.float64))
        offset = offset - 0.5 * (self._log_dets + d * np.log(2.0 * np.pi))
        return QuadraticScores.of(means, self._roots, offset)

    def _proof(
        self, sums: ClassSums, targets: Sequence[Floats], best: Sequence[InverseRoot]
    ) -> Certificate:
        """Of the fitted parameters, on rows with these moments."""
        down = -sums.exponent
        roots = [
            InverseRoot(R, float(log_det), len(R)).rescaled(down)
            for R, log_det in zip(self._roots, self._log_dets, strict=True)
        ]
        means = np.ldexp(np.asarray(as_numpy(self.means_), np.float64), down)
        priors = np.asarray(as_numpy(self.priors_), np.float64)
        fitted = GaussianClassesFit.of(priors, means, roots, sums.mean)
        free = self.priors is None
        found = generative_certificate(sums.weight, targets, best, fitted, free)
        return in_units(found, sums, best[0])

    def _certificate(self, sums: ClassSums, blocks: Blocks) -> Certificate:
        targets, _, _, best = self._full_rank(sums, self._targets(sums, blocks), warn=False)
        return self._proof(sums, targets, best)


def in_units(found: Certificate, sums: ClassSums, root: InverseRoot) -> Certificate:
    """The certificate for the columns as given: each density has the Jacobian 2^(-Σ exponent), over
    the columns of the root."""
    if not sums.exponent.any():
        return found
    shift = float(sums.weight.sum()) * root.log_units(sums.exponent)
    return replace(found, value=found.value + shift, bound=found.bound + shift)


def further_sums(
    estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any, *, shared: bool
) -> tuple[ClassSums, Blocks]:
    """The moments of the rows seen before and of these together."""
    name, first = type(estimator).__name__, "moments_" not in vars(estimator)
    if first:
        if "classes_" in vars(estimator):
            raise ValueError(
                f"this {name} keeps no moments of its rows, to which partial_fit would add: it was "
                "fitted to fewer rows than columns, or with a choice of shrinkage that looks at "
                "all rows; begin anew with partial_fit"
            )
        if classes is None:
            raise ValueError(f"the first call to {name}.partial_fit must be given classes")
        estimator.classes_ = np.unique(as_numpy(classes))
        check_two(estimator, estimator.classes_)
        validated_blocks(estimator, X)
    elif classes is not None and not np.array_equal(
        estimator.classes_, np.unique(as_numpy(classes))
    ):
        raise ValueError(
            f"classes={np.unique(as_numpy(classes)).tolist()} is not what the first call to "
            f"{name}.partial_fit was given: {estimator.classes_.tolist()}"
        )
    blocks = encoded_rows(estimator, X, y, sample_weight)
    sums = class_sums(blocks, len(estimator.classes_), shared=shared)
    if first:
        return sums, blocks
    before = ClassSums(*estimator.moments_)
    if not np.array_equal(before.exponent, sums.exponent):
        raise ValueError(
            "the squares of these numbers leave the range of float64, or those of the rows before "
            "did: scale the columns by powers of ten, or use fit on all rows"
        )
    return before + sums, blocks


def squared_units(T: Floats, sums: ClassSums) -> Floats:
    """A covariance in the units of the columns as given; infinite where float64 ends."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(T, sums.exponent + sums.exponent[:, None])


def forget(estimator: Any, *names: str) -> None:
    """Removes what an earlier fit in other settings may have set."""
    for name in names:
        if name in vars(estimator):
            delattr(estimator, name)


def as_dtype(values: Floats, dtype: Any) -> NDArray[Any]:
    """In the precision of the rows, unless that has no range for it."""
    with np.errstate(over="ignore", under="ignore"):
        out = values.astype(dtype)
    return out if np.isfinite(out).all() else values


def principal_axes(T: Floats, exponent: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Axes (d, d) as columns and the variances along them, the largest first."""
    top = int(exponent.max(initial=0))
    order = slice(None, None, -1)
    with np.errstate(over="ignore", under="ignore"):
        values, V = np.linalg.eigh(np.ldexp(T, exponent + exponent[:, None] - 2 * top))
        variances = np.ldexp(np.maximum(values[order], 0.0), 2 * top)
    return np.ascontiguousarray(V[:, order]), variances
