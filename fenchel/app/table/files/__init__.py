"""Tables in files: opened, read, written."""
