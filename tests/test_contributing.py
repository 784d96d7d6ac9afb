"""The worked pages of CONTRIBUTING.md are true: each block of code runs, after those before it."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"


def test_the_worked_pages_run():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 5
    # Compiled passes take a loss's functions from the module that defines it.
    module = types.ModuleType("worked_pages")
    sys.modules[module.__name__] = module
    try:
        for number, block in enumerate(blocks):
            exec(compile(block, f"{PAGE.name}, block {number + 1}", "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
