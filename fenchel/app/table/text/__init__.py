"""Text tables: dialect, header, cells, numbers, and the types of columns."""
