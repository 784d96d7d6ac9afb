"""A lower bound of the distance of each row to each centre, for rows of many columns."""
