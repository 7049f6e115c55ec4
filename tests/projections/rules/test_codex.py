"""Contexts of Codex's sessions are what it sent, and what a fold of its records alone gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from eventstore import open_store
from eventstore.event import Event
from eventstore.files.importing import import_sessions
from eventstore.harnesses import node_of
from eventstore.memory import MemoryLog
from projections.audit.calls import session_calls
from projections.audit.session import audit
from projections.context.build import build_context, context_at, context_json
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.context.parts import Context
from projections.requests.anthropic import render
from projections.rules import rules_named
from projections.rules.base import TOOL_DEFINITIONS
from projections.rules.codex import BASE_INSTRUCTIONS, CUT_OUTPUT, SEALED
from projections.usage import answers
from tests.support import codex
from tests.support.events import events
from tests.support.validator import validate

Json = dict[str, Any]
BASE, OWN = codex.THREAD, "01a22150-4fbe-7e00-83d1-034094e56470"


def bring(log: MemoryLog, folder: Path, content: bytes, name: str = codex.name_of()) -> str:
    (folder / name).write_bytes(content)
    return import_sessions(log, folder / name)[0].id


def items(context: Context) -> list[Json]:
    return [json.loads(part.raw) for part in context.parts]


def said_in(log: MemoryLog, session: str, leaf: str | None = None) -> list[str]:
    """Return the texts in a context, by each way to build it."""
    context = build_context(log, session, leaf=leaf)
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session, leaf=leaf)
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        assert along.context_at(cursor.leaf).parts == context.parts
    return [_text(each) for each in json.loads(context_json(log, session, leaf=leaf))["input"]]


def _text(item: Json) -> str:
    content = item.get("content", item.get("output", item.get("name")))
    return content if isinstance(content, str) else "".join(part["text"] for part in content or ())


@pytest.mark.slow
def test_corpus_contexts_equal_a_plain_fold(corpus: Path, tmp_path: Path) -> None:
    compared = 0
    for file in sorted(corpus.glob("codex/*.jsonl")):
        with ExitStack() as stack:
            log = stack.enter_context(open_store(tmp_path / file.stem))
            (imported,) = import_sessions(log, file)
            made = events(log, imported.id)
            entries = [each for each in made if each.is_entry and not each.is_own]
            snapshot = stack.enter_context(log.snapshot())
            cursor = resolve_cursor(snapshot, imported.id)
            along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
            for entry in (*entries[::20], entries[-1]):
                context = context_at(snapshot, cursor.at_leaf(entry.seq))
                assert items(context) == folded(made, entry.seq), (file, entry.id)
                assert along.context_at(entry.seq) == context
                compared += 1
    assert compared > 200


def folded(made: Sequence[Event], last: int) -> list[Json]:
    history: list[Json] = []
    for record in (json.loads(each.body) for each in made[:last] if not each.is_own):
        payload = record["payload"]
        if record["type"] == "response_item" and payload["type"] != "ghost_snapshot":
            history.append(payload)
        elif record["type"] == "compacted":
            history = payload["replacement_history"]
    return history


def test_corpus_requests_are_valid(corpus: Path, tmp_path: Path) -> None:
    for file in sorted(corpus.glob("codex/*.jsonl")):
        with open_store(tmp_path / file.stem) as log:
            (imported,) = import_sessions(log, file)
            rendered = render(build_context(log, imported.id, readable=True), model="claude-opus-4-5")
        assert validate(rendered.body) == []


def test_calls_of_rollouts_add_up_to_their_totals(corpus: Path) -> None:
    for file in sorted(corpus.glob("codex/*.jsonl")):
        log = MemoryLog()
        (imported,) = import_sessions(log, file)
        with log.snapshot() as snapshot:
            calls = session_calls(answers(snapshot, resolve_cursor(snapshot, imported.id)))
        payloads = [json.loads(line)["payload"] for line in file.read_bytes().splitlines()]
        counts = [each["info"] for each in payloads if each.get("type") == "token_count" and each["info"]]
        total = counts[-1]["total_token_usage"]
        assert sum(call.usage.output for call in calls) == total["output_tokens"], file
        assert sum(call.usage.prompt for call in calls) == total["input_tokens"], file


def test_rolled_back_compactions_are_no_base(tmp_path: Path) -> None:
    log = MemoryLog()
    content = codex.rollout(
        *(codex.said("one"), codex.answered("1"), codex.said("two"), codex.answered("2")),
        *(codex.compacted("", codex.said("kept")), codex.answered("3")),
        *(codex.event("thread_rolled_back", num_turns=1), codex.said("other")),
    )
    assert said_in(log, bring(log, tmp_path, content)) == ["one", "1", "other"]


@pytest.mark.parametrize(
    "history", [[], [codex.said("kept"), codex.item("compaction", encrypted_content="x" * 4000)]]
)
def test_compactions_show_exactly_their_history(history: list[Json], tmp_path: Path) -> None:
    log = MemoryLog()
    session = bring(
        log, tmp_path, codex.rollout(codex.said("one"), codex.compacted("", *history), codex.said("two"))
    )
    assert items(build_context(log, session)) == [*history, codex.said("two")]


def test_compactions_without_history_keep_what_users_said(tmp_path: Path) -> None:
    log = MemoryLog()
    content = codex.rollout(
        *(codex.said("old"), codex.said("a" * 100_000), codex.answered("1"), codex.said("new")),
        *(codex.line("compacted", {"message": "short"}), codex.said("two")),
    )
    session = bring(log, tmp_path, content)
    cut, *others = said_in(log, session)
    assert others == ["new", "short", "two"]
    assert (cut[:5], cut[-5:], "…5001 tokens truncated…" in cut) == ("aaaaa", "aaaaa", True)
    assert len(cut) == 4 * 19_999 + len("…5001 tokens truncated…")


@pytest.mark.parametrize("has_base", [True, False])
def test_a_file_goes_on_from_another(has_base: bool, tmp_path: Path) -> None:  # noqa: FBT001
    log = MemoryLog()
    base = [codex.said("one"), codex.answered("1"), codex.said("two"), codex.answered("2")]
    meta = {"id": BASE, "history_base": {"thread_id": BASE, "end_ordinal_exclusive": 3}}
    own = codex.paginated(("session_meta", meta), *codex.of_items(codex.said("other")), first=3)
    session = bring(log, tmp_path, own, codex.name_of(rollout=OWN))
    if has_base:
        bring(log, tmp_path, codex.paginated(("session_meta", {"id": BASE}), *codex.of_items(*base)))
    assert said_in(log, session) == (["one", "1", "other"] if has_base else ["other"])
    with log.snapshot() as snapshot:
        gaps = [each.what for each in rules_named("codex").gaps(snapshot, entries_of(log, session))]
    assert gaps == ([] if has_base else [f"history in rollout {BASE}, which the store lacks"])


def test_a_revert_of_a_revert_goes_on(tmp_path: Path) -> None:
    log, fork = MemoryLog(), "01a22150-6aaa-7e00-83d1-034094e56471"
    turns = [codex.said("one"), codex.answered("1"), codex.said("two"), codex.answered("2")]
    bring(log, tmp_path, codex.paginated(("session_meta", {"id": BASE}), *codex.of_items(*turns)))
    above, first = BASE, 3
    for rollout, said in ((OWN, "other"), (f"{OWN[:-1]}1", "third"), ("", "forked")):
        base = {"thread_id": above, "end_ordinal_exclusive": first}
        meta = {"id": BASE, "history_base": base} if rollout else {"id": fork, "history_base": base}
        own = codex.paginated(("session_meta", meta), *codex.of_items(codex.said(said)), first=first)
        name = codex.name_of(rollout=rollout) if rollout else codex.name_of(fork)
        session = bring(log, tmp_path, own, name)
        above, first = rollout, first + 2
    assert said_in(log, session) == ["one", "1", "other", "third", "forked"]
    with log.snapshot() as snapshot:
        assert not list(rules_named("codex").gaps(snapshot, entries_of(log, session)))


def test_edited_base_instructions_are_a_gap(tmp_path: Path) -> None:
    log = MemoryLog()
    counted = [codex.line("token_usage_record", {"usage": codex.usage(5_000 + 100 * at)}) for at in range(2)]
    content = codex.rollout(
        *(codex.said("a" * 400), codex.answered("1"), counted[0]),
        *(codex.said("b" * 396), codex.answered("2"), counted[1]),
    )
    content = codex.meta(base_instructions={"text": "as recorded"}) + content.partition(b"\n")[2]
    (gap, *others) = audit(log, bring(log, tmp_path, content)).gaps
    assert gap.what == f"{BASE_INSTRUCTIONS} and {TOOL_DEFINITIONS}"
    assert (gap.tokens, others) == (4_900, [])


def entries_of(log: MemoryLog, session: str) -> Any:
    return [each for each in events(log, session) if each.is_entry]


def test_a_changed_base_is_a_gap(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path, codex.paginated(("session_meta", {"id": BASE})))
    meta = {"id": BASE, "history_base": {"thread_id": BASE, "end_ordinal_exclusive": 9}}
    own = codex.paginated(("session_meta", meta), *codex.of_items(codex.said("other")), first=9)
    session = bring(log, tmp_path, own, codex.name_of(rollout=OWN))
    assert said_in(log, session) == ["other"]
    assert any(gap.what.startswith("history in rollout") for gap in audit(log, session).gaps)


def test_calls_without_an_output_were_aborted(tmp_path: Path) -> None:
    log = MemoryLog()
    custom = codex.item("custom_tool_call", name="apply_patch", input="x", call_id="k2")
    content = codex.rollout(
        codex.said("one"), codex.called("k1"), custom, codex.said("two"), codex.called("k3")
    )
    session = bring(log, tmp_path, content)
    assert said_in(log, session) == [
        "one",
        "exec_command",
        "aborted",
        "apply_patch",
        "aborted",
        "two",
        "exec_command",
    ]
    made = items(build_context(log, session))
    assert made[4] == codex.output("k2", "aborted", "custom_tool_call_output")
    assert validate(render(build_context(log, session), model="claude-opus-4-5").body) == []


def test_outputs_without_a_call_go(tmp_path: Path) -> None:
    log = MemoryLog()
    content = codex.rollout(codex.said("one"), codex.output("k1"), codex.said("two"))
    assert said_in(log, bring(log, tmp_path, content)) == ["one", "two"]


def test_late_outputs_are_still_outputs(tmp_path: Path) -> None:
    log = MemoryLog()
    content = codex.rollout(
        codex.said("one"), codex.called("k1"), codex.said("two"), codex.output("k1", "late")
    )
    session = bring(log, tmp_path, content)
    assert said_in(log, session) == ["one", "exec_command", "two", "late"]
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        entries = path(snapshot, cursor)
        along = IncrementalContexts(snapshot, cursor, entries)
        for entry in entries:
            assert along.context_at(entry.seq) == context_at(snapshot, cursor.at_leaf(entry.seq))


def test_what_codex_notes_in_items_is_not_sent(tmp_path: Path) -> None:
    log = MemoryLog()
    noted = codex.said("one", internal_chat_message_metadata_passthrough={"turn_id": "t"}, metadata={})
    session = bring(log, tmp_path, codex.rollout(noted))
    assert json.loads(context_json(log, session))["input"] == [codex.said("one")]


@pytest.mark.parametrize(("allowance", "tokens"), [(3000, -7000), (None, None), (20_000, 0)])
def test_long_outputs_are_gaps(allowance: int | None, tokens: int | None, tmp_path: Path) -> None:
    log = MemoryLog()
    length = 40_000 if allowance else 60_000
    about = {"fallback_token_limit_override": allowance} if allowance else {}
    content = codex.rollout(codex.called("k")) + codex.line(
        "response_item", codex.output("k", "x" * length), metadata=about
    )
    session = bring(log, tmp_path, content)
    with log.snapshot() as snapshot:
        found = list(rules_named("codex").gaps(snapshot, entries_of(log, session)))
    assert [(each.what, each.tokens) for each in found] == ([(CUT_OUTPUT, tokens)] if tokens != 0 else [])


def test_encrypted_histories_are_gaps_of_their_size(tmp_path: Path) -> None:
    log = MemoryLog()
    sealed = codex.item("compaction", encrypted_content="x" * 4000)
    session = bring(log, tmp_path, codex.rollout(codex.said("one"), codex.compacted("", sealed)))
    with log.snapshot() as snapshot:
        (gap,) = rules_named("codex").gaps(snapshot, entries_of(log, session))
    assert gap.tokens == (4000 * 3 // 4 - 650) // 4
    assert [part.role for part in build_context(log, session, readable=True).parts] == ["user"]


def test_encrypted_thoughts_are_a_gap(tmp_path: Path) -> None:
    log = MemoryLog()
    thought = codex.item("reasoning", summary=[], encrypted_content="x" * 4000)
    content = codex.rollout(thought, codex.compacted("A summary.", codex.said("kept")), thought, thought)
    session = bring(log, tmp_path, content)
    with log.snapshot() as snapshot:
        (gap,) = rules_named("codex").gaps(snapshot, entries_of(log, session))
    assert (gap.what, gap.tokens) == (SEALED, 2 * ((4000 * 3 // 4 - 650) // 4))


def test_sizes_are_of_what_was_sent(tmp_path: Path) -> None:
    log = MemoryLog()
    sealed = codex.item("compaction", encrypted_content="x" * 4000)
    content = codex.rollout(codex.said("a" * 400), codex.compacted("", codex.said("kept"), sealed))
    (compaction,) = audit(log, bring(log, tmp_path, content)).compactions
    size = compaction.metrics.size
    assert (size.removed, size.kept, size.added) == (100, 0, 1)
    messages = compaction.messages
    assert (messages.summarized, messages.kept, messages.uncovered) == (0, 0, 0)


def test_answers_have_the_model_of_their_turn(tmp_path: Path) -> None:
    log = MemoryLog()
    content = codex.rollout(
        codex.line("turn_context", {"model": "gpt-5.4", "effort": "high"}), codex.said("one")
    )
    session = bring(log, tmp_path, content)
    settings = build_context(log, session).settings
    assert (str(settings.model), settings.thinking_level) == ("openai/gpt-5.4", "high")
    assert node_of(events(log, session)[1]).settings is not None
