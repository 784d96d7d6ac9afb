"""Figures of two classes: ROC, DET, precision, gains, calibration."""
