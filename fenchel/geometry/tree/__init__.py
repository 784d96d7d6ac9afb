"""The k-d tree of points in few dimensions: building and searching."""
