"""Compare the contexts that refold builds with the requests that a program sent, block for block, within one run.

A context is equal to its request if roles and blocks are the same once gaps are removed from the request, and from the
context what the API cannot hold. The list of gaps is closed, and each is found without a look at the other side.
Everything else is a difference, named after its blocks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, NamedTuple

from eventstore.harnesses.claude_code.attachments import NAMES
from tests.wire.blocks import REWRITTEN, Block, as_held_by, request_blocks
from tests.wire.contexts import contexts_in
from tests.wire.masking import mask
from tests.wire.recording import requests_in

Recorded = Callable[[str], bool]
"""Return True if a text is in a record of the run's session files."""
Gap = Callable[[Sequence[Block], Recorded], list[Block]]
"""Remove one kind of gap from the blocks of a request."""

OTHER: Final = "≠"
ONLY_SENT: Final = "\N{MINUS SIGN}"
ONLY_BUILT: Final = "+"
"""Marks of a kind of blocks that differs: on both sides, only in the request, only in the context."""
_REMINDER: Final = re.compile(
    r"\s*<system-reminder>\n?((?:<system-reminder>.*?</system-reminder>|(?!</?system-reminder>).)*?)"
    r"\n?</system-reminder>\s*",
    re.DOTALL,
)
_MADE_UP: Final = re.compile(f"(?:{'|'.join(NAMES)}):(?:\n|$)".replace("_", " "))
"""The beginning of refold's own words around an attachment of Claude Code, where no record has the program's."""
_NOTICE: Final = re.compile("<task-notification>.*</task-notification>", re.DOTALL)
_PROMPT: Final = re.compile(r"<system-reminder>\n[^\n]+\n([^\n]+\n?)\n\n[^\n]+\n</system-reminder>")
_IMAGES_OF_RESULTS: Final = (
    mask("Attached image(s) from tool result:"),
    mask("Attached media from tool result:"),
)
_QUESTION: Final = "[#667d07149942-"
"""The digest of the first line of Codex's prompt for a summary."""
_SUMMARY: Final = re.compile(r"\(summary \d\)|# Handoff \d")
"""Words that only the scripted summaries have."""


def without_reminders(blocks: Sequence[Block], is_recorded: Recorded) -> list[Block]:
    """Remove reminders whose text is in no record."""
    return _without(blocks, lambda words: not is_recorded(words))


def without_made_up(blocks: Sequence[Block]) -> list[Block]:
    """Remove attachments of a context whose words no record has."""
    return _without(blocks, lambda words: bool(_MADE_UP.match(words)))


def _without(blocks: Sequence[Block], is_gap: Callable[[str], bool]) -> list[Block]:
    """Remove reminders with such words, also from texts and results that they were joined to."""

    def left(found: re.Match[str]) -> str:
        return "" if is_gap(found[1].strip()) else found[0]

    kept = []
    for block in blocks:
        if block.kind == "text":
            text = _REMINDER.sub(left, block.text)
            if text or not block.text:
                kept.append(block._replace(text=text))
        elif block.kind == "result" and block.text != REWRITTEN:
            state, *content = json.loads(block.text)
            texts = [
                [kind, _REMINDER.sub(left, text) if kind == "text" else text, name]
                for kind, text, name in content
            ]
            encoded = json.dumps([state, *(each for each in texts if each[1])], ensure_ascii=False)
            kept.append(block._replace(text=encoded))
        else:
            kept.append(block)
    return kept


def without_words_around_notices(blocks: Sequence[Block], is_recorded: Recorded) -> list[Block]:
    """Remove what a text says around a notice of a task in the background."""
    return [
        block._replace(text=found[0])
        if block.kind == "text" and (found := _NOTICE.search(block.text)) and not is_recorded(block.text)
        else block
        for block in blocks
    ]


def without_words_around_prompts(blocks: Sequence[Block], is_recorded: Recorded) -> list[Block]:
    """Remove what a reminder says in the lines before and behind a recorded prompt that it holds."""
    found = [_PROMPT.fullmatch(block.text) if block.kind == "text" else None for block in blocks]
    return [
        block._replace(text=held[1]) if held and is_recorded(held[1]) and not is_recorded(held[0]) else block
        for block, held in zip(blocks, found, strict=True)
    ]


def without_tool_prefixes(blocks: Sequence[Block], _: Recorded) -> list[Block]:
    """Remove the underscore that oh-my-pi puts before the names of all its tools, for some providers."""
    if not all(block.text.startswith("_") for block in blocks if block.kind == "call"):
        return [*blocks]
    return [
        block._replace(text=block.text.removeprefix("_")) if block.kind == "call" else block
        for block in blocks
    ]


def without_images_of_results(blocks: Sequence[Block], _: Recorded) -> list[Block]:
    """Remove images that follow their results, because Chat Completions has none in results."""
    kept: list[Block] = []
    is_after = False
    for block in blocks:
        if block.text in _IMAGES_OF_RESULTS:
            is_after = True
        elif block.kind != "image" or not is_after:
            is_after = False
            kept.append(block)
    return kept


def without_question(blocks: Sequence[Block], _: Recorded) -> list[Block]:
    """Remove Codex's question for a summary: a text, or a mark for the provider, at the end."""
    ends_with = blocks[-1] if blocks else None
    is_question = ends_with is not None and (
        ends_with.kind == "compaction_trigger" or ends_with.text.startswith(_QUESTION)
    )
    return [*blocks[:-1]] if is_question else [*blocks]


GAPS: Final[dict[str, Gap]] = {
    "words of a reminder around a prompt that it holds": without_words_around_prompts,
    "a reminder that no record has": without_reminders,
    "words around a notice that no record has": without_words_around_notices,
    "an underscore before names of tools": without_tool_prefixes,
    "images of results, sent after them": without_images_of_results,
    "Codex's question for a summary": without_question,
}
"""The closed list of gaps that are no differences."""


class Counts(NamedTuple):
    """The result of a run: its requests, those compared, those equal, and kinds of differences.

    A request is compared if a record has its answer, and refold reads the harness's files. A kind of difference counts
    the requests that have it.
    """

    requests: int
    compared: int
    equal: int
    differences: Counter[str]

    @property
    def different(self) -> int:
        return self.compared - self.equal


def compare(run: Path, scenario: str = "*") -> Counts:
    """Compare the scenarios of a run, or one: a folder each, with `requests.jsonl` and `sessions`."""
    requests = compared = equal = 0
    differences: Counter[str] = Counter()
    for folder in sorted(path.parent for path in run.glob(f"{scenario}/requests.jsonl")):
        contexts = contexts_in(folder / "sessions")
        is_recorded = recorded_in(sorted((folder / "sessions").rglob("*.jsonl")))
        for request in requests_in(folder / "requests.jsonl"):
            requests += 1
            if request["answer"] in contexts:
                compared += 1
                found = differences_of(request, contexts[request["answer"]], is_recorded)
                equal += not found
                differences.update(found)
    return Counts(requests, compared, equal, differences)


def differences_of(request: dict[str, Any], context: Sequence[Block], is_recorded: Recorded) -> set[str]:
    """Return the kinds of differences between a request and a context; empty if they are equal."""
    sent = request_blocks(request["api"], request["body"])
    built = without_made_up(as_held_by(request["api"], context))
    for remove in GAPS.values():
        sent = remove(sent, is_recorded)
    return kinds_of_differences(_as_rewritten(sent, built), built)


def _as_rewritten(sent: Sequence[Block], built: Sequence[Block]) -> list[Block]:
    """Return the blocks of a request without the words of results that the harness rewrote after it.

    No record has them any more, which refold names as a gap.
    """
    rewritten = {block.name for block in built if block.text == REWRITTEN}
    return [
        block._replace(text=REWRITTEN) if block.kind == "result" and block.name in rewritten else block
        for block in sent
    ]


def kinds_of_differences(sent: Sequence[Block], built: Sequence[Block]) -> set[str]:
    """Return the kinds of blocks that differ."""
    return set(_kinds(sent, built))


def _kinds(sent: Sequence[Block], built: Sequence[Block]) -> Iterator[str]:
    matcher = SequenceMatcher(None, sent, built, autojunk=False)
    for change, sent_from, sent_to, built_from, built_to in matcher.get_opcodes():
        if change != "equal":
            of_sent = {_label(block) for block in sent[sent_from:sent_to]}
            of_built = {_label(block) for block in built[built_from:built_to]}
            yield from (f"{label} {OTHER}" for label in of_sent & of_built)
            yield from (f"{label} {ONLY_SENT}" for label in of_sent - of_built)
            yield from (f"{label} {ONLY_BUILT}" for label in of_built - of_sent)


def _label(block: Block) -> str:
    if block.kind == "text" and _SUMMARY.search(block.text):
        return "summaries"
    if "<system-reminder>" in block.text:
        return "reminders" if block.kind == "text" else "results with reminders"
    plurals = {"text": "texts", "call": "calls", "result": "results", "image": "images"}
    return plurals.get(block.kind, block.kind)


def recorded_in(paths: Sequence[Path]) -> Recorded:
    """Return the test for texts of session files: JSON lines, or one document of JSON."""
    texts: list[str] = []
    for path in paths:
        written = path.read_text("utf-8")
        for record in [written] if path.suffix == ".json" else written.splitlines():
            texts += _strings(mask(json.loads(record)))
    everything = "\n".join(texts)
    return lambda text: text in everything


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        with suppress(ValueError):
            # A row of a database has its fields as JSON.
            yield from _strings(json.loads(value)) if value.startswith("{") else ()
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
