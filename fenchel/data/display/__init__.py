"""Results as people read them: tables, rounded numbers, progress."""
