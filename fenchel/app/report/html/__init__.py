"""The page as HTML."""
