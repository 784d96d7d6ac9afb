"""Lower bounds of the best clustering: the Peng-Wei relaxation, its duals, proofs of optimality."""
