"""Check the messages that a cut chooses from, and the places where it may cut."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent
from compaction.part import Limits
from compaction.window import build_window
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from eventstore.records import Compaction, CustomMessage, Label, ModelChange, Rewrite, TextReplacement, Undone
from projections.context.cursor import resolve_cursor
from projections.tokens import counter
from tests.support import oh_my_pi_sessions
from tests.support.talk import assistant, call, result, user

MODEL = ModelChange(provider="p", model_id="m")


def window_of(log, session="s", tokens="utf16/4", **counting):
    tokens = msgspec.structs.replace(counter(tokens), **counting)
    with log.snapshot() as snapshot:
        return build_window(snapshot, resolve_cursor(snapshot, session), tokens)


def ids(found):
    return [item.id for item in found.items]


def starts(found):
    return [item.id for item in found.items if item.may_start]


def compaction(first_kept):
    return Compaction(summary="so far", first_kept_entry_id=first_kept, tokens_before=9)


def test_without_a_compaction_the_window_is_all_messages(story):
    story.says(user("one"), assistant("two"))
    assert ids(window_of(story.log)) == ["e1", "e2"]


def test_the_window_starts_at_what_the_compaction_before_kept_so_that_nothing_is_lost(story):
    story.says(user("one"), assistant("two"), user("three"))
    story.add(compaction("e2"))
    story.says(user("five"))
    assert ids(window_of(story.log)) == ["e2", "e3", "e5"]


def test_behind_a_compaction_that_kept_nothing_the_window_starts_behind_it(story):
    story.says(user("one"))
    story.add(compaction(""))
    story.says(user("three"))
    assert ids(window_of(story.log)) == ["e3"]


def oh_my_pi_window(tmp_path, *said):
    """The window of a session of oh-my-pi with these entries, by their numbers."""
    log = MemoryLog()
    ids = [f"{number:08x}" for number in range(len(said))]
    entries = [
        {"id": name, "parentId": above, "timestamp": oh_my_pi_sessions.time_of(number), **fields}
        for number, (name, above, fields) in enumerate(zip(ids, [None, *ids], said, strict=False))
    ]
    (tmp_path / "s.jsonl").write_bytes(oh_my_pi_sessions.file_of(entries))
    found = window_of(log, import_file(log, tmp_path / "s.jsonl").id)
    return found, [int(item.id, 16) for item in found.items]


def of_user(text):
    return {"type": "message", "message": {"role": "user", "content": text}}


def of_model(text, stop="stop", **fields):
    content = [{"type": "text", "text": text}] if text else []
    return {
        "type": "message",
        "message": {"role": "assistant", "content": content, "stopReason": stop, **fields},
    }


def test_turns_that_failed_are_in_the_window(tmp_path):
    failed = [of_model("half", "error"), of_model("", "error"), of_model("stopped", "aborted")]
    retried = of_model("again", retryRecovery={"attempt": 1})
    _, places = oh_my_pi_window(tmp_path, of_user("go"), *failed, retried, of_model("done"))
    assert places == [0, 1, 2, 3, 4, 5]


def test_the_window_knows_the_summary_before(story):
    story.says(user("one"))
    story.add(compaction("e1"))
    assert window_of(story.log).previous_summary == "so far"


def test_a_window_whose_newest_entry_is_a_compaction_says_so(story):
    story.says(user("one"))
    story.add(compaction("e1"))
    assert window_of(story.log).is_compacted


def test_a_window_in_which_nothing_came_but_what_was_appended_with_a_compaction_says_so(story):
    story.says(user("one"))
    ids = story.writer.fresh_ids(2)
    word = CustomMessage(custom_type="x", content="shown again")
    story.add(compaction("e1"), word, cause=ids[0], ids=ids)
    story.add(Label(target_id="e1", label="here"))
    assert window_of(story.log).is_compacted
    story.says(user("more"))
    assert not window_of(story.log).is_compacted


def test_a_window_whose_compaction_was_taken_back_is_open_to_another(story):
    story.says(user("one"))
    story.add(Undone(target_id=story.add(compaction("e1"))))
    assert not window_of(story.log).is_compacted


def test_only_entries_that_yield_a_message_are_in_the_window(story):
    story.says(user("one"))
    story.add(MODEL, Label(target_id="e1", label="here"))
    assert ids(window_of(story.log)) == ["e1"]


def test_settings_and_labels_right_before_a_message_belong_to_it(story):
    story.says(user("one"))
    story.add(MODEL, Label(target_id="e1", label="here"))
    story.says(user("four"))
    assert [item.first for item in window_of(story.log).items] == ["e1", "e2"]


def test_whether_a_cut_parts_a_turn_does_not_depend_on_the_settings_before_it(story):
    story.says(user("x" * 400))
    story.add(MODEL)
    story.says(user("x" * 400))
    found = KeepRecent(tokens=100).cut(window_of(story.log), Limits(window=9_999))
    assert (found.first_kept, found.turn_prefix) == ("e2", [])


def test_no_cut_may_be_at_a_tool_result(story):
    story.says(user("go"), assistant(call("read", "c1")), result("it", call_id="c1"))
    assert starts(window_of(story.log)) == ["e1", "e2"]


def test_no_cut_may_part_a_call_from_a_result_behind_another_message(story):
    story.says(assistant(call("read", "c1")), user("wait"), result("it", call_id="c1"), user("on"))
    assert starts(window_of(story.log)) == ["e1", "e4"]


def test_parallel_calls_keep_together_until_the_last_result(story):
    story.says(assistant(call("read", "c1"), call("read", "c2")), result("it", call_id="c1"), user("wait"))
    story.says(result("it", call_id="c2"), assistant("on"))
    assert starts(window_of(story.log)) == ["e1", "e5"]


def test_a_call_that_was_never_answered_keeps_no_cut_away(story):
    story.says(assistant(call("read", "c1"), stop="aborted"), user("again"))
    assert starts(window_of(story.log)) == ["e1", "e2"]


def test_a_call_in_flight_is_not_parted_from_the_result_that_is_to_come(story):
    story.says(user("go"), assistant(call("read", "c1"), stop="toolUse"), user("wait"))
    assert starts(window_of(story.log)) == ["e1", "e2"]


def test_a_rewritten_message_has_the_size_that_it_shows(story):
    story.says(result("x" * 400))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x" * 40)]))
    assert window_of(story.log).tokens == 10


def test_what_the_provider_counted_may_be_ignored(story):
    story.says(user("one"), assistant("two", tokens=100))
    window = window_of(story.log, ignores_usage=True)
    assert (window.measured, window.last_measured) == (None, None)


def test_what_the_provider_counted_before_the_compaction_says_nothing_of_the_window(story):
    story.says(user("one"), assistant("two", tokens=100))
    story.add(compaction("e1"))
    assert window_of(story.log).measured is None


def test_the_window_knows_what_the_provider_counted_as_sent_since(story):
    story.says(user("one"))
    story.add(compaction("e1"))
    story.says(assistant("two", tokens=100), assistant("three", tokens=900, stop="aborted"))
    assert window_of(story.log).measured == 93


def test_the_known_cuts_of_a_real_session_are_found(store, corpus):
    session = import_file(store, corpus / "pi/pi-mono-before-compaction.v3.jsonl").id
    limits = Limits(window=200_000)
    by_utf16 = KeepRecent().cut(window_of(store, session), limits)
    by_bytes = KeepRecent(adapts=True).cut(window_of(store, session, "bytes/4"), limits)
    assert (len(by_utf16.to_summarize), len(by_utf16.turn_prefix)) == (383, 7)
    assert (len(by_bytes.to_summarize), len(by_bytes.turn_prefix)) == (401, 3)


def test_a_window_with_a_call_in_flight_is_open(story):
    story.says(user("go"), assistant(call("read", "c1"), call("read", "c2"), stop="toolUse"))
    story.says(result("it", call_id="c1"))
    assert window_of(story.log).is_open


@pytest.mark.parametrize("ending", [result("it"), user("wait"), assistant("never mind")])
def test_a_window_is_open_until_the_results_or_the_next_answer_come(story, ending):
    story.says(user("go"), assistant(call("read", "c1"), stop="toolUse"), ending)
    assert window_of(story.log).is_open == (ending["role"] == "user")


def reused(story, turns):
    """Turns whose calls all go by the id call_0, as harnesses have it that count calls anew in each turn."""
    for _ in range(turns):
        answer = result("found", call_id="call_0")
        story.says(user("go"), assistant(call("bash", "call_0")), answer, assistant("done"))


def test_a_result_holds_on_to_the_newest_call_of_its_id_alone(story):
    reused(story, 3)
    assert starts(window_of(story.log)) == ["e1", "e2", "e4", "e5", "e6", "e8", "e9", "e10", "e12"]


def test_a_session_that_uses_ids_again_has_something_to_summarize(story):
    reused(story, 3)
    found = KeepRecent(tokens=6).cut(window_of(story.log), Limits(window=200_000))
    assert found.kept == ["e9", "e10", "e11", "e12"]


def test_a_call_in_flight_is_open_though_its_id_was_answered_in_an_earlier_turn(story):
    reused(story, 1)
    story.says(user("go"), assistant(call("bash", "call_0")))
    assert window_of(story.log).is_open
