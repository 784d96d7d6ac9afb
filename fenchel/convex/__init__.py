"""Losses and penalties with their conjugates, the problem, its dual, the certificate.

    minimise  P(w, b) = Σ sᵢ l(yᵢ, xᵢ·w + b) / Σ s + Ω(w)

Losses of a residual   Square, Absolute, Huber, Pinball, EpsilonInsensitive,
                       SquaredEpsilonInsensitive              (Distance)
Losses of a margin     Logistic, Exponential, Hinge, SquaredHinge, ModifiedHuber, SquareMargin
                       (Margin)
Losses of all classes  Multinomial, MulticlassHinge           (Joint)
Penalties              L1, L2, ElasticNet, NonNegative        (Penalty)
Problems               Problem, Ranking                       (Objective)
Proofs                 Certificate, NotCertified, DependentColumns
Surrogates             is_calibrated, psi, excess_risk_bound

In parentheses the classes to extend; `fenchel.testing` has the laws that members must satisfy.
Names are loaded from their modules when first used.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
        "loss.base": ("Loss",),
        "loss.distance": (
            "Absolute",
            "Distance",
            "EpsilonInsensitive",
            "Huber",
            "Pinball",
            "Square",
            "SquaredEpsilonInsensitive",
        ),
        "loss.margin": ("Exponential", "Logistic", "Margin"),
        "loss.hinge": ("Hinge", "ModifiedHuber", "SquareMargin", "SquaredHinge"),
        "loss.multiclass": ("Joint", "MulticlassHinge", "Multinomial"),
        "loss.calibration": ("excess_risk_bound", "is_calibrated", "psi"),
        "penalty": ("ElasticNet", "L1", "L2", "NonNegative", "Penalty"),
        "objective": ("Objective",),
        "problem": ("Problem",),
        "ranking.objective": ("Ranking",),
        "certificate": ("Certificate",),
        "convergence": ("DependentColumns", "NotCertified"),
    },
)
