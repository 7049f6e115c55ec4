"""What a compaction has done, as people and programs are told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.output import counted, echo_json, echo_note, echo_problem, echo_text, pasted, unbroken
from cli.planned import counted_by, is_estimated, made_by

if TYPE_CHECKING:
    from compaction.compactor import Compacted, Compactor
    from eventstore.log import EventLog

_OTHERWISE: Final = "try another --keep-recent, --policy or --summarizer"


def print_done(log: EventLog, session: str, compactor: Compactor, done: Compacted, *, as_json: bool) -> None:
    """What became of a compaction that there was something to do for; in JSON also of others."""
    if as_json:
        echo_json(_json(log, session, compactor, done))
    elif done.outcome == "compacted":
        _print_compacted(log, session, compactor, done)
    if done.warning:
        echo_note(done.warning)
    for trouble in done.troubles:
        echo_note(trouble)
    if done.missing:
        lacking = ", ".join(done.missing)
        echo_note(f"the summary lacks sections: {lacking}; {pasted('undo', session)} takes it back")
    if done.outcome == "cancelled":
        echo_problem(f"not compacted: {done.reason}")
    if done.outcome == "no-gain":
        echo_problem(
            f"not compacted: the context would be no smaller, {_sizes(log, session, compactor, done)}",
            _OTHERWISE,
        )


def _print_compacted(log: EventLog, session: str, compactor: Compactor, done: Compacted) -> None:
    assert done.plan  # noqa: S101  what was compacted was planned
    by, plan = unbroken(done.events[0]), done.plan
    summarized = counted(len(plan.to_summarize) + len(plan.turn_prefix), "message")
    echo_text(
        f"compacted by {by}: {summarized} summarized, {len(plan.kept):,} kept, {_made_by(log, session, done)}"
    )
    echo_text(f"context: {_sizes(log, session, compactor, done)}")
    echo_text(f"taken back with: {pasted('undo', session, done.events[0])}")


def _made_by(log: EventLog, session: str, done: Compacted) -> str:
    """Policy, template and who answered, by the compaction's own record; less where nobody was asked."""
    from eventstore.frame import body_of
    from eventstore.javascript import tolerant_json

    with log.snapshot() as snapshot:
        found = snapshot.frame(session, snapshot.locate(session, done.events[0]))
        record = tolerant_json(bytes(body_of(found)))
    requests = record.get("request", {}).get("requests", [])
    answered = dict.fromkeys(_who(each) for each in requests if "answer" in each)
    return made_by(record["policy"], record.get("template", "").partition("@")[0], list(answered))


def _who(request: dict[str, Any]) -> str:
    """A summarizer, and its model where it has one of another name."""
    return " ".join(dict.fromkeys([request["summarizer"], request.get("model", "")])).rstrip()


def _sizes(log: EventLog, session: str, compactor: Compactor, done: Compacted) -> str:
    assert done.plan  # noqa: S101  what has sizes was planned
    by = counted_by(compactor.tokens, estimated=is_estimated(log, session, compactor.tokens))
    return f"{done.plan.tokens_before:,} -> {done.tokens_after:,} tokens {by}"


def _json(log: EventLog, session: str, compactor: Compactor, done: Compacted) -> dict[str, Any]:
    return {
        "session": session,
        "outcome": done.outcome,
        "reason": done.reason,
        "events": done.events,
        "counter": compactor.tokens.name,
        "estimate": is_estimated(log, session, compactor.tokens),
        "tokensBefore": done.plan.tokens_before if done.plan else None,
        "tokensAfter": done.tokens_after,
        "warning": done.warning or None,
        "missingSections": done.missing,
        "troubles": done.troubles,
    }
