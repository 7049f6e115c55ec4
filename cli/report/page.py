"""A page as one file of HTML that loads nothing, runs nothing but its own script, and needs no network."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from cli.audit_view.lines import dollars, part_of, percent
from cli.output import counted, printable, thousands
from cli.report.model import Page
from cli.report.texts import line_of

if TYPE_CHECKING:
    from jinja2 import Environment

MARKER: Final = "<!-- made by refold report: it is made anew, not edited -->"
"""The second line of every page, by which a report is told from other files."""


def page_bytes(page: Page) -> bytes:
    """The page as a file in UTF-8."""
    return page_html(page).encode()


def page_html(page: Page) -> str:
    """The page's HTML. Whatever it prints of the session is escaped, and what cannot be seen is spelled out."""
    style, script = _own("style.css"), _own("script.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            marker=Markup(MARKER),  # noqa: S704  the page's own
            style=style,
            script=script,
            policy=_policy(style, script),
        )
    )


def _policy(style: str, script: str) -> str:
    """The content security policy: this style and this script, and nothing else."""
    rules = (
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _own(name: str) -> Markup:
    """A file of the page's own, that is put into it as it is."""
    return Markup(files("cli.report").joinpath("templates", name).read_text("utf-8"))  # noqa: S704  no text of a session


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cli.report"),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "counted": counted,
        "line": line_of,
        "dollars": _dollars,
        "minus": lambda amount: _dollars(None if amount is None else -amount),
        "part_of": part_of,
        "percent": percent,
        "thousands": thousands,
    }
    return environment


def _dollars(amount: float | None, *, is_signed: bool = False) -> str:
    return dollars(amount, is_signed=is_signed).replace("-$", "\N{MINUS SIGN}$")


def _harmless(value: Any) -> Any:
    """A value as it is printed: what of a text cannot be seen, or turns its direction, is spelled out."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
