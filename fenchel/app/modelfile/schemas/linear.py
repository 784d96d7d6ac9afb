"""Linear models: their fitted attributes."""

from __future__ import annotations

from typing import Any

from fenchel.app.modelfile.schema import AMOUNT, CLASSES, EXPANSION, PROOF, ROWS, Kind
from fenchel.app.modelfile.validators import (
    Check,
    NamedLengths,
    any_array,
    array_of,
    count,
    finite,
    finite_number,
    flag,
    floats,
    nothing,
    number,
    of_class,
    real_dtype,
    text,
    tuple_of,
)


def _target_planes(value: Any, sizes: NamedLengths) -> bool:
    """(d,) for one target, (targets, d) for several."""
    if finite("d").test(value, sizes):
        return sizes.agree("targets", 1)
    return finite("targets", "d").test(value, sizes)


def _loss(value: Any, sizes: NamedLengths) -> bool:
    from fenchel.convex.catalogue import losses
    from fenchel.convex.loss.margin import Margin
    from fenchel.convex.loss.multiclass import Joint

    if type(value).__name__ in losses(Joint):
        return bool(value.n_classes == sizes.get("K"))
    return type(value).__name__ in losses(Margin)


def _any_loss(value: Any, sizes: NamedLengths) -> bool:
    from fenchel.convex.catalogue import losses

    return type(value).__name__ in losses()


def by_class(item: Check) -> Check:
    """A dict from labels, one for each plane, to arrays that pass the check."""

    def test(value: Any, sizes: NamedLengths) -> bool:
        if type(value) is not dict or not sizes.agree("planes", len(value)):
            return False
        return all(item.test(one, sizes) for one in value.values())

    return Check(f"a dict by class of {item.words}", test)


def _separation(value: Any, sizes: NamedLengths) -> bool:
    if type(value).__name__ != "Separation":
        return False
    d = sizes.get("d", 0)
    return len(value.direction[0]) == d and all(column < d for column in value.columns)


def _votes(value: Any, sizes: NamedLengths) -> bool:
    """For each class the planes (m, d + 1) and the looks (m,) that each survived."""
    if type(value) is not list or not sizes.agree("planes", len(value)):
        return False
    for one in value:
        if type(one) is not tuple or len(one) != 2 or not finite(None, "d+1").test(one[0], sizes):
            return False
        if not finite(len(one[0])).test(one[1], sizes) or not one[1].sum() > 0.0:
            return False
    return True


def _state(value: Any, sizes: NamedLengths) -> bool:
    """Planes being learnt: of all classes together, or a list of one for each with its votes."""
    if type(value) is list:
        right = all(type(one).__name__ == "Votes" for one in value)
        width = sizes.get("d", 0) + 1
        return (
            right
            and sizes.agree("planes", len(value))
            and all(one.plane.shape == (width,) for one in value)
        )
    right = type(value).__name__ in ("Perceptrons", "PenalisedPerceptrons", "Adalines")
    return right and sizes.fits(value.W.shape, ("planes", "d"))


_line: dict[str, Check] = {
    **ROWS,
    "coef_": Check("finite floats of shape (d) or (targets, d)", _target_planes),
    "intercept_": finite_number | finite("targets"),
    **PROOF,
}
_planes: dict[str, Check] = {
    **CLASSES,
    "coef_": finite("planes", "d"),
    "intercept_": finite("planes"),
}
LOSSES: dict[str, Check] = {
    "loss_": Check("a margin loss, or the multinomial loss of these classes", _loss),
    "loss_gap_": number,
}
# Of classes over the rows of a fit: a function for two, one a class for more.
CLASS_SCORES: dict[str, Check] = {
    "dual_coef_": finite("n") | finite("n", "planes"),
    "intercept_": finite("planes"),
}
_margins: dict[str, Check] = {
    **_planes,
    **PROOF,
    **LOSSES,
}
ONE_A_CLASS: dict[str, Check] = {"certificates_": tuple_of(of_class("Certificate"))}
_sequential: dict[str, Check] = {
    **_planes,
    **PROOF,
    "certificate_": of_class("Certificate") | nothing,
    "n_iter_": count,
    "_state": Check("planes being learnt", _state),
    "_dtype": real_dtype,
}
_sparse: dict[str, Check] = {
    **_line,
    "dual_gap_": number | floats("targets"),
    "n_iter_": count | tuple_of(count, "targets", list),
}
_sparse_cv: dict[str, Check] = {
    **_sparse,
    "alpha_": finite_number,
    "alphas_": any_array("f"),
    "gaps_": any_array("f"),
    "l1_ratio_": finite_number,
    "mse_path_": any_array("f"),
}
_fitted = ("n_features_in_", "classes_", "coef_", "intercept_")
STEPS: dict[str, Check] = {"n_iter_": count}
_maybe = nothing | AMOUNT

ESTIMATORS: dict[str, Kind] = {
    "LinearRegression": Kind(
        "fenchel.models",
        {
            **_line,
            "coef_std_": nothing | floats("d") | floats("targets", "d"),
            "intercept_std_": _maybe,
            "r2_": _maybe,
            "rank_": count,
            "residual_std_": _maybe,
            "singular_": floats(None),
        },
    ),
    "Ridge": Kind(
        "fenchel.models",
        {
            **_line,
            "form_": text,
            "n_iter_": nothing | array_of("i", "targets"),
            "solver_": text,
        },
    ),
    "RidgeCV": Kind(
        "fenchel.models",
        {**_line, "alpha_": AMOUNT, "best_score_": AMOUNT, "cv_results_": any_array("f")},
    ),
    "HuberRegressor": Kind(
        "fenchel.models",
        {**_line, **STEPS, "outliers_": array_of("b", None), "scale_": finite_number},
    ),
    "Lasso": Kind("fenchel.models", _sparse),
    "ElasticNet": Kind("fenchel.models", _sparse),
    "LassoCV": Kind("fenchel.models", _sparse_cv),
    "ElasticNetCV": Kind("fenchel.models", _sparse_cv),
    "LinearSVR": Kind("fenchel.models", {**_line, **ONE_A_CLASS, **STEPS}),
    "LeastAbsoluteDeviations": Kind("fenchel.models", {**_line, **ONE_A_CLASS, **STEPS}),
    "QuantileRegressor": Kind("fenchel.models", {**_line, **ONE_A_CLASS, **STEPS}),
    "ERMRegressor": Kind(
        "fenchel.models",
        {
            **_line,
            **EXPANSION,
            "dual_coef_": finite("n"),
            "loss_": Check("a loss", _any_loss),
            "loss_gap_": number,
            **ONE_A_CLASS,
            **STEPS,
        },
        with_kernel=("n_features_in_", "dual_coef_", "kernel_", "X_fit_", "intercept_"),
    ),
    "PairwiseRanker": Kind("fenchel.models", {**_line, **STEPS}),
    "LogisticRegression": Kind(
        "fenchel.models",
        {
            **_margins,
            "n_iter_": array_of("i", 1),
            "separation_": nothing | Check("a separation of these columns", _separation),
        },
        _fitted,
    ),
    "LogisticRegressionCV": Kind(
        "fenchel.models",
        {
            **_margins,
            "C_": number | floats("planes"),
            "Cs_": floats("values"),
            "coefs_paths_": floats("folds", "ratios", "values", "planes", None)
            | by_class(floats("folds", "values", "ratios", None))
            | by_class(floats("folds", "values", None)),
            "gaps_": floats("folds", "ratios", "values"),
            "l1_ratio_": finite_number | finite("planes"),
            "l1_ratios_": floats("ratios"),
            "n_iter_": array_of("i", "folds", "ratios", "values")
            | array_of("i", 1, "folds", "values", "ratios")
            | array_of("i", 1, "folds", "values"),
            "scores_": floats("folds", "ratios", "values")
            | by_class(floats("folds", "values", "ratios"))
            | by_class(floats("folds", "values")),
        },
        _fitted,
    ),
    "LinearSVC": Kind("fenchel.models", {**_margins, **ONE_A_CLASS, **STEPS}, _fitted),
    "ERMClassifier": Kind(
        "fenchel.models",
        {**_margins, **EXPANSION, **CLASS_SCORES, **ONE_A_CLASS, **STEPS},
        _fitted,
        ("n_features_in_", "classes_", "dual_coef_", "kernel_", "X_fit_", "intercept_"),
    ),
    "Perceptron": Kind(
        "fenchel.models",
        {
            **_sequential,
            "margin_": nothing | floats(2) | floats("planes", 2),
            "mistakes_": AMOUNT,
            "mistakes_by_epoch_": floats(None) | floats(None, "planes"),
            "novikoff_bound_": nothing | number | floats("planes"),
            "proof_": nothing
            | of_class("Combination")
            | tuple_of(nothing | of_class("Combination"), "planes"),
            "separable_": nothing | flag | tuple_of(nothing | flag, "planes"),
            "t_": finite_number,
            "votes_": Check("planes and their looks for each class", _votes),
            "_radius": finite_number,
        },
        _fitted,
    ),
    "Adaline": Kind(
        "fenchel.models",
        {**_sequential, "eta_": finite_number, "_longest": finite_number},
        _fitted,
    ),
}
