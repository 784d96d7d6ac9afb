"""Weight, mean and scatter of rows, of all or class by class, in one pass."""
