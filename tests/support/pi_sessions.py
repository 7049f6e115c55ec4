"""Made-up pi sessions: lists of entries in which everything goes that pi itself reads without failing.

Trees of any shape, compactions that keep from anywhere, fields that are missing or of odd types. Orphans and
ids used twice are left out: there refold says that it differs.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.support.pi_files import header
from tests.support.reference_pi import Entry

TIMES = [f"2025-12-08T22:4{minute}:05.{minute}06Z" for minute in range(6)]
_ABSENT = object()

texts = st.one_of(
    st.text(st.sampled_from('ab \n"\\é…😀\u2028\ufeff\x00'), max_size=8),
    st.sampled_from(["", "\ud83d", "tail \udc00", "hello world"]),
)
_numbers = st.sampled_from([0, 1, -1, 1.0, -0.0, 2.5, 1e21, 1e-7, 2**53 + 1, 10**30])
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), _numbers, texts),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["b", "a", "2", "1"]), inner, max_size=3)
    ),
    max_leaves=4,
)
_times = st.sampled_from([*TIMES, "not a date", "", _ABSENT])


def _fields(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object of these fields, those absent that drew `_ABSENT`."""
    return st.fixed_dictionaries(strategies).map(
        lambda drawn: {name: value for name, value in drawn.items() if value is not _ABSENT}
    )


def _or_absent(*choices: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(*choices, st.just(_ABSENT))


_blocks = st.lists(
    st.one_of(
        _fields(type=st.just("text"), text=_or_absent(texts)),
        _fields(type=st.just("thinking"), thinking=texts, thinkingSignature=_or_absent(texts)),
        _fields(
            type=st.just("toolCall"),
            id=st.sampled_from(["c1", "c2"]),
            name=st.sampled_from(["read", "edit", "bash"]),
            arguments=_or_absent(_json, st.fixed_dictionaries({"path": st.sampled_from(["a.py", "b.py"])})),
        ),
        st.just({"type": "image", "data": "QUJD", "mimeType": "image/png"}),
        _fields(type=_or_absent(st.just("video")), data=_or_absent(texts)),
    ),
    max_size=3,
)
_content = _or_absent(texts, _blocks, st.none())
_usage = _fields(input=_numbers, output=_or_absent(_numbers), totalTokens=_or_absent(_numbers))

_messages = st.one_of(
    _fields(
        role=st.sampled_from(["user", "toolResult", "custom", "hookMessage", "observer"]),
        content=_content,
        isError=_or_absent(st.booleans(), st.just("yes")),
        extra=_or_absent(_json),
        timestamp=_or_absent(_numbers),
    ),
    _fields(
        role=st.just("assistant"),
        content=_content,
        provider=_or_absent(st.sampled_from(["p", "q"]), st.none()),
        model=_or_absent(st.sampled_from(["m", "n"])),
        stopReason=_or_absent(st.sampled_from(["stop", "error", "aborted"])),
        usage=_or_absent(_usage, st.none()),
    ),
    _fields(role=st.just("bashExecution"), command=texts, output=texts, exitCode=_or_absent(st.just(1))),
    _fields(content=texts),
)
_details = _or_absent(
    _json, _fields(readFiles=st.lists(st.sampled_from("abc"), max_size=2), modifiedFiles=st.just(["d"]))
)


# Targets: an entry so many back, the entry itself, a later one, a missing one.
_BACK = {f"{steps} back": steps for steps in (1, 2, 3, 4, 6, 9)}
_SELF = "itself"
_any_id = st.sampled_from([*_BACK, _SELF, "later", "ghost"])
_POINTING = ("firstKeptEntryId", "fromId", "targetId")

_message = _fields(type=st.just("message"), message=_messages)
_compaction = _fields(
    type=st.just("compaction"),
    summary=_or_absent(texts),
    firstKeptEntryId=_or_absent(_any_id, _any_id, _any_id, st.none(), st.just(""), st.just(7)),
    tokensBefore=_or_absent(_numbers),
    details=_details,
    fromHook=_or_absent(st.booleans()),
)
_entries = st.one_of(
    _message,
    _message,
    _message,
    _compaction,
    _compaction,
    _fields(
        type=st.just("branch_summary"),
        fromId=_or_absent(_any_id, st.just("root")),
        summary=_or_absent(texts, texts, st.none(), st.sampled_from([0, 5, False, []])),
        details=_details,
    ),
    _fields(
        type=st.just("custom_message"),
        customType=_or_absent(texts),
        content=_or_absent(texts, _blocks, _json),
        display=_or_absent(st.booleans()),
        details=_details,
    ),
    _fields(type=st.just("model_change"), provider=_or_absent(texts), modelId=_or_absent(texts, st.none())),
    _fields(
        type=st.just("thinking_level_change"),
        thinkingLevel=_or_absent(st.sampled_from(["off", "high"]), st.none()),
    ),
    _fields(
        type=st.just("label"),
        targetId=_any_id,
        label=_or_absent(st.sampled_from(["first", "second", ""]), st.none()),
    ),
    _fields(
        type=st.just("session_info"), name=_or_absent(st.sampled_from(["a\xa0", " \ufeffb ", "", "\x1c"]))
    ),
    _fields(type=st.just("custom"), customType=st.just("x"), data=_or_absent(_json)),
    _fields(
        # Not `reset_boundary`: a file with one is oh-my-pi's.
        type=_or_absent(st.sampled_from(["novelty", "rewrite", "undone", "leaf_moved", "decision"])),
        targetId=_or_absent(_any_id),
        summary=_or_absent(texts),
    ),
)
_step = st.tuples(
    _entries,
    st.sampled_from(["1 back"] * 4 + [*_BACK, "null", "absent"]),
    _times,
    st.booleans(),
)
_steps = st.lists(_step, min_size=1, max_size=6) | st.lists(_step, min_size=6, max_size=12)


@st.composite
def pi_entries(draw: st.DrawFn) -> list[Entry]:
    """The entries of a session, as parsed JSON, each after its parent."""
    entries: list[Entry] = []
    ids: list[str] = []
    for number, (fields, place, time, is_odd) in enumerate(draw(_steps)):
        own = f"née-{number}" if is_odd else f"{number:08x}"
        entry = {
            name: _pointed_at(value, ids, own) if name in _POINTING else value
            for name, value in fields.items()
        }
        entry["id"] = own
        if place != "absent":
            entry["parentId"] = None if place == "null" else _back(place, ids)
        if time is not _ABSENT:
            entry["timestamp"] = time
        entries.append(entry)
        ids.append(own)
    return entries


def _pointed_at(value: Any, ids: list[str], own: str) -> Any:
    if value in _BACK:
        return _back(value, ids) or "ghost"
    return own if value == _SELF else value


def _back(place: str, ids: list[str]) -> str | None:
    return ids[-_BACK[place]] if _BACK[place] <= len(ids) else None


def file_of(entries: list[Entry]) -> bytes:
    """The session file of entries, in version 3."""
    return header() + b"".join(map(line_of, entries))


def line_of(entry: Entry) -> bytes:
    """An entry's line as JavaScript writes it: characters as they are, lone surrogates escaped."""
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"
