"""From the columns of a table to the matrix that models take."""
