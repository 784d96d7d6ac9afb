"""What may go wrong at the doors, in one sentence each, with the exit code it ends in."""

from __future__ import annotations


class BadUsage(Exception):
    """The command was given what it cannot take: exit code 2."""


class BadData(Exception):
    """The table, or a file, cannot be used as it is: exit code 3."""


class ModelFileError(BadData):
    """A model file is not what it says it is; nothing of it was used."""
