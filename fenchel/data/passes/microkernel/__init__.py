"""Products of two tiles of rows, accumulated in registers."""
