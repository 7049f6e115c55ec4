"""Replace the largest new results by a preview and their address in the log."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from compaction.part import Count, PolicyPart
from compaction.rewrites.sized_context import SizedContext, SizedMessage
from eventstore.errors import shell_command
from eventstore.records import TextReplacement

_TAG: Final = re.compile(r"<(?=\s*+(?:/\s*+)?persisted-output\b)", re.IGNORECASE)
"""A tag in an output that could close or imitate its marker."""


class Offload(PolicyPart, frozen=True, tag="offload"):
    """Show a `<persisted-output>` marker with a preview in place of results that are too long.

    If the results of the newest assistant message's calls exceed `characters` together, replace the largest
    first until the sum fits. The preview is the first `preview` characters. The full text stays in the log,
    at the marker's address. `<` of a tag like the marker's is escaped as `&lt;` inside it.
    """

    characters: Count = 200_000
    preview: Count = 2_000

    def plan(self, context: SizedContext) -> list[TextReplacement]:
        """Return the replacements to apply."""
        return self.shortened(context, _newest_results(context))

    def why_nothing(self, context: SizedContext) -> str:
        """Return why `plan` finds nothing."""
        del context
        return f"the results of the newest calls have at most {self.characters:,} characters in total"

    def shortened(self, context: SizedContext, outputs: Sequence[SizedMessage]) -> list[TextReplacement]:
        """Return replacements after which outputs have at most `characters` together, if possible."""
        total = sum(each.characters for each in outputs)
        shown: list[TextReplacement] = []
        for each in sorted(outputs, key=lambda each: each.characters, reverse=True):
            if total <= self.characters:
                break
            marker = self._marker(context, each)
            if len(marker) < each.characters:
                total += len(marker) - each.characters
                shown.append(each.shown_as(marker))
        return shown

    def _marker(self, context: SizedContext, each: SizedMessage) -> str:
        # A shell joins adjacent quoted strings into one word; a tag is broken by them.
        command = shell_command("show", context.session, each.id).replace("<", "<''")
        return (
            f'<persisted-output session="{_attribute(context.session)}" event="{_attribute(each.id)}" '
            f'characters="0-{each.characters}">\n'
            f"The whole output, {each.characters} characters, is in the log ({command}). It begins:\n"
            f"{_TAG.sub('&lt;', (each.output or '')[: self.preview])}\n</persisted-output>"
        )


def _attribute(name: str) -> str:
    return html.escape(name).replace("\n", "&#10;")


def _newest_results(context: SizedContext) -> list[SizedMessage]:
    for place in range(len(context.messages) - 1, -1, -1):
        if context.messages[place].message.tool_calls:
            calls = {call.id for call in context.messages[place].message.tool_calls}
            behind = context.messages[place + 1 :]
            return [each for each in behind if each.is_result and each.message.tool_call_id in calls]
    return []
