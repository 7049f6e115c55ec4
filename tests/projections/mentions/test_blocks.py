"""Messages that are read together: what they name is the same in whatever company they were read before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eventstore.views import Message, Text
from projections.mentions import Kind
from projections.mentions.message_facts import Block, Blocks, holding
from projections.mentions.path_names import Paths
from projections.mentions.presence import Presence

SAID = ("see src/a.ts", "call load_it", "load_it in src/b.ts", "nothing", "a.ts says Error: it broke here")
HELD = [
    holding(40 * seq, f"e{seq}", Message(role="user", blocks=(Text(SAID[seq % len(SAID)]),)))
    for seq in range(12)
]
THINGS = [
    (Kind.PATH, "src/a.ts"),
    (Kind.PATH, "/repo/src/b.ts"),
    (Kind.SYMBOL, "load_it"),
    (Kind.ERROR, "Error: it broke here"),
    (Kind.COMMAND, "nothing"),
    (Kind.COMMAND, "ls"),
]
contexts = st.lists(st.sampled_from(HELD), unique_by=lambda held: held.seq).map(
    lambda found: sorted(found, key=lambda held: held.seq)
)


@given(st.lists(contexts, min_size=1, max_size=5))
def test_a_context_names_the_same_whatever_contexts_were_looked_at_before(looked_at):
    blocks, paths = Blocks(), Paths(["src/a.ts", "/repo/src/b.ts"])
    for context in looked_at:
        shared, whole = Presence(context, paths, blocks), Block(context)
        for kind, value in THINGS:
            first = next((held for held in context if Presence([held], paths).names(kind, value)), None)
            assert shared.first(kind, value) == first
            assert shared.names(kind, value) == (first is not None)
        assert list(dict.fromkeys(blocks.paths(context))) == list(whole.named[Kind.PATH])


def test_what_two_contexts_have_in_common_is_read_once():
    blocks = Blocks()
    one, other = blocks.of(HELD), blocks.of(HELD[1:])
    assert [block in other for block in one] == [False, *[True] * (len(one) - 1)]


def test_no_more_is_kept_than_twice_what_the_largest_context_has():
    blocks = Blocks()
    largest = len(blocks.of(HELD))
    for held in HELD:
        blocks.of([held])
    assert len(blocks._kept) <= 2 * largest
