"""Stored readings are checked again: notes that somebody changed, or that are of another session, prove nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compaction.judge.reading import find_templates, judge
from compaction.summarizers.chain import SummarizerChain
from eventstore.memory import MemoryLog
from eventstore.paths import events_of_kinds
from eventstore.records import Compaction, Note
from eventstore.writing import SessionWriter
from projections.audit.readings import Reading, readings
from tests.compaction.judge.lossy import (
    COMPLAINT,
    FACT_CLAIM,
    LOOK,
    LOSS_CLAIM,
    RULE_CLAIM,
    SUMMARY,
    Scripted,
    answer,
    lossy,
    material_of,
    quote,
)
from tests.support import claude_code
from tests.support.talk import Story, user

STATEMENT = {"sentence": "The person wants the parser faster.", "said": [quote(1, "Make the parser faster.")]}
CLAIMS = answer(rules=[RULE_CLAIM], facts=[FACT_CLAIM], losses=[LOSS_CLAIM], statements=[STATEMENT])
LOOKS = (
    json.dumps(LOOK | {"person": quote(9, COMPLAINT)}),
    json.dumps(LOOK | {"because": quote(8, "git push origin main")}),
)
LISTS = ("rules", "facts", "losses", "statements")


def read() -> tuple[Story, dict[str, Any]]:
    """A session with a reading, and its note's data."""
    story = lossy()
    chain = SummarizerChain(summarizers=[Scripted(CLAIMS, *LOOKS)])
    found = judge(story.writer, chain, material_of(story), find_templates(()))
    return story, msgspec.to_builtins(found)


def kept(story: Story, boundary: str = "e5") -> Reading:
    with story.log.snapshot() as snapshot:
        return readings(snapshot, story.session)[boundary]


def test_an_unchanged_note_is_kept() -> None:
    story, data = read()
    assert msgspec.to_builtins(kept(story)) == data
    assert [len(data[each]) for each in LISTS] == [1, 1, 1, 1]


def _otherwise(words: dict[str, Any]) -> None:
    words["quote"] = "what nobody ever said"


def _of_the_model(words: dict[str, Any]) -> None:
    words.update(event="e4", seq=4, quote="The tests hang unless stdin is closed")


def _elsewhere(words: dict[str, Any]) -> None:
    words.update(event="e99", seq=99)


def _behind(words: dict[str, Any]) -> None:
    words.update(event="e9", seq=9, quote=COMPLAINT)


def _before(words: dict[str, Any]) -> None:
    words.update(event="e1", seq=1, quote="Make the parser faster.")


@pytest.mark.parametrize(
    ("kind", "field", "change"),
    [
        *(
            (kind, field, change)
            for kind, field in (("facts", "known"), ("losses", "known"), ("rules", "said"))
            for change in (_otherwise, _elsewhere, _behind)
        ),
        ("rules", "said", _of_the_model),
        ("rules", "broken", _otherwise),
        ("rules", "broken", _before),
        ("losses", "trouble", _before),
        ("losses", "trouble", _elsewhere),
        ("losses", "because", _otherwise),
        ("losses", "person", _of_the_model),
        ("losses", "person", _otherwise),
        ("statements", "said", _of_the_model),
        ("statements", "said", _otherwise),
    ],
)
def test_a_changed_quotation_refuses_its_claim(
    kind: str, field: str, change: Callable[[dict[str, Any]], None]
) -> None:
    story, data = read()
    (claim,) = data[kind]
    words = claim[field]
    change(words[0] if isinstance(words, list) else words)
    story.add(Note(target_id="e5", data=data))
    found = kept(story)
    assert [len(getattr(found, each)) for each in LISTS] == [int(each != kind) for each in LISTS]
    assert "the log does not say what the note quotes" in found.refused[-1].reason


def test_changed_sentences_and_weights_are_refused() -> None:
    story, data = read()
    data["statements"][0] |= {"sentence": "The person approved everything.", "said": []}
    data["losses"][0]["person"] = None
    story.add(Note(target_id="e5", data=data))
    found = kept(story)
    assert (found.statements, found.losses) == ([], [])


@pytest.mark.parametrize(
    ("kind", "field"), [("rules", "inSummary"), ("facts", "inSummary"), ("statements", "inPrevious")]
)
@pytest.mark.parametrize("words", ["what no summary says", " "])
def test_changed_words_of_summaries_are_refused(kind: str, field: str, words: str) -> None:
    story, data = read()
    data[kind][0][field] = words
    story.add(Note(target_id="e5", data=data))
    found = kept(story)
    assert [len(getattr(found, each)) for each in LISTS] == [int(each != kind) for each in LISTS]


def test_words_of_summaries_are_found() -> None:
    """Of this one, and of one before."""
    story, data = read()
    again = story.add(Compaction(summary="Half of it.", first_kept_entry_id="", tokens_before=9))
    data |= {"boundary": again, "losses": [], "rules": []}
    data["facts"][0]["inSummary"] = "Half of it."
    data["statements"][0] |= {"sentence": "Half of it.", "inPrevious": SUMMARY}
    story.add(Note(target_id=again, data=data))
    found = kept(story, again)
    assert (len(found.facts), len(found.statements), found.refused) == (1, 1, [])


def test_a_note_of_another_session_is_refused() -> None:
    _, data = read()
    other = Story(lossy().log, "other")
    other.says(user("Something else."))
    other.add(Note(target_id="e5", data=data))
    found = kept(other)
    assert [len(getattr(found, each)) for each in LISTS] == [0, 0, 0, 0]
    assert len(found.refused) == 4


def test_only_typed_words_are_a_persons(tmp_path: Path) -> None:
    log = MemoryLog()
    queued = "Never push.\n<task-notification>The task is done.</task-notification>"
    lines = [
        claude_code.said("u1", None, "Build it."),
        claude_code.note("queue-operation", operation="enqueue", content=queued),
    ]
    session = claude_code.bring(log, tmp_path / "s.jsonl", *lines)[0].id
    with log.snapshot() as snapshot:
        (note,) = events_of_kinds(snapshot, session, {"note"})
    _, data = read()
    (rule,) = data["rules"]
    said = [
        rule | {"state": "kept", "broken": [], "said": [{"event": note.id, "seq": note.seq, "quote": words}]}
        for words in ("Never push.", "The task is done.")
    ]
    data |= {"boundary": "", "rules": said, "facts": [], "losses": [], "statements": []}
    SessionWriter(log, session).append(Note(target_id=note.id, data=data))
    with log.snapshot() as snapshot:
        found = readings(snapshot, session)[""]
    assert [each.quote for rule in found.rules for each in rule.said] == ["Never push."]
