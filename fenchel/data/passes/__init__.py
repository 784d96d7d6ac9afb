"""One pass over the rows as a statistic, with its compiled loops."""
