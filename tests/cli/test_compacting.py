"""Test the choice of summarizer, policy and template before a command uses them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cli import compacting
from cli.commands import compact
from cli.compacting import policy_named, with_template
from cli.summarizing import SummarizerOptions, build_summarizer_chain, choose_summarizer
from compaction import part
from compaction.policy.load import parse_policy
from compaction.summarizers import SummarizerError, registry
from compaction.summarizers.chain import never
from eventstore.errors import BadInputError, NotFoundError
from eventstore.lmdb.store import LmdbLog
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold
from tests.compaction.scripted import Scripted
from tests.support.local_http import NO_SERVER

CHEAP = parse_policy('name = "cheap"\n[prompting]\nmodels = ["cheap", "dear"]\n', source="here")
ASKING: SummarizerOptions = {"summarizers": (), "no_redact": False}


def asking(*summarizers: str) -> SummarizerOptions:
    return {**ASKING, "summarizers": summarizers}


KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


@pytest.fixture
def ctx() -> click.Context:
    return click.Context(click.Command("compact"))


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a person's own policies."""
    monkeypatch.setenv("REFOLD_CONFIG", str(tmp_path))
    (tmp_path / "policies").mkdir()
    return tmp_path / "policies"


class TestSummarizerName:
    def test_a_line_in_the_registry_is_all_that_a_new_one_takes(
        self, ctx: click.Context, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(registry.SUMMARIZERS, "mine", registry.SummarizerKind(make=lambda _: Scripted()))
        assert choose_summarizer(ctx, asking("mine")) == ("mine", (), True)
        (option,) = (each for each in compact.command.params if each.name == "summarizers")
        assert [item.value for item in option.shell_complete(ctx, "m")] == ["mine"]

    @pytest.mark.parametrize(
        "name", ["nobody", "extractve", "Extractive", "extractive ", "http,recorded", ""]
    )
    def test_another_word_is_no_model_but_reported(self, ctx: click.Context, name: str) -> None:
        with pytest.raises(NotFoundError, match="anthropic, command, extractive, http, openai, recorded"):
            choose_summarizer(ctx, asking(name))

    def test_every_name_is_in_the_help(self, refold: Refold) -> None:
        for command in ("compact", "go", "handoff", "maintain", "judge"):
            told = refold(command, "--help").out.partition("--summarizer")[2]
            assert [name for name in registry.SUMMARIZERS if name not in told] == []

    def test_the_assumed_window_is_that_of_compactions(self) -> None:
        assert compacting.DEFAULT_WINDOW == part.DEFAULT_WINDOW

    def test_naming_the_option_loads_no_summarizer(self) -> None:
        modules = "sys, cli.compacting, cli.summarizing, cli.commands.export"
        loaded = f"import {modules}; print({{'compaction', 'eventstore'}} & set(sys.modules))"
        said = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
        assert said.stdout == "set()\n"


class TestAsker:
    def test_without_a_key_it_is_extractive(self, ctx: click.Context, store: LmdbLog) -> None:
        (summarizer,) = build_summarizer_chain(ctx, store, ASKING, never).summarizers
        assert summarizer.name == "extractive"

    @pytest.mark.parametrize("key", KEYS)
    def test_with_a_key_it_is_anthropic(
        self, ctx: click.Context, store: LmdbLog, monkeypatch: pytest.MonkeyPatch, key: str
    ) -> None:
        monkeypatch.setenv(key, "no-key")
        (summarizer,) = build_summarizer_chain(ctx, store, ASKING, never).summarizers
        assert summarizer.name == "anthropic"

    def test_nothing_is_said_of_it_before_it_is_asked_and_nothing_twice(
        self, ctx: click.Context, store: LmdbLog, capsys: pytest.CaptureFixture[str]
    ) -> None:
        chain = build_summarizer_chain(ctx, store, ASKING, never)
        assert capsys.readouterr() == ("", "")
        for _ in range(2):
            with chain.listener.waiting_for("extractive"):
                pass
        assert capsys.readouterr().err.count("\n") == 1

    @pytest.mark.parametrize(("name", "notes"), [("extractive", 1), ("recorded", 0)])
    def test_instructions_that_nobody_follows_are_reported(
        self, ctx: click.Context, store: LmdbLog, capsys: pytest.CaptureFixture[str], name: str, notes: int
    ) -> None:
        chain = build_summarizer_chain(ctx, store, asking(name), never, instructions="Be brief.")
        with chain.listener.waiting_for(name):
            assert capsys.readouterr().err.count(f"refold: note: {name} ") == notes

    def test_a_service_that_is_asked_before_is_told_first(
        self, ctx: click.Context, store: LmdbLog, capsys: pytest.CaptureFixture[str]
    ) -> None:
        chain = build_summarizer_chain(ctx, store, ASKING, never, remote="http://summaries.test/")
        with chain.listener.waiting_for("http"):
            pass
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert 0 < told.index("http://summaries.test/") < told.index("ANTHROPIC_API_KEY")

    def test_a_choice_is_not_talked_about(
        self, ctx: click.Context, store: LmdbLog, capsys: pytest.CaptureFixture[str]
    ) -> None:
        build_summarizer_chain(ctx, store, asking("extractive"), never)
        assert capsys.readouterr() == ("", "")

    def test_a_models_name_is_a_choice_of_anthropic(
        self,
        ctx: click.Context,
        store: LmdbLog,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        chain = build_summarizer_chain(ctx, store, asking("a-1", "b-1"), never)
        assert [(each.name, each.model) for each in chain.summarizers] == [
            ("anthropic", "a-1"),
            ("anthropic", "b-1"),
        ]
        assert capsys.readouterr().err == ""

    def test_models_that_a_policy_names_are_asked_in_their_order(
        self, ctx: click.Context, store: LmdbLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        chain = build_summarizer_chain(ctx, store, ASKING, never, CHEAP)
        assert [each.model for each in chain.summarizers] == ["cheap", "dear"]

    def test_a_persons_models_go_before_those_of_the_policy(
        self, ctx: click.Context, store: LmdbLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        chain = build_summarizer_chain(ctx, store, asking("mine-1"), never, CHEAP)
        assert [each.model for each in chain.summarizers] == ["mine-1"]

    @pytest.mark.parametrize("names", [(), ("extractive",)])
    def test_models_that_a_policy_names_say_nothing_to_one_that_asks_no_model(
        self, ctx: click.Context, store: LmdbLog, names: tuple[str, ...]
    ) -> None:
        (summarizer,) = build_summarizer_chain(ctx, store, asking(*names), never, CHEAP).summarizers
        assert summarizer.name == "extractive"

    @pytest.mark.parametrize("names", [("extractive", "a-1"), ("a-1", "http"), ("a-1", "openai:b")])
    def test_a_summarizer_excludes_others(
        self, ctx: click.Context, store: LmdbLog, names: tuple[str, ...]
    ) -> None:
        with pytest.raises(click.UsageError, match="excludes others"):
            build_summarizer_chain(ctx, store, asking(*names), never)

    @pytest.mark.parametrize("address", ["notaurl", "127.0.0.1:9", "http://", "ftp://x", "http://me:pa/ss@x"])
    @pytest.mark.parametrize("name", ["anthropic", "http", "openai:m"])
    def test_a_bad_address_is_refused_without_its_password(
        self,
        ctx: click.Context,
        store: LmdbLog,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        address: str,
    ) -> None:
        variable = registry.SUMMARIZERS[name.partition(":")[0]].endpoint_variable
        monkeypatch.setenv(variable, address)
        with pytest.raises(BadInputError, match=f"^{variable}: is not an address") as info:
            build_summarizer_chain(ctx, store, asking(name), never)
        assert "ss@x" not in str(info.value)

    def test_the_address_of_http_may_come_from_the_environment(
        self, ctx: click.Context, store: LmdbLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REFOLD_SUMMARIZER_ENDPOINT", "http://127.0.0.1:1/x")
        (summarizer,) = build_summarizer_chain(ctx, store, asking("http"), never).summarizers
        assert summarizer.endpoint == "http://127.0.0.1:1/x"


@pytest.mark.usefixtures("policies")
class TestPolicies:
    def test_a_path_is_that_of_a_file(self, policies: Path) -> None:
        (policies / "x.toml").write_text('name = "another name"\n')
        assert policy_named(str(policies / "x.toml")).name == "another name"


class TestTemplates:
    def test_a_files_template_comes_before_all_others(self, tmp_path: Path) -> None:
        file = tmp_path / "x.md"
        file.write_text('+++\nname = "compaction"\nversion = 9\n+++\nSay it.\n')
        sources, name = with_template(str(file))
        found = sources[0](name)
        assert found is not None
        assert (name, found.version, sources[0]("branch")) == ("compaction", 9, None)

    def test_a_name_is_looked_for_where_all_are(self) -> None:
        assert with_template("branch")[1] == "branch"

    @pytest.mark.parametrize("content", [None, b"\xff"])
    def test_a_file_that_cannot_be_read_is_reported(self, tmp_path: Path, content: bytes | None) -> None:
        file = tmp_path / "x.md"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(BadInputError) as info:
            with_template(str(file))
        assert info.value.source == f"template {file}"


class TestAPolicysSummarizer:
    def of(self, ctx: click.Context, store: LmdbLog, toml: str, *names: str) -> list[str]:
        policy = parse_policy(f'name = "mine"\n[prompting]\n{toml}\n', source="here")
        chain = build_summarizer_chain(ctx, store, asking(*names), never, policy)
        return [summarizer.name for summarizer in chain.summarizers]

    def test_it_is_asked_and_nobody_is_told_whom_they_chose(
        self, ctx: click.Context, store: LmdbLog, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.of(ctx, store, 'summarizer = "recorded"') == ["recorded"]
        assert capsys.readouterr().err == ""

    def test_the_option_leads_over_it(self, ctx: click.Context, store: LmdbLog) -> None:
        assert self.of(ctx, store, 'summarizer = "recorded"', "extractive") == ["extractive"]

    def test_one_that_there_is_not_is_reported(self, ctx: click.Context, store: LmdbLog) -> None:
        with pytest.raises(NotFoundError) as info:
            self.of(ctx, store, 'summarizer = "nobody"')
        assert (info.value.what, info.value.name) == ("summarizer", "nobody")
        assert "anthropic, command, extractive, http, openai, recorded" in info.value.remedy


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a key nor anything else that the client could take for one."""
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


ASKS_ANTHROPIC = ("--summarizer", "anthropic")


@pytest.mark.usefixtures("keyless")
class TestWithoutKey:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("compact", SESSION),
            ("go", SESSION, "a5", "--summarize"),
            ("handoff", SESSION),
            ("maintain", SESSION),
        ],
    )
    def test_a_command_is_refused_although_there_is_nothing_to_do(
        self, talked: Refold, arguments: tuple[str, ...]
    ) -> None:
        before = talked("log", SESSION, "--json").json_lines
        refused = talked.refused(SummarizerError, *arguments, *ASKS_ANTHROPIC)
        assert refused.summarizer == "anthropic"
        assert talked("log", SESSION, "--json").json_lines == before

    @pytest.mark.parametrize(
        "arguments",
        [("compact", SESSION, *ASKS_ANTHROPIC), ("go", SESSION, "a5", "--summarize", *ASKS_ANTHROPIC)],
    )
    def test_a_dry_run_needs_no_key(self, talked: Refold, arguments: tuple[str, ...]) -> None:
        talked(*arguments, "--dry-run")

    def test_a_server_that_is_named_needs_no_key(
        self, talked: Refold, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", NO_SERVER)
        talked("compact", SESSION, *ASKS_ANTHROPIC)

    def test_a_token_in_place_of_a_key_will_do(self, talked: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token")
        talked("compact", SESSION, *ASKS_ANTHROPIC)


AFTER_TURN = '{"on":"after_turn"}'
EXTRACTING = ("--summarizer", "extractive")


@pytest.fixture
def mine(talked: Refold, tmp_path: Path) -> Refold:
    """The command in a folder with a policy that names a template which is not there, and one that is broken."""
    (talked.config / "templates").mkdir(parents=True)
    (talked.config / "templates" / "broken.md").write_text("no front matter")
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\n[trigger]\nreserve = 300\n[cut]\npart = "keep-recent"\ntokens = 250\n'
        '[prompting]\ntemplate = "nope"\nshort = "broken"\n'
    )
    return talked


def version(refold: Refold) -> int:
    return len(refold("log", SESSION, "--json").json_lines)


@pytest.mark.parametrize(
    "arguments", [("maintain", SESSION, "--policy", "mask"), ("policies", "check", "mask")]
)
def test_a_policy_that_makes_no_summaries_misses_no_template(
    mine: Refold, arguments: tuple[str, ...]
) -> None:
    (mine.config / "templates" / "compaction.md").write_text("no front matter")
    mine(*arguments, stdin=AFTER_TURN)


def test_what_a_person_sets_counts_before_that(mine: Refold, tmp_path: Path) -> None:
    (tmp_path / "greedy.toml").write_text('name = "greedy"\nextends = "pi"\n[trigger]\nreserve = 1_000\n')
    (tmp_path / "settings.toml").write_text("reserve_tokens = 300\nkeep_recent_tokens = 250\n")
    arguments = ("--policy", "greedy.toml", *EXTRACTING, "--window", "1000", "--settings", "settings.toml")
    assert mine("maintain", SESSION, *arguments, stdin=AFTER_TURN).errors == ""


def test_where_a_person_says_what_is_kept_the_policys_cut_is_not_told(talked: Refold) -> None:
    arguments = ("compact", SESSION, *EXTRACTING, "--window", "16000", "--keep-recent", "250")
    assert talked(*arguments).errors == ""
