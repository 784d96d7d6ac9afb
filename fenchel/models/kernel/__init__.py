"""Kernel machines: any loss over functions in the span of a kernel."""
