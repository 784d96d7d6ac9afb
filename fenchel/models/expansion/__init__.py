"""Expansions Σ cⱼ k(xⱼ, ·) over all rows of a fit, or over landmarks among them."""
