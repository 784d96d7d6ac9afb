"""Support vector machines with kernels: the dual problem, its machines, and their estimators."""
