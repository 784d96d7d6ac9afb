"""Cross-validation of any estimator."""
