"""What a harness sends before its messages, as far as the log has it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from eventstore.javascript import stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.paths import path_of_kinds
from projections.context.cursor import Standpoint

_KIND: Final = "session_init"


class HarnessPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt, and the definitions of tools as a JSON list; "" and b"" where there are none."""

    system: str = ""
    tools: bytes = b""

    def or_else(self, other: HarnessPrompt) -> HarnessPrompt:
        """The same, with what it lacks taken from another."""
        return HarnessPrompt(system=self.system or other.system, tools=self.tools or other.tools)


def harness_prompt(snapshot: Snapshot, at: Standpoint) -> HarnessPrompt:
    """What the newest `session_init` on the path to a leaf says.

    oh-my-pi writes one where it starts an agent: `systemPrompt` is a text or a list of texts. Its `tools` are
    names, of which no request can be made; a list of definitions, each with `name` and `input_schema`, counts.
    """
    found = b""
    for entry in path_of_kinds(snapshot, at.session, at.leaf, {_KIND}):
        found = entry.body
    record = tolerant_json(found) if found else {}
    if not isinstance(record, dict):
        return HarnessPrompt()
    return HarnessPrompt(system=_text(record.get("systemPrompt")), tools=_definitions(record.get("tools")))


def _text(given: Any) -> str:
    texts = given if isinstance(given, list) else [given]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _definitions(given: Any) -> bytes:
    if not isinstance(given, list) or not given or not all(map(_is_definition, given)):
        return b""
    return stringify(given).encode("utf-8", "replace")


def _is_definition(tool: Any) -> bool:
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and isinstance(tool.get("input_schema"), dict)
    )
