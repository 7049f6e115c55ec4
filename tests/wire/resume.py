"""Resume session files in their program, and compare its next request with refold's context of each file.

    python -m tests.wire.resume HARNESS [FILE ...]

HARNESS is one of claude-code, pi, oh-my-pi, codex, opencode. Without files, those of the corpus of real sessions are
resumed. It needs what `python -m tests.wire` needs.

A request is equal if it begins with the context, without gaps, and goes on with nothing but what the user and the
program say there: texts, of which one has the prompt. Beside the gaps of `compare`, Codex cuts long outputs, and
`ADDITIONS` are what programs do to a session that they did not begin.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from eventstore.files.importing import import_sessions
from eventstore.harnesses import format_of
from eventstore.memory import MemoryLog
from eventstore.views import Thinking
from projections.context.build import context_at, harness_json
from projections.context.cursor import resolve_cursor
from projections.context.parts import Context, view_of_part
from tests.wire.blocks import Block, as_held_by, context_blocks, request_blocks, seal_in
from tests.wire.compare import GAPS, kinds_of_differences, recorded_in
from tests.wire.corpus import corpus_folder
from tests.wire.install import CACHE, RELEASES, InstallError, cache_folder, install
from tests.wire.recording import requests_in
from tests.wire.run import can_run
from tests.wire.scenarios.common import RESUMING

HARNESSES: Final = ("codex", "opencode")
"""The programs whose published files are resumed."""
_CUT: Final = re.compile(r"…\d+ (?:tokens|chars) truncated…")
_PRIVATE: Final = re.compile(r"⟦U([0-9a-f]{4,6})⟧")
_EXPLAINED: Final = re.compile(r"(?:\\n)*<glyph-tokens>.*?</glyph-tokens>(?:\\n)?")
NO_REQUEST: Final = "no request"
AFTER: Final = "other blocks after the context"


class Resumed(NamedTuple):
    """A file that a program resumed: the kinds of differences, and how many outputs the program cut."""

    path: Path
    differences: set[str]
    cut: int


def resume(harness: str, version: str, files: Sequence[Path], cache: Path) -> list[Resumed]:
    """Resume files, and compare each with the context of its session's newest leaf. Raises `InstallError`."""
    install(harness, version, cache)
    with tempfile.TemporaryDirectory(prefix="refold-wire-") as folder:
        command = [
            sys.executable,
            "-m",
            "tests.wire.run",
            harness,
            version,
            folder,
            "--resume",
            *map(str, files),
        ]
        subprocess.run(command, env={**os.environ, CACHE: str(cache)}, check=False)
        return [compared(path, Path(folder) / path.stem / "requests.jsonl") for path in files]


def compared(path: Path, requests: Path) -> Resumed:
    """Compare the request of a resumed file with its context."""
    log = MemoryLog()
    imported = import_sessions(log, path)
    with log.snapshot() as snapshot:
        context = context_at(snapshot, resolve_cursor(snapshot, imported[0].id))
    request = next((each for each in requests_in(requests) if each["rule"] == "main"), None)
    if request is None:
        return Resumed(path, {NO_REQUEST}, 0)
    body, cut = with_whole_outputs(request["body"], context)
    its = format_of(imported[0].format).name
    if its == "oh-my-pi":
        body = with_private_characters(body)
    sent = request_blocks(request["api"], body)
    built = as_held_by(request["api"], context_blocks(context, 0))
    for remove in GAPS.values():
        sent = remove(sent, recorded_in([path]))
    built = with_thoughts_as_sent(its, built, context, request["body"].get("model", ""))
    sent, built = (as_added(its, request["api"], blocks) for blocks in (sent, built))
    added = sent[len(built) :]
    differences = kinds_of_differences(sent[: len(built)], built)
    is_said = all((each.role, each.kind) == ("user", "text") for each in added)
    if not is_said or not any(RESUMING in each.text for each in added):
        differences.add(AFTER)
    return Resumed(path, differences, cut)


def with_private_characters(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request with the characters of private use whose numbers oh-my-pi writes, and explains."""
    text = _EXPLAINED.sub("", json.dumps(body, ensure_ascii=False))
    text = _PRIVATE.sub(lambda found: chr(int(found[1], 16)), text)
    found: dict[str, Any] = json.loads(text)
    return found


def with_thoughts_as_sent(
    harness: str, blocks: Sequence[Block], context: Context, model: str
) -> Sequence[Block]:
    """Return blocks with the thoughts of other models as two programs send them, which keep them in their files.

    Claude Code sends none of them, oh-my-pi those with a text, without a seal.
    """
    if harness not in ("claude-code", "oh-my-pi"):
        return blocks
    others = {
        seal_in(block.signature)
        for view in map(view_of_part, context.parts)
        if view.role == "assistant" and view.model != model
        for block in view.blocks
        if isinstance(block, Thinking)
    }
    return [
        block._replace(name="") if is_others else block
        for block in blocks
        if not (is_others := block.kind == "thinking" and block.name in others)
        or (harness == "oh-my-pi" and block.text)
    ]


def as_added(harness: str, api: str, blocks: Sequence[Block]) -> list[Block]:
    """Return blocks without what a program adds, or leaves out, when it resumes any session; see `ADDITIONS`."""
    found = [*blocks]
    for name, change in ADDITIONS:
        if name == harness:
            found = change(api, found)
    return found


def _parted(_: str, blocks: Sequence[Block]) -> list[Block]:
    """Drop line ends at the end of a text: Claude Code parts a user's text from the next by one."""
    following = [*blocks[1:], None]
    return [
        block._replace(text=block.text.rstrip("\n"))
        if _is_said(block) and (behind is None or _is_said(behind))
        else block
        for block, behind in zip(blocks, following, strict=True)
    ]


def _is_said(block: Block) -> bool:
    return (block.role, block.kind) == ("user", "text")


def _answered(_: str, blocks: Sequence[Block]) -> list[Block]:
    """Drop the answer that Claude Code puts between a prompt without one and the next."""
    return [block for block in blocks if (block.role, block.text) != ("assistant", "No response requested.")]


def _without_picture_text(_: str, blocks: Sequence[Block]) -> list[Block]:
    """Drop the text that pi puts into a result that is only an image."""
    mark = ["text", "(see attached image)", ""]
    return [
        block._replace(text=json.dumps([each for each in json.loads(block.text) if each != mark]))
        if block.kind == "result"
        else block
        for block in blocks
    ]


def _without_introduction(_: str, blocks: Sequence[Block]) -> list[Block]:
    """Drop the sentence above a summary: of a summary by refold, each has its own."""
    return [
        block._replace(text=block.text[max(block.text.find("\n\n<summary>\n"), 0) :])
        if _is_said(block)
        else block
        for block in blocks
    ]


def _without_continuations(_: str, blocks: Sequence[Block]) -> list[Block]:
    """Drop the text that oh-my-pi puts between two answers."""
    return [block for block in blocks if block != Block("user", "text", "Continue.")]


def _without_empty_texts(_: str, blocks: Sequence[Block]) -> list[Block]:
    """Drop empty texts, which Google's models have beside calls, and oh-my-pi sends to no other."""
    return [block for block in blocks if block.kind != "text" or block.text]


def _without_thoughts(api: str, blocks: Sequence[Block]) -> list[Block]:
    """Drop thoughts of the Responses API, which oh-my-pi leaves out of a process's first request."""
    return [block for block in blocks if api != "responses" or block.kind != "thinking"]


ADDITIONS: Final = (
    ("claude-code", _parted),
    ("claude-code", _answered),
    ("pi", _without_picture_text),
    ("pi", _without_introduction),
    ("oh-my-pi", _without_picture_text),
    ("oh-my-pi", _without_thoughts),
    ("oh-my-pi", _without_continuations),
    ("oh-my-pi", _without_empty_texts),
)
"""The closed list of what programs do to sessions that they resume, whoever wrote these."""


def with_whole_outputs(body: dict[str, Any], context: Context) -> tuple[dict[str, Any], int]:
    """Return a request with the outputs whole that Codex cut, and their number.

    What is left of an output has to be the beginning and the end of the recorded one.
    """
    recorded = json.loads(harness_json(context)).get("input", ())
    outputs = {(each.get("type"), each.get("call_id")): each.get("output") for each in recorded}
    items, cut = list(body.get("input", ())), 0
    for place, item in enumerate(items):
        whole, output = outputs.get((item.get("type"), item.get("call_id"))), item.get("output")
        if whole != output and isinstance(whole, str) and isinstance(output, str) and _is_cut(output, whole):
            items[place] = {**item, "output": whole}
            cut += 1
    return ({**body, "input": items} if cut else body), cut


def _is_cut(output: str, whole: str) -> bool:
    return any(
        whole.startswith(output[: mark.start()]) and whole.endswith(output[mark.end() :])
        for mark in _CUT.finditer(output)
    )


def main() -> int:
    """Resume the files of the command line; return 1 if a request differs."""
    harness, *named = sys.argv[1:] or ("",)
    if harness not in RELEASES:
        sys.stdout.write((__doc__ or "").strip() + "\n")
        return 2
    if not can_run():
        sys.stdout.write("nothing was resumed: it needs npm, and Linux with namespaces (unshare)\n")
        return 1
    files = sorted(map(Path, named)) or sorted((corpus_folder() / harness).iterdir())
    version = RELEASES[harness][-1]
    try:
        found = resume(harness, version, [path.resolve() for path in files], cache_folder())
    except InstallError as error:
        sys.stdout.write(f"{harness} {version} was not installed: {error}\n")
        return 1
    for each in found:
        named_kinds = ", ".join(sorted(each.differences)) or "equal"
        sys.stdout.write(f"{each.path.name}: {named_kinds}; {each.cut} outputs cut\n")
    equal = sum(not each.differences for each in found)
    sys.stdout.write(f"{harness} {version}: {len(found)} resumed, {equal} equal\n")
    return int(equal < len(found))


if __name__ == "__main__":
    sys.exit(main())
