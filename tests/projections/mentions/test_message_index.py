"""Contexts that share an index mention the same whatever contexts were indexed before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eventstore.views import Message, Text
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import message_facts
from projections.mentions.message_index import WORD_PATTERN, MessageIndex
from projections.mentions.path_names import PathIndex

SAID = ("see src/a.ts", "call load_it", "load_it in src/b.ts", "nothing", "a.ts says Error: it broke here")
HELD = [
    message_facts(40 * seq, f"e{seq}", Message(role="user", blocks=(Text(SAID[seq % len(SAID)]),)))
    for seq in range(12)
]
THINGS = [
    (MentionKind.PATH, "src/a.ts"),
    (MentionKind.PATH, "/repo/src/b.ts"),
    (MentionKind.SYMBOL, "load_it"),
    (MentionKind.ERROR, "Error: it broke here"),
    (MentionKind.COMMAND, "nothing"),
    (MentionKind.COMMAND, "ls"),
]
contexts = st.lists(st.sampled_from(HELD), unique_by=lambda held: held.seq).map(
    lambda found: sorted(found, key=lambda held: held.seq)
)


@given(st.lists(contexts, min_size=1, max_size=5))
def test_a_context_names_the_same_whatever_contexts_were_looked_at_before(looked_at):
    index, paths = MessageIndex(), PathIndex(["src/a.ts", "/repo/src/b.ts"])
    for context in looked_at:
        shared = MentionIndex(context, paths, index)
        for kind, value in THINGS:
            first = next(
                (held for held in context if MentionIndex([held], paths).contains(kind, value)), None
            )
            assert shared.first_message(kind, value) == first
            assert shared.contains(kind, value) == (first is not None)


def test_a_message_of_several_contexts_is_indexed_once():
    index = MessageIndex()
    numbers = [index.add(held) for held in (*HELD, *reversed(HELD))]
    assert numbers == [*range(len(HELD)), *reversed(range(len(HELD)))]
    assert index.messages == HELD


def test_words_are_found_in_the_messages_that_have_all_of_them():
    index = MessageIndex()
    every = frozenset(map(index.add, HELD))
    assert index.with_words(["load_it", "src"], every) == {2, 7}
    assert index.with_words(["load_it", "src"], frozenset({1, 2})) == {2}
    assert not index.with_words(["load_it", "nothing"], every)
    assert not index.with_words(["unheard"], every)
    assert index.with_words([], every) == every


@given(st.text("aZ_9é汉-. \n"))
def test_words_are_the_same_in_ascii_and_in_other_texts(text):
    index = MessageIndex()
    index.add(message_facts(1, "e1", Message(role="user", blocks=(Text(text),))))
    for word in WORD_PATTERN.findall(text):
        assert index.with_words([word], frozenset({0})) == {0}
