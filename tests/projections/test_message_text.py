"""A message as a person reads it."""

from __future__ import annotations

import json

import pytest

from eventstore.harnesses import format_of
from projections.message_text import message_text
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user


def read(message):
    return message_text(format_of("pi/3").message(json.dumps(message).encode()))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("hello\nthere"), "hello\nthere"),
        (user([text("one"), text("two")]), "one\ntwo"),
        (assistant(thinking("hm"), "an answer"), "(thinking) hm\nan answer"),
        (assistant(call("read", path="a.py")), '→ read {"path": "a.py"}'),
        (result("done", "well"), "← bash\ndone\nwell"),
        (result("no such file", tool="read", is_error=True), "✗ read\nno such file"),
        (result(), "← bash"),
        (user([image("A" * 4000)]), "[image image/png, 3,000 bytes]"),
        (user([{"type": "video", "data": "x"}]), "[video block]"),
        (user([{"data": "x"}]), "[unknown block]"),
        (shell("make", "done"), "Ran `make`\n```\ndone\n```"),
        (shell("true"), "Ran `true`\n(no output)"),
        (shell("sleep", cancelled=True, exitCode=1), "Ran `sleep`\n(no output)\n\n(command cancelled)"),
        (shell("false", exitCode=1), "Ran `false`\n(no output)\n\nCommand exited with code 1"),
        (
            shell("ls", "a", truncated=True, fullOutputPath="/home/user/x"),
            "Ran `ls`\n```\na\n```\n\n[Output truncated. Full output: /home/user/x]",
        ),
        ({"role": "compactionSummary", "summary": "all of it"}, "all of it"),
        ({"role": "observer", "content": "I saw it"}, "I saw it"),
        ({}, ""),
    ],
)
def test_a_message_is_all_of_its_text(message, expected):
    assert read(message) == expected


def test_an_excluded_command_is_text_like_any_other():
    assert read(shell("pwd", "/", excludeFromContext=True)) == "Ran `pwd`\n```\n/\n```"
