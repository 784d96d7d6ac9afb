"""Mean and scatter of all rows as products of panels."""
