from __future__ import annotations

from pathlib import Path

import pytest

from compaction.templates import built_in_names, load_built_in, parse_template
from eventstore.errors import BadInputError
from tests.cli.running import Refold

OWN = '+++\nname = "{name}"\nversion = 7\nsections = ["Goal"]\n+++\nSay the goal.\n\n## Goal\n'


@pytest.fixture
def own(refold: Refold) -> Path:
    """The folder of a person's own templates."""
    folder = refold.config / "templates"
    folder.mkdir(parents=True)
    return folder


class TestList:
    def test_ones_own_take_the_place_of_refolds(self, refold: Refold, own: Path) -> None:
        for name in ("mine", "branch"):
            (own / f"{name}.md").write_text(OWN.format(name=name))
        found = {each["name"]: each for each in refold("templates", "--json").json["templates"]}
        assert sorted(found) == sorted({*built_in_names(), "mine"})
        for name in ("mine", "branch"):
            assert (found[name]["version"], found[name]["source"]) == (7, str(own / f"{name}.md"))

    def test_a_broken_one_is_reported_and_the_others_are_listed(self, refold: Refold, own: Path) -> None:
        (own / "broken.md").write_text("no front matter")
        listed = refold("templates", code=1)
        assert len(listed.lines) == 1 + len(built_in_names())
        assert (listed.errors.count("\n"), str(own / "broken.md") in listed.errors) == (1, True)


class TestShow:
    @pytest.mark.parametrize("name", built_in_names())
    def test_what_is_shown_is_a_file_that_says_the_same(self, refold: Refold, name: str) -> None:
        shown, original = (
            parse_template(refold("templates", "show", name).out, source=""),
            load_built_in(name),
        )
        assert original is not None
        for field in ("name", "version", "sections", "strip", "text"):
            assert getattr(shown, field) == getattr(original, field)

    def test_json_has_all_of_it(self, refold: Refold) -> None:
        found = refold("templates", "show", "nine-sections", "--json").json
        original = load_built_in("nine-sections")
        assert original is not None
        assert found == {
            "name": "nine-sections",
            "version": 1,
            "source": "built-in",
            "sections": list(original.sections),
            "digest": original.digest,
            "strip": "analysis",
            "text": original.text,
            "warnings": [],
        }

    def test_a_template_may_be_a_file(self, refold: Refold, tmp_path: Path) -> None:
        (tmp_path / "x.md").write_text(OWN.format(name="anything"))
        assert refold("templates", "show", "x.md").lines[-3] == "Say the goal."


class TestNew:
    def test_one_of_refolds_is_copied_and_takes_its_place(self, refold: Refold) -> None:
        path = refold("templates", "new", "compaction", "--json").json["path"]
        found = refold("templates", "show", "compaction", "--json").json
        original = load_built_in("compaction")
        assert original is not None
        assert (found["source"], found["digest"]) == (path, original.digest)

    def test_one_of_another_name_begins_as_the_one_that_is_named(self, refold: Refold) -> None:
        refold("templates", "new", "mine", "--from", "branch")
        original = load_built_in("branch")
        assert original is not None
        assert refold("templates", "show", "mine", "--json").json["text"] == original.text

    @pytest.mark.parametrize("quote", ['"', "'"])
    def test_one_may_begin_as_another_of_ones_own(self, refold: Refold, own: Path, quote: str) -> None:
        first = OWN.format(name="first").replace('"first"', f"{quote}first{quote}  # ours")
        (own / "first.md").write_text(first)
        path = Path(refold("templates", "new", "second", "--from", "first", "--json").json["path"])
        assert path.read_text() == OWN.format(name="second")
        assert refold("templates", "check", "second").errors == ""

    def test_ones_own_leads_before_refolds_of_its_name(self, refold: Refold, own: Path) -> None:
        (own / "branch.md").write_text(OWN.format(name="branch"))
        refold("templates", "new", "mine", "--from", "branch")
        assert (own / "mine.md").read_text() == OWN.format(name="mine")

    def test_one_that_is_there_is_left_alone(self, refold: Refold, own: Path) -> None:
        (own / "short.md").write_text("kept")
        assert refold.refused(BadInputError, "templates", "new", "short").source == str(own / "short.md")
        assert (own / "short.md").read_text() == "kept"


def test_a_hostile_template_commands_nothing(refold: Refold, own: Path) -> None:
    front = '+++\nname = "mine"\nversion = 1\nsections = ["a\\u001b[31m"]\n+++\n'
    (own / "mine.md").write_text(f"{front}\x1b]0;owned\x07 Say it.\n")
    for action in (["list"], ["show", "mine"], ["check", "mine"]):
        assert "\x1b" not in refold("templates", *action).out
