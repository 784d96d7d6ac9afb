"""The laws of losses, penalties and problems: `fenchel.testing` is the public door."""
