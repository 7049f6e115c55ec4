"""Recognize messages that go on after a compaction, in refold's records and in others'."""

from __future__ import annotations

import msgspec
import pytest

from eventstore.records import CustomMessage, MessageRecord, Rewrite, TextReplacement
from projections.context.build import build_context
from projections.context.parts import Fate, is_continuation
from tests.support.events import stored
from tests.support.pi_files import line
from tests.support.talk import assistant, text, user

MARKED = {"compaction_continue": True}


def record(message, **metadata):
    return MessageRecord(message=msgspec.Raw(line(message).rstrip()), metadata=metadata)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (record(user("continue"), **MARKED), True),
        (record(user("do it again"), **MARKED, had_media=True), True),
        (record({**user("continue"), "metadata": MARKED}), True),
        (record(user("continue")), False),
        (record(user("continue"), compaction_continue=False), False),
        (record(user("what is compaction_continue?")), False),
        (record(assistant("continue"), **MARKED), False),
        (CustomMessage(custom_type="compaction_continue", content="Go on."), True),
        (CustomMessage(custom_type="x", content="compaction_continue"), False),
    ],
    ids=[
        "marked",
        "marked with media",
        "marked inside",
        "unmarked",
        "marked as false",
        "spoken of",
        "an answer",
        "of its type",
        "of another type",
    ],
)
def test_the_mark_stands_in_the_metadata_or_is_an_extensions_type(story, written, expected):
    assert is_continuation(story[story.add(written)]) == expected


@pytest.mark.parametrize(
    "form",
    [
        "[Resuming] mend the parser",
        "[Resuming — previous message had media attachments]",
        "[Continuing from compaction] mend the parser",
        "[Continuing task — previous message contained media attachments]",
    ],
)
@pytest.mark.parametrize("content", [str, lambda said: [text(said)]], ids=["a text", "blocks"])
def test_in_an_imported_file_they_are_told_by_their_forms(store, tmp_path, pi, form, content):
    pi.says("a1", user(content(form)))
    assert is_continuation(stored(store, pi.store_in(store, tmp_path), "a1"))


@pytest.mark.parametrize("said", ["[Resuming the work] go", "Say [Resuming] first", "[Continuing]", ""])
def test_what_only_looks_like_a_form_is_a_persons(story, said):
    (said_id,) = story.says(user(said))
    assert not is_continuation(story[said_id])


@pytest.mark.parametrize(
    "written",
    [record(user("continue"), **MARKED), CustomMessage(custom_type="compaction_continue", content="Go on.")],
    ids=["a user's", "an extension's"],
)
def test_in_a_context_one_is_no_persons_word_also_where_it_is_rewritten(story, written):
    said = story.add(written)
    story.add(Rewrite(reason="manual", targets=[TextReplacement(target=said, text="Go on, please.")]))
    (part,) = build_context(story.log, "s").parts
    assert (part.fate, part.continues) == (Fate.REWRITTEN, True)


def test_in_a_context_they_are_injected_and_the_model_sees_them(story):
    story.says(user("mend it"))
    story.add(record(user("continue"), **MARKED))
    parts = build_context(story.log, "s").parts
    assert [(part.role, part.fate) for part in parts] == [("user", Fate.KEPT), ("user", Fate.INJECTED)]
