"""Areas under the ROC and parts of it, bands, and their comparison."""
