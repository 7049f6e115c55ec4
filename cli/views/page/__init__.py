"""A session's report: one self-contained HTML page.

`material` reads a session from its log; `build`, `lines` and `charts` turn it into the page's view model with
pure functions; `html` writes it.
"""

from __future__ import annotations
