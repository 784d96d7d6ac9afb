"""Algorithms that drive a problem until its certificate closes.

    solution = minimise(problem, solver="auto", tol=1e-6)

Smooth loss and penalty   Newton, NewtonCG, GradientDescent
L1, mixed penalty, w ≥ 0  CoordinateDescent, NonNegativeDescent
Piecewise-linear loss     AugmentedLagrangian, MulticlassLagrangian
Kernel, by its dual       BlockSMO (piecewise-linear loss), KernelNewton (smooth loss)
Pairs of rows             RankingNewton
Separable classes         hard_margin, HardMargin
Profile of a descent      convergence_profile

A solver is an immutable set of choices: `init(problem, start)` and `step(problem, state)` give a
`State`, `refuses(problem)` says in one sentence why it cannot. To write one, extend `Solver`;
`fenchel.testing.check_solver` holds it to closing whatever it does not refuse. The page of
if-statements that "auto" reads is `solve/select.py`. Names are loaded when first used.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
        "minimise": ("Solution", "minimise"),
        "solver": ("Solver", "State"),
        "smooth.newton": ("Newton",),
        "smooth.newton_cg": ("NewtonCG",),
        "smooth.gradient_descent": ("GradientDescent", "convergence_profile"),
        "sparse.coordinate_descent": ("CoordinateDescent",),
        "sparse.nonnegative": ("NonNegativeDescent",),
        "piecewise.augmented_lagrangian": ("AugmentedLagrangian",),
        "piecewise.multiclass_hinge": ("MulticlassLagrangian",),
        "decomposition.block_smo": ("BlockSMO",),
        "gram.kernel_newton": ("KernelNewton",),
        "ranking.newton": ("RankingNewton",),
        "separation.hard_margin": ("HardMargin", "hard_margin"),
    },
)
