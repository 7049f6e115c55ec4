from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from compaction.policy.load import load_preset, parse_policy, preset_names
from eventstore.errors import BadInputError, NotFoundError
from tests.cli.running import Refold


@pytest.fixture
def own(refold: Refold) -> Path:
    """The folder of a person's own policies."""
    folder = refold.config / "policies"
    folder.mkdir(parents=True)
    return folder


class TestList:
    def test_ones_own_come_first_and_stand_for_presets_of_their_names(
        self, refold: Refold, own: Path
    ) -> None:
        for name in ("mine", "pi"):
            (own / f"{name}.toml").write_text(f'name = "{name}"\nextends = "pi"\ndescription = "Own."\n')
        found = refold("policies", "--json").json["policies"]
        assert [each["name"] for each in found] == [
            *("mine", "pi"),
            *(name for name in preset_names() if name != "pi"),
        ]
        assert found[0] == {"name": "mine", "source": str(own / "mine.toml"), "description": "Own."}
        assert found[2]["source"] == "built-in"

    def test_a_broken_one_is_reported_and_the_others_are_listed(self, refold: Refold, own: Path) -> None:
        (own / "broken.toml").write_text("name = ")
        listed = refold("policies", code=1)
        assert [line.split()[0] for line in listed.lines[1:]] == preset_names()
        assert f"{own / 'broken.toml'}: " in listed.errors
        assert len(refold("policies", "--json", code=1).json["problems"]) == 1

    def test_without_settings_there_is_no_folder_needed(self, refold: Refold) -> None:
        refold("policies")
        assert not refold.config.exists()


class TestShow:
    @pytest.mark.parametrize("name", preset_names())
    def test_what_is_shown_is_the_policy_with_every_key(self, refold: Refold, name: str) -> None:
        assert parse_policy(refold("policies", "show", name).out, source="shown") == load_preset(name)

    def test_json_has_the_keys_of_toml(self, refold: Refold) -> None:
        shown = refold("policies", "show", "oh-my-pi", "--json").json
        assert shown["policy"] == {
            **tomllib.loads(refold("policies", "show", "oh-my-pi").out),
            **dict.fromkeys(("recovery", "recovery_placement", "restoring")),
            "trigger": shown["policy"]["trigger"],
        }
        assert (shown["warnings"], shown["problems"]) == ([], [])

    def test_a_policy_may_be_a_file(self, refold: Refold, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_text('name = "anything"\nextends = "mask"\n')
        assert refold("policies", "show", "x.toml").lines[0] == 'name = "anything"'


class TestNew:
    def test_one_is_begun_as_the_preset_that_it_extends(self, refold: Refold) -> None:
        refold("policies", "new", "mine", "--from", "oh-my-pi")
        shown = refold("policies", "show", "mine", "--json").json["policy"]
        expected = refold("policies", "show", "oh-my-pi", "--json").json["policy"]
        assert shown == {**expected, "name": "mine", "description": ""}

    def test_it_extends_the_preset_that_the_help_names(self, refold: Refold) -> None:
        refold("policies", "new", "mine")
        extended = tomllib.loads((refold.config / "policies" / "mine.toml").read_text())["extends"]
        assert f"[default: {extended}]" in refold("policies", "--help").out

    @pytest.mark.parametrize("name", preset_names())
    def test_its_file_has_all_that_the_preset_says_to_be_taken_out_of_comment(
        self, refold: Refold, name: str
    ) -> None:
        path = Path(refold("policies", "new", "mine", "--from", name, "--json").json["path"])
        own, _, said = path.read_text().partition("\n# The settings of ")
        lines = [line.removeprefix("# ").rstrip("#") for line in said.splitlines()[2:]]
        whole = own.replace("extends = ", "# ") + "\n".join(lines)
        assert parse_policy(whole, source="mine").prompting == load_preset(name).prompting
        assert parse_policy(whole, source="mine").rewrites == load_preset(name).rewrites

    def test_one_that_is_there_is_left_alone(self, refold: Refold, own: Path) -> None:
        (own / "mine.toml").write_text("kept")
        error = refold.refused(BadInputError, "policies", "new", "mine")
        assert error.source == str(own / "mine.toml")
        assert (own / "mine.toml").read_text() == "kept"

    @pytest.mark.parametrize("name", ["../mine", "a/b", ".hidden", "a\x1bb", ".."])
    def test_a_name_that_no_file_should_have_is_refused(self, refold: Refold, name: str) -> None:
        assert refold.refused(BadInputError, "policies", "new", name).source == repr(name)
        assert not refold.config.exists()

    @pytest.mark.parametrize(
        ("name", "meant"), [("claude-code", "claude-code-2.1"), ("codex", "codex-0.169")]
    )
    def test_a_name_like_a_policys_is_suggested(self, refold: Refold, name: str, meant: str) -> None:
        error = refold.refused(NotFoundError, "policies", "show", name)
        assert error.remedy.endswith(f"; did you mean {meant}?")

    def test_one_of_ones_own_is_nothing_to_extend(self, refold: Refold, own: Path) -> None:
        (own / "first.toml").write_text('name = "first"\n')
        error = refold.refused(BadInputError, "policies", "new", "mine", "--from", "first")
        assert (error.source, ", ".join(preset_names()) in error.remedy) == ("policy 'first'", True)
        assert not (own / "mine.toml").exists()


class TestCheck:
    def test_what_cannot_be_meant_is_a_warning(self, refold: Refold, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_text('name = "x"\nextends = "pi"\n[trigger]\nreserve = 300_000\n')
        (told,) = refold("policies", "check", "x.toml", "--json").json["warnings"]
        assert " 200,000 " in told
        assert refold("policies", "check", "x.toml").notes == [f"refold: note: {told}"]

    def test_everything_that_is_wrong_with_a_file_is_reported_a_line_each(
        self, refold: Refold, tmp_path: Path
    ) -> None:
        (tmp_path / "x.toml").write_text(
            'name = "x"\nextends = "pie"\nplacement = "below"\n[cut]\npart = "keep-recent"\ntokns = 1\n'
            '[prompting]\ntemplate = "nope"\nreserve = "all"\nsummarizer = "nobody"\n'
        )
        checked = refold("policies", "check", "x.toml", code=1)
        assert [line.split(": ")[2] for line in checked.errors.splitlines()] == [
            "extends",
            "placement",
            "[cut] tokns",
            "[prompting] reserve",
            "[prompting] template",
            "[prompting] summarizer",
        ]
        assert checked.out == ""
        found = refold("policies", "check", "x.toml", "--json", code=1).json
        assert (found["policy"], found["warnings"], len(found["problems"])) == (None, [], 6)
        assert sorted(found["problems"][2]) == ["problem", "remedy", "where"]
        assert found["problems"][2]["where"] == "[cut] tokns"
        assert " tokens?" in found["problems"][2]["remedy"]

    def test_what_is_shown_has_the_same_faults(self, refold: Refold, own: Path) -> None:
        (own / "mine.toml").write_text('name = "mine"\nextends = "pi"\n[prompting]\nshort = "nope"\n')
        assert refold("policies", "show", "mine", code=1).lines[0] == 'name = "mine"'

    def test_a_file_that_is_no_utf_8_is_reported(self, refold: Refold, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_bytes(b"\xff")
        assert refold.refused(BadInputError, "policies", "check", "x.toml").source == "x.toml"


def test_a_hostile_description_commands_nothing(refold: Refold, own: Path) -> None:
    (own / "mine.toml").write_text('name = "mine"\ndescription = "\\u001b[31mred\\nforged"\n')
    for action in (["list"], ["show", "mine"], ["check", "mine"]):
        assert "\x1b" not in refold("policies", *action).out
    assert not any(line.startswith("forged") for line in refold("policies").lines)


@pytest.mark.parametrize("name", preset_names())
def test_a_new_policy_may_not_hide_one_that_comes_with_refold(refold: Refold, name: str) -> None:
    assert name in refold.refused(BadInputError, "policies", "new", name).source
    assert not refold.config.exists()
