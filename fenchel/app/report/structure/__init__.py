"""The numbers of a report without a target: clusters and embeddings."""
