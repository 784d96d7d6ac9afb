"""Linear models: regression, classification, ranking."""
