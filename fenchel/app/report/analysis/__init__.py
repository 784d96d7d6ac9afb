"""The numbers of a report with a target."""
