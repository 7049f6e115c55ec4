"""A session's report: one page of HTML that needs nothing else.

`material` reads a session out of its log, `build` makes the page's view of it by pure functions, `page` writes HTML.
"""

from __future__ import annotations
