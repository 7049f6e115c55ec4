"""Every command on a session of every harness: the same story, as each of them writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from eventstore.harnesses import harnesses
from tests.cli.running import Refold
from tests.support import claude_code, codex, oh_my_pi_sessions, opencode
from tests.support.pi_files import header, line
from tests.support.validator import validate

Json = dict[str, Any]

TITLE: Final = "The parser"
MODEL: Final = "claude-opus-4-5"
STORY: Final[tuple[tuple[Any, ...], ...]] = (
    ("user", "u1", "Fix the parser."),
    ("answer", "a1", ["I look.", ("read", "k1", "src/readme.md"), ("run", "k2", "ls")], (0, 1000)),
    ("result", "r1", "k1", "A parser. " * 40),
    ("result", "r2", "k2", "parser.py"),
    ("answer", "a2", [("edit", "k3", "src/parser.py")], (1000, 200)),
    ("result", "r3", "k3", "edited"),
    ("compaction", "c1", "The parser is fixed."),
    ("user", "u2", "Now the tests. Never write to docs."),
    ("answer", "a3", [("write", "k4", "tests/test_parser.py")], (0, 800)),
    ("result", "r4", "k4", "written " * 40),
    ("answer", "a4", ["They pass."], (800, 100)),
)
"""Steps with their ids; of an answer its blocks, and what it read from the cache and wrote to it."""

TOOLS: Final = {
    "pi": {
        "read": ("read", "path"),
        "run": ("bash", "command"),
        "edit": ("edit", "path"),
        "write": ("write", "path"),
    },
    "claude-code": {
        "read": ("Read", "file_path"),
        "run": ("Bash", "command"),
        "edit": ("Edit", "file_path"),
        "write": ("Write", "file_path"),
    },
    "opencode": {
        "read": ("read", "filePath"),
        "run": ("bash", "command"),
        "edit": ("edit", "filePath"),
        "write": ("write", "filePath"),
    },
}


def pi_entries() -> list[Json]:
    entries: list[Json] = []
    for number, (kind, name, *step) in enumerate(STORY):
        entry = {"id": name, "parentId": STORY[number - 1][1] if number else None}
        entry["timestamp"] = f"2025-12-08T22:00:{number:02}.000Z"
        if kind == "compaction":
            entry |= {"type": "compaction", "summary": step[0], "firstKeptEntryId": "", "tokensBefore": 1205}
        else:
            entry |= {"type": "message", "message": pi_message(kind, step)}
        entries.append(entry)
    return entries


def pi_message(kind: str, step: list[Any]) -> Json:
    if kind == "user":
        return {"role": "user", "content": step[0]}
    if kind == "result":
        content = [{"type": "text", "text": step[1]}]
        return {
            "role": "toolResult",
            "toolCallId": step[0],
            "toolName": "t",
            "content": content,
            "isError": False,
        }
    blocks, (read, written) = step
    content = []
    for block in blocks:
        if isinstance(block, str):
            content.append({"type": "text", "text": block})
        else:
            tool, argument = TOOLS["pi"][block[0]]
            content.append(
                {"type": "toolCall", "id": block[1], "name": tool, "arguments": {argument: block[2]}}
            )
    usage = {
        "input": 0,
        "output": 5,
        "cacheRead": read,
        "cacheWrite": written,
        "totalTokens": read + written + 5,
    }
    return {
        "role": "assistant",
        "content": content,
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": MODEL,
        "stopReason": "stop",
        "usage": usage,
    }


def pi_file() -> bytes:
    info = {"type": "session_info", "id": "i1", "parentId": "a4", "name": TITLE}
    return header() + b"".join(map(line, [*pi_entries(), {**info, "timestamp": "2025-12-08T22:01:00.000Z"}]))


def oh_my_pi_file() -> bytes:
    return oh_my_pi_sessions.file_of(pi_entries(), title=TITLE)


def claude_code_file() -> bytes:
    lines: list[bytes] = []
    above: str | None = None
    for number, (kind, name, *step) in enumerate(STORY):
        if kind == "user":
            lines.append(claude_code.said(name, above, step[0], at=number))
        elif kind == "result":
            lines.append(claude_code.result(name, above, *step, at=number))
        elif kind == "compaction":
            lines.append(claude_code.boundary(f"{name}-boundary", above, preTokens=1205))
            lines.append(claude_code.summary(name, f"{name}-boundary", step[0]))
        else:
            blocks, (read, written) = step
            counts = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
            usage = {"input_tokens": 0, "output_tokens": 5, **counts}
            for place, block in enumerate(blocks):
                own = name if place == len(blocks) - 1 else f"{name}-{place}"
                content = block if isinstance(block, str) else claude_code_call(*block)
                fields = {"usage": usage, "model": MODEL, "at": number}
                lines.append(claude_code.answer(own, above, f"m-{name}", content, **fields))
                above = own
        above = name
    return b"".join(each + b"\n" for each in [*lines, claude_code.note("custom-title", customTitle=TITLE)])


def claude_code_call(kind: str, name: str, value: str) -> Json:
    tool, argument = TOOLS["claude-code"][kind]
    return claude_code.call(name, tool, **{argument: value})


def codex_file() -> bytes:
    settings = {"model": MODEL, "model_provider_id": "anthropic"}
    lines = [codex.meta(), codex.event("thread_settings_applied", thread_settings=settings)]
    for number, (kind, name, *step) in enumerate(STORY):
        items: list[Json] = []
        if kind == "user":
            items.append(codex.said(step[0], id=name))
        elif kind == "result":
            items.append({**codex.output(*step), "id": name})
        elif kind == "compaction":
            lines.append(codex.compacted(step[0], codex.said(f"Handoff: {step[0]}")))
        else:
            items += (
                codex.answered(block) if isinstance(block, str) else codex_call(*block) for block in step[0]
            )
            items = [{**each, "id": f"{name}-{place}"} for place, each in enumerate(items)]
            items[-1]["id"] = name
        lines += (codex.line("response_item", each, at=number) for each in items)
        if kind == "answer":
            read, written = step[1]
            lines.append(
                codex.line("token_usage_record", {"usage": codex.usage(read + written, read, written)})
            )
    return b"".join([*lines, codex.event("thread_name_updated", thread_name=TITLE)])


def codex_call(kind: str, name: str, value: str) -> Json:
    if kind == "read":
        return codex.called(name, "view_image", path=value)
    if kind == "run":
        return codex.called(name, cmd=value)
    patch = f"*** Begin Patch\n*** {'Update' if kind == 'edit' else 'Add'} File: {value}\n*** End Patch\n"
    return codex.called(name, "apply_patch", input=patch)


def opencode_file() -> bytes:
    results = {step[0]: step[1] for kind, _, *step in STORY if kind == "result"}
    messages: list[Json] = []
    for number, (kind, name, *step) in enumerate(STORY):
        made = {"id": name, "time": {"created": 1765231200000 + 1000 * number}}
        if kind == "user":
            messages.append(opencode.said(made, step[0], MODEL))
        elif kind == "compaction":
            question = {**made, "id": f"asked-{name}"}
            messages += opencode.compacted(question, made, step[0], MODEL)
        elif kind == "answer":
            blocks = [
                opencode.said_part(block)
                if isinstance(block, str)
                else opencode.call_part(*TOOLS["opencode"][block[0]], block[1], block[2], results[block[1]])
                for block in step[0]
            ]
            messages.append(opencode.answered(made, blocks, MODEL, *step[1]))
    return opencode.exported(messages, TITLE)


FILES: Final[dict[str, Callable[[], bytes]]] = {
    "pi": pi_file,
    "oh-my-pi": oh_my_pi_file,
    "claude-code": claude_code_file,
    "codex": codex_file,
    "opencode": opencode_file,
}
"""The story as a file of each harness; a harness in the registry without one fails below."""
CLAIMED: Final = {"codex": None, "opencode": None}
"""The size of the context that a harness's compaction claims, if not 1,205 tokens."""
HOLDERS: Final = {"opencode": {"r1": "a1", "r2": "a1", "r3": "a2", "r4": "a3"}}
"""The entries of results in the records of harnesses that keep them with their calls."""
HARNESSES: Final = [each.name for each in harnesses()]


@pytest.fixture(params=HARNESSES)
def harness(request: pytest.FixtureRequest) -> str:
    assert request.param in FILES, f"write the story as a file of {request.param}"
    return str(request.param)


@pytest.fixture
def refold(harness: str, refold: Refold, tmp_path: Path) -> Refold:
    (tmp_path / "story.jsonl").write_bytes(FILES[harness]())
    refold("sync", "story.jsonl")
    return refold


def entry(harness: str, name: str) -> str:
    """Return the entry of a step."""
    return HOLDERS.get(harness, {}).get(name, name)


def ids(context: Any) -> list[list[str]]:
    return [[*map(step, message["records"])] for message in context["messages"]]


def step(event: str) -> str:
    """Return the step that an event is; the records of compactions of Codex have no ids."""
    return "c1" if event.startswith("compacted-") else event


def steps(context: Any) -> list[str]:
    """Return the steps in a context; the items of an answer of Codex are messages of their own."""
    return [*dict.fromkeys(found[-1].partition("-")[0] for found in ids(context))]


def test_sessions_has_its_title_and_first_request(refold: Refold) -> None:
    (session,) = refold("sessions", "--json").json["sessions"]
    assert (session["title"], session["firstRequest"]) == (TITLE, "Fix the parser.")


def test_an_import_again_adds_nothing(refold: Refold) -> None:
    again = refold("sync", "story.jsonl", "--json").json["sessions"]
    assert [each["added"] for each in again] == [0]


def test_a_copy_with_a_damaged_id_does_not_move_it(refold: Refold, harness: str, tmp_path: Path) -> None:
    before = refold("context", "@last", "--json").json["messages"]
    whole = FILES[harness]()
    damaged = whole.replace(b'id":"u2"', b'id":"v2"', 1)
    if damaged == whole or harness == "opencode":
        pytest.skip(f"the records of {harness} have no ids, or its files are written anew")
    (tmp_path / "copy.jsonl").write_bytes(damaged)
    (session,) = refold("sync", "copy.jsonl", "--json").json["sessions"]
    assert (session["added"], len(session["inserted"])) == (1, 1)
    assert refold("context", "@last", "--json").json["messages"] == before


def test_export_gives_the_file_back(refold: Refold, harness: str) -> None:
    assert refold("export", "@last", "-o", "-").raw == FILES[harness]()


def test_log_has_every_record_of_the_story(refold: Refold, harness: str) -> None:
    events = [step(each["id"]) for each in refold("log", "@last", "--json").json_lines]
    assert [name for _, name, *_ in STORY if entry(harness, name) not in events] == []


def test_show_has_the_record_of_a_message(refold: Refold) -> None:
    assert refold("show", "@last", "u2", "--json").json["id"] == "u2"


def test_tree_ends_in_the_newest_entry(refold: Refold) -> None:
    assert refold("tree", "@last", "--json").json["leaf"] is not None


def test_context_is_the_summary_and_what_came_behind_it(refold: Refold, harness: str) -> None:
    context = refold("context", "@last", "--json").json
    summary = [["c1"]] * (2 if harness == "opencode" else 1)
    behind = [[entry(harness, name)] for name in ("u2", "a3", "r4", "a4")]
    assert (context["rules"], ids(context)) == (harness, [*summary, *behind])


def test_context_before_the_compaction_has_all_records(refold: Refold, harness: str) -> None:
    context = refold("context", "@last", "--leaf", entry(harness, "r3"), "--json").json
    names = ("u1", "a1", "r1", "r2", "a2", "r3")
    assert steps(context) == [*dict.fromkeys(entry(harness, name) for name in names)]


def test_requests_of_contexts_are_taken_by_the_api(refold: Refold, harness: str) -> None:
    for leaf in (entry(harness, "r3"), "a4"):
        given = refold(
            "context", "@last", "--leaf", leaf, "--format", "anthropic", "--json", "--model", MODEL
        )
        assert validate(given.json["body"]) == []
        assert given.json["body"]["messages"][0]["role"] == "user"


def test_the_document_has_each_turn_and_folds_each_call(refold: Refold) -> None:
    found = refold("export", "@last", "--format", "markdown", "-o", "-").out
    turns = [row[3:] for row in found.splitlines() if row.startswith("## ")]
    assert turns == ["User", "Assistant", "Compaction", "User", "Assistant"]
    assert found.startswith(f"# {TITLE}\n")
    assert found.count("\n<summary>") == found.count("\n</details>") == 5  # four calls and the summary
    assert found.count("\nResult:\n") == 4
    assert all(said in found for said in ("> Fix the parser.", "> The parser is fixed.", "> They pass."))


def test_gaps_have_the_size_that_usage_tells(refold: Refold, harness: str) -> None:
    first = refold("context", "@last", "--leaf", entry(harness, "r3"), "--json").json["gaps"][0]
    assert (first["event"], 900 < first["tokens"] < 1000) == (None, True)
    at_leaf = refold("context", "@last", "--json").json["gaps"][0]
    assert refold("audit", "@last", "--json").json["sessions"][0]["gaps"][0] == at_leaf


def test_files_are_those_that_its_tools_touched(refold: Refold) -> None:
    files = refold("files", "@last", "--json").json
    assert files["readFiles"] == ["src/readme.md"]
    assert files["modifiedFiles"] == ["src/parser.py", "tests/test_parser.py"]


def test_an_audit_counts_each_call_once(refold: Refold, harness: str) -> None:
    (audit,) = refold("audit", "@last", "--json").json["sessions"]
    (compaction,) = audit["compactions"]
    claimed, before = CLAIMED.get(harness, 1205), compaction["before"]
    assert (step(compaction["id"]), before["claimed"], before["measured"]) == ("c1", claimed, 1205)
    summarized = 8 if harness == "codex" else 6
    assert compaction["messages"] == {"summarized": summarized, "kept": 0, "uncovered": 0}
    spent = audit["cost"]["spent"]
    assert (spent["calls"], spent["unpriced"], spent["priced"] > 0) == (4, 0, True)
    assert audit["cache"] == {"written": 2000, "unread": 200}


def test_the_costs_of_all_harnesses_are_the_same(refold: Refold) -> None:
    spent = refold("audit", "@last", "--json").json["sessions"][0]["cost"]["spent"]
    # 2,100 tokens written to the cache, 1,800 read from it, 20 answered.
    assert spent["priced"] == pytest.approx((2100 * 6.25 + 1800 * 0.5 + 20 * 25) / 1e6)


def test_all_checks_pass(refold: Refold, harness: str) -> None:
    (found,) = refold("check", "@last", "--json").json["sessions"]
    checked = {each["name"]: (each["checked"], each["passed"]) for each in found["results"]}
    assert checked["cached prefixes"] == (2, 2)
    assert checked["compacted contexts"] == (1, 1)
    claims = int(CLAIMED.get(harness, 1205) is not None)
    assert checked["claimed sizes"] == (claims, claims)


def test_a_diff_over_the_compaction_shows_losses(refold: Refold, harness: str) -> None:
    changes = refold("diff", "@last", entry(harness, "r3"), "u2", "--json").json["changes"]
    assert {each["event"]: each["change"] for each in changes}["u1"] in ("summarized", "gone")


def test_a_report_is_a_page_that_names_the_session(refold: Refold, tmp_path: Path) -> None:
    refold("report", "@last", "-o", "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert (TITLE in page, f"/{MODEL}</bdi></span>" in page) == (True, True)


def test_search_finds_what_was_said_and_read(refold: Refold, harness: str) -> None:
    for words, name in (("Fix the parser", "u1"), ("They pass", "a4"), ('"A parser."', "r1")):
        found = refold("search", words, "--json").json["hits"]
        assert entry(harness, name) in [each["id"] for each in found], words


def test_replay_tries_a_policy_at_its_compaction(refold: Refold) -> None:
    found = refold(
        "replay", "@last", "--at", "recorded", "--with", "drop", "--keep-recent", "0", "--json"
    ).json
    assert [(each["variant"], each["trials"]) for each in found["variants"]] == [("drop", 1)]


def test_compact_plans_and_makes_a_summary_without_a_model(refold: Refold) -> None:
    way = ("--keep-recent", "0", "--summarizer", "extractive", "--json")
    assert refold("compact", "@last", *way, "--dry-run").json
    refold("compact", "@last", *way)
    context = refold("context", "@last", "--json").json
    assert context["messages"][0]["fate"] == "summary"
    assert context["messages"][0]["event"] not in {name for _, name, *_ in STORY}
    refold("undo", "@last")
    assert ids(refold("context", "@last", "--json").json)[0] == ["c1"]
    refold("verify")


def test_prune_shortens_old_results(refold: Refold, harness: str, tmp_path: Path) -> None:
    (tmp_path / "mask.toml").write_text('name = "m"\nrewrites = [{part = "mask", keep_observations = 0}]\n')
    refold("prune", "@last", "--policy", "mask.toml")
    messages = refold("context", "@last", "--json").json["messages"]
    assert {each["event"] for each in messages if each["fate"] == "rewritten"} == {entry(harness, "r4")}
    assert "written written" not in refold("context", "@last", "--full").out


def test_maintain_decides_by_what_was_measured(refold: Refold) -> None:
    answer = refold(
        "maintain", "@last", "--summarizer", "extractive", stdin=line({"on": "after_turn"})
    ).json_lines[0]
    assert (answer["do"], answer["error"]) == ("nothing", None)


def test_go_fork_label_and_append_work_on_it(refold: Refold, harness: str) -> None:
    session = refold("sessions", "--json").json["sessions"][0]["id"]
    refold("label", session, "u2", "halfway")
    refold("label", session, "--title", "another title")
    refold("append", session, stdin=line({"type": "message", "message": {"role": "user", "content": "more"}}))
    assert refold("context", session, "--json").json["messages"][-1]["message"]["content"] == "more"
    refold("go", session, entry(harness, "r3"))
    assert steps(refold("context", session, "--json").json)[:2] == ["u1", "a1"]
    refold("fork", session, "--as", "forked")
    forked = steps(refold("context", "forked", "--json").json)
    assert len(forked) == len({entry(harness, name) for name in ("u1", "a1", "r1", "r2", "a2", "r3")})
    refold("verify")


def test_a_handoff_begins_a_session_with_what_this_one_says(refold: Refold) -> None:
    refold("handoff", "@last", "--as", "handed", "--summarizer", "extractive")
    assert "Now the tests." in refold("context", "handed", "--full").out


def test_in_a_harness_format_no_record_is_lost(refold: Refold, harness: str) -> None:
    refold("export", "@last", "--format", harness, "-o", "own.jsonl")
    refold("sync", "own.jsonl", "--as", "own")
    events = [step(each["id"]) for each in refold("log", "own", "--json").json_lines]
    assert [name for _, name, *_ in STORY if entry(harness, name) not in events] == []


def test_stats_count_its_events(refold: Refold) -> None:
    stats = refold("stats", "--json").json
    assert stats["sessions"] == 1
    assert stats["events"] >= sum(kind != "result" for kind, *_ in STORY)


class TestAFolderOfAll:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Sessions of all harnesses in folders of one, a session of another, and a file that is none."""
        for name, content in FILES.items():
            (tmp_path / "all" / name).mkdir(parents=True)
            (tmp_path / "all" / name / "story.jsonl").write_bytes(content())
        (tmp_path / "all" / "notes.jsonl").write_bytes(b'{"a": 1}\n')
        (tmp_path / "all" / "foreign.json").write_bytes(b'{"sessionId":"1","projectHash":"2"}')
        return tmp_path / "all"

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refold:
        monkeypatch.chdir(tmp_path)
        return Refold(tmp_path / "store")

    def test_each_session_is_imported_by_its_own_harness(self, store: Refold, folder: Path) -> None:
        told = store("sync", folder, "--json", code=1)
        formats = {each["format"].partition("/")[0]: each["added"] for each in told.json["sessions"]}
        assert set(formats) == set(HARNESSES)
        assert min(formats.values()) >= sum(kind != "result" for kind, *_ in STORY)
        assert len(told.errors.splitlines()) == 2
        assert ("notes.jsonl" in told.errors, "foreign.json" in told.errors) == (True, True)

    def test_an_import_of_it_again_adds_nothing(self, store: Refold, folder: Path) -> None:
        store("sync", folder, code=1)
        again = store("sync", folder, "--json", code=1).json["sessions"]
        assert [each["added"] for each in again] == [0] * len(HARNESSES)
        store("verify")

    def test_every_session_passes_its_checks(self, store: Refold, folder: Path) -> None:
        store("sync", folder, code=1)
        assert len(store("check", "--all", "--json").json["sessions"]) == len(HARNESSES)
