"""Extractive summaries of real sessions, beside truncated conversations of the same length."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from compaction.part import Limits
from compaction.plan import plan_compaction
from compaction.policy.load import load_preset
from compaction.prompts import serialize, serialized_prompt
from compaction.summarizers.chain import SummarizerChain, never
from compaction.summarizers.extractive import MAX_TOKENS, ExtractiveSummarizer
from compaction.summary import summarize_plan
from eventstore.files.importing import import_file
from eventstore.log import Snapshot
from eventstore.memory import MemoryLog
from eventstore.node import SPLIT_TURN
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.context.parts import Part, view_of_part
from projections.replacement import replacement_of
from projections.tokens import counter
from tests.compaction.summarizers.prompts import template

FILES = ("pi-mono-before-compaction.v3.jsonl", "pi-mono-large-session.v1.jsonl")
POLICIES = ("pi", "oh-my-pi", "opencode", "layered")
QUARTERS = 4
KINDS = ("path", "command", "last line")
LONGEST = 290
"""Characters of a command or line that count: `extractive` cuts them a little later."""
LISTED = re.compile(r"^- (\S*/): (\S+(?:, \S+)*)$", re.MULTILINE)


class Boundary(NamedTuple):
    """Messages that a summary replaces, by name."""

    name: str
    parts: Sequence[Part]
    summary: str

    @property
    def truncated(self) -> str:
        """The beginning and the end of the conversation, together as long as the summary."""
        text, length = serialize(self.parts), len(self.summary)
        return (
            text if len(text) <= length else text[: length // 2] + text[len(text) - (length - length // 2) :]
        )


def recorded(snapshot: Snapshot, cursor: Cursor) -> Iterator[Boundary]:
    """The compactions of a session."""
    for entry in path(snapshot, cursor):
        if entry.kind == "compaction":
            removed = replacement_of(entry, snapshot, cursor).removed
            before = "".join(view_of_part(part).text for part in removed if part.kind == "compaction")
            parts = [part for part in removed if part.kind != "compaction"]
            asked = serialized_prompt(
                template("compaction-update" if before else "compaction"),
                parts,
                system="",
                max_tokens=MAX_TOKENS,
                previous=before,
            )
            summary = ExtractiveSummarizer().summarize(asked, is_cancelled=never).text
            yield Boundary(f"#{entry.seq} as recorded", parts, summary)


def made(snapshot: Snapshot, cursor: Cursor) -> Iterator[Boundary]:
    """The cuts of the policies at each quarter of a session."""
    entries = path(snapshot, cursor)
    for quarter in range(1, QUARTERS + 1):
        place = len(entries) * quarter // QUARTERS - 1
        # A request follows a person's message or a result.
        while entries[place].role in ("", "assistant"):
            place -= 1
        for name in POLICIES:
            policy = load_preset(name)
            tokens, here = counter(policy.counter), cursor.at_leaf(entries[place].seq)
            plan = plan_compaction(snapshot, here, policy, limits=Limits(window=200_000), tokens=tokens)
            if not isinstance(plan, str):
                chain = SummarizerChain(summarizers=[ExtractiveSummarizer()])
                summary = summarize_plan(plan, policy.prompting, chain, tokens=tokens).text
                yield Boundary(f"#{here.leaf} {name}", plan.to_summarize + plan.turn_prefix, summary)


@pytest.fixture(scope="module", params=FILES)
def boundaries(request: pytest.FixtureRequest, corpus: Path) -> list[Boundary]:
    log = MemoryLog()
    session = import_file(log, corpus / "pi" / request.param).id
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        return [*recorded(snapshot, cursor), *made(snapshot, cursor)]


def things(parts: Sequence[Part]) -> dict[str, set[str]]:
    """The paths and commands in the arguments of calls, and the last lines of failed results."""
    found: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for part in parts:
        message = json.loads(part.raw)
        for block in message["content"] if part.role == "assistant" else ():
            for kind in ("path", "command"):
                if text := block.get("arguments", {}).get(kind):
                    found[kind].add(" ".join(text.split())[:LONGEST])
        if message.get("isError"):
            lines = "".join(block.get("text", "") for block in message["content"]).strip().splitlines()
            found["last line"].update(" ".join(line.split())[:LONGEST] for line in lines[-1:])
    return found


def named(text: str, wanted: dict[str, set[str]]) -> dict[str, int]:
    """Count the things that a text names, by kind; lists of files by folder are read as paths."""
    text = LISTED.sub(lambda line: "\n".join(f"- {line[1]}{name}" for name in line[2].split(", ")), text)
    line = " ".join(text.split())
    return {
        kind: sum(each in line or json.dumps(each)[1:-1] in line for each in texts)
        for kind, texts in wanted.items()
    }


def test_there_are_boundaries_of_every_policy(boundaries: list[Boundary]) -> None:
    assert {boundary.name.split(maxsplit=1)[1] for boundary in boundaries} >= set(POLICIES)
    assert len({boundary.name for boundary in boundaries}) >= QUARTERS * len(POLICIES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_names_more_than_a_truncated_conversation(boundaries: list[Boundary], kind: str) -> None:
    """It names at least as many at each boundary, and more in all."""
    figures = {}
    for boundary in boundaries:
        wanted = things(boundary.parts)
        texts = (boundary.summary, boundary.truncated)
        figures[boundary.name] = (*(named(text, wanted)[kind] for text in texts), len(wanted[kind]))
    assert {name: each for name, each in figures.items() if each[0] < each[1]} == {}
    assert sum(ours for ours, _, _ in figures.values()) > sum(theirs for _, theirs, _ in figures.values())


def test_a_summary_has_at_most_its_tokens(boundaries: list[Boundary]) -> None:
    tokens = counter("o200k").of_text
    for boundary in boundaries:
        assert max(map(tokens, boundary.summary.split(SPLIT_TURN))) <= MAX_TOKENS
