"""Requests of resumed sessions are compared with contexts; with the programs at hand, they are equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from projections.context.build import context_at, harness_json
from projections.context.cursor import resolve_cursor
from tests.support.contexts import context_of
from tests.support.talk import assistant, thinking, user
from tests.wire.blocks import Block
from tests.wire.export import export
from tests.wire.install import RELEASES, InstallError, cache_folder
from tests.wire.recording import fixture, unpacked
from tests.wire.resume import (
    AFTER,
    HARNESSES,
    NO_REQUEST,
    Resumed,
    as_added,
    compared,
    resume,
    with_private_characters,
    with_thoughts_as_sent,
)
from tests.wire.run import can_run
from tests.wire.scenarios.common import RESUMING
from tests.wire.scenarios.pi import model_in

Json = dict[str, Any]
ITEM = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}'
PROMPT = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": RESUMING}],
}
FEW = 3
"""Files of each program that the test resumes: the smallest."""


@pytest.fixture(scope="module")
def rollout() -> Iterator[Path]:
    """A recorded thread of Codex."""
    with unpacked(fixture("codex", "0.169.0")) as run:
        (path,) = (run / "tools").glob("sessions/**/*.jsonl")
        yield path


@pytest.fixture
def items(rollout: Path) -> list[Json]:
    """The items of the thread's context."""
    log = MemoryLog()
    (imported,) = import_sessions(log, rollout)
    with log.snapshot() as snapshot:
        context = context_at(snapshot, resolve_cursor(snapshot, imported.id))
    found: list[Json] = json.loads(harness_json(context))["input"]
    return found


def sent(rollout: Path, folder: Path, *items: Json, rule: str = "main") -> Resumed:
    request = {"number": 1, "rule": rule, "answer": "", "api": "responses", "body": {"input": items}}
    path = folder / "requests.jsonl"
    path.write_text(json.dumps(request) + "\n")
    return compared(rollout, path)


def test_a_context_and_a_prompt_are_equal(rollout: Path, items: list[Json], tmp_path: Path) -> None:
    assert sent(rollout, tmp_path, *items, PROMPT) == Resumed(rollout, set(), 0)


def test_other_requests_than_the_answer_count_not(rollout: Path, items: list[Json], tmp_path: Path) -> None:
    assert sent(rollout, tmp_path, *items, PROMPT, rule="title").differences == {NO_REQUEST}


def test_missing_and_added_items_are_seen(rollout: Path, items: list[Json], tmp_path: Path) -> None:
    assert sent(rollout, tmp_path, *items[:-1], PROMPT).differences == {"texts \N{NOT EQUAL TO}", AFTER}
    assert sent(rollout, tmp_path, *items).differences == {AFTER}
    assert sent(rollout, tmp_path, *items, items[-1], PROMPT).differences == {AFTER}


def test_a_cut_output_keeps_its_ends(rollout: Path, items: list[Json], tmp_path: Path) -> None:
    place = next(n for n, each in enumerate(items) if len(str(each.get("output", ""))) > 1)
    whole = str(items[place]["output"])
    for kept, differs in ((whole[-1:], set[str]()), ("~", {"results \N{NOT EQUAL TO}"})):
        cut = {**items[place], "output": f"{whole[:1]}…{len(whole)} chars truncated…{kept}"}
        found = sent(rollout, tmp_path, *items[:place], cut, *items[place + 1 :], PROMPT)
        assert found == Resumed(rollout, differs, int(not differs))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("harness", HARNESSES)
def test_programs_send_contexts_of_real_files(corpus: Path, harness: str) -> None:
    if not can_run():
        pytest.skip("needs npm, and Linux with namespaces (unshare)")
    files = sorted((corpus / harness).iterdir(), key=lambda path: path.stat().st_size)[:FEW]
    try:
        found = resume(harness, RELEASES[harness][-1], files, cache_folder())
    except InstallError as error:
        pytest.skip(f"the program was not installed: {error}")
    assert {each.path.name: each.differences for each in found} == {path.name: set() for path in files}


def test_a_program_adds_only_listed_content() -> None:
    prompt = [Block("user", "text", "go\n"), Block("user", "text", "Where were we?")]
    answer = Block("assistant", "text", "No response requested.")
    assert as_added("claude-code", "messages", prompt)[0].text == "go"
    assert len(as_added("claude-code", "messages", [prompt[0], answer, prompt[1]])) == 2
    assert as_added("pi", "messages", [*prompt, answer]) == [*prompt, answer]
    picture = Block(
        "user", "result", '[false, ["text", "(see attached image)", ""], ["image", "d", "image/png"]]'
    )
    assert "attached" not in as_added("pi", "messages", [picture])[0].text
    thought = Block("assistant", "thinking", "Hm.", "seal")
    assert as_added("oh-my-pi", "responses", [thought]) == []
    assert as_added("oh-my-pi", "messages", [thought]) == [thought]
    assert as_added("oh-my-pi", "messages", [Block("assistant", "text", "")]) == []
    again = Block("user", "text", "Continue.")
    assert as_added("oh-my-pi", "messages", [answer, again, answer]) == [answer, answer]
    assert with_private_characters({"input": "a ⟦Ue7e5⟧\n<glyph-tokens>\nit\n</glyph-tokens>"}) == {
        "input": "a \ue7e5"
    }
    summary = Block("user", "text", "Said so:\n\n<summary>\nit\n</summary>")
    assert as_added("pi", "messages", [summary])[0].text == "\n\n<summary>\nit\n</summary>"


def test_two_programs_send_no_seals_of_others() -> None:
    seals = ("seal", ITEM)
    context = context_of(
        user("go"), *(assistant(thinking("Hm.", thinkingSignature=each), model="a") for each in seals)
    )
    empty, hm, item = blocks = [
        Block("assistant", "thinking", text, seal)
        for text, seal in (("", "seal"), ("Hm.", "seal"), ("Hm.", "sealed"))
    ]
    assert all(with_thoughts_as_sent(each, blocks, context, "a") == blocks for each in RELEASES)
    assert with_thoughts_as_sent("claude-code", blocks, context, "b") == []
    unsealed = [each._replace(name="") for each in (hm, item)]
    assert with_thoughts_as_sent("oh-my-pi", [empty, *blocks], context, "b") == unsealed
    assert with_thoughts_as_sent("opencode", blocks, context, "b") == blocks


def test_pi_goes_on_with_served_models(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"

    def answers(*apis: str) -> str:
        made = ({"role": "assistant", "api": api, "provider": "p", "model": f"m-{api}"} for api in apis)
        return "".join(json.dumps({"type": "message", "message": each}) + "\n" for each in made)

    path.write_text(answers("openai-responses", "google-gemini-cli"))
    assert model_in(path) == ("p", "m-openai-responses", "openai-responses")
    path.write_text(answers("google-gemini-cli"))
    assert model_in(path) == ("stub", "stub-1", "anthropic-messages")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("form", RELEASES)
@pytest.mark.parametrize("of_corpus", [False, True])
def test_programs_resume_exported_sessions(
    form: str, *, of_corpus: bool, request: pytest.FixtureRequest
) -> None:
    if of_corpus:
        request.getfixturevalue("corpus")
    if not can_run():
        pytest.skip("needs npm, and Linux with namespaces (unshare)")
    try:
        found = export(form, RELEASES[form][-1], cache_folder(), of_corpus=of_corpus)
    except InstallError as error:
        pytest.skip(f"the program was not installed: {error}")
    assert {each.path.stem: each.differences for each in found} == {each.path.stem: set() for each in found}
