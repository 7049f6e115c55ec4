"""oh-my-pi's session files: told from pi's, with a title that changes in place, blobs and subagents beside them."""

from __future__ import annotations

import json
import random
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from eventstore.event import Flag
from eventstore.files.exporting import export_session
from eventstore.files.importing import import_file
from eventstore.harnesses import harness, node_of
from eventstore.harnesses.base import Certainty
from eventstore.harnesses.oh_my_pi.titled_file import title_slot
from eventstore.harnesses.refold.events import compose
from eventstore.imports import origin_of
from eventstore.log import EventLog
from eventstore.memory import MemoryLog
from eventstore.records import LeafMoved, Link, record_of
from eventstore.verify import verify
from projections.context.build import build_context, context_json
from projections.descriptions import title
from projections.requests.anthropic import render
from tests.support.events import events
from tests.support.oh_my_pi_sessions import (
    SESSION,
    entries_of,
    file_of,
    header,
    line_of,
    slot,
    time_of,
)
from tests.support.pi_files import bring, original
from tests.support.pi_files import header as pi_header
from tests.support.pi_files import said as pi_said
from tests.support.validator import validate

Json = dict[str, Any]


def entry(number: int, parent: int | None, **fields: Any) -> Json:
    return {
        "type": fields.pop("type", "message"),
        "id": f"{number:08x}",
        "parentId": None if parent is None else f"{parent:08x}",
        "timestamp": time_of(number),
        **fields,
    }


def said(number: int, text: Any = "said") -> Json:
    return entry(number, number - 1 if number else None, message={"role": "user", "content": text})


TALK = [said(number, f"said {number}") for number in range(4)]


@pytest.mark.parametrize(
    "content",
    [
        slot("A title") + line_of(header()),
        line_of(header(title="A title")),
        line_of(header()) + line_of(entry(0, None, type="model_change", model="p/m", role="default")),
        line_of(header()) + line_of(entry(0, None, type="mode_change", mode="plan")),
        line_of(header()) + line_of(entry(0, None, message={"role": "developer", "content": "x"})),
        line_of(header()) + line_of(entry(0, None, type="branch_summary", summary="s", fromExtension=True)),
    ],
)
def test_a_file_with_marks_of_oh_my_pi_is_its(content: bytes, tmp_path: Path) -> None:
    assert harness("oh-my-pi").recognize(content, "file") is Certainty.SURE
    assert bring(MemoryLog(), tmp_path, content).format == "oh-my-pi/3"


@pytest.mark.parametrize(
    "content",
    [
        pi_header(3) + pi_said("x", "a", None),
        pi_header(3) + line_of({"type": "model_change", "id": "a", "provider": "p", "modelId": "m"}),
        pi_header(3) + line_of({"type": "compaction", "id": "a", "summary": "s", "fromHook": True}),
        b"",
        b"no session",
    ],
)
def test_a_file_without_them_is_not(content: bytes) -> None:
    assert harness("oh-my-pi").recognize(content, "file") is Certainty.NONE


def test_a_title_that_changes_in_place_is_no_other_generation(tmp_path: Path) -> None:
    log, records = MemoryLog(), line_of(header()) + b"".join(map(line_of, TALK))
    for content in (
        slot("One") + records,
        slot("Two", updated=5) + records,
        slot("Three", updated=6) + records + line_of(said(4)),
        slot("Three", updated=6) + records + line_of(said(4)) + line_of(said(5)),
    ):
        found = bring(log, tmp_path, content)
        assert (found.id, found.rewritten, found.earlier) == (SESSION, 0, None)
        assert original(log, SESSION) == content
        assert bring(log, tmp_path, content).added == 0
    notes = [node_of(event).title for event in events(log, SESSION) if event.kind == "note"]
    assert [note.text for note in notes if note] == ["One", "Two", "Three"]
    entries = [event.id for event in events(log, SESSION) if event.is_entry]
    assert entries == [f"{number:08x}" for number in range(6)]
    assert verify(log).findings == []


@pytest.mark.parametrize("count", [1, 3, 9, 30])
def test_a_snapshot_and_a_later_one_are_the_later_one(count: int, tmp_path: Path) -> None:
    entries = entries_of(random.Random(count), count + 5)
    earlier, later = file_of(entries[:count], title="Then"), file_of(entries, title="Now")
    both, alone = MemoryLog(), MemoryLog()
    bring(both, tmp_path, earlier)
    bring(both, tmp_path, later)
    bring(alone, tmp_path, later)
    assert [e.body for e in events(both, SESSION) if e.is_entry] == [
        e.body for e in events(alone, SESSION) if e.is_entry
    ]
    for each in entries:
        assert context_json(both, SESSION, leaf=each["id"]) == context_json(alone, SESSION, leaf=each["id"])
    assert original(both, SESSION) == later


def test_a_file_that_is_written_anew_shows_its_records_as_they_are_now(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(TALK))
    pruned = [TALK[0], said(1, "[Output truncated]"), *TALK[2:]]
    content = file_of(pruned, title="Another")
    found = bring(log, tmp_path, content)
    assert (found.rewritten, found.earlier) == (1, None)
    messages = json.loads(context_json(log, SESSION))["messages"]
    assert [message["content"] for message in messages] == [
        "said 0",
        "[Output truncated]",
        "said 2",
        "said 3",
    ]
    assert original(log, SESSION) == content


def _texts(log: MemoryLog) -> list[str]:
    messages = json.loads(context_json(log, SESSION))["messages"]
    return [message["content"] for message in messages]


def test_a_session_whose_file_was_rewritten_without_its_end_stands_at_the_new_end(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(TALK))
    rewritten = [TALK[0], said(1, "pruned"), TALK[2]]
    bring(log, tmp_path, file_of(rewritten))
    assert _texts(log) == ["said 0", "pruned", "said 2"]
    bring(log, tmp_path, file_of([*rewritten, {**said(9, "on"), "parentId": TALK[2]["id"]}]))
    assert _texts(log) == ["said 0", "pruned", "said 2", "on"]
    assert verify(log).findings == []


def test_a_file_with_another_title_and_without_its_end_was_rewritten(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(TALK))
    bring(log, tmp_path, file_of(TALK[:2], title="Another"))
    assert _texts(log) == ["said 0", "said 1"]


def test_a_record_that_a_rewrite_moved_below_another_is_reported(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(TALK))
    found = bring(log, tmp_path, file_of([*TALK[:3], {**TALK[3], "parentId": TALK[1]["id"]}]))
    (remark,) = found.differs_from_harness
    assert (remark.line, TALK[1]["id"] in remark.reason, TALK[2]["id"] in remark.reason) == (6, True, True)


def test_where_a_person_went_in_the_store_a_rewritten_file_moves_nothing(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(TALK))
    there = compose(LeafMoved(from_id=TALK[3]["id"]), id="went", time=None, parent=TALK[1]["id"])
    log.append(SESSION, [there])
    bring(log, tmp_path, file_of([TALK[0], said(1, "pruned"), TALK[2]]))
    assert _texts(log) == ["said 0", "pruned"]


def test_an_older_copy_of_a_file_moves_nothing(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(TALK))
    bring(log, tmp_path, file_of(TALK[:2]))
    bring(log, tmp_path, file_of([TALK[0], said(1, "pruned")]), name="copy.jsonl")
    assert len(_texts(log)) == len(TALK)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_states_a_file_is_brought_in_it_comes_back(seed: int, tmp_path: Path) -> None:
    rng, log = random.Random(f"states:{seed}"), MemoryLog()
    entries, name, torn = entries_of(rng, 3), "First", b""
    for number in range(8):
        change = rng.choice(["title", "grow", "tear", "rewrite", "lose the title"])
        if change == "title":
            name = f"Title {number}"
        elif change == "grow":
            new = said(len(entries), f"more {number}")
            entries, torn = [*entries, new], b""
        elif change == "tear":
            torn = line_of(said(len(entries), "torn"))[: rng.randint(1, 99)]
        elif change == "rewrite":
            at = rng.randrange(len(entries))
            entries[at] = {**entries[at], "rewritten": number}
        content = file_of(entries, title=name) + torn
        if change == "lose the title":
            content = content.partition(b"\n")[2]
        found = bring(log, tmp_path, content)
        assert original(log, found.id) == content, change
        again = bring(log, tmp_path, content)
        assert (again.id, again.added, again.rewritten) == (found.id, 0, 0), change
        assert verify(log).findings == []


def test_a_title_that_is_out_of_place_is_skipped_and_kept(tmp_path: Path) -> None:
    log, content = MemoryLog(), file_of(TALK[:1]) + slot("Again") + line_of(TALK[1])
    found = bring(log, tmp_path, content)
    assert [remark.line for remark in found.skipped] == [4]
    assert original(log, SESSION) == content


def test_kinds_keep_their_names_and_a_changed_title_is_one(tmp_path: Path) -> None:
    log = MemoryLog()
    kinds = (
        "reset_boundary",
        "mode_change",
        "model_usage",
        "ttsr_injection",
        "credential_pin",
        "session_init",
    )
    records = [entry(number, None, type=kind) for number, kind in enumerate(kinds)]
    changed = entry(9, None, type="title_change", title=" New ", source="user")
    bring(log, tmp_path, file_of([*records, changed]))
    found = [event for event in events(log, SESSION) if event.is_entry]
    assert [event.kind for event in found] == [*kinds, "session_info"]
    assert title(log, SESSION) == "New"


def test_only_a_change_of_the_default_model_puts_one_in_use(tmp_path: Path) -> None:
    log = MemoryLog()
    fields: list[Json] = [
        {"model": "p/a/b"},
        {"model": "p/s", "role": "smol"},
        {"model": "p/f", "role": "fallback"},
        {},
    ]
    bring(
        log, tmp_path, file_of([entry(n, None, type="model_change", **each) for n, each in enumerate(fields)])
    )
    found = [event for event in events(log, SESSION) if event.is_entry]
    assert [bool(event.flags & Flag.SETS_MODEL) for event in found] == [True, False, False, False]
    assert [node_of(event).settings is not None for event in found] == [True, False, False, False]
    first = node_of(found[0]).settings
    assert first is not None
    assert (first.provider, first.model) == ("p", "a/b")


def test_a_request_beside_the_conversation_is_paid_for(tmp_path: Path) -> None:
    log = MemoryLog()
    usage = {"input": 5, "output": 1, "totalTokens": 6}
    paid = entry(0, None, type="model_usage", purpose="title", provider="p", model="t", usage=usage)
    bring(log, tmp_path, file_of([paid]))
    [request] = node_of(next(event for event in events(log, SESSION) if event.is_entry)).requests
    assert (request.provider, request.model, request.usage and request.usage.total) == ("p", "t", 6)


def test_a_skill_that_a_person_called_is_theirs(tmp_path: Path) -> None:
    log = MemoryLog()
    entries = [
        entry(0, None, type="custom_message", customType="skill-prompt", content="c", attribution=who)
        for who in ("user",)
    ] + [entry(1, None, type="custom_message", customType="skill-prompt", content="c")]
    bring(log, tmp_path, file_of(entries))
    assert [node_of(event).by_person for event in events(log, SESSION) if event.is_entry] == [True, False]


def test_messages_of_its_own_roles_are_told_to_a_model(tmp_path: Path) -> None:
    log = MemoryLog()
    messages = [
        {"role": "developer", "content": "by the developer"},
        {"role": "hookMessage", "customType": "h", "content": "by a hook"},
        {"role": "fileMention", "files": [{"path": "a.py", "content": "x = 1"}]},
        {"role": "pythonExecution", "code": "1 + 1", "output": "2"},
    ]
    entries = [entry(n, n - 1 if n else None, message=each) for n, each in enumerate(messages)]
    bring(log, tmp_path, file_of(entries))
    assert all(event.utf8 > 0 for event in events(log, SESSION) if event.is_entry)
    made = render(build_context(log, SESSION), model="claude-opus-4-5")
    [turn] = json.loads(made.body)["messages"]
    texts = [block["text"] for block in turn["content"]]
    assert texts[:3] == ["by the developer", "by a hook", '<file path="a.py">\nx = 1\n</file>']
    assert "1 + 1" in texts[3]
    assert made.repairs == ()
    assert validate(made.body) == []


IMAGE = b"\x89PNG not really"
DIGEST = sha256(IMAGE).hexdigest()


def image_of(folder: Path) -> Json:
    log = MemoryLog()
    block = {"type": "image", "data": f"blob:sha256:{DIGEST}", "mimeType": "image/png"}
    content = file_of([said(0, [block])])
    bring(log, folder, content)
    assert original(log, SESSION) == content
    shown: Json = json.loads(context_json(log, SESSION))["messages"][0]["content"][0]
    assert verify(log).findings == []
    return shown


def test_an_image_that_was_kept_apart_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "-project"
    folder.mkdir(parents=True)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / DIGEST).write_bytes(IMAGE)
    assert b64decode(image_of(folder)["data"]) == IMAGE


def test_bytes_that_are_not_those_of_the_reference_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / DIGEST).write_bytes(b"others")
    assert image_of(tmp_path)["data"] == f"blob:sha256:{DIGEST}"


CHILD = "0199bbbb-0000-7000-8000-000000000003"


def bring_parent(log: EventLog, folder: Path) -> None:
    details = {"results": [{"id": "0-Scout", "agent": "scout"}, {"id": "../../etc", "agent": "x"}]}
    done = entry(
        1,
        0,
        message={
            "role": "toolResult",
            "toolCallId": "c",
            "toolName": "task",
            "content": [],
            "details": details,
        },
    )
    bring(log, folder, file_of([TALK[0], done]), name="2026_parent.jsonl")


def bring_child(log: EventLog, folder: Path) -> None:
    import_file(log, folder / "2026_parent" / "0-Scout.jsonl")


@pytest.mark.parametrize("order", ["parent first", "child first", "both again"])
def test_a_subagents_session_is_linked_to_the_call_that_started_it(order: str, tmp_path: Path) -> None:
    log = MemoryLog()
    child = tmp_path / "2026_parent" / "0-Scout.jsonl"
    child.parent.mkdir()
    child.write_bytes(slot("") + line_of(header(session=CHILD)) + line_of(said(0)))
    (tmp_path / "2026_parent.jsonl").write_bytes(file_of([]))
    for bring_half in (bring_parent, bring_child) if order != "child first" else (bring_child, bring_parent):
        bring_half(log, tmp_path)
    before = [len(list(events(log, each))) for each in (SESSION, CHILD)]
    if order == "both again":
        bring_parent(log, tmp_path)
        bring_child(log, tmp_path)
        assert [len(list(events(log, each))) for each in (SESSION, CHILD)] == before
    links = {
        each: [record_of("link", event.body) for event in events(log, each) if event.kind == "link"]
        for each in (SESSION, CHILD)
    }
    assert Link(relation="child", session=CHILD, event="00000001") in links[SESSION]
    assert Link(relation="subagent", session=SESSION, event="00000001") in links[CHILD]


def test_a_subagent_that_is_resumed_belongs_to_the_first_call(tmp_path: Path) -> None:
    log = MemoryLog()
    child = tmp_path / "parent" / "0-Scout.jsonl"
    child.parent.mkdir()
    child.write_bytes(slot("") + line_of(header(session=CHILD)) + line_of(said(0)))
    import_file(log, child)
    message = {"role": "toolResult", "toolCallId": "c", "toolName": "task", "content": []}
    named = {"details": {"results": [{"id": "0-Scout"}, {"id": "0-Scout"}]}}
    calls = [entry(number, number - 1, message=message | named) for number in (1, 2)]
    bring(log, tmp_path, file_of([TALK[0], *calls]), name="parent.jsonl")
    bodies = [json.loads(each.body) for each in events(log, SESSION) if each.kind == "link"]
    assert [(each["session"], each["event"]) for each in bodies] == [(CHILD, "00000001")]
    with log.snapshot() as snapshot:
        link = origin_of(snapshot, CHILD, "subagent")
    assert link is not None
    assert link.event == "00000001"


def exported(log: EventLog, form: str) -> list[Json]:
    return [json.loads(line) for line in b"".join(export_session(log, SESSION, form)).splitlines()]


CHANGES = [
    entry(0, None, type="model_change", model="p/a/b"),
    entry(1, 0, type="model_change", model="p/s", role="smol"),
    entry(2, 1, type="title_change", title="Two", source="user"),
    entry(
        3, 2, type="compaction", summary="s", firstKeptEntryId="00000000", tokensBefore=1, fromExtension=True
    ),
    entry(4, 3, message={"role": "user", "content": "x"}),
    entry(5, 4, type="mode_change", mode="plan"),
]


def test_a_session_comes_back_as_oh_my_pi_writes_it(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(CHANGES))
    first, head, *entries = exported(log, "oh-my-pi")
    assert (first["type"], first["title"], head["id"]) == ("title", "Two", SESSION)
    assert entries == CHANGES
    again = b"".join(export_session(log, SESSION, "oh-my-pi"))
    assert len(again.splitlines(keepends=True)[0]) == 256
    assert bring(log, tmp_path, again).added == 0
    assert bring(MemoryLog(), tmp_path, again).format == "oh-my-pi/3"


def test_pi_gets_a_session_in_its_own_words(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, file_of(CHANGES))
    head, model, other_role, named, compaction, talk, mode = exported(log, "pi")
    assert "title" not in head
    assert (model["provider"], model["modelId"]) == ("p", "a/b")
    assert (other_role["type"], other_role["data"]) == ("custom", {"model": "p/s", "role": "smol"})
    assert (named["type"], named["name"]) == ("session_info", "Two")
    assert (compaction["fromHook"], compaction["firstKeptEntryId"]) == (True, "00000000")
    assert talk == CHANGES[4]
    assert (mode["type"], mode["customType"], mode["parentId"]) == (
        "custom",
        "oh-my-pi.mode_change",
        "00000004",
    )


def test_oh_my_pi_gets_a_session_of_pi_in_its_own_words(tmp_path: Path) -> None:
    log = MemoryLog()
    entries = [
        {"type": "model_change", "id": "a", "parentId": None, "provider": "p", "modelId": "m"},
        {"type": "session_info", "id": "b", "parentId": "a", "name": "One"},
        {"type": "branch_summary", "id": "c", "parentId": "b", "summary": "s", "fromHook": True},
    ]
    bring(log, tmp_path, pi_header(3, session=SESSION) + b"".join(map(line_of, entries)))
    _, _, model, named, summary = exported(log, "oh-my-pi")
    assert (model["model"], model["role"]) == ("p/m", "default")
    assert (named["type"], named["title"]) == ("title_change", "One")
    assert summary["fromExtension"] is True
    whole = b"".join(export_session(log, SESSION, "oh-my-pi"))
    assert bring(MemoryLog(), tmp_path, whole).format == "oh-my-pi/3"


@pytest.mark.parametrize("text", ["", "x" * 400, "größe 😀" * 60, '"' * 300])
def test_a_title_has_256_bytes_whatever_it_says(text: str) -> None:
    line = title_slot(text, time_of(0))
    assert (len(line), line[-1:]) == (256, b"\n")
    assert text.startswith(json.loads(line)["title"])


def test_places_are_those_of_profiles_too() -> None:
    folders = [
        each.folder({"PI_CODING_AGENT_DIR": "/a", "XDG_DATA_HOME": "/x"})
        for each in harness("oh-my-pi").places
    ]
    assert folders == ["/a/sessions", "~/.omp/profiles", "/x/omp/sessions", "/x/omp/profiles"]


def test_a_record_whose_type_is_no_text_is_exported_to_pi_as_custom(tmp_path: Path) -> None:
    odd = entry(1, 0, type={"a": 1})
    log = MemoryLog()
    found = bring(log, tmp_path, slot() + b"".join(map(line_of, [header(), said(0), odd, said(2)])))
    lines = [json.loads(each) for each in b"".join(export_session(log, found.id, "pi")).splitlines()]
    assert [each["type"] for each in lines[1:]] == ["message", "custom", "message"]
