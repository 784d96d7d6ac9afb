"""The quality of clusterings and projections, and the number of clusters."""
