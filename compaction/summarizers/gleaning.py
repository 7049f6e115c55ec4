"""What can be told of messages without a model: requests, rules, files, commands, errors, the last words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from eventstore.formats import view_of_message
from eventstore.views import Message
from projections.context import Part
from projections.extraction import Kind
from projections.extraction.instructions import instructions_in
from projections.metrics.holdings import Holding, Holdings

_SENTENCE: Final = re.compile(r"[^.!?\n]{20,300}[.!?]")
_DECIDES: Final = re.compile(
    r"\b(?:decided|instead of|rather than|going with|chose|will use|turns out|the reason|because)\b",
    re.IGNORECASE,
)
_PLANS: Final = re.compile(
    r"^\s*(?:\d+[.)]|[-*] \[ \]|next\b|then\b|let me\b|i'll\b|i will\b)", re.IGNORECASE
)
_LINE: Final = 200
"""Characters of a line."""


class Gleaned(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of each sort, the most telling first."""

    requests: list[str]
    rules: list[str]
    changed: list[str]
    read: list[str]
    named: list[str]
    commands: list[str]
    errors: list[str]
    decisions: list[str]
    plans: list[str]
    last_words: list[str]


def gleaned(parts: Sequence[Part]) -> Gleaned:
    """What messages tell by themselves. Newer things come first, those named more often before others."""
    held = [(part, view_of_message(part.raw)) for part in parts]
    holdings = Holdings()
    named = [holdings.of_part(part) for part in parts]
    users = [message.text for part, message in held if part.role == "user" and message.text.strip()]
    answers = [message.text for part, message in held if part.role == "assistant" and message.text.strip()]
    changed = _newest(path for holding in named for path in holding.modified)
    read = [
        path for path in _newest(path for holding in named for path in holding.read) if path not in changed
    ]
    return Gleaned(
        requests=_requests(users),
        rules=list(dict.fromkeys(rule for text in users for rule in map(_line, instructions_in(text)))),
        changed=changed,
        read=read,
        named=_ranked(named, Kind.PATH, {*changed, *read}),
        commands=_commands(named, held),
        errors=_newest(error for holding in named for error in holding.named.get(Kind.ERROR, ())),
        decisions=_newest(_decisions(answers)),
        plans=[_line(line) for line in (answers[-1].splitlines() if answers else ()) if _PLANS.match(line)],
        last_words=[_line(answers[-1])] if answers else [],
    )


def _requests(users: Sequence[str]) -> list[str]:
    """The newest request, then the first, then the others, newest first."""
    if not users:
        return []
    return list(dict.fromkeys(map(_line, [users[-1], users[0], *reversed(users[1:-1])])))


def _newest(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed(list(values))))


def _ranked(named: Iterable[Holding], kind: Kind, but: set[str]) -> list[str]:
    """Things of a kind by how many messages name them, newer before older among equals."""
    counts: Counter[str] = Counter()
    newest: dict[str, int] = {}
    for place, holding in enumerate(named):
        for value in holding.named.get(kind, ()):
            counts[value] += 1
            newest[value] = place
    values = (value for value in counts if value not in but)
    return sorted(values, key=lambda value: (-counts[value], -newest[value], value))


def _commands(named: Sequence[Holding], held: Sequence[tuple[Part, Message]]) -> list[str]:
    """Commands with what came of them, newest first."""
    failed = {message.tool_call_id: message.is_error for _, message in held if message.role == "toolResult"}
    outcomes: dict[str, str] = {}
    for holding, (_, message) in zip(named, held, strict=True):
        ids = [call.id for call in message.tool_calls]
        is_bad = holding.is_error or any(failed.get(call_id, False) for call_id in ids)
        for command in holding.named.get(Kind.COMMAND, ()):
            outcomes.pop(command, None)
            outcomes[command] = "failed" if is_bad else "went well"
    return [f"`{_line(command)}`: {outcome}" for command, outcome in reversed(outcomes.items())]


def _decisions(answers: Iterable[str]) -> Iterator[str]:
    for text in answers:
        for sentence in _SENTENCE.findall(text):
            if _DECIDES.search(sentence):
                yield _line(sentence)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
