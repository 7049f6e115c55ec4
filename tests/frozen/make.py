"""Writes a small store with everything in it that the format knows, and what is to be read from it forever.

    python -m tests.frozen.make

makes the folder of the current layout. Once a release has written that version, it is history: an
older folder is never made again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from eventstore import records
from eventstore.backup import backup
from eventstore.event import NewEvent, Parent
from eventstore.files.importing import import_file
from eventstore.harnesses.refold.events import compose
from eventstore.lmdb.opening import STORE_VERSION
from eventstore.lmdb.store import LmdbLog
from eventstore.log import AppendResult, Expected, Snapshot, SourceState
from eventstore.records import Record
from tests.frozen.reading import events_of, read
from tests.support.events import NOW, event
from tests.support.pi_files import entry, header, kept, line, said

FOLDER: Final = Path(__file__).parent / f"store-{STORE_VERSION}"


class _Recorder:
    """The log, as far as an import uses it; the files that it reads stand in no folder of this machine."""

    def __init__(self, log: LmdbLog) -> None:
        self._log = log

    def snapshot(self) -> Any:
        return self._log.snapshot()

    def append(
        self,
        session: str,
        events: Sequence[NewEvent],
        *,
        expected: Expected = "any",
        blobs: Iterable[bytes] = (),
        source: str = "",
        **_: object,
    ) -> AppendResult:
        place = f"/home/user/sessions/{Path(source).name}" if source else ""
        return self._log.append(session, events, expected=expected, blobs=blobs, source=place)


def make() -> None:
    """Write the store and what is to be read from it."""
    FOLDER.mkdir(exist_ok=True)
    recorded = count(NOW, 1000)
    with tempfile.TemporaryDirectory() as work:
        with LmdbLog(Path(work, "store"), clock=lambda: next(recorded)) as log:
            _write_every_kind(log)
            _write_unusual(log)
            _import_files(_Recorder(log), Path(work))
            backup(log, Path(work, "copy"))
        (FOLDER / "data.mdb").write_bytes(Path(work, "copy", "data.mdb").read_bytes())
        with LmdbLog(Path(work, "copy"), create=False) as log, log.snapshot() as snapshot:
            _check_that_nothing_is_missing(snapshot)
            expected = json.dumps(read(log), indent=1, ensure_ascii=False)
    (FOLDER / "expected.json").write_text(expected + "\n", encoding="utf-8")


def _user(text: str) -> records.MessageRecord:
    return _message({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})


def _message(fields: dict[str, Any], **options: Any) -> records.MessageRecord:
    return records.MessageRecord(message=msgspec.Raw(msgspec.json.encode(fields)), **options)


def _write_every_kind(log: LmdbLog) -> None:
    """A session of refold's own with each record that it writes, but for `import`, which an import writes."""
    times = count(1_700_000_000_000, 500)

    def append(*named: tuple[str, Record], parent: str | Parent = Parent.LEAF, cause: str = "") -> None:
        parents = [parent, *[name for name, _ in named]]
        events = [
            compose(record, id=name, time=next(times), parent=above, cause=cause)
            for (name, record), above in zip(named, parents, strict=False)
        ]
        log.append("every kind", events)

    calls = [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}}]
    usage = {"input": 900, "output": 100, "totalTokens": 1000}
    answer = {"role": "assistant", "provider": "p", "model": "m1", "stopReason": "toolUse", "usage": usage}
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": False}
    operations = records.FileOperations(read_files=["a.py"], modified_files=["ä.py"])
    append(("info", records.SessionInfo(name="Every kind", cwd="/home/user/project")))
    append(("model", records.ModelChange(provider="p", model_id="m1", role="default")))
    append(("thinking", records.ThinkingLevelChange(thinking_level="high")))
    append(
        ("ask", _user("Read a.py, please. Ünïcödé 😀 \u2028")),
        ("call", _message({**answer, "content": calls})),
    )
    append(("result", _message({**result, "content": [{"type": "text", "text": "print(1)\n" * 40}]})))
    append(
        (
            "done",
            _message({**answer, "content": "It prints 1.", "stopReason": "stop"}, metadata={"a": [1, None]}),
        )
    )
    append(("ask2", _user("And now?")))
    compaction = records.Compaction(
        summary="a.py was read.",
        first_kept_entry_id="done",
        tokens_before=1000,
        tokens_after=200,
        short_summary="read a.py",
        details=operations,
        reason="threshold",
        policy="pi",
        template="pi/1",
        request={"model": "m1"},
    )
    append(("compaction", compaction), ("next", _user("Go on.")), cause="cause-1")
    append(
        (
            "rewrite",
            records.Rewrite(
                reason="prune", targets=[records.TextReplacement(target="done", text="[cut]")], tokens_saved=3
            ),
        )
    )
    append(
        (
            "custom message",
            records.CustomMessage(custom_type="x", content="A note.", display=False, details={"n": 1}),
        )
    )
    append(("custom", records.Custom(custom_type="x", data={"state": [1, 2, 3]})))
    append(
        ("label", records.Label(target_id="ask", label="start")), ("no label", records.Label(target_id="ask"))
    )
    append(
        ("second", records.Compaction(summary="Everything.", first_kept_entry_id="next", tokens_before=300))
    )
    append(("undone", records.Undone(target_id="second")))
    append(("moved", records.LeafMoved(from_id="undone")), parent="result")
    append(
        (
            "branch",
            records.BranchSummary(from_id="result", summary="It went on.", left="undone", details=operations),
        )
    )
    append(("last", _user("Here.")))
    append(
        (
            "decision",
            records.Decision(outcome="skip", reason="too little", policy="pi", numbers={"tokens": 5}),
        )
    )
    append(("attempt", records.Attempt(request={"model": "m1"}, error="overloaded")))
    append(("note", records.Note(target_id="ask2", data={"usage": usage})))
    append(("link", records.Link(relation="fork", session="unusual", event="b")))
    append(("observed", records.ObservedRewrite(target_id="ask2", record=msgspec.Raw(b'{"type":"message"}'))))
    log.keep([(b"tokens/example", b"\x01\x02\x03")])
    seen = SourceState(
        path=b"/a", size=5, modified=3, device=1, inode=2, read=4, harness="pi", sessions=("every kind",)
    )
    log.append("every kind", (), seen=seen)


def _write_unusual(log: LmdbLog) -> None:
    """Rare events: unknown kinds, odd names and times, several roots, an event of many pages."""
    log.append(
        "ünusual/ sessïon",
        [
            event("a", "hologram", depth=3, time=None),
            event("b", "hologram", parent=None, time=-1),
            event("ï" * 300, "message", message={"role": "observer", "content": "?"}, cause="ç" * 100),
            event("d", "custom", parent="a", customType="x", data="0123456789" * 500),
        ],
    )


def _import_files(log: Any, work: Path) -> None:
    """Files of pi, of each version, one damaged, one that grew and one that was rewritten."""
    (work / "v1.jsonl").write_bytes(
        header(1, session="pi-v1")
        + said("one")
        + entry(kind="model_change", provider="p", modelId="m")
        + said("two", role="assistant")
        + said("three")
        + kept(3)
        + said("four")
    )
    import_file(log, work / "v1.jsonl")
    (work / "v1.jsonl").write_bytes(
        header(3, session="pi-v1")
        + said("one", "m1", None)
        + entry("m2", "m1", "model_change", provider="p", modelId="m")
        + said("two", "m3", "m2", role="assistant")
    )
    import_file(log, work / "v1.jsonl")
    (work / "v2.jsonl").write_bytes(
        header(2, session="pi-v2") + said("one", "a", None) + said("hook", "b", "a", role="hookMessage")
    )
    import_file(log, work / "v2.jsonl")
    grown = [
        header(3, session="pi-v3"),
        said("one", "a", None),
        entry("n", "a", "session_info", name="A title"),
        said("two", "b", "a", role="assistant"),
        entry("l", "b", "label", targetId="a", label="begin"),
        said("three", "c", "a"),
        entry("k", "c", "compaction", summary="so far", firstKeptEntryId="c", tokensBefore=70),
        said("four", "d", "k"),
    ]
    (work / "v3.jsonl").write_bytes(b"".join(grown[:4]))
    import_file(log, work / "v3.jsonl")
    (work / "v3.jsonl").write_bytes(b"".join(grown))
    import_file(log, work / "v3.jsonl")
    grown[3] = said("two, otherwise", "b", "a", role="assistant")
    (work / "v3.jsonl").write_bytes(b"".join(grown))
    import_file(log, work / "v3.jsonl")
    (work / "damaged.jsonl").write_bytes(
        b"\xef\xbb\xbf"
        + header(3, session="pi-damaged").replace(b"\n", b"\r\n")
        + b"\n"
        + said("one", "a", None)
        + b"{broken\n"
        + said("two", "b", "a").rstrip(b"\n")
        + said("three", "c", "b")
        + said("again", "a", None)
        + said("lost", "e", "nowhere")
        + entry("f", "e", "hologram", depth=1)
        + line({"type": "message", "message": {"role": "user", "content": "\ud83d"}})
        + b'{"type":"message","id":"g","parentId":"f","message":{"role":"user","content":"\xff"}}\n'
        + b'{"type":"message","id":"h","parentId":"g","mess'
    )
    import_file(log, work / "damaged.jsonl")


def _check_that_nothing_is_missing(snapshot: Snapshot) -> None:
    kinds = {event.kind for head in snapshot.heads() for event in events_of(snapshot, head.name)}
    missing = set(records.RECORDS) - kinds
    if missing:
        raise SystemExit(f"the store lacks {', '.join(sorted(missing))}")


if __name__ == "__main__":
    make()
