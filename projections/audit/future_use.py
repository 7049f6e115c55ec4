"""Measure how much of what the model used after a replacement the new context still named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Final

import msgspec

from projections.audit.measure import MetricStruct, share_of
from projections.files import files_of_call
from projections.mentions import MentionKind
from projections.mentions.mention import word_set
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import MessageFacts, SessionFacts
from projections.mentions.path_names import PathIndex, split_path
from projections.mentions.paths import has_extension
from projections.replacement import Replacement

_ENDS: Final = frozenset({"compaction", "branch_summary", "undone"})
"""Kinds of entries from which on another summary, or none, shapes what the model does."""


class Loss(MetricStruct, frozen=True):
    """A thing that the model used although C′ does not name it and nothing since had named it.

    `had` is the first message before the replacement that named it, `needed` the first message of the model
    that used it.
    """

    kind: str
    value: str
    had: str
    had_seq: int
    needed: str
    needed_seq: int


class KindFutureUse(MetricStruct, frozen=True):
    """Future-use recall of one kind."""

    kind: str
    total: int
    found: int
    share: float | None


class FutureUse(MetricStruct, frozen=True):
    """Of the log's things that the model used later (`total`), those that C′ names (`found`).

    `messages` counts the later messages examined. Each thing that C′ does not name counts once: `earlier` if
    C did not name it either, `given` if a message named it again before its use, `searched` if the call that
    used it found it, `reread` if the model only read that file again, `common` if its name is not the
    session's own, and else as one of the `losses`, which are in order of need.
    """

    messages: int
    total: int
    found: int
    share: float | None
    earlier: int
    given: int
    searched: int
    reread: int
    common: int
    kinds: list[KindFutureUse]
    losses: list[Loss]


class Need(msgspec.Struct, frozen=True):
    """A thing that the log before a boundary names, and the first later message that uses it."""

    kind: MentionKind
    value: str
    needed: MessageFacts


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """The things that the log had named and that the model used up to a horizon.

    It depends on nothing that a replacement keeps or removes, so it is the same for every policy that
    replaces messages at this boundary. `log` are the messages before it, `later` those after it.
    """

    needs: list[Need]
    log: Sequence[MessageFacts]
    later: Sequence[MessageFacts]
    paths: PathIndex


def needs_at(replacement: Replacement, facts: SessionFacts, *, horizon: int | None = None) -> Needs:
    """Return the things that the log names before a boundary and that the model used after it.

    A use is a thing named in a text or in a call's arguments, or a command that a call runs; thinking and
    summaries do not count. `horizon` is the number of the last entry to examine; by default, the next
    compaction, branch summary or undo ends the search. A short form that can be several paths is no thing.
    """
    if horizon is None:
        events = list(takewhile(lambda event: event.kind not in _ENDS, replacement.later))
    else:
        events = [event for event in replacement.later if event.seq <= horizon]
    later = [message for event in events if (message := facts.of_event(event)) is not None]
    log = _log(replacement, facts)
    before = [path for message in log for path in message.paths]
    paths = PathIndex(before)
    acts = [message for message in later if message.role == "assistant"]
    used = (path for act in acts for path in act.visible_mentions.get(MentionKind.PATH, ()))
    named = MentionIndex(log, paths, facts.index)
    uses = _first_uses(acts, PathIndex([*before, *used]))
    return Needs(
        needs=[need for need in uses if named.contains(need.kind, need.value)],
        log=log,
        later=later,
        paths=paths,
    )


def _log(replacement: Replacement, facts: SessionFacts) -> list[MessageFacts]:
    """Return the messages above a replacement, and those that only C shows.

    The latter are those of another session, and rewritten ones.
    """
    above = [message for event in replacement.earlier if (message := facts.of_event(event)) is not None]
    known = set(map(id, above))
    shown = zip(replacement.before.parts, facts.of_parts(replacement.before.parts), strict=True)
    others = [(part.session, message) for part, message in shown if id(message) not in known]
    own = replacement.event.session
    elsewhere = [message for session, message in others if session != own]
    above += [message for session, message in others if session == own]
    return [*elsewhere, *sorted(above, key=lambda message: message.seq)]


def _first_uses(acts: Iterable[MessageFacts], paths: PathIndex) -> Iterable[Need]:
    """Return every distinct thing that messages use, with its first use.

    A path counts once, whatever its form.
    """
    uses: dict[tuple[MentionKind, str], Need] = {}
    for act in acts:
        for kind, values in act.visible_mentions.items():
            for value in _whole_paths(values, paths) if kind is MentionKind.PATH else values:
                if (kind, value) not in uses:
                    uses[kind, value] = Need(kind, value, act)
    return uses.values()


def _whole_paths(values: Iterable[str], paths: PathIndex) -> Iterator[str]:
    return (paths.longest_form(path) for path in values if not paths.can_be_several(path))


def future_use(replacement: Replacement, facts: SessionFacts, *, horizon: int | None = None) -> FutureUse:
    """Measure how many of the things that the model needs up to a horizon C′ names."""
    needs = needs_at(replacement, facts, horizon=horizon)
    after = MentionIndex(facts.of_parts(replacement.after.parts), needs.paths, facts.index)
    lost = [need for need in needs.needs if not after.contains(need.kind, need.value)]
    sources = _Sources(replacement, facts, needs)
    ends = [sources.of(need) for need in lost]
    counts = Counter(ends)
    share = share_of(len(needs.needs) - len(lost), len(needs.needs))
    return FutureUse(
        messages=sum(message.role == "assistant" for message in needs.later),
        total=share.total,
        found=share.found,
        share=share.share,
        earlier=counts[_Source.EARLIER],
        given=counts[_Source.GIVEN],
        searched=counts[_Source.SEARCHED],
        reread=counts[_Source.REREAD],
        common=counts[_Source.COMMON],
        kinds=_by_kind(needs.needs, lost),
        losses=[sources.loss(need) for need, source in zip(lost, ends, strict=True) if source is _Source.LOG],
    )


def _by_kind(needs: Iterable[Need], lost: Iterable[Need]) -> list[KindFutureUse]:
    totals, losses = Counter(need.kind for need in needs), Counter(need.kind for need in lost)
    shares = {kind: share_of(totals[kind] - losses[kind], totals[kind]) for kind in MentionKind}
    return [
        KindFutureUse(kind=kind.value, total=share.total, found=share.found, share=share.share)
        for kind, share in shares.items()
    ]


class _Source(StrEnum):
    """The source of a thing that C′ does not name."""

    EARLIER = "earlier"
    GIVEN = "given"
    SEARCHED = "searched"
    REREAD = "reread"
    COMMON = "common"
    LOG = "log"


_VIEWERS: Final = word_set(
    "ag awk bat cat diff du fd file find git grep head less ls more nl rg sed stat tail tree type wc which"
)
"""Programs that only look: running them takes no knowledge, and their output is cheap."""
_SCRATCH: Final = word_set("dev tmp proc")
_FEWEST_NAMES: Final = 2
_DEFINES: Final = re.compile(
    r"\b(?:abstract|class|def|enum|export(?: default)?(?: async)?(?: const| function| let| type)?|fn"
    r"|func(?: \([^)]*\))?|function|impl|interface|module|private|protected|protocol|public|record|static|struct"
    r"|trait|type)\s+\Z"
)
"""Words before a name that a program defines; variables do not count, as they are local."""
_LOOKBACK: Final = 80
_WORD_GOES_ON: Final = re.compile(r"\w")


class _Sources:
    """Tells where the model had what it used, among the messages around one boundary."""

    def __init__(self, replacement: Replacement, facts: SessionFacts, needs: Needs) -> None:
        self._needs, self._index = needs, facts.index
        self._had = MentionIndex(needs.log, needs.paths, facts.index)
        self._in_context = MentionIndex(facts.of_parts(replacement.before.parts), needs.paths, facts.index)
        given = [message for message in needs.later if message.role != "assistant"]
        self._given = MentionIndex(given, needs.paths, facts.index)
        self._results = {message.result_of: message for message in given if message.result_of}
        self._told = [message for message in needs.log if message.role == "user"]
        self._in_told = MentionIndex(self._told, needs.paths, facts.index)
        self._places = {message.seq: place for place, message in enumerate(needs.later)}

    def of(self, need: Need) -> _Source:
        """Return the source of a thing that C′ does not name."""
        given = self._given.first_message(need.kind, need.value, last=need.needed.seq)
        if given is not None:
            return _Source.GIVEN
        turn = self._turn(need.needed)
        if need.kind is not MentionKind.COMMAND and self._is_found_by_own_call(need, turn):
            return _Source.SEARCHED
        if need.kind is MentionKind.PATH and _is_read(need.value, turn):
            return _Source.REREAD
        if not self._is_own(need):
            return _Source.COMMON
        return _Source.LOG if self._in_context.contains(need.kind, need.value) else _Source.EARLIER

    def loss(self, need: Need) -> Loss:
        had = self._had.first_message(need.kind, need.value)
        assert had is not None  # noqa: S101  a need is what the log names
        return Loss(
            kind=need.kind.value,
            value=need.value,
            had=had.id,
            had_seq=had.seq,
            needed=need.needed.id,
            needed_seq=need.needed.seq,
        )

    def _turn(self, act: MessageFacts) -> list[MessageFacts]:
        """Return a message of the model and those that continue it: some formats split messages."""
        behind = self._needs.later[self._places[act.seq] :]
        return list(takewhile(lambda message: message.role == "assistant", behind))

    def _is_found_by_own_call(self, need: Need, turn: Sequence[MessageFacts]) -> bool:
        name = split_path(need.value)[-1] if need.kind is MentionKind.PATH else need.value
        if _writes(turn[0], name):
            # A result shows what an edit wrote, which nothing had found.
            return False
        calls = {call.id for message in turn for call in message.calls}
        results = [self._results[each] for each in calls & self._results.keys()]
        return MentionIndex(results, self._needs.paths, self._index).contains(need.kind, need.value)

    def _is_own(self, need: Need) -> bool:
        """Return True if a thing's name belongs to the session: neither invented nor known anywhere."""
        kind, value = need.kind, need.value
        if kind is MentionKind.PATH:
            names = [name for name in split_path(value) if name]
            return len(names) >= _FEWEST_NAMES and has_extension(value) and names[0] not in _SCRATCH
        if kind is MentionKind.COMMAND:
            return value.partition(" ")[0] not in _VIEWERS
        if kind is MentionKind.IDENTIFIER:
            return not _writes(need.needed, value)
        if kind is MentionKind.QUANTITY:
            return self._is_told(need)
        return kind is not MentionKind.SYMBOL or self._is_own_symbol(need)

    def _fails(self, act: MessageFacts) -> bool:
        """Return True if a call of a message fails, as an edit of a misremembered text does."""
        return any(self._results[call.id].is_error for call in act.calls if call.id in self._results)

    def _is_own_symbol(self, need: Need) -> bool:
        value = need.value
        if any(_defines(text, value) for text in need.needed.texts) and not self._fails(need.needed):
            return False
        return self._is_told(need) or any(
            _defines(text, value)
            for message in self._had.messages_with_words(value)
            for text in message.texts
        )

    def _is_told(self, need: Need) -> bool:
        """Return True if the user named a thing."""
        if any(need.value in message.mentions.get(need.kind, ()) for message in self._told):
            return True
        whole = re.compile(rf"(?<!\w){re.escape(need.value)}(?!\w)")
        return any(
            any(map(whole.search, message.texts)) for message in self._in_told.messages_with_words(need.value)
        )


def _defines(text: str, name: str) -> bool:
    """Return True if a program in a text defines a name."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if _DEFINES.search(text, max(0, at - _LOOKBACK), at) and not _WORD_GOES_ON.match(text, end):
            return True
        at = text.find(name, end)
    return False


def _writes(message: MessageFacts, value: str) -> bool:
    """Return True if a call of a message writes a value into a file."""
    return any(
        value in call.arguments.decode("utf-8", "replace")
        for call in message.calls
        if files_of_call(call, message.tools)[1]
    )


def _is_read(path: str, turn: Sequence[MessageFacts]) -> bool:
    """Return True if a turn only reads a file, with a tool or a program that shows files."""
    name = split_path(path)[-1]
    if any(split_path(each)[-1:] == (name,) for message in turn for each in message.modified):
        return False
    commands = [
        command
        for message in turn
        for command in message.visible_mentions.get(MentionKind.COMMAND, ())
        if name in command
    ]
    if commands:
        return all(command.partition(" ")[0] in _VIEWERS for command in commands)
    return any(split_path(each)[-1:] == (name,) for message in turn for each in message.read)
