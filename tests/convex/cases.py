"""Every loss and every penalty, with the parameter values that matter."""

from fenchel.convex.loss.distance import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Pinball,
    Square,
    SquaredEpsilonInsensitive,
)
from fenchel.convex.loss.hinge import Hinge, ModifiedHuber, SquaredHinge, SquareMargin
from fenchel.convex.loss.margin import Exponential, Logistic
from fenchel.convex.loss.multiclass import MulticlassHinge, Multinomial
from fenchel.convex.penalty import L1, L2, ElasticNet, NonNegative

MARGINS = [
    SquareMargin(),
    Logistic(),
    Hinge(),
    SquaredHinge(),
    Exponential(),
    ModifiedHuber(),
]

LOSSES = [
    Square(),
    Absolute(),
    Huber(),
    Huber(eps=0.1),
    Huber(eps=20.0),
    Pinball(),
    Pinball(quantile=0.9),
    Pinball(quantile=0.05),
    EpsilonInsensitive(),
    EpsilonInsensitive(eps=0.0),
    EpsilonInsensitive(eps=2.5),
    SquaredEpsilonInsensitive(),
    SquaredEpsilonInsensitive(eps=0.0),
    SquaredEpsilonInsensitive(eps=1.5),
    *MARGINS,
    Multinomial(2),
    Multinomial(3),
    Multinomial(7),
    MulticlassHinge(2),
    MulticlassHinge(3),
    MulticlassHinge(7),
]

PENALTIES = [
    L2(),
    L2(lam=0.0),
    L2(lam=0.01),
    L2(lam=30.0),
    L1(),
    L1(lam=0.0),
    L1(lam=0.1),
    ElasticNet(),
    ElasticNet(lam=0.3, l1_ratio=0.9),
    ElasticNet(lam=0.1, l1_ratio=0.2),
    ElasticNet(lam=1.0, l1_ratio=0.0),
    ElasticNet(lam=0.7, l1_ratio=1.0),
    ElasticNet(lam=0.0, l1_ratio=0.5),
    L1(lam=0.3, positive=True),
    L1(lam=0.0, positive=True),
    ElasticNet(lam=0.3, l1_ratio=0.8, positive=True),
    ElasticNet(lam=0.5, l1_ratio=0.0, positive=True),
    NonNegative(),
]
