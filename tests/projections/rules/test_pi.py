"""pi's rules, one record at a time: fields go over as the bytes that they are."""

from __future__ import annotations

import json

import pytest

from eventstore.errors import NotFoundError
from eventstore.frame import FORMATS
from eventstore.harnesses import all_names
from eventstore.records import TextReplacement
from projections.rules import _rules_of, harness_names, pi, rules_named, rules_of_format
from projections.rules.pi import (
    rewrite,
    show_branch_summary,
    show_compaction,
    show_custom_message,
    show_mended,
    show_migrated,
)
from tests.support import sentences


def shown(to, block=None):
    return TextReplacement(target="e1", text=to, block=block)


def test_a_compaction_shows_its_summary_and_the_tokens_before_it():
    record = b'{"type":"compaction","tokensBefore": 1e3,"x":0,"summary" : "caf\\u00e9"}'
    assert show_compaction(record, 5) == (
        b'{"role":"compactionSummary","summary":"caf\\u00e9","tokensBefore":1e3,"timestamp":5}'
    )


def test_a_compaction_without_fields_shows_nothing_but_its_time():
    assert show_compaction(b"{}", None) == b'{"role":"compactionSummary","timestamp":null}'


def test_a_branch_summary_shows_its_summary_and_where_it_is_attached():
    record = b'{"fromId":"root","summary":"tried","details":{}}'
    assert show_branch_summary(record, 5) == (
        b'{"role":"branchSummary","summary":"tried","fromId":"root","timestamp":5}'
    )


@pytest.mark.parametrize("summary", [b'""', b"null", b"false", b"0", b"0.0", b"-0", b' "" '])
def test_a_branch_summary_that_is_false_in_javascript_shows_nothing(summary):
    assert show_branch_summary(b'{"summary":%s}' % summary, 5) is None


def test_a_branch_summary_without_a_summary_shows_nothing():
    assert show_branch_summary(b'{"fromId":"root"}', 5) is None


@pytest.mark.parametrize("summary", [b"5", b"[]", b"{}", b"true", b'" "'])
def test_a_branch_summary_that_is_true_in_javascript_shows(summary):
    assert json.loads(show_branch_summary(b'{"summary":%s}' % summary, 5))["summary"] == json.loads(summary)


def test_a_custom_message_shows_its_four_fields():
    record = b'{"details":null,"display":false,"content":[ {"type":"text"} ],"customType":"x","data":1}'
    assert show_custom_message(record, 5) == (
        b'{"role":"custom","customType":"x","content":[ {"type":"text"} ],"display":false,"details":null,'
        b'"timestamp":5}'
    )


def test_a_damaged_text_leaves_the_rest_shown():
    record = b'{"message":{"role":"user","content":"a\xffb","n":1.5,"2":"c","1":"d"}}'
    assert show_mended(record, 5).decode() == '{"role":"user","content":"a\ufffdb","n":1.5,"2":"c","1":"d"}'


@pytest.mark.parametrize("record", [b"{}", b'{"message":null}'])
def test_a_record_without_a_message_shows_nothing(record):
    assert show_mended(record, 5) is None


def test_a_migrated_message_changes_its_role_in_its_place():
    record = b'{"message":{"a":1,"role":"hookMessage","b":2}}'
    assert show_migrated(record, 5) == b'{"a":1,"role":"custom","b":2}'


def test_a_migrated_message_of_another_role_keeps_it():
    assert show_migrated(b'{"message":{"role":"user"}}', 5) == b'{"role":"user"}'


def test_a_rewrite_of_a_block_puts_a_text_in_its_place():
    message = b'{"role":"user","content":[{"type":"image","data":""},{"type":"text","text":"b"}]}'
    assert rewrite(message, [shown("a", 0)]) == (
        b'{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}'
    )


@pytest.mark.parametrize(
    ("content", "block", "expected"),
    [
        ("long", None, "short"),
        ("long", 0, "short"),
        ("long", 3, "long"),
        ([1, 2], None, [{"type": "text", "text": "short"}]),
        ([1, 2], 2, [1, 2]),
        ([1, 2], -1, [1, 2]),
        ([1, 2], 1, [1, {"type": "text", "text": "short"}]),
        ([], None, [{"type": "text", "text": "short"}]),
        (None, None, [{"type": "text", "text": "short"}]),
    ],
)
def test_a_rewrite_keeps_the_shape_of_what_it_rewrites(content, block, expected):
    message = json.dumps({"role": "user", "content": content}).encode()
    assert json.loads(rewrite(message, [shown("short", block)]))["content"] == expected


@pytest.mark.parametrize("role", ["bashExecution", "pythonExecution"])
def test_a_rewrite_of_a_command_shows_another_output_in_its_place(role):
    message = b'{"role":"%s","command":"ls","output":"long","exitCode":0}' % role.encode()
    assert rewrite(message, [shown("first"), shown("short")]) == message.replace(b"long", b"short")


def test_a_rewrite_of_a_block_of_a_command_which_has_none_changes_nothing():
    message = b'{"role":"bashExecution","command":"ls","output":"long"}'
    assert rewrite(message, [shown("short", 0)]) == message


def test_a_rewrite_of_a_block_of_a_message_without_content_leaves_it_without():
    summary = b'{"role":"branchSummary","summary":"tried"}'
    assert rewrite(summary, [TextReplacement(target="e1", text="shorter", block=0)]) == summary


def test_rewrites_apply_in_the_order_that_they_are_given():
    message = b'{"role":"user","content":[1,2]}'
    assert json.loads(rewrite(message, [shown("all"), shown("first", 0)])) == {
        "role": "user",
        "content": [{"type": "text", "text": "first"}],
    }


def test_half_a_surrogate_pair_beside_a_rewrite_stays_an_escape():
    message = b'{"role":"user","name":"\\ud83d","content":"long"}'
    assert rewrite(message, [shown("short")]) == b'{"role":"user","name":"\\ud83d","content":"short"}'


def test_a_number_beyond_all_doubles_beside_a_rewrite_is_null_as_in_javascript():
    message = b'{"role":"user","n":1e999,"content":"long"}'
    assert rewrite(message, [shown("short")]) == b'{"role":"user","n":null,"content":"short"}'


def test_rules_are_found_by_their_harnesss_name():
    assert rules_named("pi") is pi.RULES


def test_rules_that_are_not_there_are_refused_by_name():
    with pytest.raises(NotFoundError) as refused:
        rules_named("emacs")
    assert (refused.value.name, sentences.names(refused.value.remedy, all_names())) == (
        "emacs",
        harness_names(),
    )


def test_rules_are_found_by_the_format_that_their_harness_writes():
    assert {name: rules_of_format(name).name for name in FORMATS if name != "refold/1"} == {
        name: name.partition("/")[0] for name in FORMATS if name != "refold/1"
    }
    assert rules_of_format("refold/1") is pi.RULES


def test_each_harness_has_rules() -> None:
    assert {_rules_of(name).name for name in all_names()} == set(all_names()) - {"refold"}
