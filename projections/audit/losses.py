"""Measure what a compaction's summary lost, and which losses mattered later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from projections.audit.measure import MetricStruct, share_of
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.mentions.path_names import PathIndex
from projections.replacement import Replacement


class KindRecall(MetricStruct, frozen=True):
    """Recall of one kind.

    `total` counts the things in H but not in K; `found` are those that C′ names, `lost` the others.
    """

    kind: str
    total: int
    found: int
    share: float | None
    lost: list[str]


class Recall(MetricStruct, frozen=True):
    """Recall over all kinds, and for each kind."""

    total: int
    found: int
    share: float | None
    kinds: list[KindRecall]


_NAMED: Final = {
    "symbols": MentionKind.SYMBOL,
    "identifiers": MentionKind.IDENTIFIER,
    "errors": MentionKind.ERROR,
    "urls": MentionKind.URL,
    "quantities": MentionKind.QUANTITY,
    "commands": MentionKind.COMMAND,
}
_READ: Final = "paths-read"
_MODIFIED: Final = "paths-modified"
RECALL_KINDS: Final = (_READ, _MODIFIED, *_NAMED)
"""The kinds of things that recall measures, in order."""


def recall(replacement: Replacement, facts: SessionFacts) -> Recall:
    """Measure how many things of H, but not of K, C′ still names, by kind.

    A path counts once, whatever its form; a modified file does not count as read.
    """
    removed = [facts.of_part(part) for part in replacement.removed]
    chunks = facts.chunks
    paths = PathIndex(chunks.paths(facts.of_parts(replacement.before.parts)))
    kept = MentionIndex(facts.of_parts(replacement.kept), paths, chunks)
    made = MentionIndex(map(facts.of_part, (*replacement.added, *replacement.returned)), paths)
    kinds = [
        _recall(name, [value for value in values if not kept.contains(kind, value)], kind, made)
        for name, kind, values in _things(removed, paths)
    ]
    # C′ is K plus the new messages, and K names none of these.
    share = share_of(sum(each.found for each in kinds), sum(each.total for each in kinds))
    return Recall(total=share.total, found=share.found, share=share.share, kinds=kinds)


def _things(
    removed: Sequence[MessageFacts], paths: PathIndex
) -> Iterator[tuple[str, MentionKind, list[str]]]:
    """Yield the distinct things of each kind that messages name, in order of appearance."""
    modified = _distinct(paths.longest_form(path) for each in removed for path in each.modified)
    read = _distinct(paths.longest_form(path) for each in removed for path in each.read)
    yield _READ, MentionKind.PATH, [path for path in read if path not in set(modified)]
    yield _MODIFIED, MentionKind.PATH, modified
    for name, kind in _NAMED.items():
        yield name, kind, _distinct(value for each in removed for value in each.mentions.get(kind, ()))


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _recall(name: str, values: list[str], kind: MentionKind, made: MentionIndex) -> KindRecall:
    lost = [value for value in values if not made.contains(kind, value)]
    share = share_of(len(values) - len(lost), len(values))
    return KindRecall(kind=name, total=share.total, found=share.found, share=share.share, lost=lost)


class Loss(MetricStruct, frozen=True):
    """A thing that was needed later although C′ does not name it.

    `had` is the first message of H that named it, `needed` the first later message of the model that used it,
    and `regained` the first message in between that named it again, if any.
    """

    kind: str
    value: str
    had: str
    had_seq: int
    needed: str
    needed_seq: int
    regained: str | None
    regained_seq: int | None


class KindFutureUse(MetricStruct, frozen=True):
    """Future-use recall of one kind."""

    kind: str
    total: int
    found: int
    share: float | None


class FutureUse(MetricStruct, frozen=True):
    """Of the things in H that the model used later (`total`), those that C′ names (`found`).

    `messages` counts the later messages examined. `losses` lists first the `never_regained` things that no
    message gave back; otherwise it is in order of need.
    """

    messages: int
    total: int
    found: int
    share: float | None
    never_regained: int
    kinds: list[KindFutureUse]
    losses: list[Loss]


class _Need(msgspec.Struct, frozen=True):
    """A thing that H names, and the first later message that uses it."""

    kind: MentionKind
    value: str
    needed: MessageFacts


def future_use(replacement: Replacement, facts: SessionFacts) -> FutureUse:
    """Measure how many things of H that the model uses later are still named in C′.

    A use is a thing named in a text or in a call's arguments, or a command that a call runs; thinking and
    summaries do not count. The rest of the branch is searched, whatever was replaced in it since.
    """
    later = facts.of_events(replacement.later)
    acts = [message for message in later if message.role == "assistant"]
    chunks = facts.chunks
    before = list(chunks.paths(facts.of_parts(replacement.before.parts)))
    paths = PathIndex(before)
    removed = MentionIndex(map(facts.of_part, replacement.removed), paths, chunks)
    after = MentionIndex(facts.of_parts(replacement.after.parts), paths, chunks)
    forms = PathIndex(
        [
            *before,
            *(path for each in acts for path in each.visible_mentions.get(MentionKind.PATH, ())),
        ]
    )
    needs = [need for need in _first_uses(acts, forms) if removed.contains(need.kind, need.value)]
    lost = [need for need in needs if not after.contains(need.kind, need.value)]
    last = max((need.needed.seq for need in lost), default=0)
    given = MentionIndex(
        (message for message in later if message.role != "assistant" and message.seq < last), paths, chunks
    )
    share = share_of(len(needs) - len(lost), len(needs))
    losses = sorted(
        (_loss(need, removed, given) for need in lost), key=lambda loss: loss.regained is not None
    )
    return FutureUse(
        messages=len(acts),
        total=share.total,
        found=share.found,
        share=share.share,
        never_regained=sum(loss.regained is None for loss in losses),
        kinds=_by_kind(needs, lost),
        losses=losses,
    )


def _first_uses(acts: Iterable[MessageFacts], paths: PathIndex) -> Iterable[_Need]:
    """Return every distinct thing that messages use, with its first use.

    A path counts once, whatever its form.
    """
    uses: dict[tuple[MentionKind, str], _Need] = {}
    for act in acts:
        for kind, values in act.visible_mentions.items():
            for value in map(paths.longest_form, values) if kind is MentionKind.PATH else values:
                if (kind, value) not in uses:
                    uses[kind, value] = _Need(kind, value, act)
    return uses.values()


def _by_kind(needs: Iterable[_Need], lost: Iterable[_Need]) -> list[KindFutureUse]:
    totals, losses = Counter(need.kind for need in needs), Counter(need.kind for need in lost)
    shares = {kind: share_of(totals[kind] - losses[kind], totals[kind]) for kind in MentionKind}
    return [
        KindFutureUse(kind=kind.value, total=share.total, found=share.found, share=share.share)
        for kind, share in shares.items()
    ]


def _loss(need: _Need, removed: MentionIndex, given: MentionIndex) -> Loss:
    had = removed.first_message(need.kind, need.value)
    assert had is not None  # noqa: S101  a need is what H names
    regained = given.first_message(need.kind, need.value, last=need.needed.seq)
    return Loss(
        kind=need.kind.value,
        value=need.value,
        had=had.id,
        had_seq=had.seq,
        needed=need.needed.id,
        needed_seq=need.needed.seq,
        regained=regained.id if regained else None,
        regained_seq=regained.seq if regained else None,
    )
