"""Made-up sessions whose messages name things from a small list, so that a plain search tells who names what."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from eventstore.memory import MemoryLog
from eventstore.records import BranchSummary, Compaction, Rewrite, TextReplacement
from projections.mentions import MentionKind
from tests.support.events import NOW
from tests.support.talk import Story, assistant, call, result, shell, thinking, user

THINGS = {
    MentionKind.PATH: ("src/parser.py", "docs/plan.md"),
    MentionKind.SYMBOL: ("parse_header", "flushQueue"),
    MentionKind.IDENTIFIER: ("0b9a4c1e-52d7-4f0e-9a3b-7c61d2e8f405", "f3d2c1b0-1111-4222-8333-944455566677"),
    MentionKind.ERROR: ("fatal: the disk is full", "error: cannot open the socket"),
    MentionKind.URL: ("https://example.com/x", "https://example.org/y"),
    MentionKind.QUANTITY: ("250 MB", "40 ms"),
    MentionKind.COMMAND: ("pytest -q", "git status"),
}
"""Clear cases of each kind; none is part of another."""

_listed = st.lists(st.sampled_from([thing for things in THINGS.values() for thing in things]), max_size=4)
_texts = _listed.map("\n".join)
_paths, _commands = st.sampled_from(THINGS[MentionKind.PATH]), st.sampled_from(THINGS[MentionKind.COMMAND])
_messages = st.one_of(
    st.builds(user, _texts),
    st.builds(assistant, _texts),
    st.builds(result, _texts),
    st.builds(lambda thought, said: assistant(thinking(thought), said), _texts, _texts),
    st.builds(lambda path: assistant(call("read", path=path)), _paths),
    st.builds(lambda path, text: assistant(call("edit", path=path, newText=text)), _paths, _texts),
    st.builds(lambda command: assistant(call("bash", command=command)), _commands),
    st.builds(shell, _commands, _texts),
)
_said = st.tuples(st.just("says"), _messages, st.just(1))
_replaced = st.tuples(st.sampled_from(["compaction", "rewrite", "branch"]), _texts, st.integers(1, 6))
sessions = st.lists(st.one_of(_said, _said, _said, _replaced), min_size=3, max_size=14)
"""Steps of a session, for `told`: messages, and replacements that reach so many entries back."""


def told(steps):
    """The log of a session of these steps."""
    story = Story(MemoryLog(clock=lambda: NOW))
    entries = story.says(user("begin"))
    contents = set(entries)
    for act, given, back in steps:
        target = entries[-min(back, len(entries))]
        if act == "says":
            entries += story.says(given)
            contents |= {entries[-1]} if "content" in given else set()
        elif act == "compaction":
            entries.append(story.add(Compaction(summary=given, first_kept_entry_id=target, tokens_before=9)))
        elif act == "rewrite" and target in contents:
            shown = TextReplacement(target=target, text=given)
            entries.append(story.add(Rewrite(reason="prune", targets=[shown])))
        elif act == "branch":
            summary = BranchSummary(from_id=target, summary=given, left=entries[-1])
            entries.append(story.add(summary, parent=target))
    return story.log


def names(raw, thing):
    """Return True if the JSON of a message, or of an event, names a thing."""
    return thing in raw.decode().replace("\\n", "\n")


def without_thinking(raw):
    """The JSON of a message with its thinking left out."""
    message = json.loads(raw)
    if isinstance(message["content"], list):
        message["content"] = [block for block in message["content"] if block["type"] != "thinking"]
    return json.dumps(message).encode()


def runs(raw):
    """The commands that a message gave to a shell."""
    message = json.loads(raw)
    if message["role"] == "bashExecution":
        return [message["command"]]
    blocks = message["content"] if message["role"] == "assistant" else []
    return [block["arguments"]["command"] for block in blocks if block.get("name") == "bash"]


def touches(raw, tool):
    """The paths that calls of a tool in a message name."""
    message = json.loads(raw)
    blocks = message["content"] if message["role"] == "assistant" else []
    return [block["arguments"]["path"] for block in blocks if block.get("name") == tool]
