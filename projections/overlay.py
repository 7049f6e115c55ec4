"""A context as a rewrite would show it, before there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from eventstore.estimates import estimates
from eventstore.formats import view_of_message
from eventstore.records import Shown
from projections.context import Fate, Part
from projections.rules import rules_named
from projections.rules.rules import HarnessRules


def overlaid(parts: Sequence[Part], targets: Iterable[Shown], *, rules: str = "pi") -> tuple[Part, ...]:
    """The messages of a context with those targets shown otherwise, as the context after such a rewrite has them.

    A message that stands for several has no time here: it is not known which entry's it gets.
    """
    return tuple(_overlaid(parts, list(targets), rules_named(rules)))


def _overlaid(parts: Sequence[Part], targets: list[Shown], harness: HarnessRules) -> Iterator[Part]:
    places = {part.id: place for place, part in enumerate(parts)}
    spans: dict[str, tuple[Shown, list[Shown]]] = {}
    changes: dict[str, list[Shown]] = {}
    for shown in targets:
        if shown.through:
            spans[shown.target] = (shown, [])
        else:
            changes.setdefault(shown.target, []).append(shown)
            spans.get(shown.target, (shown, []))[1].append(shown)
    visible = 0
    for place, part in enumerate(parts):
        if place < visible:
            continue
        span, later = spans.get(part.id, (None, []))
        if span and (end := places.get(span.through, -1)) >= place:
            visible = end + 1
            message = harness.placeholder(span.shown, None)
            yield _shown(part, harness.rewrite(message, later) if later else message)
        elif part.id in changes:
            yield _shown(part, harness.rewrite(part.raw, changes[part.id]))
        else:
            yield part


def _shown(part: Part, raw: bytes) -> Part:
    view = view_of_message(raw)
    utf16, utf8 = estimates(view)
    return msgspec.structs.replace(part, raw=raw, role=view.role, fate=Fate.REWRITTEN, utf16=utf16, utf8=utf8)
