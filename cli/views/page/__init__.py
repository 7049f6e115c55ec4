"""A session's report: one page of HTML that needs nothing else.

`material` reads a session out of its log; `build`, `lines` and `charts` make the page's view of it by pure functions;
`html` writes it.
"""

from __future__ import annotations
