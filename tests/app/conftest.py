"""What the tests of the doors share."""

from __future__ import annotations

import pytest


@pytest.fixture
def put(tmp_path):
    """Writes bytes or text to a file, and gives its path."""

    def write(content, name="t.csv"):
        place = tmp_path / name
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(place)

    return write
