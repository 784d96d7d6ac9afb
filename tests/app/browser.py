"""A real browser, cut off from the network, and what it noticed while a report was open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REQUIRED = os.environ.get("FENCHEL_BROWSER") == "required"
NAMES = ("chromium", "chromium-browser", "google-chrome")

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""

# What is drawn: every mark of a figure with its place, its colour and the data it stands for.
MARKS = """
(key) => {
  const found = [];
  const walk = (node) => {
    for (const item of node.items || []) {
      if (item.items) item.items.forEach(walk);
      else if (item.datum) {
        const plain = Object.entries(item.datum).filter(([, part]) => typeof part !== "object");
        found.push({ mark: node.marktype, x: item.x, y: item.y, fill: item.fill, text: item.text,
                     opacity: item.opacity, datum: Object.fromEntries(plain) });
      }
    }
  };
  walk(window.fenchelReport.views[key].scenegraph().root);
  return found;
}
"""


def missing(what: str) -> None:
    """Skips, unless the browser is required."""
    text = f"{what}: these tests drive a real browser (chromium, pip install playwright)"
    if REQUIRED:
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def executable() -> str:
    """The browser of this machine; CHROMIUM names another."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing("no chromium on this machine")
    assert found is not None
    return found


@contextmanager
def launched() -> Iterator[Any]:
    """The browser, started once for many pages."""
    path = executable()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as driver:
        # A container's root has no sandbox to put a browser in.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page and everything that should not have happened on it."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def complaints(self) -> list[str]:
        """Console errors and warnings, policy violations, dialogs, requests besides the file."""
        violations = self.page.evaluate("window.violations")
        outside = [url for url in self.asked if not url.startswith("file://")]
        return [*self.said, *violations, *self.dialogs, *outside, *self.asked[1:]]

    def marks(self, key: str) -> list[dict[str, Any]]:
        return self.page.evaluate(MARKS, key)

    def settle(self) -> None:
        """Waits until every figure has drawn what it was told."""
        self.page.evaluate(
            "Promise.all(Object.values(window.fenchelReport.views).map((view) => view.runAsync()))"
            ".then(() => null)"
        )


@contextmanager
def opened(browser: Any, path: Path, *scripts: Path, **context: Any) -> Iterator[Opened]:
    """The file in a browser without a network, all figures drawn."""
    room = browser.new_context(**context)
    room.set_offline(True)
    page = room.new_page()
    found = Opened(page)
    page.route(
        "**/*",
        lambda route: route.abort() if "file:" not in route.request.url else route.continue_(),
    )
    page.on("request", lambda request: found.asked.append(request.url))
    page.on("pageerror", lambda error: found.said.append(str(error)))
    page.on(
        "console",
        lambda one: found.said.append(one.text) if one.type in ("error", "warning") else None,
    )

    def dismiss(dialog: Any) -> None:
        found.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.add_init_script(WATCH)
    for script in scripts:
        page.add_init_script(path=script)
    page.goto(path.as_uri())
    page.evaluate("window.fenchelReport.ready.then(() => null)")
    yield found
    room.close()
