"""A page in Chromium, and what it did there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESKTOP: Final = {"width": 1280, "height": 900}
PHONE: Final = {"width": 390, "height": 844}
_WATCH: Final = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation",
        (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


class Visit:
    """An open page, with everything that it said, asked or requested since it was opened."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.requests.append(request.url))
        page.add_init_script(_WATCH)

    def _dismiss(self, dialog: Any) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def js(self, expression: str, argument: Any = None) -> Any:
        """Evaluate a JavaScript expression."""
        return self.page.evaluate(expression, argument)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def open_all(self) -> None:
        """Open everything that can be opened."""
        self.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    @property
    def focused(self) -> str:
        """The id of the event or replacement that has the focus, or of the element itself."""
        return str(
            self.js("(document.activeElement.closest('.event, .replacement') ?? document.activeElement).id")
        )

    def top_of(self, selector: str) -> float:
        """Return the distance of an element from the window's top, in pixels."""
        return float(self.js("(s) => document.querySelector(s).getBoundingClientRect().top", selector))


@contextmanager
def visit(browser: Browser, file: Path, *, anchor: str = "", **options: Any) -> Iterator[Visit]:
    """Open a file with no network, by default on a desktop; the rest are options of a browser's context."""
    context = browser.new_context(**{"viewport": DESKTOP, "offline": True, **options})
    try:
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        visited = Visit(page)
        page.goto(file.as_uri() + anchor)
        yield visited
    finally:
        context.close()
