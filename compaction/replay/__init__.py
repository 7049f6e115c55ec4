"""Replay recorded sessions with other policies and templates; measure what each would leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from compaction.part import Limits
from compaction.replay.boundaries import Boundary, Where, courses_of
from compaction.replay.costs import Call, Growth, input_cost
from compaction.replay.kept import asking, claims_of, counts_of, is_readable, kept_in
from compaction.replay.results import Claim, ReplayedBoundary, ReplayResult, Trial
from compaction.replay.trials import Attempted, try_variant
from compaction.replay.variants import Variant, identity_of, identity_of_chain, trial_key
from compaction.summarizers.chain import SummarizerChain, SummarizersFailedError
from eventstore.dependencies import StoredResults
from eventstore.log import EventLog, Snapshot
from projections.audit.prices import Prices, identity_of_prices
from projections.audit.readings import Reading, readings
from projections.context.cursor import resolve_cursor
from projections.context.parts import Fate, view_of_part
from projections.tokens import counter


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a replay.

    `rounds`: variants compact their own contexts again at the first so many boundaries of a session, 0 for each
    boundary by itself.
    `reader` answers what a context says in other words, None for nobody. `prices` are those of calls, None for no cost.
    """

    at: Where = "clean"
    limits: Limits
    rounds: int = 0
    reader: SummarizerChain | None = None
    prices: Prices | None = None


def replay_session(
    snapshot: Snapshot,
    session: str,
    variants: Sequence[Variant],
    measures: Measures,
    *,
    only: Collection[int] | None = None,
    log: EventLog | None = None,
) -> Iterator[ReplayResult]:
    """Try variants at each boundary of a session, in order. Raises NotFoundError.

    `only` are the numbers of the entries to compact at, the first ones of rounds; None for all. `log` stores the
    results of trials, those of programs and those without a summary excepted: what it has stored is not tried again.
    Contexts at recorded boundaries are asked for what the stored readings of these say was known.
    """
    stored = StoredResults(log, snapshot)
    replay = _Replay(stored, session, measures)
    index = 0
    for course in courses_of(replay.snapshot, replay.cursor, measures.at, measures.rounds):
        if only is not None and course[0].leaf.seq not in only:
            continue
        claims, calls = replay.claims(course), [replay.calls(each) for each in course]
        found = [(variant, replay.tried(course, variant, claims, calls)) for variant in variants]
        stored.save()
        for place, boundary in enumerate(course):
            tried = [(variant.name, each[place]) for variant, each in found]
            yield ReplayResult(
                boundary=ReplayedBoundary(
                    session=session,
                    leaf=boundary.leaf.id,
                    seq=boundary.leaf.seq,
                    at=measures.at,
                    round=place + 1 if measures.rounds else 0,
                    calls=len(calls[place]),
                    asked=None if (asked := claims[place]) is None else counts_of(asked),
                    claims=asked or [],
                ),
                trials=[
                    msgspec.structs.replace(each.trial, boundary=index, variant=name) for name, each in tried
                ],
                summaries={name: each.summary for name, each in tried if each.summary},
            )
            index += 1


class _Tried(msgspec.Struct, frozen=True, array_like=True):
    """A trial as it is stored, and the text of its summary, "" for none."""

    trial: Trial
    summary: str = ""


class _Course(msgspec.Struct, frozen=True):
    """The trials of a variant at the boundaries of a course, as they are stored."""

    tried: list[_Tried]


class _Replay:
    """Replay one session: what its boundaries ask for, and what variants make of them."""

    def __init__(self, stored: StoredResults, session: str, measures: Measures) -> None:
        self._stored, self._session, self._measures = stored, session, measures
        self.snapshot = stored.snapshot
        self.cursor = resolve_cursor(self.snapshot, session)
        is_recorded = measures.at == "recorded"
        self._readings = readings(self.snapshot, session) if is_recorded else {}
        self._growth = Growth(self.snapshot, self.cursor) if is_recorded and measures.prices else None

    def claims(self, course: Sequence[Boundary]) -> list[list[Claim] | None]:
        """Return what contexts at the boundaries of a course are asked for."""
        return claims_at(course, self._readings, is_course=self._measures.rounds > 0)

    def calls(self, boundary: Boundary) -> list[Call]:
        """Return the recorded calls behind a boundary, none without prices."""
        return self._growth.behind(boundary) if self._growth else []

    def tried(
        self,
        course: Sequence[Boundary],
        variant: Variant,
        claims: Sequence[Sequence[Claim] | None],
        calls: Sequence[Sequence[Call]],
    ) -> list[_Tried]:
        """Return a variant's trials in a course, stored or new."""
        measures, identity = self._measures, identity_of(variant)
        key = trial_key(
            self._session,
            [each.leaf.seq for each in course],
            *(measures.at, measures.limits, measures.rounds, identity),
            identity_of_chain(measures.reader) if measures.reader else None,
            identity_of_prices(measures.prices) if measures.prices else None,
        )
        found = self._stored.find(key, _Course) if identity else None
        if found is not None:
            return found.tried
        tried = list[_Tried]()
        try:
            attempts = try_variant(self.snapshot, self.cursor, course, variant, limits=measures.limits)
            for boundary, attempted, asked, sent in zip(course, attempts, claims, calls, strict=True):
                tried.append(self._measured(boundary, variant, attempted, asked, sent))
        except SummarizersFailedError as error:
            return [*tried, *[_Tried(Trial(error=str(error)))] * (len(course) - len(tried))]
        if identity:
            self._stored.add(key, _Course(tried))
        return tried

    def _measured(
        self,
        boundary: Boundary,
        variant: Variant,
        attempted: Attempted,
        claims: Sequence[Claim] | None,
        calls: Sequence[Call],
    ) -> _Tried:
        """Measure a new context, or give the reason why there is none."""
        before, after, requests = attempted
        if isinstance(after, str):
            return _Tried(Trial(error=after))
        is_recorded = variant.policy is None and variant.program is None
        reckoned = boundary.reckoned if is_recorded else 0
        shown = {part.key: part.raw for part in before.parts}
        tokens = counter("utf16/4")
        restored = [part for part in after.parts if part.fate is Fate.RESTORED and part.key not in shown]
        texts = [view_of_part(part).text for part in after.parts if part.role == "compactionSummary"]
        size = sum(tokens.count(after.parts)) + reckoned
        sent = self._growth.sent(calls, size) if self._growth and calls else []
        prices, reader = self._measures.prices, self._measures.reader
        is_sealed = not is_readable(self.snapshot, after.parts)
        trial = Trial(
            first_kept=next((part.id for part in after.parts if shown.get(part.key) == part.raw), None),
            tokens_before=sum(tokens.count(before.parts)),
            tokens_after=size,
            tokens_restored=sum(tokens.count(restored)) + reckoned,
            requests=requests,
            dollars=input_cost(self.snapshot, self._session, sent, frozenset(), prices)
            if prices and sent
            else None,
            is_sealed=is_sealed,
            kept=kept_in(after.parts, claims, asking(reader) if reader else None)
            if claims is not None and not is_sealed
            else None,
        )
        return _Tried(trial, texts[-1] if texts else "")


def claims_at(
    course: Sequence[Boundary], found: Mapping[str, Reading], *, is_course: bool
) -> list[list[Claim] | None]:
    """Return what contexts at the boundaries of a course are asked for, None where nobody read.

    In rounds, that is what the readings of all its boundaries say was known by then.
    """
    read = [found.get(each.compaction.id) if each.compaction else None for each in course]
    known = [each for each in read if each is not None]
    if not is_course:
        return [None if each is None else claims_of([each]) for each in read]
    return [claims_of(known, until=each.leaf.seq) if known else None for each in course]
