"""Describe each session of a store in one line: project, length, tokens, cost.

The figures of a session follow from its log. They are cached beside the log, and computed again whenever the
session, the prices or this module have changed since.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from eventstore.errors import CorruptionError, StoreError
from eventstore.harnesses import format_of, node_of
from eventstore.imports import (
    copied_through,
    earlier_generation,
    generation_of,
    newest_import,
    origin_of,
    original_of,
)
from eventstore.javascript import iso_time
from eventstore.log import EventLog, Head, Progress, Snapshot
from eventstore.paths import event, events, in_effect_on
from eventstore.records import FORMAT, embedded
from projections.audit.cost import PaidCall, paid_calls
from projections.audit.prices import Prices, library_prices
from projections.context.cursor import resolve_cursor
from projections.descriptions import first_request, title
from projections.settings import settings_at
from projections.tree import tree
from projections.usage import answers

ANSWERS: Final = "replay-answers-"
"""The beginning of the names of sessions that hold only what models answered in replays."""
_TITLE_OF_ANSWERS: Final = "stored answers of replays"
_VERSION: Final = 12
"""The version of the cached figures; increase it when they change."""
_BATCH: Final = 16
"""Sessions that are read before their figures are cached, and progress is reported."""
_WORKTREE: Final = re.compile(r"(.+?)[/\\](?:\.claude[/\\]worktrees|\.worktrees)[/\\].+", re.DOTALL)
"""A git worktree inside of the project's folder, where harnesses let agents work."""

_FEW: Final = 10
"""The most events of a session that counts as abandoned if no model answered."""
_RELEASE: Final = re.compile(r"-20[0-9]{6}$")
"""The date at the end of a model's name."""


class Spent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The tokens and the cost of calls, in US dollars.

    A call's cost is the recorded one, or else that of the price table. `cost` is None if it lacks all calls,
    `without_cost` counts the calls that it lacks, and `understated` those priced by a part of their output.
    """

    calls: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost: float | None = None
    without_cost: int = 0
    understated: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, sent and received."""
        return self.input + self.cache_read + self.cache_write + self.output


def total(parts: Iterable[Spent]) -> Spent:
    """Add up tokens and cost."""
    given = list(parts)
    known = [each.cost for each in given if each.cost is not None]
    return Spent(
        calls=sum(each.calls for each in given),
        input=sum(each.input for each in given),
        cache_read=sum(each.cache_read for each in given),
        cache_write=sum(each.cache_write for each in given),
        output=sum(each.output for each in given),
        cost=math.fsum(known) if known else None,
        without_cost=sum(each.without_cost for each in given),
        understated=sum(each.understated for each in given),
    )


class DaySpent(msgspec.Struct, frozen=True):
    """The calls of one model on one day (UTC); the day of calls without a time is ""."""

    day: str
    model: str
    spent: Spent


def holds_answers(head: Head) -> bool:
    """Return True for a session that holds answers of replays, and no conversation."""
    return head.name.startswith(ANSWERS) and not head.entries


class SessionOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A session in one line.

    `folder` is where it began to work, "" if unknown; `model` is the one in use at its leaf. `ended` is the time of
    its newest entry, in epoch milliseconds, without what refold appended to compact it, shorten it, move its leaf,
    undo, label or name. `is_answered`: a model answered in it. `compactions` are those of all branches, without
    undone ones; `branches` counts branches as `Tree.ends` does. `calls` are the session's own: a fork has none of
    those that it shares with its original. `original` and `parent` name the session that it was forked or copied
    from, or that started it as a subagent, and `earlier` its previous generation, "" for none. `problem` says why
    figures are missing: the session is damaged.
    """

    head: Head
    harness: str = ""
    folder: str = ""
    title: str = ""
    first_request: str = ""
    model: str = ""
    ended: int | None = None
    is_answered: bool = False
    compactions: int = 0
    branches: int = 0
    calls: list[DaySpent] = []
    original: str = ""
    parent: str = ""
    earlier: str = ""
    problem: str = ""

    @property
    def name(self) -> str:
        """The session's id."""
        return self.head.name

    @property
    def spent(self) -> Spent:
        """The tokens and the cost of the session's own calls."""
        return total(each.spent for each in self.calls)


class _Cached(msgspec.Struct, frozen=True, array_like=True):
    """Figures, and what they depend on besides the session's own log."""

    version: int
    prices: str
    copied: int
    overview: SessionOverview


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Cached).decode


def overviews(
    log: EventLog,
    *,
    prices: Prices | None = None,
    progress: Progress = lambda _done, _total: None,
) -> list[SessionOverview]:
    """Return the overviews of all sessions, sorted by name.

    `prices` gives the cost of models (default: the installed `genai-prices`, and only then is it cached).
    """
    table = prices or library_prices()
    cached_with = None if prices else table.name
    with log.snapshot() as snapshot:
        heads = list(snapshot.heads())
        found = {head.name: _cached(log, snapshot, head, cached_with) for head in heads}
    missing = [head for head in heads if found[head.name] is None]
    for done in range(0, len(missing), _BATCH):
        if done:
            progress(done, len(missing))
        made = [_overview(log, head, table) for head in missing[done : done + _BATCH]]
        found.update((overview.name, overview) for overview, _ in made)
        if cached_with is not None:
            # A full disk takes no figures, but they can be listed.
            with suppress(StoreError):
                log.keep(_kept(made, cached_with))
    return [each for each in found.values() if each is not None]


def _cached(log: EventLog, snapshot: Snapshot, head: Head, prices: str | None) -> SessionOverview | None:
    kept = None if prices is None else snapshot.derived(_key(head))
    if kept is None:
        return None
    try:
        cached = _decode(kept)
    except msgspec.DecodeError:
        return None
    overview = cached.overview
    if (cached.version, cached.prices, overview.head) != (_VERSION, prices, head):
        return None
    if not overview.original:
        return overview
    # The original of a fork may have come into the store since. A damaged fork is read again, and reported: in a
    # snapshot of its own, which tells damage when it closes.
    with suppress(CorruptionError), log.snapshot() as own:
        return overview if copied_through(own, head.name) == cached.copied else None
    return None


def _kept(made: Iterable[tuple[SessionOverview, int]], prices: str) -> Iterator[tuple[bytes, bytes]]:
    for overview, copied in made:
        # A lone surrogate has no UTF-8 form; such a title is read again each time.
        with suppress(UnicodeEncodeError):
            if not overview.problem:
                yield _key(overview.head), _encode(_Cached(_VERSION, prices, copied, overview))


def _key(head: Head) -> bytes:
    return b"overview " + head.number.to_bytes(4, "big")


def _overview(log: EventLog, head: Head, prices: Prices) -> tuple[SessionOverview, int]:
    """Return a session's overview, and the number of the last event copied from its original."""
    try:
        with log.snapshot() as snapshot:
            return session_overview(snapshot, head.name, prices), copied_through(snapshot, head.name)
    except CorruptionError as error:
        return SessionOverview(head=head, ended=head.last_time, problem=str(error)), 0


def session_overview(snapshot: Snapshot, session: str, prices: Prices) -> SessionOverview:
    """Return the overview of one session. Raises NotFoundError or CorruptionError."""
    head = snapshot.head(session)
    subagent = origin_of(snapshot, session, "subagent")
    facts = _facts(snapshot, head)
    model = settings_at(snapshot, session, head.leaf).model
    has_answers = holds_answers(head)
    answered = answers(snapshot, resolve_cursor(snapshot, session))
    last = event(snapshot, session, head.version).time if has_answers else head.last_time
    return SessionOverview(
        head=head,
        harness=facts.harness,
        folder=facts.folder,
        title=title(snapshot, session) or (_TITLE_OF_ANSWERS if has_answers else ""),
        first_request=first_request(snapshot, session),
        model=str(model or ""),
        ended=last if facts.ended is None else facts.ended,
        is_answered=facts.is_answered,
        compactions=facts.compactions,
        branches=tree(snapshot, session).ends,
        calls=_by_day(paid_calls(snapshot, session, answered, prices)),
        original=original_of(snapshot, session),
        parent=subagent.session if subagent else "",
        earlier=_earlier_of(snapshot, session),
    )


def _earlier_of(snapshot: Snapshot, session: str) -> str:
    """Return the name of the previous generation if its number is lower, "" for none."""
    found = earlier_generation(snapshot, session) or ""
    return found if generation_of(found)[1] < generation_of(session)[1] else ""


def working_folder(snapshot: Snapshot, session: str) -> str:
    """Return the folder where a session works, "" if unknown."""
    return _facts(snapshot, snapshot.head(session)).folder


_CHANGES: Final = frozenset(
    {"compaction", "rewrite", "undone", "branch_summary", "leaf_moved", "label", "session_info"}
)
"""Kinds of entries that refold appends to a session that has ended; they do not prolong it."""


class _Facts(msgspec.Struct):
    harness: str = ""
    folder: str = ""
    ended: int | None = None
    is_answered: bool = False
    compactions: int = 0


def _facts(snapshot: Snapshot, head: Head) -> _Facts:
    facts = _Facts()
    imported = newest_import(snapshot, head)
    if imported is not None:
        its = format_of(imported.source_format)
        facts.harness = its.name
        facts.folder = its.node(imported.source_format, "session", embedded(imported.header)).folder
    compactions, tips, has_undone = set[int](), set[int](), False
    for each in events(snapshot, head.name):
        if not facts.harness and not each.is_own:
            facts.harness = format_of(each.format).name
        # A session's own information, if it names a folder, is newer than what it began with.
        if not facts.folder or each.kind == "session_info":
            facts.folder = node_of(each).folder or facts.folder
        if not each.is_entry:
            continue
        if each.time is not None and not (each.is_own and each.kind in _CHANGES):
            facts.ended = max(facts.ended or 0, each.time)
        facts.is_answered = facts.is_answered or each.role == "assistant"
        tips.discard(each.parent_seq)
        tips.add(each.seq)
        if each.kind == "compaction":
            compactions.add(each.seq)
        has_undone = has_undone or each.kind == "undone"
    undone = set(compactions) if has_undone else set[int]()
    for tip in sorted(tips, reverse=True):
        if not undone:
            break
        undone.difference_update(
            each.seq for each in in_effect_on(snapshot, head.name, tip, first=min(undone))
        )
    facts.compactions = len(compactions - undone)
    facts.harness = facts.harness or format_of(FORMAT).name
    return facts


def _by_day(calls: Iterable[PaidCall]) -> list[DaySpent]:
    """Add up calls by day and model, in order of first use."""
    found: dict[tuple[str, str], list[Spent]] = {}
    for call in calls:
        spent = Spent(
            calls=1,
            input=call.usage.input,
            cache_read=call.usage.cache_read,
            cache_write=call.usage.cache_write,
            output=call.usage.output,
            cost=call.cost,
            without_cost=int(call.cost is None),
            understated=int(call.is_understated),
        )
        found.setdefault(((iso_time(call.time) or "")[:10], call.model), []).append(spent)
    return [DaySpent(day, model, total(spent)) for (day, model), spent in found.items()]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its subagents and its earlier generations.

    Subagents are in the order of a tree, generations are newest first. Earlier generations are older states of
    a file that was rewritten: the session holds their calls too, so nothing adds them up. `folder` is the
    project's: where the session began to work, without the path of a git worktree inside of it.
    """

    overview: SessionOverview
    subagents: list[SessionOverview]
    earlier: list[SessionOverview]
    folder: str

    @property
    def project(self) -> str:
        """The last name of the project's folder."""
        return next(reversed(_names(self.folder)), "")

    @property
    def counted(self) -> list[SessionOverview]:
        """The session and its subagents."""
        return [self.overview, *self.subagents]

    @property
    def members(self) -> list[SessionOverview]:
        """All sessions of the family."""
        return [*self.counted, *self.earlier]

    @property
    def is_abandoned(self) -> bool:
        """True for a few events that no model answered, with nothing compacted."""
        return not any(
            each.is_answered or each.compactions or each.problem or each.head.version > _FEW
            for each in self.members
        )

    @property
    def ended(self) -> int | None:
        """The time of the newest entry of all of them, in epoch milliseconds; None if unknown."""
        times = (each.ended for each in self.members)
        return max((time for time in times if time is not None), default=None)

    @property
    def spent(self) -> Spent:
        """The tokens and the cost of the session and its subagents."""
        return total(each.spent for each in self.counted)


def short_projects(folders: Iterable[str]) -> dict[str, str]:
    """Map folders of projects to their last name, or to the last few that tell them apart."""
    short = dict.fromkeys(folders, "")
    alike = list(short)
    for count in range(1, max((len(_names(folder)) for folder in short), default=0) + 1):
        short.update((folder, "/".join(_names(folder)[-count:])) for folder in alike)
        shown = Counter(short.values())
        alike = [folder for folder in short if shown[short[folder]] > 1]
    return short


def model_name(model: str) -> str:
    """Return a model's name without its provider and the date of its release."""
    return _RELEASE.sub("", model.rpartition("/")[2])


def families(found: Iterable[SessionOverview]) -> list[Family]:
    """Group sessions with their subagents, those last that were written last.

    A subagent whose parent is not among them is a session of its own. A fork is where its original is, if its
    own records name no folder.
    """
    by_name = {each.name: each for each in found}
    newer = {each.earlier: each.name for each in by_name.values() if each.earlier in by_name}
    children: dict[str, list[SessionOverview]] = {}
    for each in sorted(by_name.values(), key=lambda each: each.head.position):
        if each.name not in newer:
            children.setdefault(_parent(each, by_name, newer), []).append(each)
    grouped = [_family(each, by_name, children) for each in children.get("", ())]
    return sorted(grouped, key=lambda family: max(each.head.position for each in family.members))


def _family(
    overview: SessionOverview,
    by_name: Mapping[str, SessionOverview],
    children: Mapping[str, Sequence[SessionOverview]],
) -> Family:
    subagents = list(_below(overview, children))
    return Family(
        overview=overview,
        subagents=subagents,
        earlier=[older for each in (overview, *subagents) for older in _earlier(each, by_name)],
        folder=_project_folder(overview, by_name),
    )


def _earlier(overview: SessionOverview, by_name: Mapping[str, SessionOverview]) -> Iterator[SessionOverview]:
    # Each has a lower number than the one before, so this ends.
    while overview.earlier in by_name:
        overview = by_name[overview.earlier]
        yield overview


def _parent(
    overview: SessionOverview, by_name: Mapping[str, SessionOverview], newer: Mapping[str, str]
) -> str:
    """Return the newest generation of a subagent's parent; "" for none, or in a cycle."""
    found, seen, at = "", {overview.name}, overview
    while (above := _newest(at.parent, newer)) in by_name:
        if above in seen:
            return ""
        seen.add(above)
        found, at = found or above, by_name[above]
    return found


def _newest(name: str, newer: Mapping[str, str]) -> str:
    while name in newer:
        name = newer[name]
    return name


def _below(
    overview: SessionOverview, children: Mapping[str, Sequence[SessionOverview]]
) -> Iterator[SessionOverview]:
    pending = list(reversed(children.get(overview.name, ())))
    while pending:
        each = pending.pop()
        yield each
        pending += reversed(children.get(each.name, ()))


def _project_folder(overview: SessionOverview, by_name: Mapping[str, SessionOverview]) -> str:
    seen: set[str] = set()
    while not overview.folder and overview.original in by_name and overview.name not in seen:
        seen.add(overview.name)
        overview = by_name[overview.original]
    inside = _WORKTREE.fullmatch(overview.folder)
    return inside[1] if inside else overview.folder


def _names(folder: str) -> list[str]:
    return [name for name in re.split(r"[/\\]", folder) if name]


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions to choose; a subagent goes with the session that started it.

    `harness` is a harness's name. `project` is a folder, or some consecutive names of its path. `since` is in
    epoch milliseconds: the newest entry is not older. Case does not matter. An empty field chooses all.
    """

    harness: str = ""
    project: str = ""
    since: int | None = None

    @property
    def is_empty(self) -> bool:
        """True if the filter chooses all sessions."""
        return self == SessionFilter()

    def chosen(self, found: Iterable[SessionOverview]) -> list[Family]:
        """Return the families to choose, those last that were written last."""
        return [family for family in families(found) if self._chooses(family)]

    def _chooses(self, family: Family) -> bool:
        overview = family.overview
        if self.harness and overview.harness != self.harness:
            return False
        if self.since is not None and (family.ended is None or family.ended < self.since):
            return False
        return not self.project or _is_in(family.folder.casefold(), self.project.casefold())


def _is_in(folder: str, project: str) -> bool:
    names, wanted = _names(folder), _names(project)
    if project.startswith("/"):
        return names[: len(wanted)] == wanted
    return any(names[at : at + len(wanted)] == wanted for at in range(len(names)))
