"""Replace images and files by markers."""

from __future__ import annotations

from urllib.parse import quote

from compaction.part import PolicyPart
from compaction.rewrites.sized_context import SizedContext
from eventstore.records import TextReplacement
from eventstore.views import Block, Image, Opaque


class Evict(PolicyPart, frozen=True, tag="evict"):
    """Show `[image/png removed]` and the like in place of images and attached files."""

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return [
            each.shown_as(f"[{name} removed]", number)
            for each in context.messages
            for number, block in enumerate(each.message.blocks)
            if (name := _medium(block, each.message.role))
        ]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        del context
        return "there are no images or attached files"


def _medium(block: Block, role: str) -> str:
    """Return the media type of an attachment, "" for none. Unknown blocks of an answer are kept."""
    if isinstance(block, Image):
        return _named(block.mime or "image")
    return _named(block.type or "file") if isinstance(block, Opaque) and role != "assistant" else ""


def _named(medium: str) -> str:
    """Percent-encode characters of a name that could end the marker or break its line."""
    return quote(medium, safe="/+;=, ", errors="surrogatepass")
