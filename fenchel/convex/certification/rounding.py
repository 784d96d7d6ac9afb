"""The rounding errors of a certificate: the analysis that every bound of `certification` rests on.

Standard model, u = 2⁻⁵³: fl(a ∘ b) = (a ∘ b)(1 + δ), |δ| ≤ u. A sum of k terms, in any order and
with fused operations or without, errs by at most γ(k) Σ|terms|, γ(k) = k u / (1 - k u). A sum over
the rows of a table is made of sums over blocks of at most m rows, which meet in a binary tree: it
errs by at most γ(m + 64) Σ|terms|, since 2⁶⁴ blocks are more than there are.

The numbers of a certificate are these, with Σ s = S, ẑ the scores as computed, z the true ones:

scores       |ẑ - z| ≤ ζ := γ(d + 2)(Σⱼ Mⱼ|wⱼ| + |b|), Mⱼ = maxᵢ|xᵢⱼ|
value        Σ s l(y, z) ≤ Σ s l(y, ẑ) + ζ Σ s|l'(y, ẑ)| + sup l″ ζ² S / 2, or + sup|l'| ζ S
dual point   θ is what the pass has made of ẑ, as floating-point numbers. Any θ in the domain of l*
             gives a bound, so no error of ẑ counts here
centring     where b is free Σ s θ must be zero. Let U and D be the sums of the positive and the
             negative parts, U ≥ D say: the positive part times c = D/U makes it zero exactly, and
             l*(y, cθ) ≤ c l*(y, θ) since l*(y, 0) = -inf l = 0. So with ε = 1 - c the conjugate
             rises by at most ε Σ s|l*|, and v = Φ*(sθ)/S moves by at most ε (U + D) Mⱼ / S
adjoint      |v̂ⱼ - vⱼ| ≤ (γ(m + 64) + 4u + ε)(U + D) Mⱼ / S
conjugate    each l* is computed to some units of rounding (`Loss.formula_rounding`) of its size
             |l*| + 2|θ|(1 + |y - middle|), which is at least that of every term in it; of
             residuals, l* = φ*(θ) + yθ with φ* a sum of terms ≥ 0, |l*| + 2|θ||y - middle| is
penalty      Ω* is increasing in |v|, so that it is taken at |v̂| + error. Where it is finite on
             a ball alone, θ is shrunk along its ray: l*(y, cθ) ≤ c l*(y, θ) once more

What float64 loses to cancellation is made again with these sums in pairs of floats (106 bits),
where the same formulas hold with u² for u.

Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), chapters 3, 4 and 8; Rump,
Verification methods: rigorous results using floating-point arithmetic, Acta Numerica 19 (2010).
"""

from __future__ import annotations

U = 2.0**-53
# Of the depth of the tree in which the sums of blocks meet.
TREE = 64
# What a sum in pairs of floats loses, relative to the sum of the sizes: the slices of a product
# (`double_double`) reach 108 bits of the largest factor, and a chunk has 2¹⁶ rows at most;
# eight bits are left for the low halves and for the tree.
PAIRS = 2.0**-84
# Below this products leave the range of normal numbers, and no relative error holds.
UNDERFLOW = 2.0**-1000


def gamma(terms: float) -> float:
    """γ(k) = k u / (1 - k u); 1 where there are more terms than u⁻¹/2."""
    share = terms * U
    return share / (1.0 - share) if share < 0.5 else 1.0


def up(x: float, operations: int = 1) -> float:
    """At least x, which so many operations on numbers of its sign have made."""
    return x + abs(x) * gamma(operations + 3) if x == x else x


def down(x: float, operations: int = 1) -> float:
    """At most x, which so many operations have made."""
    return x - abs(x) * gamma(operations + 3) if x == x else x
