"""Rows seen as a linear map: a matrix, a kernel, and the columns of a table."""
