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

from fenchel.show.binary.confusion_matrix import confusion
from fenchel.show.binary.det_plane import det
from fenchel.show.binary.precision_gain_lift import gains, lift, precision_recall
from fenchel.show.binary.reliability import calibration, net_benefit
from fenchel.show.binary.roc_plane import roc
from fenchel.show.binary.threshold_data import OperatingPoints, operating_points, threshold_slider
from fenchel.show.columns.class_bins import class_histograms
from fenchel.show.columns.heatmap import correlation_heatmap
from fenchel.show.columns.histograms import column_histograms, score_histogram
from fenchel.show.columns.stability import drift
from fenchel.show.fit.boundary import boundary_lines, decision_boundary
from fenchel.show.fit.coefficient_bars import coefficients
from fenchel.show.fit.convergence_plot import convergence, objective
from fenchel.show.fit.descent import eigen_errors, level_lines
from fenchel.show.fit.ellipses import class_ellipses
from fenchel.show.fit.folds import comparison, fold_scores
from fenchel.show.fit.importance_bars import importance
from fenchel.show.fit.losses import surrogates
from fenchel.show.fit.regularisation import regularisation_path
from fenchel.show.fit.residual_plots import leverage, predicted_observed, quantile_plot, residuals
from fenchel.show.fit.smoothing import leave_one_out_curve, local_average
from fenchel.show.fit.validation_curves import learning_curve, validation_curve
from fenchel.show.kernels.bandwidth_curves import bandwidth_curves
from fenchel.show.kernels.gram_matrix import gram_matrix
from fenchel.show.kernels.svm_street import svm_street
from fenchel.show.maps.biplot import biplot
from fenchel.show.maps.correlation_circle import correlation_circle
from fenchel.show.maps.embedding import embedding
from fenchel.show.maps.embedding_3d import embedding_3d
from fenchel.show.maps.map_quality import map_quality
from fenchel.show.maps.neighbour_graph import neighbour_graph
from fenchel.show.maps.scree import scree
from fenchel.show.structure.choice_of_k_plot import choice_of_k
from fenchel.show.structure.cluster_class_bars import cluster_classes
from fenchel.show.structure.clusters import elbow, restarts, silhouettes
from fenchel.show.structure.dendrogram_plot import dendrogram
from fenchel.show.structure.density_cell_plot import density_cells
from fenchel.show.structure.lloyd_plot import lloyd_iterations
from fenchel.show.structure.mixture_plot import mixture_ellipses
from fenchel.show.theme import enable_theme, theme
from fenchel.show.thinning import thin

__all__ = [
    "OperatingPoints",
    "bandwidth_curves",
    "biplot",
    "boundary_lines",
    "calibration",
    "choice_of_k",
    "class_ellipses",
    "class_histograms",
    "cluster_classes",
    "coefficients",
    "column_histograms",
    "comparison",
    "confusion",
    "convergence",
    "correlation_circle",
    "correlation_heatmap",
    "decision_boundary",
    "dendrogram",
    "density_cells",
    "det",
    "drift",
    "eigen_errors",
    "elbow",
    "embedding",
    "embedding_3d",
    "enable_theme",
    "fold_scores",
    "gains",
    "gram_matrix",
    "importance",
    "learning_curve",
    "leave_one_out_curve",
    "level_lines",
    "leverage",
    "lift",
    "lloyd_iterations",
    "map_quality",
    "mixture_ellipses",
    "local_average",
    "neighbour_graph",
    "net_benefit",
    "objective",
    "operating_points",
    "precision_recall",
    "predicted_observed",
    "quantile_plot",
    "regularisation_path",
    "residuals",
    "restarts",
    "roc",
    "score_histogram",
    "scree",
    "silhouettes",
    "surrogates",
    "svm_street",
    "theme",
    "thin",
    "threshold_slider",
    "validation_curve",
]
