"""What became of each message at a replacement.

Tokens are pi's estimate: four characters are one.
"""

from __future__ import annotations

import pytest

from cli.views.page.material import Exchange
from compaction import record_branch_summary, record_compaction, record_rewrite
from eventstore import EventLog
from eventstore.records import Compaction, Shown
from projections.diff import Change
from projections.mentions import Kind
from projections.transcript import message_text
from tests.cli.report.reading import material_of
from tests.support.talk import PiSession, Story, assistant, call, result, user


@pytest.fixture
def story(store: EventLog) -> Story:
    told = Story(store)
    told.says(
        user("Fix parse_line in src/parser.py."),
        assistant(call("read", path="src/parser.py")),
        result("def parse_line(): ..."),
        assistant("It is fixed."),
    )
    return told


def exchange_at(story: Story, event_id: str) -> Exchange:
    return material_of(story.log).exchanges[story[event_id].seq]


def changes(exchange: Exchange) -> tuple[list[tuple[int, Change]], list[tuple[int, Change]]]:
    return (
        [(shown.seq, shown.change) for shown in exchange.before],
        [(shown.seq, shown.change) for shown in exchange.after],
    )


def test_a_compaction_summarizes_keeps_and_adds(story: Story) -> None:
    compacted = record_compaction(story.writer, summary="Done.", first_kept="e4")
    assert changes(exchange_at(story, compacted)) == (
        [(1, Change.SUMMARIZED), (2, Change.SUMMARIZED), (3, Change.SUMMARIZED), (4, Change.KEPT)],
        [(5, Change.NEW), (4, Change.KEPT)],
    )


def test_messages_that_no_summary_covers_are_gone(store: EventLog, tmp_path) -> None:
    session = PiSession()
    for number in range(1, 5):
        session.says(f"u{number}", user(f"message {number}"))
    session.compacts("c1", "u3", details={"readFiles": [], "modifiedFiles": []})
    session.says("u5", user("one more"))
    # Without details: a harness whose summaries began behind the compaction before.
    session.compacts("c2", "u5")
    name = session.store_in(store, tmp_path)
    found = material_of(store, name)
    assert changes(found.exchanges[7])[0] == [
        (5, Change.SUMMARIZED),
        (3, Change.GONE),
        (4, Change.GONE),
        (6, Change.KEPT),
    ]


def test_a_rewrite_shows_a_message_otherwise(story: Story) -> None:
    rewrite = record_rewrite(story.writer, targets=[Shown(target="e3", shown="[read]")], reason="prune")
    found = exchange_at(story, rewrite)
    assert changes(found) == (
        [(1, Change.KEPT), (2, Change.KEPT), (3, Change.REWRITTEN), (4, Change.KEPT)],
        [(1, Change.KEPT), (2, Change.KEPT), (3, Change.REWRITTEN), (4, Change.KEPT)],
    )
    before, after = found.before[2], found.after[2]
    assert before.message is None
    assert after.message is not None
    assert message_text(after.message) == "← bash\n[read]"
    assert (before.tokens, after.tokens) == (6, 2)


def test_a_branch_summary_stands_for_the_messages_of_its_branch(story: Story) -> None:
    summary = record_branch_summary(story.writer, summary="It led nowhere.", target="e2")
    assert changes(exchange_at(story, summary)) == (
        [(1, Change.KEPT), (2, Change.KEPT), (3, Change.SUMMARIZED), (4, Change.SUMMARIZED)],
        [(1, Change.KEPT), (2, Change.KEPT), (story[summary].seq, Change.NEW)],
    )


@pytest.mark.parametrize(
    ("summary", "named"),
    [
        ("parse_line is in `src/parser.py`.", {"parse_line": Kind.SYMBOL, "src/parser.py": Kind.PATH}),
        ("parse_all is in src/other.py.", {}),
        ("parse_lines and src/parser.pyc", {}),
    ],
)
def test_words_of_a_summary_are_named_that_the_removed_messages_name_too(
    story: Story, summary: str, named: dict[str, Kind]
) -> None:
    compacted = story.add(Compaction(summary=summary, first_kept_entry_id="e4", tokens_before=9))
    assert exchange_at(story, compacted).named == named


def test_a_rewrite_has_no_summary_that_could_name_anything(story: Story) -> None:
    targets = [Shown(target="e3", shown="parse_line")]
    rewrite = record_rewrite(story.writer, targets=targets, reason="prune")
    assert exchange_at(story, rewrite).named == {}
