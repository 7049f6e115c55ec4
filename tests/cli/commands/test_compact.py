from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventstore.errors import BadInputError, NotFoundError
from tests.cli.hostile import hostile
from tests.cli.long_talk import NEVER, SESSION, long_talk
from tests.cli.running import Refold
from tests.cli.test_terminal import COMMANDING, PROGRESS
from tests.support.local_http import answers
from tests.support.messages_api import MessagesApi, complete, errs, says
from tests.support.talk import PiSession, assistant, user

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

    def test_nobody_is_asked_and_nothing_is_stored(self, talked: Refold, messages_api) -> None:
        api: MessagesApi = messages_api()
        before = events(talked)
        talked(*KEEPING, "--summarizer", "anthropic", "--dry-run")
        assert (api.requests, events(talked)) == ([], before)


class TestCompacting:
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
        assert [" by o200k" in sizes, "an estimate" in sizes] == [True, is_estimate]

    def test_another_branch_is_compacted_where_it_ends(self, talked: Refold) -> None:
        done = talked(
            "compact", SESSION, "--leaf", "#8", "--keep-recent", "0", "--summarizer", "extractive", "--json"
        )
        event = done.json["events"][0]
        assert talked("show", SESSION, event, "--json").json["parent"] == "a3"
        assert talked("tree", SESSION, "--json").json["leaf"] == event

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

    def test_a_key_that_the_server_echoes_is_neither_printed_nor_recorded(
        self, talked: Refold, messages_api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = "configured-key-0123456789"
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        api: MessagesApi = messages_api(errs(401, f"no key {key}", "authentication_error"))
        done = talked(*KEEPING, "--summarizer", "anthropic", code=1)
        assert key in str(api.requests[0].headers)
        assert key not in done.errors + str(newest(talked, "attempt"))


class TestNothing:
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
    def test_json_tells_why_not(self, talked: Refold, service) -> None:
        service(answers({"summary": "word " * 4000}))
        done = talked(*KEEPING, "--summarizer", "http", "--json", code=1).json
        assert (done["outcome"], done["events"], done["tokensAfter"]) == ("no-gain", [], 5211)


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
