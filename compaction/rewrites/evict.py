"""Taking images and files out of what is kept."""

from __future__ import annotations

from urllib.parse import quote

from compaction.part import PolicyPart
from compaction.rewrites.sized_context import SizedContext
from eventstore.records import TextReplacement
from eventstore.views import Block, Image, Opaque


class Evict(PolicyPart, frozen=True, tag="evict"):
    """Show `[image/png removed]` and the like in place of every image, and of every file that people or tools sent."""

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return [
            TextReplacement(target=each.id, text=f"[{name} removed]", block=number)
            for each in context.messages
            for number, block in enumerate(each.message.blocks)
            if (name := _medium(block, each.message.role))
        ]

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        del context
        return "there are no images, and no files that were sent"


def _medium(block: Block, role: str) -> str:
    """Return the kind of an attachment, "" for none. Unknown blocks in an answer are the model's own."""
    if isinstance(block, Image):
        return _named(block.mime or "image")
    return _named(block.type or "file") if isinstance(block, Opaque) and role != "assistant" else ""


def _named(medium: str) -> str:
    """Percent-encode what of a name could end the marker, or go on in another line."""
    return quote(medium, safe="/+;=, ", errors="surrogatepass")
