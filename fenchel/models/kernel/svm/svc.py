"""Support vector classification with kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import isinf
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.hinge import Hinge
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.estimator import as_numpy
from fenchel.models.kernel.gram_rows import gram_rows
from fenchel.models.kernel.landmark_rows import LANDMARKS
from fenchel.models.kernel.svm.dual_fit import SHARED, DualFit, fit_dual
from fenchel.models.kernel.svm.landmark_fit import machines_on_features
from fenchel.models.kernel.svm.linear_shift import certify_shifted
from fenchel.models.kernel.svm.machines import (
    Machine,
    class_scores,
    machines_of,
    packed,
    unpacked,
    votes,
)
from fenchel.models.kernel.svm.maximal_margin import certify_margin, fit_maximal_margin
from fenchel.models.kernel.svm.probabilities import (
    class_probabilities,
    fit_curve,
    left_out_scores,
    pair_probabilities,
)
from fenchel.models.kernel.svm.support_expansion import Placed, SupportExpansion
from fenchel.models.labels import class_factors, encode_labels

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# Left-out fits of a hard margin are soft ones, with C above all its coefficients: without some rows
# the others may need more.
SOFT_SHARE = 10.0


def _has_probabilities(model: Any) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba needs probability=True before the fit")
    return True


class SVC(ClassifierMixin, SupportExpansion, SelfCertified):
    """Support vector machine: min over f, b of C Σ sᵢ max(0, 1 - yᵢ(f(xᵢ) + b)) + ‖f‖²/2.

    f lies in the kernel's space, so f = Σ βᵢ k(xᵢ, ·) with 0 ≤ yᵢβᵢ ≤ C sᵢ; Σ βᵢ = 0, as b is free.
    The dual is solved by sequential minimal optimisation in blocks, with rows of the kernel matrix
    made by products in float32; value, bound and conditions of optimality at the end are computed
    in float64. Of K > 2 classes there is one machine a pair, or one a class against the rest.

    Parameters
    ----------
    C : float, default 1
        Weight of the losses, positive. inf is the hard margin, least ‖f‖²/2 with yᵢ(f(xᵢ) + b) ≥ 1:
        the kernel matrix is factored. Where no plane of its space separates the classes, a
        `NotSeparable` warning says so, with the proof in `proofs_`.
    kernel : str, kernel or function, default "rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed", a kernel such as
        ``fenchel.kernels.Gaussian(0.5)``, or a function of two tables that gives the matrix of all
        pairs. One that is not positive semi-definite, such as "sigmoid", is fitted with a warning;
        the certificate then states no bound. With a kernel of strings, such as
        ``fenchel.kernels.Spectrum(3)``, each row of X is a string.
    degree, gamma, coef0 :
        Of the kernels with these names; gamma "scale", "auto", "median" or a positive number.
    shrinking : bool
        Ignored: a working set of the worst rows is what shrinking is for.
    probability : bool, default False
        Whether to fit `predict_proba`: logistic curves of scores of rows that were left out, in
        five parts taken in turn from the sorted rows, nothing drawn. Pairs of classes are coupled
        (Wu, Lin and Weng 2004).
    tol : float, default 1e-3
        By how much the conditions of optimality may be missed, in units of the score, as in
        scikit-learn; `certificate_.residual` is what was reached, `certificate_.relative_gap` what
        it proves. Tables up to some 250 rows are solved to rounding.
    cache_size : float, default 200
        Megabytes for rows of the kernel matrix.
    class_weight : dict, "balanced" or None
    verbose : int
        1 shows the gap while fitting.
    max_iter : int, default -1
        Steps of two coefficients at most; -1: no limit.
    decision_function_shape : "ovr" or "ovo"
        Scores of each class, or of each pair; of no effect for two classes.
    break_ties : bool
        Whether `predict` breaks ties of votes by the scores.
    random_state : int or RandomState
        Of the landmarks; None: the same ones at every fit. Nothing else is random.
    multi_class : "ovo" or "ovr"
        How more than two classes are fitted; "ovr" sets each class against the rest.
    warm_start : bool
        Whether to begin from the coefficients of the last fit, on the same rows.
    landmarks : int, array of row numbers or None
        Fit f = Σ cⱼ k(zⱼ, ·) over so many rows z, drawn evenly, or over those given, to all rows
        (Nyström's features): O(n) a landmark where K takes n². tol is then a relative duality gap,
        support vectors are landmarks, C is finite, and there are no probabilities.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, class_weight_ :
        as in scikit-learn; of "precomputed", support_vectors_ is empty. For multi_class="ovr"
        dual_coef_ and intercept_ have a row for each class.
    coef_ : array, of a linear kernel
    fit_status_, shape_fit_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : Certificate
        On the objective above, summed over the machines, which `certificates_` has one by one; its
        residual is the largest of theirs. With `landmarks` among functions of these.
    full_certificate_ : Certificate, with `landmarks`, of at most 8 rows for each
        The same among all functions of the kernel: what the landmarks cost. Of more rows
        ``fenchel.certify(model, X, y)`` gives it, by n² kernel values.
    margins_, proofs_ : array, and tuple of Combination, for C=inf
        Of each machine the margin 1/‖f‖, 0 where there is none, and the combination of rows that
        bounds every margin: where it is zero, a point common to the hulls of both sides.
    probA_, probB_ : arrays, with probability=True
        P = 1 / (1 + exp(A z + B)) for the score z of each machine.
    converged_ : bool
    history_ : tuple of Certificate

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fenchel import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVC().fit(StandardScaler().fit_transform(X), y)
    >>> model.certificate_.residual <= 1e-3, model.certificate_.relative_gap <= 1e-3
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED,
        **LANDMARKS,
        "C": [Interval(Real, 0, None, closed="right")],
        "probability": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: int | bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        warm_start: bool = False,
        landmarks: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.landmarks = landmarks

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVC:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        self.classes_, blocks = encode_labels(self, X, y, sample_weight, None)
        K = len(self.classes_)
        whole = blocks.gather()
        target = to_numpy(whole.y)
        codes = (target > 0 if K == 2 else target).astype(np.int64)
        s = np.ones(len(codes)) if whole.weight is None else to_numpy(whole.weight)
        self.class_weight_ = np.ones(K)
        if self.class_weight is not None:
            counts = np.bincount(codes, s, minlength=K)
            self.class_weight_ = class_factors(self.class_weight, self.classes_, counts)
        fits: list[DualFit] = []
        machines, each = self._machines(), s * self.class_weight_[codes]
        for name in ("margins_", "proofs_", "probA_", "probB_", "full_certificate_"):  # of before
            self.__dict__.pop(name, None)
        if self.landmarks is not None:
            rows = self._landmark_rows(blocks, each)
            fits, among = machines_on_features(self, rows, machines, codes, each)
            self._record_machines(rows.outside, blocks, codes, fits)
            if among is not None:
                self.full_certificate_ = among
            return self
        gram = gram_rows(self, blocks)
        earlier = self._earlier(len(codes), codes)
        proofs, curves = [], []
        for number, machine in enumerate(machines):
            members = machine.members(codes)
            y_here, s_here = machine.targets(codes[members]), each[members]
            if isinf(self.C):
                between = self._names(machine)
                one, proof = fit_maximal_margin(self, gram, y_here, s_here, members, between)
                proofs.append(proof)
            else:
                here = None if len(members) == len(codes) else members
                start = None if earlier is None else earlier[members, number]
                one = fit_dual(self, gram, Hinge(), float(self.C), y_here, s_here, here, start)
            fits.append(one)
            if self.probability:
                C = float(self.C)
                if isinf(C):
                    C = SOFT_SHARE * float(np.abs(one.beta).max())
                beta, b = one.beta, one.b
                scores = left_out_scores(self, gram, C, y_here, s_here, members, beta, b)
                curves.append(fit_curve(scores, y_here, s[members]))
        self._record_machines(gram.outside, blocks, codes, fits)
        if proofs:
            norms = np.array([2.0 * one.value for one in self.certificates_])
            self.margins_, self.proofs_ = 1.0 / np.sqrt(norms), tuple(proofs)
        if curves:
            self.probA_, self.probB_ = np.array(curves).T
        return self

    def _record_machines(
        self, outside: KernelFunction, blocks: Blocks, codes: Numbers, fits: list[DualFit]
    ) -> None:
        """What the fits of the machines say."""
        K, machines = len(self.classes_), self._machines()
        betas = [m.spread(f.beta, codes) for m, f in zip(machines, fits, strict=True)]
        used = np.any([beta != 0.0 for beta in betas], axis=0)
        support = np.flatnonzero(used)
        support = support[np.argsort(codes[support], kind="stable")]
        self._keep(outside, blocks.gather().X, support)
        self._codes = codes[support]
        self.n_support_ = np.bincount(self._codes, minlength=K).astype(np.int32)
        self.dual_coef_ = packed(machines, [beta[support] for beta in betas], self._codes, K)
        self.intercept_ = np.array([one.b for one in fits])
        self.shape_fit_ = (blocks.n_rows, blocks.n_cols)
        self.certificates_ = tuple(one.certificate for one in fits)
        self.certificate_ = reduce(Certificate.__add__, self.certificates_)
        self.history_ = fits[0].history if len(fits) == 1 else (self.certificate_,)
        self.converged_ = all(one.converged for one in fits)
        self.fit_status_ = 0 if self.converged_ else 1
        self.n_iter_ = np.array([one.pairs for one in fits], np.int32)

    def decision_function(self, X: Any) -> Any:
        """f(x) + b: shape (n,) for two classes, else one score a class, or a machine ("ovo")."""
        scores = self._machine_scores(X)
        machines = self._machines()
        if len(machines) == 1:
            return scores[:, 0]
        if machines[0].rest is None or self.decision_function_shape == "ovo":
            return scores
        return class_scores(machines, scores, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """The class with most votes, or the largest score; of two, the second above zero."""
        check_is_fitted(self)
        K, machines = len(self.classes_), self._machines()
        if self.break_ties and self.decision_function_shape == "ovo" and K > 2:
            raise ValueError(
                "break_ties=True needs scores of each class: decision_function_shape='ovr'"
            )
        if K == 2:
            return self.classes_[self._won(X)[:, 0].astype(int)]
        if machines[0].rest is not None and not self.break_ties:
            return self.classes_[votes(machines, self._won(X), K).argmax(axis=1)]
        scores = self._machine_scores(X)
        if machines[0].rest is not None:
            scores = class_scores(machines, scores, K)
        return self.classes_[scores.argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """P of each class, (n, K): logistic curves of the scores, pairs of classes coupled."""
        check_is_fitted(self, "probA_")
        K, machines = len(self.classes_), self._machines()
        pairs = pair_probabilities(self._machine_scores(X), self.probA_, self.probB_)
        return class_probabilities(machines, pairs, K)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """log P of each class."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def coef_(self) -> Any:
        """w of each machine, where the kernel is linear."""
        return self._plane(self._columns())

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The certificate of these coefficients on the rows of the fit."""
        whole = encoded_rows(self, X, y, sample_weight).gather()
        n, codes = whole.n_rows, to_numpy(whole.y).astype(np.int64)
        rows = whole.X if is_sparse(whole.X) else as_numpy(whole.X)
        self._check_fitted_rows(rows)
        support = np.asarray(self.support_, np.int64)
        s = np.ones(n) if whole.weight is None else to_numpy(whole.weight)
        s = s * self.class_weight_[codes]
        blocks, columns = encoded_rows(self, X, y, sample_weight), self._columns()
        if self.landmarks is not None:
            return self._among_all(blocks, Hinge(), float(self.C), self._placed(codes, s))
        gram = self._convex_rows(blocks)
        parts = []
        for number, machine in enumerate(self._machines()):
            coef = np.zeros(n)
            coef[support] = columns[:, number]
            members = machine.members(codes)
            if isinf(self.C):
                y_here, s_here = machine.targets(codes[members]), s[members]
                design = gram.design(y_here, s_here, members)
                parts.append(certify_margin(design, coef[members], y_here, s_here)[2])
                continue
            members = members[s[members] > 0.0]
            b, known = float(self.intercept_[number]), (machine.targets(codes), s)
            parts.append(certify_shifted(float(self.C), gram, members, coef, b, *known))
        return reduce(Certificate.__add__, parts)

    def _placed(self, codes: Numbers, s: Floats) -> Iterator[Placed]:
        """The machines with their coefficients on all rows."""
        support, columns = np.asarray(self.support_, np.int64), self._columns()
        for number, machine in enumerate(self._machines()):
            members = machine.members(codes)
            members = members[s[members] > 0.0]
            coef = np.zeros(len(codes))
            coef[support] = columns[:, number]
            b = float(self.intercept_[number])
            yield members, machine.targets(codes[members]), s[members], coef, b

    def _earlier(self, n: int, codes: NDArray[np.int64]) -> Floats | None:
        """The coefficients of an earlier fit on all rows, a column a machine, to begin from."""
        known = vars(self)
        if not self.warm_start or "dual_coef_" not in known or self.shape_fit_[0] != n:
            return None
        machines, dual = self._machines(), self.dual_coef_
        shape = (len(machines) if machines[0].rest is None or len(self.classes_) == 2 else
                 len(self.classes_) - 1, len(self.support_))  # fmt: skip
        support = np.asarray(self.support_, np.int64)
        if dual.shape != shape or not np.array_equal(codes[support], self._codes):
            return None
        columns = np.zeros((n, len(machines)))
        columns[support] = self._columns()
        return columns

    def _names(self, machine: Machine) -> str:
        first = self.classes_[[machine.positive]].tolist()[0]
        if machine.rest is None:
            return f"{first!r} from the other classes"
        return f"{first!r} and {self.classes_[[machine.rest]].tolist()[0]!r}"

    def _machines(self) -> list[Machine]:
        return machines_of(len(self.classes_), self.multi_class)

    def _columns(self) -> Floats:
        return unpacked(self._machines(), self.dual_coef_, self._codes)

    def _won(self, X: Any) -> NDArray[np.bool_]:
        """Whether the score of each machine is positive, (n, machines)."""
        check_is_fitted(self)
        return self._signs(X, self._columns(), self.intercept_)

    def _machine_scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._scores(X, self._columns()) + self.intercept_
