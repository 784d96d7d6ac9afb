"""Curves of labels and scores: ROC, precision-recall, DET, gains and lift."""
