"""The doors: command line, model files, report."""
