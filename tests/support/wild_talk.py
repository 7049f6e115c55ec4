"""Made-up conversations in pi's shape: those that a harness records when all goes well, and any others."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.pictures import base64, gif, jpeg, png
from tests.support.talk import Json, assistant, call, image, result, shell, text, thinking, user

_words = st.text(st.sampled_from("ab é😀\n"), min_size=1, max_size=8).filter(str.strip)


def sealed(thought: str) -> Json:
    return thinking(thought, thinkingSignature=f"seal of {thought}")


@st.composite
def good_talk(draw: st.DrawFn) -> list[Json]:
    """A conversation of whole turns, each call with an id of its own and a result."""
    said: list[Json] = []
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        said.append(user(draw(_words)))
        for _ in range(draw(st.integers(0, 3))):
            thoughts = [sealed(draw(_words))] if draw(st.booleans()) else []
            before = [text(draw(_words))] if draw(st.booleans()) else []
            ids = [f"call-{calls + number}" for number in range(draw(st.integers(1, 3)))]
            calls += len(ids)
            blocks = [call("read", call_id, path="a.py") for call_id in ids]
            said.append(assistant(*thoughts, *before, *blocks, stop="toolUse"))
            said += [
                result(*draw(_result_blocks), call_id=call_id, is_error=False)
                for call_id in draw(st.permutations(ids))
            ]
        said.append(assistant(draw(_words).rstrip()))
    return said


_PICTURE = image(base64(png()))
_result_blocks = st.lists(st.one_of(_words.map(text), st.just(_PICTURE)), max_size=2)

_any_text = st.one_of(
    _words,
    st.sampled_from(["", " ", "\n\t", "\ufeff", "\u2028", "\x1c", "ends in space \n", "\ud83d", "a \udc00"]),
)
_call_ids = st.sampled_from(["c1", "c1", "c2", "c2", "c1_2", "not plain|é", "not plain:é", "", "x" * 70])
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _any_text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_any_text, inner, max_size=2),
    max_leaves=3,
)
_any_image = st.sampled_from(
    [
        _PICTURE,
        image(base64(jpeg())),
        {**_PICTURE, "mimeType": "image/bmp"},
        image("QUJD"),
        image("no base64!"),
        image(base64(png(9000, 1))),
        image(base64(gif(2001, 1))),
        {"type": "image"},
    ]
)
_any_thinking = st.one_of(
    _any_text.map(sealed),
    _any_text.map(thinking),
    st.just(thinking("", redacted=True, thinkingSignature="encrypted")),
)
_any_call = st.builds(
    lambda call_id, name, arguments: {
        "type": "toolCall",
        "id": call_id,
        "name": name,
        "arguments": arguments,
    },
    _call_ids,
    st.sampled_from(["read", "read", "mcp:read", "", "n" * 130]),
    st.one_of(_json, st.dictionaries(_any_text, _json, max_size=2)),
)
_MARK = {"cache_control": {"type": "ephemeral"}}
_MARKED = {"type": "text", "text": "found", **_MARK}
_native = st.sampled_from(
    [
        {"type": "video", "data": "x"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}},
        {"type": "document"},
        {"type": "document", "source": {}},
        {"type": "document", "source": {"type": "content", "content": [_MARKED]}, **_MARK},
        {"type": "search_result", "source": "s", "title": "t", "content": []},
        {"type": "search_result", "source": "s", "title": "t", "content": [_MARKED], **_MARK},
        {"type": "redacted_thinking", "data": "encrypted"},
        {"type": "compaction", "content": None},
        {"type": "redacted_thinking", "data": "encrypted", **_MARK},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}, **_MARK},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "server_tool_use", "id": "call_1", "name": "web_search", "input": {}},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "read_minds", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "call_1", "content": []},
        {"data": "no type"},
    ]
)
_any_block = st.one_of(_any_text.map(text), _any_image, _any_thinking, _any_call, _native)
_any_content = st.one_of(_any_text, st.lists(_any_block, max_size=3), st.none())
_fields_of_assistants = st.fixed_dictionaries(
    {
        "stopReason": st.sampled_from(["stop", "toolUse", "aborted", "error"]),
        "model": st.sampled_from(["m", "m", "n"]),
        "provider": st.sampled_from(["p", "p", "q"]),
    }
)
_any_message: st.SearchStrategy[Json] = st.one_of(
    st.builds(lambda content: {"role": "user", "content": content}, _any_content),
    st.builds(
        lambda content, fields: {"role": "assistant", "content": content, **fields},
        st.lists(_any_block, max_size=4),
        _fields_of_assistants,
    ),
    st.builds(
        lambda calls, fields: {"role": "assistant", "content": calls, **fields},
        st.lists(_any_call, min_size=1, max_size=3),
        _fields_of_assistants,
    ),
    st.builds(
        lambda content, call_id, is_error: {**result(call_id=call_id, is_error=is_error), "content": content},
        _any_content,
        _call_ids,
        st.booleans(),
    ),
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["custom", "hookMessage", "observer", ""]),
        _any_content,
    ),
    st.builds(
        lambda role, summary: {"role": role, "summary": summary},
        st.sampled_from(["compactionSummary", "branchSummary"]),
        _any_text,
    ),
    st.builds(
        lambda command, is_excluded: shell(command, "out", excludeFromContext=is_excluded),
        _any_text,
        st.booleans(),
    ),
)


@st.composite
def _exchange(draw: st.DrawFn) -> list[Json]:
    """Calls and results of them: some missing, some twice, some with a word of the user's between."""
    ids = draw(st.lists(_call_ids, min_size=1, max_size=3))
    answers = [
        result("found", call_id=call_id) for call_id in draw(st.lists(st.sampled_from(ids), max_size=4))
    ]
    if draw(st.booleans()):
        answers.insert(draw(st.integers(0, len(answers))), user("wait"))
    return [assistant(*(call("read", call_id) for call_id in ids), stop="toolUse"), *answers]


any_talk: st.SearchStrategy[list[Json]] = st.lists(
    st.one_of(_any_message.map(lambda message: [message]), _exchange()), max_size=8
).map(lambda pieces: [message for piece in pieces for message in piece])


_compacted = st.builds(
    lambda message, place, mark: {
        **message,
        "content": [
            *message["content"][:place],
            {"type": "compaction", "content": "all of it", **mark},
            *message["content"][place:],
        ],
    },
    _any_message.filter(lambda message: isinstance(message.get("content"), list)),
    st.integers(0, 2),
    st.sampled_from([{}, _MARK]),
)
compacted_talk: st.SearchStrategy[list[Json]] = st.tuples(any_talk, _compacted, any_talk).map(
    lambda pieces: [*pieces[0], pieces[1], *pieces[2]]
)
"""A conversation in which the provider compacted what came before, or in which a block says so where none can stand."""


def told_texts(message: Json) -> list[str]:
    """The texts of a message that a model is told, as they are recorded."""
    if message["role"] in ("compactionSummary", "branchSummary"):
        return [message["summary"]]
    if message["role"] == "bashExecution":
        return [] if message["excludeFromContext"] else [message["command"]]
    if message["role"] not in ("user", "assistant", "toolResult", "custom"):
        return []
    content: Any = message["content"]
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content or () if block.get("type") == "text"]
