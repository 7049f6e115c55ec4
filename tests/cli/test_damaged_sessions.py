"""Sessions imported from damaged files, of each harness: every command that reads one has an answer."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from eventstore import open_store
from eventstore.errors import RefoldError
from eventstore.files.importing import import_sessions
from tests.cli.running import Refold
from tests.support import claude_code, codex
from tests.support.damage import SUBJECTS, damaged
from tests.support.examples import examples
from tests.support.pi_files import header, said


def reading(session: str) -> Iterator[tuple[str, ...]]:
    for form in ("text", "native", "anthropic"):
        yield "context", session, "--format", form
    yield "context", session, "--full"
    yield "context", session, "--json"
    yield "log", session
    yield "show", session, "#3"
    yield "tree", session, "--full"
    yield "files", session
    yield "audit", session, "--json"
    yield "report", session, "-o", "report.html"
    yield "diff", session, "root", "@leaf"
    yield "check", session
    yield "replay", session, "--at", "recorded"
    yield "compact", session, "--keep-recent", "0", "--dry-run"
    yield "export", session, "--format", "pi", "--yes", "--force", "-o", "exported.jsonl"
    yield "search", "text"
    yield ("stats",)
    yield ("sessions",)


@pytest.mark.long
@pytest.mark.parametrize("harness", SUBJECTS)
def test_no_command_is_at_fault_for_damage_in_a_file(harness: str, refold: Refold) -> None:
    file = refold.store.parent / "damaged.jsonl"
    for number in range(examples(40)):
        rng = random.Random(f"commands:{number}")
        damage = damaged(rng, SUBJECTS[harness])
        file.write_bytes(damage.content)
        refold.store = file.with_name(f"store-{number}")
        try:
            with open_store(refold.store) as log:
                session = import_sessions(log, file)[0].id
        except RefoldError:
            continue
        for arguments in reading(session):
            try:
                # A fault is raised, see REFOLD_TRACEBACK.
                refold(*arguments, code=None)
            except Exception as error:
                error.add_note(f"{harness} {number} {damage.done}: {' '.join(arguments)}")
                raise


TALKS = {
    "pi": [header(), *(said(f"text {at}", f"e{at}", f"e{at - 1}" if at else None) for at in range(3))],
    "claude-code": [
        claude_code.said(f"u{at}", f"u{at - 1}" if at else None, f"text {at}") + b"\n" for at in range(4)
    ],
    "codex": codex.rollout(*(codex.said(f"text {at}") for at in range(3))).splitlines(keepends=True),
}


@pytest.mark.parametrize("field", ["message", "payload", "type"])
@pytest.mark.parametrize("harness", TALKS)
def test_a_record_may_lose_its_message_in_place(refold: Refold, harness: str, field: str) -> None:
    file, lines = refold.store.parent / "session.jsonl", [*TALKS[harness]]
    file.write_bytes(b"".join(lines))
    refold("sync", file)
    record = json.loads(lines[2])
    record.pop(field, None)
    lines[2] = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    file.write_bytes(b"".join(lines))
    refold("sync", file)
    (session,) = (each["id"] for each in refold("sessions", "--json").json["sessions"])
    for arguments in (
        *reading(session),
        ("compact", session, "--keep-recent", "0", "--summarizer", "extractive"),
    ):
        assert refold(*arguments, code=None).code in {0, 1}, arguments


def test_an_attachment_may_lose_its_type_in_place(refold: Refold) -> None:
    words = [claude_code.said(f"u-{n}", f"u-{n - 1}" if n else None, "words") for n in range(4)]
    record = claude_code.attached("u-4", "u-3", {"type": "queued_command", "prompt": "wait"})
    file = refold.store.parent / "session.jsonl"
    for changed in (record, record.replace(b'"type":"attachment"', b'"type":1.5')):
        file.write_bytes(b"\n".join([*words, changed, b""]))
        refold("sync", file)
    (session,) = (each["id"] for each in refold("sessions", "--json").json["sessions"])
    for arguments in reading(session):
        assert refold(*arguments, code=None).code in {0, 1}, arguments
