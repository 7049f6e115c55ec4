from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest

from eventstore.errors import BadInputError, NotFoundError
from tests.cli.hostile import hostile
from tests.cli.long_talk import NEVER, SESSION, long_talk
from tests.cli.running import Refold
from tests.cli.test_terminal import COMMANDING, PROGRESS
from tests.support.local_http import answers
from tests.support.messages_api import MessagesApi, complete, errs, says
from tests.support.talk import PiSession, assistant, call, result, user

KEEPING = ("compact", SESSION, "--keep-recent", "250")
EXTRACTING = (*KEEPING, "--summarizer", "extractive")
MINE = "+++\nname = 'mine'\nversion = 3\nsections = ['Open', 'Goal']\n+++\nSay what is open.\n"


def record(refold: Refold, event: str) -> Any:
    return refold("show", SESSION, event, "--json").json["record"]


def newest(refold: Refold, kind: str) -> Any:
    """The record of the newest event of a kind."""
    return record(refold, refold("log", SESSION, "--kind", kind, "--json").json_lines[-1]["id"])


def context(refold: Refold, *arguments: str) -> Any:
    return refold("context", SESSION, "--json", *arguments).json


def events(refold: Refold) -> int:
    count: int = refold("sessions", "--json").json["sessions"][0]["events"]
    return count


def test_a_context_that_is_still_too_large_is_a_note_and_a_warning(talked: Refold, tmp_path: Path) -> None:
    (tmp_path / "greedy.toml").write_text(
        'name = "greedy"\nextends = "pi"\n[trigger]\ntokens = 300\n[cut]\npart = "keep-recent"\ntokens = 500\n'
    )
    asking = ("compact", SESSION, "--policy", "greedy.toml", "--summarizer", "extractive")
    warning = talked(*asking, "--json").json["warning"]
    talked("undo", SESSION)
    assert f"refold: note: {warning}" in talked(*asking).errors.splitlines()


class TestDryRun:
    def test_it_says_all_that_a_compaction_would_do(self, talked: Refold) -> None:
        assert talked(*KEEPING, "--dry-run", "--json").json == {
            "firstKept": "u5",
            "splitTurn": False,
            "toSummarize": ["u1", "a1", "r1", "b1", "u2", "a2", "u3", "a3", "u4", "a4"],
            "turnPrefix": [],
            "kept": ["u5", "a5"],
            "counter": "utf16/4",
            "estimate": True,
            "tokensBefore": 1107,
            "tokensAfterEstimate": 1107,
            "readFiles": ["src/parser.py"],
            "modifiedFiles": [],
            "previousSummary": None,
        }

    def test_keep_recent_follows_what_the_provider_measured_where_the_policys_cut_does(
        self, refold: Refold, tmp_path: Path
    ) -> None:
        told = PiSession()
        for number in range(1, 5):
            told.says(f"u{number}", user("x" * 400))
            told.says(f"a{number}", assistant("x" * 400, tokens=1_600))
        (tmp_path / "session.jsonl").write_bytes(b"".join(told._lines))
        asked = ("compact", "session.jsonl", "--keep-recent", "400", "--dry-run", "--json")
        kept = {name: refold(*asked, "--policy", name).json["kept"] for name in ("pi", "oh-my-pi")}
        # 1,600 tokens measured over 800 estimated: 400 are 200 of the estimate's.
        assert kept == {"pi": ["u3", "a3", "u4", "a4"], "oh-my-pi": ["u4", "a4"]}

    def test_a_cut_inside_a_turn_splits_it(self, talked: Refold) -> None:
        plan = talked("compact", SESSION, "--keep-recent", "350", "--dry-run", "--json").json
        assert (plan["splitTurn"], plan["turnPrefix"], plan["kept"]) == (True, ["u4"], ["a4", "u5", "a5"])

    def test_a_summary_is_estimated_as_long_as_it_may_get(self, talked: Refold, tmp_path: Path) -> None:
        (tmp_path / "short.toml").write_text('name = "short"\nextends = "refold"\n[prompting]\noutput = 50\n')
        assert (
            talked(*KEEPING, "--policy", "short.toml", "--dry-run", "--json").json["tokensAfterEstimate"]
            == 261
        )

    def test_the_summary_before_is_told(self, talked: Refold) -> None:
        talked("compact", SESSION, "--leaf", "a4", "--keep-recent", "250", "--summarizer", "extractive")
        talked("append", SESSION, stdin='{"type":"message","message":{"role":"user","content":"On."}}')
        plan = talked("compact", SESSION, "--keep-recent", "0", "--dry-run", "--json").json
        assert NEVER in plan["previousSummary"]

    def test_where_there_is_nothing_to_do_it_is_null(self, talked: Refold) -> None:
        assert talked("compact", SESSION, "--dry-run", "--json").raw == b"null\n"

    def test_people_are_told_the_same(self, talked: Refold) -> None:
        summarized, kept, sizes, read = talked("compact", SESSION, "--keep-recent", "350", "--dry-run").lines
        assert " 8 messages, and 1 of the turn that it cuts, by policy" in summarized
        assert summarized.endswith(", by policy refold, template compaction, extractive")
        assert kept.split()[2:6] == ["3", "messages", "from", "a4"]
        assert sizes.startswith(
            "context: 1,107 tokens; a summary may be as long as what it replaces, by utf16/4"
        )
        assert read.split() == ["read", "src/parser.py"]

    def test_the_template_and_the_models_that_are_chosen_are_reported(self, talked: Refold) -> None:
        chosen = ("--template", "five-sections", "--summarizer", "a-1", "--summarizer", "b-1")
        said = talked(*KEEPING, *chosen, "--dry-run").lines[0]
        assert said.endswith(", by policy refold, template five-sections, anthropic a-1 or b-1")

    def test_a_likely_size_stands_alone_where_the_bound_is_no_smaller_than_the_context(
        self, refold: Refold, tmp_path: Path
    ) -> None:
        # 10,000 tokens before, of them 1,000 kept; a summary has 3,000 mostly, and up to 13,107 by the reserve.
        told = PiSession()
        for name, size in (("u1", 36_000), ("u2", 4_000)):
            told.says(name, user("x" * size))
        (tmp_path / "two.jsonl").write_bytes(b"".join(told._lines))
        lines = refold("compact", "two.jsonl", "--keep-recent", "1000", "--dry-run").lines
        assert lines[2].startswith("context: 10,000 tokens; about 4,000 afterwards, by utf16/4")

    def test_results_that_would_be_shown_shorter_are_reported_and_counted(
        self, refold: Refold, tmp_path: Path
    ) -> None:
        told = PiSession()
        told.says("u1", user("x" * 40_000))
        told.says("u2", user("Read it."))
        told.says("a2", assistant(call("read", "k", path="a.py")))
        told.says("r2", result("y" * 60_000, tool="read", call_id="k"))
        (tmp_path / "long.jsonl").write_bytes(b"".join(told._lines))
        (tmp_path / "tail.toml").write_text(
            'name = "tail"\nextends = "opencode"\n[cut]\npart = "tail-turn"\n'
        )
        asking = ("compact", "long.jsonl", "--policy", "tail.toml", "--summarizer", "extractive")
        _, kept, sizes, *_ = refold(*asking, "--dry-run").lines
        before, shown = (int(each.replace(",", "")) for each in re.findall(r"[\d,]*\d{3}", kept))
        assert (before > 15_000, shown < 10_000) == (True, True)
        assert f" {shown + 3_000:,} afterwards, up to " in sizes

    def test_paths_are_reported_in_the_folder_that_most_of_them_share(
        self, refold: Refold, tmp_path: Path
    ) -> None:
        told = PiSession()
        told.says("u1", user("Read them."))
        for number, path in enumerate(["/etc/d", "/w/p/a.py", "/w/p/s/b.py", "/w/p/s/c.py", "/kept"]):
            told.says(f"a{number}", assistant(call("read", f"k{number}", path=path)))
            told.says(f"r{number}", result("x" * 4_000, tool="read", call_id=f"k{number}"))
        (tmp_path / "paths.jsonl").write_bytes(b"".join(told._lines))
        lines = refold("compact", "paths.jsonl", "--keep-recent", "0", "--dry-run").lines
        assert lines[3].endswith(" /w/p/")
        assert [line.split()[-1] for line in lines[4:7] + lines[8:]] == ["a.py", "s/b.py", "s/c.py", "/etc/d"]

    def test_instructions_that_nobody_would_follow_are_reported(self, talked: Refold) -> None:
        asking = ("compact", SESSION, "Be brief.", "--summarizer", "extractive", "--dry-run")
        assert talked(*asking).errors == ""
        assert len(talked(*asking, "--keep-recent", "250").notes) == 1

    def test_nobody_is_asked_and_nothing_is_stored(self, talked: Refold, messages_api) -> None:
        api: MessagesApi = messages_api()
        before = events(talked)
        talked(*KEEPING, "--summarizer", "anthropic", "--dry-run")
        assert (api.requests, events(talked)) == ([], before)


class TestCompacting:
    def test_a_summary_stands_in_place_of_what_is_not_kept(self, talked: Refold) -> None:
        talked(*EXTRACTING)
        messages = context(talked)["messages"]
        assert [part["event"] for part in messages[1:]] == ["u5", "a5"]
        assert (messages[0]["fate"], NEVER in messages[0]["message"]["summary"]) == ("summary", True)

    def test_files_are_reported_by_tags(self, talked: Refold) -> None:
        event = talked(*EXTRACTING, "--json").json["events"][0]
        assert record(talked, event)["summary"].endswith("<read-files>\nsrc/parser.py\n</read-files>")

    def test_the_record_says_who_asked_and_by_what(self, talked: Refold) -> None:
        made = record(talked, talked(*EXTRACTING, "--json").json["events"][0])
        assert (made["reason"], made["policy"], made["template"]) == ("manual", "refold", "compaction@1")
        assert made["request"]["requests"][0]["summarizer"] == "extractive"

    def test_json_tells_what_became_of_it(self, talked: Refold) -> None:
        done = talked(*EXTRACTING, "--json").json
        (event,) = done.pop("events")
        assert record(talked, event)["type"] == "compaction"
        assert done == {
            "session": SESSION,
            "outcome": "compacted",
            "reason": "",
            "counter": "utf16/4",
            "estimate": True,
            "tokensBefore": 1107,
            "tokensAfter": context(talked)["tokens"],
            "warning": None,
            "missingSections": [],
            "hookErrors": [],
        }

    def test_people_are_told_and_how_it_is_taken_back(self, talked: Refold) -> None:
        before = context(talked, "--format", "pi")["messages"]
        done, sizes, way_back = talked(*EXTRACTING).lines
        assert done.endswith(", by policy refold, template compaction, extractive")
        assert re.findall(r" (\d+) ", done) == ["10", "2"]
        assert re.findall(r"[\d,]+\d", sizes) == ["1,107", f"{context(talked)['tokens']:,}", "16"]
        talked(*way_back.partition(": refold ")[2].split())
        assert context(talked, "--format", "pi")["messages"] == before

    @pytest.mark.slow
    def test_the_model_that_answered_is_reported(
        self, talked: Refold, messages_api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        messages_api(errs(404, "no such model", "not_found_error"), says(complete))
        asking = ("--summarizer", "first-1", "--summarizer", "second-1")
        told = talked(*KEEPING, *asking).lines[0]
        answered = record(talked, told.split()[2].rstrip(":"))["request"]["requests"][-1]["model"]
        assert told.endswith(f", template compaction, anthropic {answered}")

    def test_a_counter_that_can_only_be_estimated_is_reported(
        self, talked: Refold, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("projections.tokens._o200k", lambda _: None)
        told = talked("--counter", "o200k", *EXTRACTING)
        assert ["o200k" in note and "bytes/4" in note for note in told.notes] == [True]
        assert told.lines[1].split()[-3:] == ["bytes/4,", "an", "estimate"]

    @pytest.mark.usefixtures("o200k")
    @pytest.mark.parametrize("dry", [("--dry-run",), ()])
    @pytest.mark.parametrize(("model", "is_estimate"), [("gpt-4o", False), ("claude-sonnet-4-5", True)])
    def test_o200k_is_an_estimate_for_models_that_have_another_vocabulary(
        self, refold: Refold, *, model: str, is_estimate: bool, dry: tuple[str, ...]
    ) -> None:
        talk = long_talk().replace(b'"model":"m"', f'"model":"{model}"'.encode())
        Path("as-json.jsonl").write_bytes(talk)
        Path("as-text.jsonl").write_bytes(talk.replace(SESSION.encode(), b"as-text"))
        options = (*EXTRACTING[2:], *dry)
        done = refold("--counter", "o200k", "compact", "as-json.jsonl", *options, "--json").json
        assert (done["counter"], done["estimate"]) == ("o200k", is_estimate)
        (sizes,) = (
            line
            for line in refold("--counter", "o200k", "compact", "as-text.jsonl", *options).lines
            if line.startswith("context: ")
        )
        assert sizes.endswith(" by o200k, an estimate" if is_estimate else " by o200k")

    def test_another_branch_is_compacted_where_it_ends(self, talked: Refold) -> None:
        done = talked(
            "compact", SESSION, "--leaf", "#8", "--keep-recent", "0", "--summarizer", "extractive", "--json"
        )
        event = done.json["events"][0]
        assert talked("show", SESSION, event, "--json").json["parent"] == "a3"
        assert talked("tree", SESSION, "--json").json["leaf"] == event

    def test_it_counts_as_it_is_told_to(self, talked: Refold) -> None:
        assert talked("--counter", "bytes/4", *EXTRACTING, "--json").json["counter"] == "bytes/4"

    def test_what_is_to_be_kept_leads_before_the_policy(self, talked: Refold) -> None:
        done = talked(*EXTRACTING, "--policy", "opencode", "--json").json
        assert record(talked, done["events"][0])["firstKeptEntryId"] == "u5"

    def test_a_policy_may_be_a_file_or_one_of_ones_own(self, talked: Refold) -> None:
        own = talked.config / "policies" / "tiny.toml"
        own.parent.mkdir(parents=True)
        own.write_text('name = "tiny"\nextends = "pi"\n[cut]\npart = "keep-recent"\ntokens = 250\n')
        for name in ("tiny", str(own)):
            plan = talked("compact", SESSION, "--policy", name, "--dry-run", "--json").json
            assert plan["firstKept"] == "u5"


class TestTemplates:
    def test_a_template_may_be_one_of_refolds(self, talked: Refold) -> None:
        event = talked(*EXTRACTING, "--template", "five-sections", "--json").json["events"][0]
        assert record(talked, event)["template"] == "five-sections@1"

    def test_a_template_may_be_a_file_or_one_of_ones_own(self, talked: Refold, tmp_path: Path) -> None:
        own = talked.config / "templates" / "mine.md"
        own.parent.mkdir(parents=True)
        for file, name in ((tmp_path / "elsewhere.md", "elsewhere.md"), (own, "mine")):
            file.write_text(MINE)
            event = talked(*EXTRACTING, "--template", name, "--json").json["events"][0]
            assert record(talked, event)["template"] == "mine@3"
            assert record(talked, event)["summary"].startswith(
                "## Open\nNothing is quoted here.\n\n## Goal\n"
            )
            talked("undo", SESSION)

    def test_without_sections_extractive_quotes_all_the_same(self, talked: Refold, tmp_path: Path) -> None:
        (tmp_path / "risks.md").write_text("+++\nname = 'risks'\nversion = 1\n+++\nSay what may go wrong.\n")
        event = talked(*EXTRACTING, "--template", "risks.md", "--json").json["events"][0]
        assert "\n> Fix the parser." in record(talked, event)["summary"]

    def test_one_that_is_not_there_is_reported_before_anybody_is_asked(
        self, talked: Refold, messages_api
    ) -> None:
        api: MessagesApi = messages_api()
        asking = (*KEEPING, "--summarizer", "anthropic", "--template")
        assert talked.refused(NotFoundError, *asking, "nope").name == "nope"
        for path in ("nope.md", "talk.jsonl/x.md"):
            assert talked.refused(BadInputError, *asking, path).source == f"template {path}"
        assert api.requests == []


class TestAsking:
    @pytest.fixture(autouse=True)
    def key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def test_a_model_writes_the_summary(self, talked: Refold, messages_api) -> None:
        api: MessagesApi = messages_api()
        asking = ("--summarizer", "a-model")
        event = talked(*KEEPING, *asking, "--json").json["events"][0]
        assert api.requests[0].json["model"] == "a-model"
        assert record(talked, event)["summary"].startswith(complete(api.requests[0]))

    def test_instructions_reach_it(self, talked: Refold, messages_api) -> None:
        api: MessagesApi = messages_api()
        talked(*KEEPING, "Name every test.", "--summarizer", "anthropic")
        assert "Name every test." in api.asked[0]

    def test_where_one_model_fails_the_next_is_asked(self, talked: Refold, messages_api) -> None:
        api: MessagesApi = messages_api(errs(404, "no such model", "not_found_error"), says(complete))
        talked(*KEEPING, "--summarizer", "first-1", "--summarizer", "second-1")
        assert [request.json["model"] for request in api.requests] == ["first-1", "second-1"]

    @pytest.mark.slow
    def test_the_next_model_that_the_policy_names_is_asked_where_the_one_before_has_to_be_waited_for(
        self, talked: Refold, messages_api, tmp_path: Path
    ) -> None:
        busy = errs(529, "Overloaded", "overloaded_error", **{"retry-after": "60"})
        api: MessagesApi = messages_api(busy, says(complete))
        (tmp_path / "cheap.toml").write_text(
            'name = "cheap"\nextends = "refold"\n[prompting]\nmodels = ["small", "large"]\n'
        )
        asking = ("--policy", "cheap.toml", "--summarizer", "anthropic")
        event = talked(*KEEPING, *asking, "--json").json["events"][0]
        assert [request.json["model"] for request in api.requests] == ["small", "large"]
        said = [request.get("error") for request in record(talked, event)["request"]["requests"]]
        assert said == ["529: Overloaded", None]

    @pytest.mark.slow
    def test_a_service_of_ones_own_is_asked(self, talked: Refold, service) -> None:
        service(answers({"summary": "In short."}))
        event = talked(*KEEPING, "--summarizer", "http", "--json").json["events"][0]
        assert record(talked, event)["summary"].startswith("In short.")

    def test_an_answer_is_asked_for_once_and_then_recorded(self, talked: Refold, messages_api) -> None:
        api: MessagesApi = messages_api()
        first = talked(*KEEPING, "--summarizer", "anthropic", "--json").json["events"][0]
        talked("undo", SESSION)
        again = talked(*KEEPING, "--summarizer", "recorded", "--json").json["events"][0]
        assert record(talked, again)["summary"] == record(talked, first)["summary"]
        assert len(api.requests) == 1

    def test_the_harnesss_own_prompt_and_tools_go_before_the_real_messages(
        self, talked: Refold, messages_api, tmp_path: Path
    ) -> None:
        api: MessagesApi = messages_api()
        (tmp_path / "prompt.md").write_text("You are an agent.")
        (tmp_path / "tools.json").write_text('[{"name":"read","input_schema":{"type":"object"}}]')
        before = ("--policy", "opencode", "--system", "prompt.md", "--tools", "tools.json")
        talked(*KEEPING, *before, "--summarizer", "anthropic")
        asked = api.requests[0].json
        assert "You are an agent." in str(asked["system"])
        assert [tool["name"] for tool in asked["tools"]] == ["read"]

    def test_sections_that_an_answer_lacks_are_reported(self, talked: Refold, messages_api) -> None:
        messages_api(says("## Goal\nall of it"))
        done = talked(*KEEPING, "--summarizer", "anthropic")
        (note,) = done.notes
        lacking = "Constraints & Preferences, Progress, Key Decisions, Next Steps, Critical Context"
        assert (f": {lacking}; " in note, f"refold undo {SESSION} " in note) == (True, True)

    def test_a_request_that_fails_leaves_the_session_as_it_was_and_an_attempt(
        self, talked: Refold, messages_api
    ) -> None:
        messages_api(errs(401, "invalid x-api-key", "authentication_error"))
        before = context(talked)["messages"]
        problem = talked(*KEEPING, "--summarizer", "anthropic", code=1).errors
        assert context(talked)["messages"] == before
        assert problem.count("\n") == 1
        error = newest(talked, "attempt")["error"]
        assert (error in problem, "401: invalid x-api-key" in error) == (True, True)

    def test_a_key_that_the_server_echoes_is_neither_printed_nor_recorded(
        self, talked: Refold, messages_api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = "configured-key-0123456789"
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        api: MessagesApi = messages_api(errs(401, f"no key {key}", "authentication_error"))
        done = talked(*KEEPING, "--summarizer", "anthropic", code=1)
        assert key in str(api.requests[0].headers)
        assert key not in done.errors + str(newest(talked, "attempt"))

    def test_with_a_key_and_no_choice_it_is_said_that_a_model_is_asked(
        self, talked: Refold, messages_api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        api: MessagesApi = messages_api()
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        done = talked(*KEEPING)
        assert len(api.requests) == 1
        assert ["Anthropic" in note for note in done.notes] == [True]


def test_without_a_key_and_a_choice_it_is_said_that_no_model_is_asked(talked: Refold) -> None:
    assert ["ANTHROPIC_API_KEY" in note for note in talked(*KEEPING).notes] == [True]


class TestNothing:
    def test_what_fits_is_not_compacted(self, talked: Refold) -> None:
        before = events(talked)
        done = talked("compact", SESSION, "Be brief.")
        assert ["20,000" in line for line in done.lines] == [True]
        assert done.errors == ""
        assert events(talked) == before

    def test_what_is_compacted_is_not_compacted_again(self, talked: Refold) -> None:
        talked(*EXTRACTING)
        before = events(talked)
        done = talked(*EXTRACTING, "--json").json
        assert (done["outcome"], done["tokensBefore"], events(talked)) == ("nothing", None, before)
        assert done["reason"]

    def test_a_dry_run_tells_why_and_has_null_in_json(self, talked: Refold) -> None:
        plan = ("compact", SESSION, "--dry-run")
        assert ["20,000" in line for line in talked(*plan).lines] == [True]
        assert talked(*plan, "--json").json is None

    @pytest.mark.slow
    def test_a_policy_that_makes_no_summaries_is_reported(self, talked: Refold) -> None:
        asking = ("compact", SESSION, "--policy", "mask", "--summarizer", "extractive")
        (told,) = talked(*asking).lines
        assert ("'mask'" in told, "refold prune" in told) == (True, True)
        assert talked(*asking, "--json").json["outcome"] == "nothing"

    def test_a_summary_that_gains_nothing_is_not_used(self, talked: Refold, service) -> None:
        service(answers({"summary": "word " * 4000}))
        before = context(talked)["messages"]
        asking = (*KEEPING, "--summarizer", "http")
        told = talked(*asking, code=1).errors
        assert (told.count("\n"), " 1,107 -> 5,211 tokens by utf16/4" in told) == (1, True)
        assert context(talked)["messages"] == before
        assert newest(talked, "decision")["outcome"] == "no-gain"

    @pytest.mark.slow
    def test_json_tells_why_not(self, talked: Refold, service) -> None:
        service(answers({"summary": "word " * 4000}))
        done = talked(*KEEPING, "--summarizer", "http", "--json", code=1).json
        assert (done["outcome"], done["events"], done["tokensAfter"]) == ("no-gain", [], 5211)


def test_options_that_make_no_sense_are_refused(talked: Refold) -> None:
    both = ("--summarizer", "x-1", "--summarizer", "extractive")
    talked.refused(click.UsageError, "compact", SESSION, *both, code=2)
    for option, value in (
        ("--keep-recent", "-1"),
        ("--window", "0"),
        ("--system", "no"),
    ):
        told = talked.refused(click.BadParameter, "compact", SESSION, option, value, code=2)
        assert told.param is not None
        assert told.param.opts == [option]


def test_what_is_not_there_is_reported(talked: Refold, tmp_path: Path) -> None:
    for arguments, what in ((("--policy", "nope"), "policy"), (("--leaf", "nope"), "event")):
        missing = talked.refused(NotFoundError, "compact", SESSION, *arguments)
        assert (missing.what, missing.name) == (what, "nope")
    (tmp_path / "prompt.md").write_bytes(b"\xff")
    for arguments, source in (
        (("--policy", "./nope.toml"), "nope.toml"),
        (("--summarizer", "http"), "summarizer 'http'"),
        (("--system", "prompt.md"), "prompt.md"),
    ):
        assert talked.refused(BadInputError, "compact", SESSION, *arguments).source == source


@pytest.mark.slow
def test_on_a_terminal_a_sign_of_life_is_gone_when_it_is_done(talked: Refold) -> None:
    printed = talked.on_terminal(*EXTRACTING, NO_COLOR="1")
    assert not COMMANDING.search(PROGRESS.sub("", printed))
    assert f": refold undo {SESSION} " in PROGRESS.sub("", printed).splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--policy", "layered"]])
def test_a_hostile_session_is_compacted_and_commands_nothing(
    refold: Refold, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "hostile.jsonl").write_bytes(hostile())
    done = refold("compact", "hostile.jsonl", "--keep-recent", "0", "--summarizer", "extractive", *options)
    assert not COMMANDING.search(done.out + done.errors)
    assert refold("context", "hostile", "--json").json["messages"][0]["fate"] == "summary"
    assert refold("verify", "--json").json["findings"] == []
