"""Several quantiles at once that do not cross: a linear program."""
