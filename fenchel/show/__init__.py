"""Pictures: each figure a function from results to an Altair chart.

Every figure takes `title` (by default one that carries the number), `width` (pixels, or "container"
for the width of the element around it) and `height`. It is one layered view without a config:
`chart.configure(**theme(dark=True))`, `enable_theme()` for all charts of a session, or a page that
sets `spec["config"] = theme(dark)`, give it its looks; colours of marks serve light and dark alike.
Data are aggregated and thinned (`thin`), rounded to what a pixel can show, and inlined. Names of
columns and classes are data, never names of fields or parts of expressions.

Two classes, a threshold (score ≥ threshold is flagged). y: labels, score: of the rows; or a Curve
alone in place of both. All take sample_weight and pos_label.
    roc(y, score, *, band=None, threshold=None, prior=None, costs=(1.0, 1.0), hull=True, iso=True,
        area=None, level=0.95)
    precision_recall(y, score, *, threshold=None, precision=None, level=0.95)
    score_histogram(y, score, *, labels=None, threshold=None, bins=40)
    confusion(y, predicted), confusion(y, score, threshold=t), confusion(counts, labels)
    gains(y, score, *, threshold=None), lift(y, score, *, threshold=None)
    det(y, score, *, threshold=None)
    calibration(y, probability, *, bins=10, level=0.95, simultaneous=True, pos_label=None)
    net_benefit(y, probability, *, threshold=None, sample_weight=None, pos_label=None)
Fits
    convergence(history, *, against="steps", tol=None), objective(history, *, against="steps")
    coefficients(names, values, *, intervals=None, top=20)      intervals: (low, high) arrays
    importance(names, values, intervals=None, *, top=20)        of permuted columns
    regularisation_path(strengths, values, *, names=None, chosen=None, strength="penalty")
        values: (strengths, d); strength: the parameter's name, the axis is validation_curve's
    decision_boundary(across, up, predicted, points, codes, *, sure=None, labels=None, names=...)
        predicted: a grid of classes, or a function such as `predict`, whose boundaries are drawn
    boundary_lines(rules, points, codes, *, labels=None, names=...)      rules: name -> function
    class_ellipses(points, codes, means, covariances, *, levels=(0.5, 0.95), labels=None, names=...)
    leave_one_out_curve(values, errors, *, standard_errors=None, chosen=None, share=False)
    local_average(x, y, places, average, standard_errors=None, *, reach=inf, level=0.95)
    surrogates(losses=None), level_lines(H, *, minimiser=None, path=None)
    eigen_errors(profile, path, *, minimiser=None)
Rows without a target
    elbow(counts, scatter, *, bound=None, reference=None, chosen=None)
    restarts(values, *, bound=None), silhouettes(values, codes, *, labels=None)
    lloyd_iterations(points, centers, cells=None, *, steps=None, codes=None)   lists, one a step
    cluster_classes(codes, classes), choice_of_k(found)          found: of fenchel.choose_k
    dendrogram(divided, inertia, mass=None, *, cut=None)         of the tree of BisectingKMeans
    mixture_ellipses(points, weights, means, covariances, *, responsibilities=None)
    density_cells(centers, cells, density=None, *, history=None)   of fenchel.quantize_density
Maps
    scree(variances), map_quality(dimensions, *, trustworthiness=None, continuity=None,
        residual_variance=None, chosen=None)
    biplot(points, variables, codes=None, *, shares=None, column_names=None)
    correlation_circle(correlations, names=None, *, shares=None)
    embedding(points, codes=None, *, values=None, labels=None, names=..., row_names=None)
    embedding_3d(points, codes=None, *, values=None, turn=30, tilt=20)      two sliders turn it
    neighbour_graph(points, graph, codes=None, *, values=None)      in two or three dimensions
Kernels
    bandwidth_curves(x, y, curves, *, errors=None, truth=None)      bandwidth -> function or values
    svm_street(decision, points, codes, support, dual_coef)
    gram_matrix(K, codes=None, *, labels=None)
Folds and models
    validation_curve(result, *, simplest=None), learning_curve(result)
    fold_scores(scores, *, mean=None), comparison(scores, *, baseline=None)   name -> Estimate
Numbers
    predicted_observed(y, prediction), residuals(y, prediction), quantile_plot(y, prediction)
    leverage(leverages, residuals)
Columns
    column_histograms(histograms)      name -> (counts, edges) of numbers or (counts, level names)
    class_histograms(counts, bins, *, column)      counts: class -> counts; bins: edges or levels
    correlation_heatmap(matrix, names), drift(names, values)     values: population stability
Parts
    theme(dark=False), enable_theme(dark=False), thin(x, y, most=400, *, pixel=None),
    operating_points(curve, threshold=None, most=400), threshold_slider(curve, start)

The threshold that moves. `threshold` is a number, or an `altair.Parameter` called "threshold", such
as `threshold_slider(curve, start)`. Either way the chart has a Vega signal `threshold`, and
`view.signal("threshold", t).runAsync()` moves the marks of roc, precision_recall, gains, lift,
score_histogram, det, confusion (of scores) and net_benefit in the browser. They show exact counts
at the thresholds of `operating_points(curve, threshold)` (falling; at most 400 of them, written
with as few digits as tell the rows apart; the given one is among them); between two of these, those
of the higher. A slider should step through `operating_points(curve, threshold).threshold`. Points
under the pointer carry their threshold as `item.datum.t`. net_benefit takes probabilities, and its
threshold is one of them.

The box that turns. Charts of three dimensions have the Vega signals `turn` and `tilt`, in degrees,
each with a slider, and sin_turn, cos_turn, sin_tilt and cos_tilt that follow them.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
        "binary.confusion_matrix": ("confusion",),
        "binary.det_plane": ("det",),
        "binary.precision_gain_lift": (
            "gains",
            "lift",
            "precision_recall",
        ),
        "binary.reliability": (
            "calibration",
            "net_benefit",
        ),
        "binary.roc_plane": ("roc",),
        "binary.threshold_data": (
            "OperatingPoints",
            "operating_points",
            "threshold_slider",
        ),
        "columns.class_bins": ("class_histograms",),
        "columns.heatmap": ("correlation_heatmap",),
        "columns.histograms": (
            "column_histograms",
            "score_histogram",
        ),
        "columns.stability": ("drift",),
        "fit.boundary": (
            "boundary_lines",
            "decision_boundary",
        ),
        "fit.coefficient_bars": ("coefficients",),
        "fit.convergence_plot": (
            "convergence",
            "objective",
        ),
        "fit.descent": (
            "eigen_errors",
            "level_lines",
        ),
        "fit.ellipses": ("class_ellipses",),
        "fit.folds": (
            "comparison",
            "fold_scores",
        ),
        "fit.importance_bars": ("importance",),
        "fit.losses": ("surrogates",),
        "fit.regularisation": ("regularisation_path",),
        "fit.residual_plots": (
            "leverage",
            "predicted_observed",
            "quantile_plot",
            "residuals",
        ),
        "fit.smoothing": (
            "leave_one_out_curve",
            "local_average",
        ),
        "fit.validation_curves": (
            "learning_curve",
            "validation_curve",
        ),
        "kernels.bandwidth_curves": ("bandwidth_curves",),
        "kernels.gram_matrix": ("gram_matrix",),
        "kernels.svm_street": ("svm_street",),
        "maps.biplot": ("biplot",),
        "maps.correlation_circle": ("correlation_circle",),
        "maps.embedding": ("embedding",),
        "maps.embedding_3d": ("embedding_3d",),
        "maps.map_quality": ("map_quality",),
        "maps.neighbour_graph": ("neighbour_graph",),
        "maps.scree": ("scree",),
        "structure.choice_of_k_plot": ("choice_of_k",),
        "structure.cluster_class_bars": ("cluster_classes",),
        "structure.clusters": (
            "elbow",
            "restarts",
            "silhouettes",
        ),
        "structure.dendrogram_plot": ("dendrogram",),
        "structure.density_cell_plot": ("density_cells",),
        "structure.lloyd_plot": ("lloyd_iterations",),
        "structure.mixture_plot": ("mixture_ellipses",),
        "theme": (
            "enable_theme",
            "theme",
        ),
        "thinning": ("thin",),
    },
)
