"""Figures of kernels: smoothing, margins, matrices."""
