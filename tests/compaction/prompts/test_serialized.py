"""The conversation as text in the prompt, whatever the harness sends."""

from __future__ import annotations

from compaction.prompts import SERIALIZED, serialize
from projections.tokens import counter
from tests.compaction.prompts.ingredients import PARTS, SHOWN, ingredients


def test_the_conversation_is_text_behind_refolds_own_system_prompt_and_no_tools():
    prompt = SERIALIZED.prompt(ingredients())
    assert (prompt.system, prompt.tools, prompt.prefix) == ("Ours.", b"", ())
    assert prompt.text == f"<conversation>\n{serialize(PARTS)}\n</conversation>\n\nSum up."


def test_the_summary_before_is_told_though_the_context_shows_it():
    prompt = SERIALIZED.prompt(ingredients(previous="before", shown=SHOWN))
    assert "<previous-summary>\nbefore\n</previous-summary>" in prompt.text
    assert prompt.parts == tuple(PARTS)


def test_lines_of_context_and_instructions_are_told():
    text = SERIALIZED.prompt(ingredients(context=("one",), instructions="Mind it.")).text
    assert "<additional-context>\none\n</additional-context>" in text
    assert text.endswith("Mind it.")


def test_messages_are_as_large_as_their_texts_in_the_prompt():
    assert SERIALIZED.sizes(PARTS, counter("utf16/4")) == [
        counter("utf16/4").of_text(text) for text in ("[User]: build it", "[Assistant]: I look.")
    ]


def test_what_the_harness_sends_is_not_looked_for():
    assert not SERIALIZED.follows_harness
