"""Measure what each compaction, branch summary and rewrite did to a session's context."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple, TypeVar

from eventstore.checked import require_sound
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.imports import copied_through, earlier_generation, original_of
from eventstore.javascript import iso_time, utf16_order
from eventstore.log import EventLog, Snapshot
from eventstore.node import BranchView, CompactionView
from eventstore.paths import event as event_at
from eventstore.paths import events_of_kinds, in_effect_on
from eventstore.records import Attempt, FileSets, Rewrite, own_record
from eventstore.views import Usage
from projections.audit.cache import CacheHistory, cache_history
from projections.audit.calls import SessionCall, calls_on_path, session_calls
from projections.audit.conditions import LEAST_GAIN, Condition, FilesAudit, TokensBefore, conditions_of
from projections.audit.cost import SessionCost, answer_of, session_cost
from projections.audit.coverage import Coverage, compaction_coverage
from projections.audit.gaps import path_gaps
from projections.audit.given_back import GivenBackAudit, Window, given_back
from projections.audit.measure import EventRef, MetricStruct
from projections.audit.metrics import Isolation, Metrics, NotComputed, measure
from projections.audit.prices import Prices, library_prices
from projections.audit.readings import BOUNDARIES, Reading, readings
from projections.context.build import context_at
from projections.context.cursor import Cursor, Leaf, path, resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.context.overlay import resolve_targets
from projections.context.parts import Context, has_message
from projections.descriptions import heading
from projections.files import abandoned_entries, beside, claimed_files, files_elsewhere, files_of
from projections.replacement import Replacement, end_of_change, replacement_between, start_of_change
from projections.rules import rules_at
from projections.rules.base import Gap, native_provider
from projections.settings import settings_at
from projections.tokens import Counter, counter, is_estimate
from projections.usage import LateUsages, answers, measured_usage

T = TypeVar("T")


class Producer(MetricStruct, frozen=True):
    """The origin of a compaction: record format, model in use, and what refold's records add."""

    format: str
    model: str | None
    from_extension: bool
    reason: str
    policy: str
    template: str


class TokensAfter(MetricStruct, frozen=True):
    """The size of the context after a compaction and everything appended with it.

    `recomputed` is that of its messages. `measured` is the provider's count of
    the prompt at the next call, event `measured_at`, including that turn's own messages.
    """

    claimed: int | None
    measured: int | None
    measured_at: str | None
    recomputed: int


class Counts(MetricStruct, frozen=True):
    """The numbers of messages that a compaction summarized, kept, and left to no summary."""

    summarized: int
    kept: int
    uncovered: int


class CompactionAudit(MetricStruct, frozen=True):
    """One compaction. `undone`: it has no effect at the leaf.

    `uncovered` are the messages that left the context and that no summary covers, `old_summary` is the compaction
    whose summary left with them, None if a summary covers it. `answers_since` are those of the model since the
    compaction before it, None for the first. `missing_sections` are required by the template and missing, as refold's
    own records say.
    """

    id: str
    seq: int
    time: str | None
    by: Producer
    undone: bool
    first_kept: str | None
    before: TokensBefore
    after: TokensAfter
    messages: Counts
    uncovered: list[EventRef]
    old_summary: EventRef | None
    answers_since: int | None
    summary: str
    summary_tokens: int
    missing_sections: list[str]
    files: FilesAudit
    conditions: list[Condition]
    metrics: Metrics


class FailedCompaction(MetricStruct, frozen=True):
    """A compaction that was tried and not made, by its `attempt`.

    Its request failed, was cancelled or came too late.
    """

    id: str
    seq: int
    time: str | None
    error: str


class BranchSummaryAudit(MetricStruct, frozen=True):
    """One branch summary below `attached_to`; it covers `entries` entries that end at `left`."""

    id: str
    seq: int
    time: str | None
    attached_to: str | None
    left: str | None
    entries: int
    summary: str
    files: FilesAudit
    conditions: list[Condition]
    metrics: Metrics


class RewriteAudit(MetricStruct, frozen=True):
    """One rewrite: the entries whose content it replaces, and the tokens that it claims to save.

    `compaction` is the one that it was appended with (None: by itself), whose metrics include this rewrite's.
    `tokens_saved` is None for a rewrite by a harness.
    """

    id: str
    seq: int
    time: str | None
    reason: str
    undone: bool
    compaction: str | None
    targets: list[str]
    tokens_saved: int | None
    conditions: list[Condition]
    metrics: Metrics


class Audit(MetricStruct, frozen=True):
    """The audit of a session at a leaf.

    `counter` names the token counter of all recomputed figures; `estimate`: it does not use the vocabulary of
    the model in use at the leaf. `cost` and `cache` cover the whole session.
    What could not be computed is listed in `not_computed`, and is None or missing in its place.
    `earlier` is the session's previous generation, None for the first: if a harness rewrites a file, each
    state of it becomes a session. `original` is the session whose calls `cost` leaves out, because this one is a
    fork or a copy of it; None if there is none in the store. `readings` are what a model read at its boundaries.
    `given_back` is what refold put back into the context behind compactions.
    """

    session: str
    earlier: str | None
    original: str | None
    title: str
    leaf: str | None
    events: int
    entries: int
    counter: str
    exact: bool
    estimate: bool
    note: str
    context_tokens: int
    context_messages: int
    gaps: list[Gap]
    cost: SessionCost | None
    cache: CacheHistory | None
    compactions: list[CompactionAudit]
    failed_compactions: list[FailedCompaction]
    branch_summaries: list[BranchSummaryAudit]
    rewrites: list[RewriteAudit]
    readings: list[Reading]
    given_back: list[GivenBackAudit]
    not_computed: list[NotComputed]


def audit(
    log: EventLog | Snapshot,
    session: str,
    *,
    leaf: Leaf = None,
    tokens: Counter | None = None,
    prices: Prices | None = None,
) -> Audit:
    """Audit the compactions, branch summaries and rewrites on a leaf's path.

    `tokens` recomputes sizes (default: pi's own estimate); `prices` gives the cost of models (default: the
    installed `genai-prices`). Raises NotFoundError, and CorruptionError if damage makes a part fail.
    """
    tokens = tokens or counter("utf16/4")
    prices = prices or library_prices()
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session, leaf=leaf)
        answered = list(answers(snapshot, cursor))
        made = session_calls(answered)
        isolation = Isolation()
        branch = _Branch(snapshot, cursor, tokens, prices=prices, calls=made, isolation=isolation)
        compactions, branch_summaries, rewrites = branch.audits()
        context = context_at(snapshot, cursor)
        costs = isolation.compute(
            "cost", lambda: session_cost(snapshot, session, prices=prices, answered=answered)
        )
        cache = isolation.compute("prompt cache", lambda: cache_history(made))
        if isolation.failed:
            # Damaged bytes can fail in any way.
            require_sound(snapshot, session)
        return Audit(
            session=session,
            earlier=earlier_generation(snapshot, session),
            original=original_of(snapshot, session) if copied_through(snapshot, session) else None,
            title=heading(snapshot, session),
            leaf=context.leaf,
            events=cursor.as_of,
            entries=snapshot.head(session).entries,
            counter=tokens.name,
            exact=tokens.is_exact,
            estimate=is_estimate(tokens, context.settings.model),
            note=tokens.note,
            context_tokens=sum(tokens.count(context.parts)),
            context_messages=len(context.parts),
            gaps=branch.gaps,
            cost=costs,
            cache=cache,
            compactions=compactions,
            failed_compactions=list(_failed_compactions(snapshot, session)),
            branch_summaries=branch_summaries,
            rewrites=rewrites,
            readings=list(branch.readings()),
            given_back=isolation.compute("what was given back", branch.given_back) or [],
            not_computed=isolation.failed,
        )


def _failed_compactions(snapshot: Snapshot, session: str) -> Iterator[FailedCompaction]:
    """Yield the failed compactions of all branches, oldest first."""
    for each in events_of_kinds(snapshot, session, {"attempt"}):
        record = own_record(each)
        # Other attempts, at branch summaries, handoffs and replays, are by no policy.
        if isinstance(record, Attempt) and "policy" in record.request:
            yield FailedCompaction(id=each.id, seq=each.seq, time=iso_time(each.time), error=record.error)


class _Branch:
    """The audits along one path."""

    def __init__(
        self,
        snapshot: Snapshot,
        cursor: Cursor,
        tokens: Counter,
        *,
        prices: Prices,
        calls: Sequence[SessionCall],
        isolation: Isolation,
    ) -> None:
        """Read the path; `calls` are the session's, on every branch."""
        self._snapshot, self._at, self._tokens = snapshot, cursor, tokens
        self._late = LateUsages(snapshot, cursor.session, last=cursor.as_of)
        self._prices, self._isolation = prices, isolation
        self.entries = path(snapshot, cursor)
        self.calls = calls_on_path(snapshot, cursor, tokens, calls, self.entries)
        others = [entry.decode() for entry in beside(snapshot, self.entries)] if self.entries else []
        self._touching = sorted((*self.entries, *others), key=attrgetter("seq"))
        self._contexts = IncrementalContexts(snapshot, cursor, self.entries)
        self.gaps = isolation.compute("gaps", self._gaps) or []
        self._effective = {entry.seq for entry in in_effect_on(snapshot, cursor.session, cursor.leaf)}
        self._coverage = {each.compaction.seq: each for each in compaction_coverage(self.entries, snapshot)}
        self._appended_with: dict[int, str] = {}
        self._files_before = dict(
            self._fold_files({each.end for each in self._coverage.values() if not each.kept})
        )

    def audits(self) -> tuple[list[CompactionAudit], list[BranchSummaryAudit], list[RewriteAudit]]:
        """Return the audits of the path's compactions, branch summaries and rewrites."""
        compactions: list[CompactionAudit] = []
        branch_summaries: list[BranchSummaryAudit] = []
        rewrites: list[RewriteAudit] = []
        for event in self.entries:
            if event.kind == "compaction":
                compactions += self.audited("compaction", self.compaction, event)
            elif event.kind == "branch_summary":
                branch_summaries += self.audited("branch summary", self.branch_summary, event)
            elif event.kind == "rewrite":
                rewrites += self.audited("rewrite", self.rewrite, event)
        return compactions, branch_summaries, rewrites

    def _gaps(self) -> list[Gap]:
        leaf = event_at(self._snapshot, self._at.session, self._at.leaf) if self._at.leaf else None
        rules = rules_at(self._snapshot, leaf)
        return path_gaps(self._snapshot, self._at, rules, self.calls, next(iter(self.calls), None))

    def readings(self) -> Iterator[Reading]:
        """Yield the readings of the path's boundaries that nothing has outdated."""
        found = readings(self._snapshot, self._at.session)
        boundaries = [each for each in self.entries if each.kind in BOUNDARIES]
        ends = [*(each.seq for each in boundaries[1:]), self._at.as_of + 1]
        for boundary, end in zip(boundaries, ends, strict=False):
            read = found.get(boundary.id)
            if read and boundary.seq in self._effective and self._is_of_all(read, boundary.seq, end):
                yield read
        read = found.get("")
        if read and self._is_of_all(read, boundaries[-1].seq if boundaries else 0, self._at.as_of + 1):
            yield read

    def given_back(self) -> list[GivenBackAudit]:
        """Return what was given back behind the path's compactions, and what became of it."""
        made = [each for each in self.entries if each.kind == "compaction" and each.seq in self._effective]
        ends = [*(each.parent_seq for each in made), self._at.leaf][1:]
        windows = [Window(each.id, each.seq, end) for each, end in zip(made, ends, strict=True)]
        return list(
            given_back(self._snapshot, self._at, windows, lambda seq: self._contexts_at(seq)[1].parts)
        )

    def _is_of_all(self, read: Reading, first: int, end: int) -> bool:
        """Return True if a reading has seen every message between two events."""
        until = self._snapshot.locate(self._at.session, read.until)
        return not any(max(first, until) < entry.seq < end and has_message(entry) for entry in self.entries)

    def _files_summarized(self, coverage: Coverage) -> FileSets:
        """Return the files touched in the entries that a compaction's summary covers."""
        if not coverage.kept:
            return self._files_before[coverage.end]
        above = self._touching[: bisect_left(self._touching, coverage.end, key=attrgetter("seq"))]
        own = files_of([entry for entry in above if entry.seq not in coverage.kept], self._snapshot)
        return self._files_elsewhere() | own

    def _fold_files(self, ends: set[int]) -> Iterator[tuple[int, FileSets]]:
        """Compute the files touched before each of several entries, reading the path once."""
        sets, done = self._files_elsewhere(), 0
        for end in sorted(ends):
            at = bisect_left(self._touching, end, key=attrgetter("seq"))
            sets |= files_of(self._touching[done:at], self._snapshot)
            done = at
            yield end, sets

    def _files_elsewhere(self) -> FileSets:
        """Return the files touched in another session whose context comes before the path."""
        if not self.entries:
            return FileSets()
        root = event_at(self._snapshot, self._at.session, self.entries[0].seq)
        return files_elsewhere(self._snapshot, root)

    def _is_undone(self, event: Event) -> bool:
        return event.seq not in self._effective

    def audited(self, what: str, audit: Callable[[Event], T], event: Event) -> list[T]:
        """Return the audit of a replacement, or nothing if it fails."""
        found = self._isolation.compute(what, partial(audit, event), event)
        return [] if found is None else [found]

    def compaction(self, event: Event) -> CompactionAudit:
        end = end_of_change(event, self._snapshot, self._at)
        sent_before, before = self._contexts_at(event.parent_seq)
        sent_after, after = self._contexts_at(end)
        self._appended_with.update(dict.fromkeys(range(event.seq + 1, end + 1), event.id))
        coverage = self._coverage[event.seq]
        view = node_of(event, self._snapshot).compaction or CompactionView()
        kept = [part for part in sent_after.parts if part.session != event.session or part.seq < event.seq]
        # The summarizer did not see what a rewrite had hidden.
        removed = _removed(before, after, coverage, has_summary=bool(view.summary.strip()))
        in_use = settings_at(self._snapshot, event.session, event.parent_seq)
        replacement = replacement_between(event, before, after, **self._around(event))
        sent = replacement_between(event, sent_before, sent_after, **self._around(event))
        metrics = self._metrics(replacement, sent)
        files = self._files(event, self._files_summarized(coverage))
        sizes = self._before(sent_before, event, view.tokens_before)
        answers_since = self._answers_between(coverage.previous, event.seq) if coverage.previous else None
        return CompactionAudit(
            id=event.id,
            seq=event.seq,
            time=iso_time(event.time),
            by=Producer(
                format=event.format,
                model=str(in_use.model or "") or None,
                from_extension=view.by_extension,
                reason=view.reason,
                policy=view.policy,
                template=view.template,
            ),
            undone=self._is_undone(event),
            first_kept=kept[0].id if kept and event.target_seq else None,
            before=sizes,
            after=self._after(event, view.tokens_after, metrics.size.after),
            messages=Counts(summarized=removed.summarized, kept=len(kept), uncovered=len(removed.uncovered)),
            uncovered=removed.uncovered,
            old_summary=removed.old_summary,
            answers_since=answers_since,
            summary="" if view.native else view.summary,
            summary_tokens=sum(
                self._tokens.count(
                    [part for part in sent_after.parts if part.is_of(event.session, event.seq)]
                )
            ),
            missing_sections=list(view.missing_sections),
            files=files,
            conditions=conditions_of(
                metrics,
                shrinks=None if view.native else LEAST_GAIN,
                is_covered=not removed.uncovered and removed.old_summary is None,
                answers_since=answers_since,
                files=files,
                before=sizes,
            ),
            metrics=metrics,
        )

    def _answers_between(self, first: int, last: int) -> int:
        """Count the model's answers between two entries; several entries may be one answer."""
        between = (entry for entry in self.entries if first < entry.seq < last)
        return len({answer_of(entry)[0] for entry in between if entry.role == "assistant"})

    def _around(self, event: Event) -> dict[str, list[Event]]:
        """Return the entries above an event and those after it."""
        place = bisect_right(self.entries, event.seq, key=lambda entry: entry.seq)
        return {"earlier": self.entries[: place - 1], "later": self.entries[place:]}

    def _metrics(self, replacement: Replacement, sent: Replacement | None = None) -> Metrics:
        return measure(
            replacement,
            sent=sent or replacement,
            tokens=self._tokens,
            prices=self._prices,
            calls=self.calls,
            isolation=self._isolation,
        )

    def _replacement(self, event: Event) -> Replacement:
        _, before = self._contexts_at(start_of_change(event, self._snapshot))
        _, after = self._contexts_at(end_of_change(event, self._snapshot, self._at))
        return replacement_between(event, before, after, **self._around(event))

    def _contexts_at(self, seq: int) -> tuple[Context, Context]:
        """Return the context at an entry as it was sent, and as a reader of the log can read it."""
        sent = self._contexts.context_at(seq)
        compaction = event_at(self._snapshot, self._at.session, seq).compaction_seq if seq else 0
        if not compaction or not native_provider(event_at(self._snapshot, self._at.session, compaction)):
            return sent, sent
        return sent, context_at(self._snapshot, self._at.at_leaf(seq), readable=True)

    def _before(self, context: Context, event: Event, claimed: int | None) -> TokensBefore:
        counts = self._tokens.count(context.parts)
        total = measured_at = unexplained = None
        previous = self._coverage[event.seq].previous
        for index in range(len(context.parts) - 1, -1, -1):
            part = context.parts[index]
            if part.session != event.session:
                continue
            usages = (self._usage(seq, under=previous) for seq in reversed((part.seq, *part.merged)))
            usage = next((usage for usage in usages if usage is not None), None)
            if usage is not None:
                total, measured_at = usage.total, part.id
                unexplained = usage.total - sum(counts[: index + 1])
                break
        return TokensBefore(
            claimed=claimed,
            measured=total,
            measured_at=measured_at,
            recomputed=sum(counts),
            unexplained=unexplained,
        )

    def _after(self, event: Event, claimed: int | None, recomputed: int) -> TokensAfter:
        for entry in self.entries:
            if entry.seq > event.seq and entry.kind == "compaction":
                break
            if entry.seq > event.seq and (usage := self._usage(entry.seq, under=event.seq)) is not None:
                return TokensAfter(
                    claimed=claimed, measured=usage.prompt, measured_at=entry.id, recomputed=recomputed
                )
        return TokensAfter(claimed=claimed, measured=None, measured_at=None, recomputed=recomputed)

    def _usage(self, seq: int, *, under: int) -> Usage | None:
        """Return the usage of a call; None if it measured the context of another compaction."""
        event = event_at(self._snapshot, self._at.session, seq).decode()
        is_of_context = event.role == "assistant" and event.compaction_seq == under
        view = node_of(event).message if is_of_context else None
        return measured_usage(self._late.added(event.seq, view)) if view else None

    def _files(self, event: Event, touched: FileSets) -> FilesAudit:
        claimed, recomputed = claimed_files(event), touched.lists()
        listed = claimed.read | claimed.modified if claimed else frozenset()
        all_touched = touched.read | touched.modified
        return FilesAudit(
            claimed=claimed.lists() if claimed else None,
            recomputed=recomputed,
            missing=sorted(all_touched - listed, key=utf16_order) if claimed else [],
            unfounded=sorted(listed - all_touched, key=utf16_order) if claimed else [],
        )

    def branch_summary(self, event: Event) -> BranchSummaryAudit:
        left, view = abandoned_entries(event, self._snapshot), node_of(event).branch or BranchView()
        replacement = self._replacement(event)
        metrics, files = self._metrics(replacement), self._files(event, files_of(left, self._snapshot))
        return BranchSummaryAudit(
            id=event.id,
            seq=event.seq,
            time=iso_time(event.time),
            attached_to=event.parent,
            left=left[-1].id if left else None,
            entries=len(left),
            summary=view.summary,
            files=files,
            conditions=conditions_of(metrics, files=files),
            metrics=metrics,
        )

    def rewrite(self, event: Event) -> RewriteAudit:
        own = own_record(event)
        replacement = self._replacement(event)
        metrics = self._metrics(replacement)
        compaction = self._appended_with.get(event.seq)
        targets = [shown.target for shown in resolve_targets(node_of(event).rewrites, self.entries)]
        # What a rewrite names may lie before the beginning of its file: then it cannot shrink anything here.
        should_shrink = targets and not compaction
        return RewriteAudit(
            id=event.id,
            seq=event.seq,
            time=iso_time(event.time),
            reason=own.reason if isinstance(own, Rewrite) else node_of(event).line,
            undone=self._is_undone(event),
            compaction=compaction,
            targets=targets,
            tokens_saved=own.tokens_saved if isinstance(own, Rewrite) else None,
            conditions=conditions_of(metrics, shrinks=0.0) if should_shrink else [],
            metrics=metrics,
        )


class _Removed(NamedTuple):
    summarized: int
    uncovered: list[EventRef]
    old_summary: EventRef | None


def _removed(before: Context, after: Context, coverage: Coverage, *, has_summary: bool) -> _Removed:
    """Count the messages a compaction summarized, and list those in no summary.

    Messages from another session's context that no longer appear came first, so they are summarized. A summarizer
    reads the older summary too; without a summary, that one is lost with the messages.
    """
    session = coverage.compaction.session
    still_there = {each for part in after.parts for each in part.events}
    summarized, uncovered, old_summary = 0, list[EventRef](), None
    for part in before.parts:
        is_shown = (part.session, part.seq) in still_there
        if has_summary and (part.seq in coverage.summarized if part.session == session else not is_shown):
            summarized += 1
        elif not is_shown and part.kind != "compaction":
            uncovered.append(EventRef(event=part.id, seq=part.seq))
        elif not is_shown and not has_summary:
            old_summary = EventRef(event=part.id, seq=part.seq)
    return _Removed(summarized, uncovered, old_summary)
