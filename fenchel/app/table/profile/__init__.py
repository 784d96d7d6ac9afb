"""What each column of a table holds, and how it goes with the target."""
