"""Define a finding, and the references to events in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, Literal

from projections.audit.measure import EventRef, MetricStruct
from projections.mentions.message_facts import MessageFacts

Weight = Literal["serious", "minor"]
FindingKind = Literal[
    "uncovered", "rule", "objection", "repeated", "unanswered", "search", "path", "invented", "retry", "habit"
]


class Finding(MetricStruct, frozen=True):
    """A loss that is certain, or trouble that a loss explains.

    `sentence` continues "After compaction 1, " and refers to events as `#NUMBER`. `known` are events before the
    replacement that had what was missing, `trouble` later ones that show that it was missed, in order. `names`
    are the files, names or words that were missing.
    """

    kind: FindingKind
    weight: Weight
    sentence: str
    known: list[EventRef]
    trouble: list[EventRef]
    names: list[str]


def rank_of_finding(finding: Finding) -> int:
    """Return a sort key: messages without a summary come first, then serious findings."""
    return 0 if finding.kind == "uncovered" else 1 if finding.weight == "serious" else 2


_LONGEST_QUOTATION: Final = 100
"""Characters."""


def cut(text: str) -> str:
    """Return the beginning of a text, to be quoted."""
    return text if len(text) <= _LONGEST_QUOTATION else f"{text[: _LONGEST_QUOTATION - 1].rstrip()}…"


def listed(names: Sequence[str]) -> str:
    """Return names as words: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def ref(message: MessageFacts) -> EventRef:
    """Return a reference to a message's event."""
    return EventRef(event=message.id, seq=message.seq)


def refs(messages: Iterable[MessageFacts | None]) -> list[EventRef]:
    """Return references to messages, in order, each once; None stands for no message."""
    by_number = {each.seq: ref(each) for each in messages if each is not None}
    return sorted(by_number.values(), key=attrgetter("seq"))
