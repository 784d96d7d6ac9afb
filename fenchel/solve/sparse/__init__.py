"""L1 penalties: coordinate descent and proximal Newton steps on a working set."""
