"""What is estimated of Gaussian classes: moments, covariances and their shrinkage, priors."""
