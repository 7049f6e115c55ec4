"""Check the contexts of a session against what its records say, and their requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

import msgspec

from eventstore import paths
from eventstore.checked import checked
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.javascript import tolerant_json
from eventstore.log import EventLog, Snapshot
from eventstore.paths import event, events, events_of_kinds
from projections.audit.calls import (
    ModelCall,
    SessionCall,
    calls_on_path,
    expected_prompt,
    fixed_tokens,
    is_jump,
    session_calls,
    tokens_per_estimate,
)
from projections.audit.coverage import kept_entries
from projections.audit.measure import MetricStruct
from projections.context.build import context_at, harness_json, parts_of
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.context.parts import Fate
from projections.rules import rules_at
from projections.rules.base import Check, RecordedRequest, Rules
from projections.tokens import COUNTERS, Counter, counter
from projections.usage import answers

RECORDED: Final = "recorded requests"


class _Document(msgspec.Struct, frozen=True):
    messages: list[msgspec.Raw]


_decode: Final = msgspec.json.Decoder(_Document).decode


def check_requests(snapshot: Snapshot, cursor: Cursor, rules: Rules) -> Iterator[Check]:
    """Check that the context of each recorded request has its messages, by their hashes.

    `expected` counts the request's messages, `found` those at its beginning that are equal.
    """
    for request in rules.recorded_requests(snapshot, cursor.session):
        answer = event(snapshot, cursor.session, request.answer)
        if answer.seq > cursor.as_of:
            continue
        context = context_at(snapshot, cursor.at_leaf(answer.parent_seq))
        messages = list(map(bytes, _decode(harness_json(context)).messages))
        hashes = list(map(request.hash_of, messages))
        pairs = enumerate(zip_longest(hashes, request.hashes))
        equal = next((place for place, (mine, recorded) in pairs if mine != recorded), len(hashes))
        difference = _difference(request, messages, equal)
        yield Check(
            name=RECORDED,
            event=answer.id,
            seq=answer.seq,
            expected=len(request.hashes),
            found=equal,
            passed=not difference,
            difference=difference or msgspec.UNSET,
        )


def _difference(request: RecordedRequest, messages: Sequence[bytes], place: int) -> str:
    """Describe the first difference, in message `place` of a context; "" for none."""
    if place == len(messages) == len(request.hashes):
        return "the digest of the whole request" if request.is_reproduced is False else ""
    where = f"message {place + 1}"
    if place == len(request.hashes):
        return f"{where} is not in the request"
    if place == len(messages):
        return f"{where} is not in the context"
    return f"{where} ({tolerant_json(messages[place]).get('role')})"


PREFIXES: Final = "cached prefixes"
STRUCTURE: Final = "compacted contexts"
CLAIMS: Final = "claimed sizes"
JUMPS: Final = "size jumps"
_EXACT: Final = {PREFIXES: True, STRUCTURE: True, CLAIMS: False, JUMPS: False}
"""All checks of usage and compactions, in output order; True if a failure is an error."""
_CLAIM_TOLERANCE: Final = 0.02


class CheckResult(MetricStruct, frozen=True):
    """All checks of one name; `worst` is the farthest from its expected value, None if all pass.

    `exact` means that the expected value is no estimate: a failure is an error in the file or in refold.
    """

    name: str
    exact: bool
    checked: int
    passed: int
    worst: Check | None
    failures: list[Check]


class SessionChecks(MetricStruct, frozen=True):
    """A session's checks; `harness` built its contexts."""

    session: str
    harness: str
    results: list[CheckResult]

    @property
    def failed(self) -> list[Check]:
        """The exact checks that failed."""
        return [check for each in self.results if each.exact for check in each.failures]


def check_session(log: EventLog | Snapshot, session: str) -> SessionChecks:
    """Check the contexts at all calls and compactions of a session, on every branch.

    Raises NotFoundError, and CorruptionError for an event that has been altered since it was appended.
    """
    with checked(log) as snapshot:
        cursor = resolve_cursor(snapshot, session)
        rules = rules_at(snapshot, event(snapshot, session, cursor.leaf) if cursor.leaf else None)
        by_name: dict[str, list[Check]] = {}
        for check in rules.checks(snapshot, session):
            by_name.setdefault(check.name, []).append(check)
        if recorded := list(check_requests(snapshot, cursor, rules)):
            by_name[RECORDED] = recorded
        results = [_result(name, checks, is_exact=True) for name, checks in by_name.items()]
        found = list(_general_checks(snapshot, cursor, counter("utf16/4")))
        for name, is_exact in _EXACT.items():
            results.append(_result(name, [each for each in found if each.name == name], is_exact=is_exact))
        return SessionChecks(session=session, harness=rules.name, results=results)


def _result(name: str, checks: Sequence[Check], *, is_exact: bool) -> CheckResult:
    worst = max(checks, key=_distance, default=None)
    return CheckResult(
        name=name,
        exact=is_exact,
        checked=len(checks),
        passed=sum(each.passed for each in checks),
        worst=worst if worst and (worst.found != worst.expected or not worst.passed) else None,
        failures=[each for each in checks if not each.passed],
    )


def _distance(check: Check) -> tuple[bool, float]:
    """Order checks: those that failed are farther than those that passed."""
    return not check.passed, abs(check.found - check.expected) / max(check.expected, 1)


def _general_checks(snapshot: Snapshot, cursor: Cursor, tokens: Counter) -> Iterator[Check]:
    calls = session_calls(answers(snapshot, cursor))
    found: dict[int, ModelCall] = {}
    compactions = [
        each.decode() for each in events_of_kinds(snapshot, cursor.session, {"compaction"}, last=cursor.as_of)
    ]
    for tip in _tips(snapshot, cursor, calls):
        branch = cursor.at_leaf(tip)
        on_path = calls_on_path(snapshot, branch, tokens, calls, path(snapshot, branch))
        found.update((call.seq, call) for call in on_path if call.seq not in found)
    sent = [found[call.seq] for call in calls if call.seq in found]
    yield from _prefixes(sent)
    for compaction in compactions:
        yield from _structure(snapshot, cursor, compaction)
        yield from _claims(snapshot, cursor, compaction, sent, tokens)
    yield from _jumps(sent)


def _tips(snapshot: Snapshot, cursor: Cursor, calls: Sequence[SessionCall]) -> Iterator[int]:
    """Yield entries whose paths together hold every call; each path adds at least one."""
    parents = {
        each.seq: each.parent_seq
        for each in events(snapshot, cursor.session, last=cursor.as_of)
        if each.is_entry
    }
    seen: set[int] = set()

    def walk(seq: int) -> None:
        while seq and seq not in seen:
            seen.add(seq)
            seq = parents.get(seq, 0)

    walk(cursor.leaf)
    yield cursor.leaf
    for call in reversed(calls):
        if seen.isdisjoint(call.records):
            walk(call.seq)
            yield call.seq


def _prefixes(calls: Iterable[ModelCall]) -> Iterator[Check]:
    """Check each call that read from the cache exactly what the last call had read and written.

    Such a read means that the request begins with the whole previous request.
    """
    for call in calls:
        before = call.previous
        if before is None or not before.is_same_model or not before.usage.cache_write:
            continue
        if call.usage.cache_read == before.usage.cache_read + before.usage.cache_write:
            yield Check(
                name=PREFIXES,
                event=call.id,
                seq=call.seq,
                expected=before.messages,
                found=before.shared,
                passed=before.shared == before.messages,
            )


def _structure(snapshot: Snapshot, cursor: Cursor, compaction: Event) -> Iterator[Check]:
    """Check that the context at a compaction is its summary and the kept messages, nothing else.

    What the harness sends again before a summary does not count. `expected` counts the summary and the kept messages
    that the log has; `found` the ones that the context has.
    """
    view = node_of(compaction, snapshot).compaction
    if view is None or view.native:
        # What a native history keeps is in it.
        return
    at = cursor.at_leaf(compaction.seq)
    leaf = event(snapshot, cursor.session, compaction.seq)
    kept, _ = kept_entries(snapshot, compaction, view)
    parts = [part for part in context_at(snapshot, at).parts if part.fate is not Fate.RESTORED]
    mine = [part for part in parts if part.session == cursor.session]
    summaries = [place for place, part in enumerate(mine) if part.seq == compaction.seq]
    others = [part for part in mine if part.seq != compaction.seq]
    strange = [part for part in others if not any(seq in kept for _, seq in part.events)]
    missing = 0
    if not (leaf.is_overlaid or cursor.has_observed):
        shown = {seq for part in others for _, seq in part.events}
        alone = [part for entry in kept.values() for part in parts_of(entry)]
        due = rules_at(snapshot, leaf).arrange(snapshot, leaf, alone)
        missing = sum(not any(seq in shown for _, seq in part.events) for part in due)
    first_place = len(mine) - len(summaries) if view.keeps_before else 0
    is_in_place = summaries == list(range(first_place, first_place + len(summaries)))
    yield Check(
        name=STRUCTURE,
        event=compaction.id,
        seq=compaction.seq,
        expected=len(mine) - len(strange) + missing,
        found=len(mine),
        passed=not strange and not missing and bool(summaries) and is_in_place and len(mine) == len(parts),
    )


def _claims(
    snapshot: Snapshot, cursor: Cursor, compaction: Event, calls: Sequence[ModelCall], tokens: Counter
) -> Iterator[Check]:
    """Compare a compaction's claimed size of the context with the newest call that measured it.

    The claim may or may not include what came after that call: its answer and tool results.
    refold's own compactions record their policy's count of the messages alone, which is compared with a
    new count of the same messages.
    """
    view = node_of(compaction, snapshot).compaction
    if view is None or not view.tokens_before or not compaction.parent_seq:
        return
    at = cursor.at_leaf(compaction.parent_seq)
    if compaction.is_own:
        yield _claim(compaction, view.tokens_before, _nearest_count(snapshot, at, view.tokens_before))
        return
    in_effect = event(snapshot, cursor.session, compaction.parent_seq).compaction_seq
    above = paths.behind(snapshot, cursor.session, at.leaf, in_effect)
    on_path = {entry.seq for entry in above}
    call = next((each for each in reversed(calls) if each.seq in on_path), None)
    if call is None:
        return
    growth = sum(tokens.count(context_at(snapshot, at).parts)) - call.tokens
    least = call.usage.prompt
    most = max(call.usage.total, least + round(tokens_per_estimate(calls) * growth))
    nearest = min(max(view.tokens_before, least), most)
    yield _claim(compaction, view.tokens_before, nearest)


def _nearest_count(snapshot: Snapshot, cursor: Cursor, claimed: int) -> int:
    """Return a context's size by the counter that comes nearest; records do not name theirs."""
    parts = context_at(snapshot, cursor, readable=True).parts
    counts = (sum(counter(name).count(parts)) for name in COUNTERS)
    return min(counts, key=lambda count: abs(claimed - count))


def _claim(compaction: Event, claimed: int, found: int) -> Check:
    return Check(
        name=CLAIMS,
        event=compaction.id,
        seq=compaction.seq,
        expected=claimed,
        found=found,
        passed=abs(claimed - found) <= _CLAIM_TOLERANCE * found,
        unit="tokens",
    )


def _jumps(calls: Sequence[ModelCall]) -> Iterator[Check]:
    """Compare each call's measured size with the one expected from the call before.

    A call that measured more was sent content that the log does not have; one that measured less was not sent all of
    it.
    """
    ratio = tokens_per_estimate(calls)
    fixed = fixed_tokens(calls, next(iter(calls), None), ratio=ratio)
    for call in calls:
        if call.previous is None or not call.previous.is_same_model:
            continue
        expected = expected_prompt(call.previous, call, ratio=ratio, fixed=fixed)
        yield Check(
            name=JUMPS,
            event=call.id,
            seq=call.seq,
            expected=expected,
            found=call.usage.prompt,
            passed=not is_jump(call.previous, call, call.usage.prompt - expected),
            unit="tokens",
        )
