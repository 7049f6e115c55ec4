"""Keep a run as a fixture: session files and requests, masked, without anything that names a machine, in an archive.

A request is kept as the messages that it does not share with the beginning of an earlier one: `like` is the number of
that request, and `keep` the number of messages that it shares.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.wire.masking import mask, mask_prompts
from tests.wire.model import is_prompt, without_cache_marks

RECORDED: Final = Path(__file__).parent / "recorded"
_KERNEL: Final = "6.1.0"
Json = dict[str, Any]


def fixture(harness: str, version: str) -> Path:
    """Return the path of a release's fixture, an archive."""
    return RECORDED / f"{harness}-{version}.zip"


def record(run: Path, target: Path) -> None:
    """Write the fixture of a run in place of the one before."""
    with tempfile.TemporaryDirectory() as folder:
        for requests in sorted(run.glob("*/requests.jsonl")):
            source, kept = requests.parent, Path(folder) / requests.parent.name
            for path in filter(Path.is_file, sorted((source / "sessions").rglob("*.jsonl"))):
                place = kept / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                _write(place, [mask_prompts(each) for each in _read(path)])
            kept.mkdir(parents=True, exist_ok=True)
            _write(kept / "requests.jsonl", _shortened(requests_in(requests)))
        shutil.make_archive(str(target.with_suffix("")), "zip", folder)


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """Unpack a fixture to a temporary folder: a run, with a folder for each scenario."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder)
        yield Path(folder)


def requests_in(path: Path) -> list[Json]:
    """Return the requests of a run, also of a fixture: each with its whole conversation."""
    found: dict[int, Json] = {}
    for request in _read(path):
        if "body" not in request:
            above = found[request["like"]]["body"] if request["like"] else {}
            messages = [*_messages(above)[: request["keep"]], *request["messages"]]
            request = {**request, "body": {"messages": messages, "input": messages}}  # noqa: PLW2901
        found[request["number"]] = request
    return list(found.values())


def _messages(body: Json) -> list[Any]:
    messages = body.get("messages", body.get("input", []))
    return messages if isinstance(messages, list) else [messages]


def _shortened(requests: list[Json]) -> list[Json]:
    earlier: dict[int, list[Any]] = {}
    kept: list[Json] = []
    for request in requests:
        messages = mask(without_cache_marks(_messages(request["body"])))
        messages = [
            {**each, "content": mask_prompts({"system": each["content"]})["system"]}
            if is_prompt(each)
            else each
            for each in messages
        ]
        shared = {number: _shared(messages, other) for number, other in earlier.items()}
        like = max(shared, key=shared.__getitem__, default=0)
        keep = shared.get(like, 0)
        fields = {name: request[name] for name in ("number", "rule", "answer", "api")}
        kept.append({**fields, "like": like, "keep": keep, "messages": messages[keep:]})
        earlier[request["number"]] = messages
    return kept


def _shared(messages: list[Any], other: list[Any]) -> int:
    pairs = enumerate(zip(messages, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(messages), len(other)))


def _read(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _write(path: Path, records: list[Json]) -> None:
    lines = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n" for each in records)
    path.write_text("".join(lines).replace(os.uname().release, _KERNEL), "utf-8")
