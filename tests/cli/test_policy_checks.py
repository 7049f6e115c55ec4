"""What is told of a policy before it is followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from compaction.validation import FaultyInputError
from eventstore.errors import BadInputError, NotFoundError
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold

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


@pytest.mark.parametrize("arguments", [("compact",), ("compact", "--dry-run"), ("maintain",)])
def test_a_policy_that_names_a_template_which_is_not_there_is_not_followed_and_nothing_is_written(
    mine: Refold, arguments: tuple[str, ...]
) -> None:
    before = version(mine)
    command, *options = arguments
    arguments = (command, SESSION, "--policy", "mine.toml", *EXTRACTING, *options)
    outcome = mine(*arguments, stdin=AFTER_TURN, code=1)
    assert isinstance(outcome.error, FaultyInputError)
    assert [fault.where for fault in outcome.error.faults] == ["[prompting] template", "[prompting] short"]
    assert "'nope'" in outcome.error.faults[0].problem
    assert (outcome.error.source, outcome.errors.count("\n")) == ("policy mine", 2)
    assert version(mine) == before


@pytest.mark.parametrize(
    "arguments", [("maintain", SESSION, "--policy", "mask"), ("policies", "check", "mask")]
)
def test_a_policy_that_makes_no_summaries_misses_no_template(
    mine: Refold, arguments: tuple[str, ...]
) -> None:
    (mine.config / "templates" / "compaction.md").write_text("no front matter")
    mine(*arguments, stdin=AFTER_TURN)


def test_where_a_person_names_another_template_the_policys_is_not_missed(mine: Refold) -> None:
    arguments = ("--policy", "mine.toml", *EXTRACTING, "--template", "compaction")
    (fault,) = mine.refused(FaultyInputError, "compact", SESSION, *arguments).faults
    assert fault.where == "[prompting] short"


def test_a_template_that_a_person_names_has_to_be_there(talked: Refold) -> None:
    error = talked.refused(NotFoundError, "compact", SESSION, *EXTRACTING, "--template", "nope")
    assert (error.what, error.name) == ("template", "nope")


def test_a_trigger_that_would_fire_at_every_turn_is_refused(mine: Refold, tmp_path: Path) -> None:
    (tmp_path / "greedy.toml").write_text('name = "greedy"\nextends = "pi"\n[trigger]\nreserve = 1_000\n')
    arguments = ("maintain", SESSION, "--policy", "greedy.toml", *EXTRACTING, "--window", "1000")
    error = mine.refused(BadInputError, *arguments, stdin=AFTER_TURN)
    assert (error.source, "1,000" in error.problem) == ("policy greedy", True)


def test_what_a_person_sets_counts_before_that(mine: Refold, tmp_path: Path) -> None:
    (tmp_path / "greedy.toml").write_text('name = "greedy"\nextends = "pi"\n[trigger]\nreserve = 1_000\n')
    (tmp_path / "settings.toml").write_text("reserve_tokens = 300\nkeep_recent_tokens = 250\n")
    arguments = ("--policy", "greedy.toml", *EXTRACTING, "--window", "1000", "--settings", "settings.toml")
    assert mine("maintain", SESSION, *arguments, stdin=AFTER_TURN).errors == ""


@pytest.mark.parametrize("command", ["compact", "maintain"])
def test_a_cut_that_is_too_large_for_the_window_is_told(talked: Refold, command: str) -> None:
    done = talked(command, SESSION, *EXTRACTING, "--window", "16000", stdin=AFTER_TURN)
    (note,) = done.notes
    assert [each in note for each in ("16,000", "20,000", "13,600")] == [True] * 3


def test_where_a_person_says_what_is_kept_the_policys_cut_is_not_told(talked: Refold) -> None:
    arguments = ("compact", SESSION, *EXTRACTING, "--window", "16000", "--keep-recent", "250")
    assert talked(*arguments).errors == ""
