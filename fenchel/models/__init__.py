"""scikit-learn estimators: parameters in, problem built, solution out."""
