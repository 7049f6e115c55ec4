"""The commands of shell scripts."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from projections.mentions import commands
from tests.support.growth import NO_SQUARE, times_as_long


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("make test", ["make test"]),
        (
            "make;make test && make install || make clean\nmake all",
            ["make", "make test", "make install", "make clean", "make all"],
        ),
        ("git   status\t-s", ["git status -s"]),
        ("make \\\n  test", ["make test"]),
        ("server --port 80 & client", ["server --port 80", "client"]),
        ("(cd /x && make) ; { ls; }", ["make", "ls"]),
    ],
)
def test_a_script_is_split_into_its_commands(script, expected):
    assert commands(script) == expected


def test_what_is_quoted_or_substituted_is_not_split():
    rows = [
        'echo_it "a && b; c | d"',
        "grep 'a|b' x",
        "grep a\\|b x",
        'x "$(a | b)" y',
        "x `a | b` y",
        "x $(a; (b) | c) y",
        'x "$(y "z; w")"',
        "diff <(a | b) <(c)",
        "find . -exec rm {} \\;",
    ]
    assert {script: commands(script) for script in rows} == {script: [script] for script in rows}


@pytest.mark.parametrize(
    "script",
    [
        "make 2>&1 | tail -5",
        "make | grep x | wc -l",
        "make |& tee log",
        "make > log 2>/dev/null",
        "make >>log </dev/null",
        "make &> log",
        "make <<< text",
    ],
)
def test_a_pipeline_is_its_first_stage_and_redirections_are_left_out(script):
    assert commands(script) == ["make"]


def test_what_only_moves_speaks_or_assigns_is_no_command():
    rows = [
        "cd /x",
        "echo done",
        "true",
        "x=1",
        "X=1 y=$(date)",
        "export A=b",
        "set -e",
        "files=(a b c)",
        "# a comment",
        "sleep 5; exit 1",
        "pwd",
        "",
        " \n\t",
        "cat > f",
    ]
    assert {script: found for script in rows if (found := commands(script))} == {}


def test_assignments_before_a_command_are_left_out():
    assert commands("CI=1 LANG=C make test") == ["make test"]


def test_comments_are_left_out():
    assert commands("make # all of it; really\n# make x\nls a#b") == ["make", "ls a#b"]


def test_loops_and_choices_are_their_commands():
    loop, choice = 'for f in *.ts; do\n  cp "$f" x\ndone', "if grep -q a b; then rm x; else ls; fi"
    script = f"{loop}\n{choice}\nwhile ! ready; do wait_for it; done"
    assert commands(script) == ['cp "$f" x', "grep -q a b", "rm x", "ls", "ready", "wait_for it"]


@pytest.mark.parametrize("mark", ["EOF", "'EOF'", '"EOF"'])
def test_bodies_of_here_documents_are_left_out(mark):
    script = f"python - <<{mark} && ls\nprint('x | y')\nif it's: \"\nEOF\nmake"
    assert commands(script) == ["python -", "ls", "make"]


def test_a_here_document_within_a_substitution_is_left_out():
    script = 'git commit -m "$(cat <<\'EOF\'\nit\'s "done" && more\nEOF\n)" && git push'
    assert commands(script) == ['git commit -m "$(cat )"', "git push"]


def test_a_here_document_without_an_end_is_none():
    assert commands("cat <<EOF\nls") == ["ls"]


@pytest.mark.parametrize("script", ["echo 'never closed\nls", 'a "b\nls', "a $(b\nls", "a `b\nls"])
def test_a_script_that_cannot_be_split_is_its_first_line(script):
    assert commands(f"\n  {script}") == [script.split("\n")[0]]


@given(
    st.text()
    | st.lists(st.sampled_from([*"'\"`$()|&;<>#\\ \n=ab", "<<EOF", "EOF", "$(", "2>&1", "cd "])).map("".join)
)
@example("<(")
@example("a\\")
def test_commands_of_any_text_are_lines_with_single_spaces(script):
    found = commands(script)
    assert [command for command in found if not command or command != " ".join(command.split())] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["<<A\n", "a '", "$(", "a|", '"', "\\", "(", "<", "x ", "echo <<A;", "`", "#"]
)
def test_a_large_script_is_split_in_time_that_grows_with_it(piece):
    few = 15_000 // len(piece)
    assert times_as_long(commands, piece * few, piece * few * 8) < NO_SQUARE
