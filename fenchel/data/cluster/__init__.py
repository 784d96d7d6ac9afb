"""Rows on a Dask cluster, summed where they lie."""
