"""Lower bounds of k-means: by whole tables, by disjoint parts, by random samples; optimality."""
