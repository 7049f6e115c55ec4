"""Token estimates: pi's by UTF-16 units, oh-my-pi's by UTF-8 bytes."""

from __future__ import annotations

import pytest

from eventstore.estimates import estimates, fragments
from eventstore.views import Block, Image, Message, Opaque, Shell, Text, Thinking, ToolCall

IMAGE = Image("image/png", 9999)


def of(role: str, *blocks: Block, shell: Shell | None = None) -> Message:
    return Message(role=role, blocks=blocks, shell=shell)


def utf16_tokens(message: Message) -> int:
    return estimates(message.role, message.blocks, message.shell)[0]


def utf8_tokens(message: Message) -> int:
    return estimates(message.role, message.blocks, message.shell)[1]


class TestUtf16:
    @pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
    def test_four_units_are_a_token_and_a_rest_is_one_more(self, length: int, tokens: int) -> None:
        assert utf16_tokens(of("user", Text("x" * length))) == tokens

    def test_units_are_counted_and_not_characters(self) -> None:
        assert utf16_tokens(of("user", Text("😀" * 4))) == 2

    def test_the_rest_is_rounded_up_once_a_message(self) -> None:
        assert utf16_tokens(of("user", Text("a"), Text("b"), Text("c"))) == 1

    def test_images_of_a_user_count_nothing(self) -> None:
        assert utf16_tokens(of("user", Text("abcd"), IMAGE)) == 1

    @pytest.mark.parametrize("role", ["toolResult", "custom", "hookMessage"])
    def test_images_of_a_result_count_4800_units(self, role: str) -> None:
        assert utf16_tokens(of(role, Text("abcd"), IMAGE, IMAGE)) == 2401

    def test_an_assistant_counts_text_thinking_names_and_arguments(self) -> None:
        call = ToolCall("id", "read", b'{ "path": "a", "limit": 1.0 }')
        message = of("assistant", Text("abcd"), Thinking("abcdefgh", "signature"), call)
        assert utf16_tokens(message) == -(-(4 + 8 + 4 + len('{"path":"a","limit":1}')) // 4)

    def test_images_of_an_assistant_count_nothing(self) -> None:
        assert utf16_tokens(of("assistant", IMAGE, Opaque("x", 100))) == 0

    def test_a_command_counts_with_its_output(self) -> None:
        assert utf16_tokens(of("bashExecution", shell=Shell(command="abcd", output="efgh"))) == 2

    @pytest.mark.parametrize("role", ["compactionSummary", "branchSummary"])
    def test_a_summary_counts_its_text(self, role: str) -> None:
        assert utf16_tokens(of(role, Text("abcde"))) == 2

    @pytest.mark.parametrize("role", ["", "developer", "fileMention", "other", "robot"])
    def test_roles_that_pi_does_not_know_count_nothing(self, role: str) -> None:
        assert utf16_tokens(of(role, Text("abcd"))) == 0

    def test_a_python_execution_which_pi_does_not_know_counts_nothing(self) -> None:
        assert utf16_tokens(of("pythonExecution", shell=Shell(command="abcd"))) == 0


class TestUtf8:
    @pytest.mark.parametrize(
        ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 2, 1), ("😀é", 2)]
    )
    def test_four_bytes_are_a_token_and_a_rest_is_one_more(self, text: str, tokens: int) -> None:
        assert utf8_tokens(of("user", Text(text))) == tokens

    def test_the_rest_is_rounded_up_once_a_fragment(self) -> None:
        assert utf8_tokens(of("user", Text("a"), Text("b"), Text("c"))) == 3

    @pytest.mark.parametrize("role", ["user", "assistant", "toolResult"])
    def test_images_count_1200_tokens(self, role: str) -> None:
        assert utf8_tokens(of(role, Text("abcd"), IMAGE)) == 1201

    def test_a_signature_counts(self) -> None:
        assert utf8_tokens(of("assistant", Thinking("abcd", "abcde"))) == 3

    def test_a_block_of_a_foreign_type_counts_its_data(self) -> None:
        assert utf8_tokens(of("assistant", Opaque("redactedThinking", 5))) == 2

    def test_a_tools_name_and_its_arguments_are_fragments_of_their_own(self) -> None:
        assert utf8_tokens(of("assistant", ToolCall("id", "abcde", b'{"a": 1}'))) == 2 + 2

    def test_a_command_and_its_output_are_fragments_of_their_own(self) -> None:
        assert utf8_tokens(of("bashExecution", shell=Shell(command="a", output="b"))) == 2


def test_the_fragments_of_a_message_are_what_a_model_reads() -> None:
    message = of(
        "assistant", Text("one"), Thinking("two", "seal"), ToolCall("id", "read", b'{ "a": 1 }'), IMAGE
    )
    assert list(fragments(message)) == ["one", "two", "read", '{"a":1}']
