"""What no rule can beat: the Bayes risk, and Gaussian classes."""
