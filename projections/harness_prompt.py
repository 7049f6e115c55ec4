"""What a harness sends before its messages, as far as the log has it."""

from __future__ import annotations

import msgspec

from eventstore.formats import PROMPT_KINDS, view_of
from eventstore.log import Snapshot
from eventstore.paths import path_of_kinds
from projections.context.cursor import Standpoint


class HarnessPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt, and the definitions of tools as a JSON list; "" and b"" where there are none."""

    system: str = ""
    tools: bytes = b""

    def or_else(self, other: HarnessPrompt) -> HarnessPrompt:
        """The same, with what it lacks taken from another."""
        return HarnessPrompt(system=self.system or other.system, tools=self.tools or other.tools)


def harness_prompt(snapshot: Snapshot, at: Standpoint) -> HarnessPrompt:
    """Return what the newest record on the path to a leaf says that holds a prompt."""
    found = list(path_of_kinds(snapshot, at.session, at.leaf, PROMPT_KINDS))
    prompt = view_of(found[-1]).prompt if found else None
    return HarnessPrompt(system=prompt.system, tools=prompt.tools) if prompt else HarnessPrompt()
