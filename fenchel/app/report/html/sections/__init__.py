"""The sections of the page, each a function from numbers to HTML."""
