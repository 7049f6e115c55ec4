"""The views of pi's records, and of refold's own: what they say, in refold's words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from eventstore.frame import FORMATS
from eventstore.harnesses import format_of
from eventstore.harnesses.pi.entry import READERS, entry_of, node_of_entry
from eventstore.harnesses.refold import FORMAT as REFOLD
from eventstore.javascript import DEEPEST_RECORD, TooDeepError
from eventstore.node import NOTHING, LabelView, Node, PromptView, RequestView, SettingsView, TitleView
from eventstore.records import RECORDS, FileSets, TextReplacement
from eventstore.views import Extension, Text, Usage
from tests.support.talk import assistant, user

DETAILS = {"readFiles": ["a.py", 5], "modifiedFiles": ["b.py"]}


def view(kind: str, record: bytes) -> Node:
    return node_of_entry(kind, entry_of(record), READERS)


def seen(kind: str, **fields: Any) -> Node:
    return view(kind, json.dumps({"type": kind, **fields}).encode())


def seen_of_refold(kind: str, **fields: Any) -> Node:
    return REFOLD.node("refold/1", kind, json.dumps({"type": kind, **fields}).encode())


def test_a_persons_message_is_by_a_person_and_does_not_go_on() -> None:
    found = seen("message", message=user("mend the parser"))
    assert (found.messages[0].text, found.by_person, found.continues) == ("mend the parser", True, False)


def test_a_message_that_goes_on_is_by_no_person() -> None:
    found = seen("message", message=user("continue"), metadata={"compaction_continue": True})
    assert (found.by_person, found.continues) == (False, True)


def test_only_a_mark_or_a_known_beginning_continues() -> None:
    assert seen("message", message=user("[Resuming] it")).continues
    assert not seen("message", message=user("compaction_continue")).continues
    assert seen("custom_message", customType="compaction_continue", content="x").continues
    assert not seen("custom_message", customType="x", content="compaction_continue").continues


def test_an_answer_names_the_model_that_wrote_it_whatever_it_is_called() -> None:
    said = seen("message", message=assistant("hi", provider="p", model="m"))
    assert said.settings == SettingsView(provider="p", model="m")
    odd = seen("message", message={"role": "assistant", "content": [], "provider": 5, "model": None})
    assert odd.settings == SettingsView(provider=5, model=None)
    assert (odd.messages[0].provider, odd.messages[0].model) == ("", "")


def test_changes_set_what_they_name_and_leave_the_rest() -> None:
    change = seen("model_change", provider="p", modelId="m")
    assert (change.settings, change.line) == (SettingsView(provider="p", model="m"), "p m")
    level = seen("thinking_level_change", thinkingLevel="high").settings
    assert level is not None
    assert (level.thinking_level, level.model) == ("high", UNSET)


def test_a_compaction_says_what_it_claims() -> None:
    found = seen("compaction", summary="s", tokensBefore=9.0, tokensAfter="9", policy="p", details=DETAILS)
    said = found.compaction
    assert said is not None
    assert (said.summary, said.tokens_before, said.tokens_after, said.policy) == ("s", 9, None, "p")
    assert said.files == FileSets(read=frozenset({"a.py"}), modified=frozenset({"b.py"}))
    assert found.messages[0].blocks == (Text("s"),)
    assert found.summary is said


@pytest.mark.parametrize("mark", ["fromHook", "fromExtension"])
def test_files_that_an_extension_claims_are_not_the_harnesses(mark: str) -> None:
    for kind in ("compaction", "branch_summary"):
        summary = seen(kind, summary="s", details=DETAILS, **{mark: True}).summary
        assert summary is not None
        assert summary.files is None


@pytest.mark.parametrize("number", [True, "9", None, [9]])
def test_a_size_that_is_no_number_is_none(number: object) -> None:
    said = seen("compaction", tokensBefore=number).compaction
    assert said is not None
    assert said.tokens_before is None


def test_a_size_beyond_all_doubles_is_none() -> None:
    said = view("compaction", b'{"tokensBefore":1e999}').compaction
    assert said is not None
    assert said.tokens_before is None


def test_a_branchs_summary_names_the_leaf_that_was_left() -> None:
    said = seen("branch_summary", summary="s", left="e9").branch
    assert said is not None
    assert (said.summary, said.left) == ("s", "e9")


@pytest.mark.parametrize(
    ("kind", "field"), [("compaction", "request"), ("branch_summary", "request"), ("attempt", "request")]
)
def test_requests_are_those_of_a_list_or_the_only_one(kind: str, field: str) -> None:
    one = {
        "summarizer": "http",
        "endpoint": "http://s",
        "model": "m",
        "promptDigest": "d",
        "answer": "a",
        "isCut": True,
    }
    expected = RequestView(
        summarizer="http", endpoint="http://s", model="m", prompt_digest="d", answer="a", is_cut=True
    )
    assert seen_of_refold(kind, **{field: one}).requests == (expected,)
    assert seen_of_refold(kind, **{field: {"requests": [one, 5, {"error": "no"}]}}).requests == (
        expected,
        RequestView(is_failed=True),
    )


@pytest.mark.parametrize(("kind", "field"), [("decision", "numbers"), ("custom_message", "details")])
def test_in_fields_for_anything_only_a_list_tells_of_requests(kind: str, field: str) -> None:
    assert seen_of_refold(kind, **{field: {"model": "m"}}).requests == ()
    assert seen_of_refold(kind, **{field: {"requests": [{"model": "m"}]}}).requests == (
        RequestView(model="m"),
    )


def test_a_requests_usage_counts_where_it_counts_something() -> None:
    used, unused = ({"input": 3, "output": 1}, {"input": 0})
    requests = seen_of_refold("attempt", request={"requests": [{"usage": used}, {"usage": unused}]}).requests
    assert [each.usage for each in requests] == [Usage(input=3, output=1, total=4), None]


def test_an_extensions_own_has_its_type_and_its_data() -> None:
    state = seen("custom", customType="notes", data={"text": "so far"})
    assert state.extension == Extension(type="notes", data={"text": "so far"})
    assert state.messages == ()
    told = seen("custom_message", customType="file", content="text", details={"source": "e1"})
    assert told.messages[0].extension == Extension(type="file", data={"source": "e1"})


def test_a_label_is_on_an_event_and_an_empty_one_takes_it_away() -> None:
    assert seen("label", targetId="e1", label="here").label == LabelView(target="e1", label="here")
    assert seen("label", targetId="e1", label=None).label == LabelView(target="e1")
    assert seen("label", targetId=5, label="here").label is None


def test_a_title_is_trimmed() -> None:
    assert seen("session_info", name=" a title ").title == TitleView(text="a title")
    assert seen("session_info", cwd="/x").title is None


def test_a_prompt_is_its_texts_and_tools_that_are_definitions() -> None:
    tool = {"name": "read", "input_schema": {"type": "object"}}
    found = seen("session_init", systemPrompt=["one", 5, "two"], tools=[tool])
    assert found.prompt == PromptView(
        system="one\n\ntwo", tools=b'[{"name":"read","input_schema":{"type":"object"}}]'
    )
    assert seen("session_init", systemPrompt="one", tools=["read"]).prompt == PromptView(system="one")


def test_a_header_names_the_working_folder() -> None:
    assert seen("session", cwd="/x").folder == "/x"
    assert seen("session", cwd=5).folder == ""


def test_a_rewrite_has_its_valid_replacements() -> None:
    found = seen_of_refold("rewrite", reason="micro", targets=[{"target": "e1", "shown": ""}])
    assert (found.rewrites, found.line) == ((TextReplacement(target="e1", text=""),), "micro")
    assert seen_of_refold("rewrite", reason="micro", targets=[{"target": 5}]).rewrites == ()


def test_a_result_that_its_tool_calls_useless_is() -> None:
    said = [
        {"role": "toolResult", "content": [], "toolCallId": "c", "useless": flag} for flag in (True, 1, None)
    ]
    assert [seen("message", message=each).messages[0].is_useless for each in said] == [True, False, False]


def test_a_kind_that_nobody_knows_says_nothing() -> None:
    assert seen("novelty", message=user("hi"), summary="s") is NOTHING


@pytest.mark.parametrize("kind", sorted(RECORDS))
@pytest.mark.parametrize(
    "record", [b"{}", b'{"summary":5,"message":7,"request":[],"content":{}}', b'{"a":"\xff"}']
)
def test_any_record_of_any_kind_has_a_view(kind: str, record: bytes) -> None:
    assert isinstance(view(kind, record), Node)
    assert isinstance(REFOLD.node("refold/1", kind, record), Node)


def test_kinds_that_refold_alone_writes_say_nothing_in_a_record_of_pi() -> None:
    assert seen_of_refold("decision", policy="p", outcome="skipped", reason="r").line == "p skipped r"
    assert seen("decision", policy="p", outcome="skipped", reason="r") is NOTHING


def test_fields_stand_beside_bytes_that_are_no_utf_8() -> None:
    assert view("session_info", b'{"name":"caf\xe9"}').title == TitleView(text="caf�")
    assert view("custom_message", b'{"customType":"t","content":"\xff"}').messages[0].text == "�"


def test_a_record_that_is_nested_too_deeply_is_reported() -> None:
    deep = b"[" * (DEEPEST_RECORD * 50) + b"]" * (DEEPEST_RECORD * 50)
    with pytest.raises(TooDeepError):
        view("custom", b'{"customType":"t","data":' + deep + b"}")


@pytest.mark.parametrize("version", FORMATS)
def test_every_format_knows_tools_that_read_and_run_scripts(version: str) -> None:
    tools = format_of(version).tools
    reads, shells = (
        {name.lower(): paths for name, paths in each.items()} for each in (tools.reads, tools.shells)
    )
    assert any({"path", "file_path", "filePath"} & {*paths} for paths in reads.values())
    assert any("command" in scripts for scripts in shells.values())
