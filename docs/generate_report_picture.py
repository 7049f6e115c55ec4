"""Draw docs/images/report.png: `python docs/generate_report_picture.py`.

Needs a Chromium on the path.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from cli.demo.player import play
from cli.views.page.build import build_page
from cli.views.page.html import page_bytes
from cli.views.page.material import read_material
from eventstore.memory import MemoryLog
from projections.audit.prices import library_prices
from projections.audit.session import audit
from projections.tokens import counter

WIDTH, HEIGHT = 1240, 880
SCALE = 1.5


def main() -> None:
    """Write the picture."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    target = Path(__file__).parent / "images" / "report.png"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder, "report.html")
        file.write_bytes(page())
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme="light"
        )
        opened.goto(file.as_uri())
        opened.screenshot(path=target)
        browser.close()


def page() -> bytes:
    """Write the demo session's report."""
    log = MemoryLog(clock=lambda: 0)
    tokens, prices = counter("utf16/4"), library_prices()
    audited = audit(log, play(log), tokens=tokens, prices=prices)
    material = read_material(log, audited, tokens=tokens, prices=prices)
    return page_bytes(build_page(material))


if __name__ == "__main__":
    main()
