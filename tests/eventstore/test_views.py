"""Messages as every fold sees them."""

from __future__ import annotations

import pytest

from eventstore.views import Image, Message, Shell, Text, Thinking, ToolCall, Usage, shell_text


def test_the_text_of_a_message_is_its_text_blocks_without_a_separator() -> None:
    blocks = (Text("a"), Thinking("no"), Text("b"), Image("image/png", 1), Text("c"))
    assert Message(role="assistant", blocks=blocks).text == "abc"


def test_the_tool_calls_of_a_message_come_in_order() -> None:
    first, second = ToolCall("1", "read"), ToolCall("2", "write")
    assert Message(role="assistant", blocks=(first, Text("a"), second)).tool_calls == [first, second]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (b'{"path":"a"}', "a"),
        (b'{"path":["a"]}', ["a"]),
        (b"{}", None),
        (b"[]", None),
        (b"", None),
        (b'{"path":', None),
        (b'{"path":"\xff"}', "\ufffd"),
    ],
)
def test_an_argument_is_found_by_its_name_or_is_none(arguments: bytes, value: object) -> None:
    assert ToolCall("1", "read", arguments).argument("path") == value


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (b'{"a":[1,null]}', {"a": [1, None]}),
        (b'{"a":"\\ud83d"}', {"a": "\ud83d"}),
        (b'{"a":1e999}', {"a": float("inf")}),
        (b'{"a":', '{"a":'),
        (b"\xff", "\ufffd"),
        (b"[" * 100_000, "[" * 100_000),
    ],
)
def test_arguments_are_decoded_or_else_their_text(arguments: bytes, value: object) -> None:
    assert ToolCall("1", "read", arguments).decoded == value


def test_what_was_sent_is_input_and_both_caches() -> None:
    assert (
        Usage(input=1, output=20, cache_read=300, cache_write=4000, cache_write_1h=5, total=9).prompt == 4301
    )


class TestShellText:
    def test_an_output_is_fenced(self) -> None:
        assert shell_text(Shell(command="ls", output="a\nb", exit_code=0)) == "Ran `ls`\n```\na\nb\n```"

    def test_an_empty_output_says_so(self) -> None:
        assert shell_text(Shell(command="true")) == "Ran `true`\n(no output)"

    def test_an_exit_code_is_reported(self) -> None:
        assert shell_text(Shell(command="x", exit_code=2)).endswith("\n\nCommand exited with code 2")

    @pytest.mark.parametrize("code", [0, None])
    def test_a_good_or_unknown_exit_code_is_not_told(self, code: int | None) -> None:
        assert "exited" not in shell_text(Shell(command="x", exit_code=code))

    def test_a_cancel_goes_before_an_exit_code(self) -> None:
        told = shell_text(Shell(command="x", exit_code=130, cancelled=True))
        assert told.endswith("(no output)\n\n(command cancelled)")

    def test_a_cut_output_names_the_file_that_has_all_of_it(self) -> None:
        told = shell_text(
            Shell(command="x", output="a", exit_code=1, truncated=True, full_output="/home/all")
        )
        assert told.endswith("code 1\n\n[Output truncated. Full output: /home/all]")

    def test_a_cut_output_without_a_file_is_not_told(self) -> None:
        assert "truncated" not in shell_text(Shell(command="x", output="a", truncated=True))
