"""Principal components, and maps by the eigenvectors of an operator on the rows."""
