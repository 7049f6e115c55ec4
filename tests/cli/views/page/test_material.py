"""Test the material of a page: costs, and each message's outcome at a replacement.

Tokens are pi's estimate: four characters are one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.views.page.material import (
    BilledCall,
    ContextChange,
    EventOutcome,
    EventStatus,
    billed_call,
    cumulative_cost,
    outcomes,
    read_material,
    total_cost,
)
from compaction.branching.fork import fork
from compaction.branching.move import go, move_to
from compaction.composing import record_compaction
from compaction.rewriting import record_rewrite
from eventstore import EventLog
from eventstore.errors import NotFoundError
from eventstore.harnesses import node_of
from eventstore.records import Decision, ModelChange, TextReplacement, Undone
from eventstore.views import Usage
from eventstore.writing import SessionWriter
from projections.audit.prices import FilePrices, Price, library_prices
from projections.audit.session import audit
from projections.context.parts import Fate
from projections.diff import Change
from projections.message_text import message_text
from projections.tokens import counter
from tests.cli.views.page.reading import material_of
from tests.support.claude_code import SESSION, answer, bring, said
from tests.support.native import message
from tests.support.talk import Json, PiSession, Story, assistant, call, result, user

PRICES = FilePrices(
    name="a table",
    date="2026-01-01",
    models={"m": Price(input=1, output=10, cache_read=0, cache_write_5m=0, cache_write_1h=0)},
)


def made(store: EventLog, message: Json) -> BilledCall | None:
    story = Story(store)
    (said,) = story.says(message)
    view = node_of(story[said]).message
    assert view is not None
    return billed_call(story[said], view, PRICES)


def made_call(seq: int, dollars: float | None) -> BilledCall:
    return BilledCall(seq=seq, model="m", usage=Usage(total=1), dollars=dollars, is_recorded=True)


def test_a_recorded_cost_counts(store: EventLog) -> None:
    usage = {"input": 10, "output": 5, "totalTokens": 15, "cost": {"total": 0.5}}
    found = made(store, assistant("x", usage=usage))
    assert found is not None
    assert (found.dollars, found.is_recorded) == (0.5, True)


def test_without_one_a_call_costs_what_the_table_says(store: EventLog) -> None:
    found = made(store, assistant("x", usage={"input": 1_000_000, "output": 100_000}))
    assert found is not None
    assert (found.dollars, found.is_recorded) == (2, False)


def test_a_model_that_the_table_does_not_know_has_no_cost(store: EventLog) -> None:
    found = made(store, assistant("x", tokens=100, model="other"))
    assert found is not None
    assert found.dollars is None


@pytest.mark.parametrize("message", [user("x"), assistant("x")])
def test_a_message_without_usage_is_no_call(store: EventLog, message: Json) -> None:
    assert made(store, message) is None


def test_what_was_spent_is_the_sum_of_what_is_known() -> None:
    assert total_cost([made_call(1, 0.1), made_call(2, None), made_call(3, 0.2)]) == pytest.approx(0.3)


def test_where_no_cost_is_known_nothing_is_known_of_the_sum() -> None:
    assert total_cost([made_call(1, None)]) is None


def test_calls_of_other_branches_count_from_the_next_entry_on() -> None:
    calls = [made_call(2, 1.0), made_call(3, 2.0), made_call(9, 4.0)]
    assert list(cumulative_cost(calls, [1, 2, 5])) == [(1, 0), (2, 1), (5, 3)]


@pytest.fixture
def repair(store: EventLog) -> Story:
    told = Story(store)
    told.says(
        user("Fix parse_line in src/parser.py."),
        assistant(call("read", path="src/parser.py")),
        result("def parse_line(): ..."),
        assistant("It is fixed."),
    )
    return told


def exchange_at(repair: Story, event_id: str) -> ContextChange:
    return material_of(repair.log).exchanges[repair[event_id].seq]


def changes(exchange: ContextChange) -> tuple[list[tuple[int, Change]], list[tuple[int, Change]]]:
    return (
        [(shown.seq, shown.change) for shown in exchange.before],
        [(shown.seq, shown.change) for shown in exchange.after],
    )


def test_a_compaction_summarizes_keeps_and_adds(repair: Story) -> None:
    compacted = record_compaction(repair.writer, summary="Done.", first_kept="e4")
    assert changes(exchange_at(repair, compacted)) == (
        [(1, Change.SUMMARIZED), (2, Change.SUMMARIZED), (3, Change.SUMMARIZED), (4, Change.KEPT)],
        [(5, Change.NEW), (4, Change.KEPT)],
    )


@pytest.fixture
def dropping(store: EventLog, tmp_path: Path) -> str:
    """A session with messages that no summary covers: those that its first compaction kept."""
    session = PiSession()
    for number in range(1, 5):
        session.says(f"u{number}", user(f"message {number}"))
    session.compacts("c1", "u3", details={"readFiles": [], "modifiedFiles": []})
    session.says("u5", user("one more"))
    # Without details: a harness whose summaries began behind the compaction before.
    session.compacts("c2", "u5")
    return session.store_in(store, tmp_path)


def test_messages_that_no_summary_covers_are_gone(store: EventLog, dropping: str) -> None:
    found = material_of(store, dropping)
    assert changes(found.exchanges[7])[0] == [
        (5, Change.SUMMARIZED),
        (3, Change.GONE),
        (4, Change.GONE),
        (6, Change.KEPT),
    ]


def test_a_rewrite_shows_a_message_otherwise(repair: Story) -> None:
    rewrite = record_rewrite(
        repair.writer, targets=[TextReplacement(target="e3", text="[read]")], reason="prune"
    )
    found = exchange_at(repair, rewrite)
    assert changes(found) == (
        [(1, Change.KEPT), (2, Change.KEPT), (3, Change.REWRITTEN), (4, Change.KEPT)],
        [(1, Change.KEPT), (2, Change.KEPT), (3, Change.REWRITTEN), (4, Change.KEPT)],
    )
    before, after = found.before[2], found.after[2]
    assert before.message is None
    assert after.message is not None
    assert message_text(after.message) == "← bash\n[read]"
    assert (before.tokens, after.tokens) == (6, 2)


def test_a_branch_summary_stands_for_the_messages_of_its_branch(repair: Story) -> None:
    (summary,) = go(repair.writer, "e2", summary="It led nowhere.").events
    assert changes(exchange_at(repair, summary)) == (
        [(1, Change.KEPT), (2, Change.KEPT), (3, Change.SUMMARIZED), (4, Change.SUMMARIZED)],
        [(1, Change.KEPT), (2, Change.KEPT), (repair[summary].seq, Change.NEW)],
    )


@pytest.fixture
def chat(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("x" * 40), assistant("y" * 20, tokens=50), user("z"))
    return told


def test_all_events_are_read_and_those_of_the_path_told_from_the_others(chat: Story) -> None:
    move_to(chat.writer, "e1")
    chat.add(Decision(outcome="skip", reason="small"))
    found = material_of(chat.log)
    assert [event.seq for event in found.events] == [1, 2, 3, 4, 5]
    assert found.path == {1, 4}


def test_a_page_ends_where_its_audit_does(chat: Story) -> None:
    tokens, prices = counter("utf16/4"), library_prices()
    audited = audit(chat.log, "s", tokens=tokens, prices=prices)
    record_compaction(chat.writer, summary="s", first_kept="e3")
    found = read_material(chat.log, audited, leaf=None, tokens=tokens, prices=prices)
    assert (len(found.events), found.view.audit.compactions) == (audited.events, [])


def test_at_another_leaf_the_context_there_counts(chat: Story) -> None:
    found = material_of(chat.log, leaf="e2")
    assert found.fates == {1: Fate.KEPT, 2: Fate.KEPT}
    assert found.timeline.moments[-1].seq == 2


def test_tokens_are_those_of_every_message(chat: Story) -> None:
    assert material_of(chat.log).tokens == {1: 10, 2: 5, 3: 1}


def test_calls_are_the_messages_that_a_provider_counted(chat: Story) -> None:
    assert [call.seq for call in material_of(chat.log).calls] == [2]


def test_a_message_of_several_records_is_one_call(store: EventLog, tmp_path: Path) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}
    bring(
        store,
        tmp_path / "s.jsonl",
        said("u", None, "hi"),
        answer("a", "u", "m", "one", usage={**usage, "output_tokens": 1}),
        answer("b", "a", "m", "two", usage=usage),
    )
    found = material_of(store, SESSION)
    assert [(call.seq, call.usage.output) for call in found.calls] == [(3, 5)]
    assert len(found.calls) == found.view.audit.cost.spent.calls


def test_a_fork_has_no_calls_of_its_original(chat: Story) -> None:
    fork(chat.log, "s", name="fork")
    assert material_of(chat.log, "fork").calls == []
    SessionWriter(chat.log, "fork").append(message(assistant("ok", tokens=60)))
    found = material_of(chat.log, "fork")
    assert [call.usage.input for call in found.calls] == [53]
    assert len(found.calls) == found.view.audit.cost.spent.calls


def test_every_replacement_of_the_audit_has_its_exchange(chat: Story) -> None:
    record_compaction(chat.writer, summary="s", first_kept="e3")
    found = material_of(chat.log)
    assert list(found.exchanges) == [each.seq for each in found.view.audit.compactions]


def test_a_session_that_is_not_there_is_an_error(store: EventLog) -> None:
    with pytest.raises(NotFoundError):
        material_of(store, "nope")


@pytest.fixture
def three(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("one"), assistant("two"), user("three"))
    return told


def fates(log: EventLog, session: str = "s") -> dict[int, EventOutcome]:
    return outcomes(material_of(log, session))


def test_without_replacements_every_message_is_in_the_context(three: Story) -> None:
    assert set(fates(three.log).values()) == {EventOutcome(EventStatus.KEPT)}


def test_a_message_that_was_summarized_tells_by_which_event(three: Story) -> None:
    record_compaction(three.writer, summary="s", first_kept="e3")
    assert fates(three.log) == {
        1: EventOutcome(EventStatus.SUMMARIZED, 4),
        2: EventOutcome(EventStatus.SUMMARIZED, 4),
        3: EventOutcome(EventStatus.KEPT),
        4: EventOutcome(EventStatus.KEPT),
    }


def test_of_two_compactions_the_one_counts_that_took_the_message_out(three: Story) -> None:
    record_compaction(three.writer, summary="s", first_kept="e3")
    three.says(user("five"))
    record_compaction(three.writer, summary="t", first_kept="e5")
    found = fates(three.log)
    assert (found[1].by, found[3].by, found[4].by) == (4, 6, 6)


def test_a_message_that_no_summary_covers_is_gone(store: EventLog, dropping: str) -> None:
    assert fates(store, dropping)[3] == EventOutcome(EventStatus.GONE, 7)


def test_a_message_that_is_shown_otherwise_tells_by_which_event(three: Story) -> None:
    record_rewrite(three.writer, targets=[TextReplacement(target="e2", text="…")], reason="prune")
    assert fates(three.log)[2] == EventOutcome(EventStatus.REWRITTEN, 4)


def test_what_was_undone_took_nothing_out(three: Story) -> None:
    compacted = record_compaction(three.writer, summary="s", first_kept="e3")
    three.add(Undone(target_id=compacted))
    assert fates(three.log)[1] == EventOutcome(EventStatus.KEPT)


def test_messages_of_another_branch_stand_aside(three: Story) -> None:
    move_to(three.writer, "e1")
    three.says(user("another way"))
    found = fates(three.log)
    assert (found[1], found[2], found[3]) == (
        EventOutcome(EventStatus.KEPT),
        EventOutcome(EventStatus.ASIDE),
        EventOutcome(EventStatus.ASIDE),
    )


def test_what_no_model_is_sent_is_silent(three: Story) -> None:
    three.add(ModelChange(provider="p", model_id="m"))
    assert fates(three.log)[4] == EventOutcome(EventStatus.SILENT)
