"""Messages that are read together: what they name is the same in whatever company they were read before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eventstore.views import Message, Text
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import FactsChunk, FactsChunks, message_facts
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
    blocks, paths = FactsChunks(), PathIndex(["src/a.ts", "/repo/src/b.ts"])
    for context in looked_at:
        shared, whole = MentionIndex(context, paths, blocks), FactsChunk(context, 1)
        for kind, value in THINGS:
            first = next(
                (held for held in context if MentionIndex([held], paths).contains(kind, value)), None
            )
            assert shared.first_message(kind, value) == first
            assert shared.contains(kind, value) == (first is not None)
        assert list(dict.fromkeys(blocks.paths(context))) == list(whole.mentions[MentionKind.PATH])


def test_what_two_contexts_have_in_common_is_read_once():
    blocks = FactsChunks()
    one, other = blocks.split(HELD), blocks.split(HELD[1:])
    assert [block in other for block in one] == [False, *[True] * (len(one) - 1)]


def test_no_more_is_kept_than_twice_what_the_largest_context_has():
    blocks = FactsChunks()
    largest = len(blocks.split(HELD))
    for held in HELD:
        blocks.split([held])
    assert len(blocks._kept) <= 2 * largest
