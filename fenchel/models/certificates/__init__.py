"""The certificate of any fitted model, ours or scikit-learn's."""
