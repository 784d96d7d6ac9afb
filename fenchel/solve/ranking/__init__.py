"""Newton's method for losses over pairs of rows."""
