"""`python -m tests.labels.sample` draws the lines to label: the same ones every time.

Stratified over files and who speaks, then enriched with lines that hold what is easily taken for something else.
A line is drawn once, however often it is written.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.labels.corpus import corpus_folder
from tests.labels.reference import Reference, leaves, resolve

SEED: Final = "lines to label"
PER_STRATUM: Final = 13
PER_TRAP: Final = 9
SCRIPTS_PER_FILE: Final = 12
SCRIPT: Final = re.compile(r"/(?:command|cmd)$")
LONGEST: Final = 400
"""Longer lines are left out: a reader of them overlooks things."""

FILES: Final = {
    "claude-code/0708a5fa-snap3.jsonl": "claude-code",
    "claude-code/6113e919-3auto.jsonl": "claude-code",
    "claude-code/67d765b5-manual.jsonl": "claude-code",
    "claude-code/aefcb05b.jsonl": "claude-code",
    "claude-code/worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl": "claude-code",
    "claude-code/worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1/subagents/agent-a4ca7529859c158c2.jsonl": "claude-code",
    "codex/rollout-019d7d08-parent.jsonl": "codex",
    "codex/rollout-019d86e6-0.120.jsonl": "codex",
    "opencode/k1-first-300-messages.json": "opencode",
    "pi/pi-mono-before-compaction.v1.jsonl": "pi",
    "pi/pi-mono-large-session.v1.jsonl": "pi",
}
"""The files drawn from, each with its harness; of snapshots of one session the longest."""


class Place(NamedTuple):
    """Strings of a harness's records that are texts, and who speaks in them: a role, or a pointer to one."""

    pointer: re.Pattern[str]
    speaker: str


PLACES: Final = {
    "claude-code": [
        Place(re.compile(r"/message/content(?:/\d+/text)?"), "/message/role"),
        Place(re.compile(r"/message/content/\d+/thinking"), "model"),
        Place(re.compile(r"/message/content/\d+/input/.+"), "call"),
        Place(re.compile(r"/message/content/\d+/content(?:/\d+/text)?"), "result"),
    ],
    "codex": [
        Place(re.compile(r"/payload/content/\d+/text"), "/payload/role"),
        Place(re.compile(r"/payload/(?:arguments/.+|input)"), "call"),
        Place(re.compile(r"/payload/output"), "result"),
        Place(re.compile(r"/payload/replacement_history/\d+/content/\d+/text"), "summary"),
    ],
    "opencode": [
        Place(re.compile(r"(/messages/\d+)/parts/\d+/text"), "{0}/info/role"),
        Place(re.compile(r"/messages/\d+/parts/\d+/state/input/.+"), "call"),
        Place(re.compile(r"/messages/\d+/parts/\d+/state/output"), "result"),
    ],
    "pi": [
        Place(re.compile(r"/message/content(?:/\d+/text)?"), "/message/role"),
        Place(re.compile(r"/message/content/\d+/thinking"), "model"),
        Place(re.compile(r"/message/(?:content/\d+/arguments/.+|command)"), "call"),
        Place(re.compile(r"/message/output"), "result"),
        Place(re.compile(r"/summary"), "summary"),
    ],
}
SPEAKERS: Final = {"user": "person", "developer": "person", "assistant": "model", "toolResult": "result"}

TRAPS: Final = [
    re.compile(trap)
    for trap in (
        r"(?i)error|exception|fatal|panic",
        r"FAIL|[Ee]xit(?:ed)?\b.*\d|not found|No such|denied",
        r"(?<![\w&])#\d",
        r"\b[A-Z]{2,}-\d",
        r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b",
        r"\d ?(?:[KMG]i?B|ms|s|%|px|tokens|lines|files|minutes|hours|days|characters)\b",
        r"\b\d+\.\d+(?:\.\d+)?\b|\b\d{4}-\d\d-\d\d|\b\d\d:\d\d",
        r"(?<![\w/.])[a-z]+/[a-z]+(?![\w/.])",
        r"(?<!\S)/[a-z]+|</|//|/>",
        r"://|\b(?:com|org|io)\b",
        r"\w\\\w|[A-Z]:\\",
        r"(?<![\w.])[a-z]+\.[A-Za-z]+(?![\w(./])",
        r"\b(?:GitHub|TypeScript|JavaScript|Node\.js|macOS|OpenAI|e\.g|i\.e)\b",
        r"(?<![\w-])--[a-z]|@[a-z]+/",
        r"`\w+`",
        r"\b(?:toolu|call|msg|req|ses|chatcmpl)_\w{8}|[0-9a-f]{8}-[0-9a-f]{4}-",
        # And what is rare, so that there is enough of it.
        r"^\s*(?:Error|error|fatal|FAIL|--- FAIL|npm (?:ERR!|error)|E   )",
        r"error TS\d+|^\S+:\d+:\d+: |exited with code|[Ee]xit code",
        r"No such file|not found|denied|Exception|panic:|refused|rejected|Could not|Cannot",
        r"https?://\S+\.\S+",
        r"\b[0-9a-f]{7,12}\b|#\d+",
        r"\d ?(?:ms|s|KB|MB|%|bytes|seconds|minutes|insertions)\b",
    )
]


def texts(corpus: Path, file: str, harness: str) -> Iterator[tuple[Reference, str, str]]:
    """Every text of a file: a reference to its first line, who speaks, and the text."""
    content = (corpus / file).read_bytes()
    records = [content] if harness == "opencode" else content.split(b"\n")
    for number, line in enumerate(records, start=0 if harness == "opencode" else 1):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        for pointer, text in leaves(_opened(found)):
            speaker = _speaker(found, harness, pointer)
            if speaker:
                yield Reference(file, number, pointer, 0), speaker, text


def _opened(found: Any) -> Any:
    """A record with the JSON in the arguments of a codex call read."""
    payload = found.get("payload")
    if isinstance(payload, dict) and isinstance(payload.get("arguments"), str):
        return {"payload": payload | {"arguments": json.loads(payload["arguments"])}}
    return found


def _speaker(found: Any, harness: str, pointer: str) -> str:
    if found.get("isCompactSummary"):
        return "summary"
    for place in PLACES[harness]:
        match = place.pointer.fullmatch(pointer)
        if match and place.speaker.startswith(("/", "{")):
            to_role = place.speaker.format(*match.groups())
            if resolve(found, to_role.rpartition("/")[0]).get("summary") is True:
                return "summary"
            return SPEAKERS.get(resolve(found, to_role), "")
        if match:
            return place.speaker
    return ""


def draw(corpus: Path) -> list[Reference]:
    """The lines to label."""
    strata: dict[tuple[str, str], list[tuple[Reference, str]]] = defaultdict(list)
    for file, harness in FILES.items():
        for first, speaker, text in texts(corpus, file, harness):
            for number, line in enumerate(text.split("\n")):
                if len(line) <= LONGEST and re.search(r"[^\W_]", line):
                    reference = Reference(first.file, first.record, first.pointer, number)
                    strata[file, speaker].append((reference, line.strip()))
    dice = random.Random(SEED)
    drawn: dict[str, Reference] = {}
    everything = [each for stratum in strata.values() for each in stratum]
    pools = [(stratum, PER_STRATUM) for stratum in strata.values()]
    pools += [([each for each in everything if trap.search(each[1])], PER_TRAP) for trap in TRAPS]
    for pool, wanted in pools:
        target = len(drawn) + wanted
        for reference, line in dice.sample(pool, len(pool)):
            if len(drawn) == target:
                break
            drawn.setdefault(line, reference)
    return list(drawn.values())


def draw_scripts(corpus: Path) -> list[Reference]:
    """The scripts to label: of every file the same number, drawn from those that differ."""
    dice = random.Random(SEED)
    drawn: dict[str, Reference] = {}
    for file, harness in FILES.items():
        scripts = {
            text: reference
            for reference, speaker, text in texts(corpus, file, harness)
            if speaker == "call" and SCRIPT.search(reference.pointer) and text not in drawn
        }
        chosen = dice.sample(list(scripts), min(SCRIPTS_PER_FILE, len(scripts)))
        drawn.update((text, scripts[text]) for text in chosen)
    return list(drawn.values())


def main() -> None:
    corpus = corpus_folder()
    for reference in draw(corpus) + draw_scripts(corpus):
        sys.stdout.write(
            json.dumps([reference.file, reference.record, reference.pointer, reference.line]) + "\n"
        )


if __name__ == "__main__":
    main()
