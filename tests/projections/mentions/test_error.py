"""Lines that report an error."""

from __future__ import annotations

import pytest

from projections.mentions import MentionKind, mentions
from projections.mentions.errors import LONGEST
from tests.projections.mentions.finding import pieces, values


def errors(text):
    return values(MentionKind.ERROR, text)


REPORTS = [
    "TypeError: cannot read property of undefined",
    "json.decoder.JSONDecodeError: Expecting value",
    "java.io.IOException: broken pipe",
    "Uncaught ReferenceError: x is not defined",
    "Error: Cannot find module './x.js'",
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'",
    "error: pathspec 'x' did not match any file",
    "error[E0425]: cannot find value `x` in this scope",
    "error TS5023: Unknown compiler option",
    "src/a.ts(3,7): error TS2304: Cannot find name 'foo'.",
    "src/a.ts:3:7 - error TS2304: Cannot find name 'foo'.",
    "src/main.c:3:5: error: expected ';' before '}' token",
    "src/main.c:3:10: fatal error: x.h: No such file",
    "a.py:3: error: Incompatible types",
    "cmd/main.go:12:3: undefined: thing",
    "FAILED tests/test_a.py::test_b - assert 1 == 2",
    "FAIL tests/a.test.ts > adds",
    "FAIL\texample.com/x/store\t0.5s",
    "--- FAIL: TestThing (0.01s)",
    "E   assert 1 == 2",
    "E       KeyError: 'x'",
    "panic: runtime error: index out of range",
    "thread 'main' panicked at src/main.rs:2:5:",
    "fatal: not a git repository",
    "Fatal error: Uncaught Error: no such class",
    "PHP Parse error: syntax error, unexpected end of file",
    "npm ERR! code ELIFECYCLE",
    "npm error code 1",
    "error Command failed with exit code 1.",
    "make: *** [Makefile:12: all] Error 1",
    "bash: foo: command not found",
    "zsh: command not found: foo",
    "sh: 1: tsc: not found",
    "cat: notes.txt: No such file or directory",
    "rm: cannot remove 'x': Permission denied",
    "git@example.com: Permission denied (publickey).",
    "Permission denied (publickey).",
    "rg: x: No such file or directory (os error 2)",
    "curl: (6) Could not resolve host",
    "Command exited with code 1",
    "Process exited with code 128",
    "Exit code 2",
    "exit status 1",
    "[ERROR] it broke",
    "ERROR in ./src/App.tsx 5:10",
    "Segmentation fault (core dumped)",
    "<tool_use_error>File does not exist.</tool_use_error>",
    "Request failed with status code 404",
]


def test_a_report_is_found_and_says_its_line():
    rows = [line for line in REPORTS if not line.startswith(("<", "git@"))]
    assert {line: errors(f"before\n{line}\nafter") for line in rows} == {
        line: [" ".join(line.split())] for line in rows
    }


def test_prose_and_code_about_errors_report_none():
    rows = [
        "I fixed the error in the parser, and the fatal one too.",
        "The TypeError: a note about it in the middle of a line",
        'throw new Error("cannot do this");',
        "raise ValueError(name) from None",
        "except ValueError:",
        "} catch (error) {",
        "0 errors, 2 warnings",
        "no errors found",
        "Traceback (most recent call last):",
        "error: string;",
        "error: err.message,",
        "error: error instanceof Error ? error.message : String(error)",
        "Error: {",
        "error:",
        "FAIL",
        "PASS tests/a.test.ts",
        "--- PASS: TestThing (0.01s)",
        "Command exited with code 0",
        "Exit code 0",
        "exit code 1 means that it failed",
        "Error handling is next.",
        "errors: none",
        "warning: unused variable",
        "a.c:3:5: warning: unused variable",
        "a.c:3:5: note: declared here",
        'If you see "command not found", install it.',
        "description: what an exception is",
        "12:30:45 all is well",
    ]
    assert {line: found for line in rows if (found := errors(line))} == {}


def test_lines_of_listings_diffs_and_comments_report_none():
    rows = ["12→", "   12→\t", "12\t", "12: ", "a.log:12:", "+", "-", "- ", "> ", "// ", "# ", "* "]
    assert {prefix: found for prefix in rows if (found := errors(f"{prefix}Error: not a report"))} == {}


@pytest.mark.parametrize(
    "prefix",
    [
        "    ",
        "\t",
        "2026-01-02T03:04:05.678Z ",
        "[2026-01-02 03:04:05] ",
        "03:04:05 ",
        "[build] ",
        "\x1b[31m",
        "\N{MULTIPLICATION SIGN} ",
    ],
)
def test_what_a_log_puts_before_a_report_is_no_part_of_it(prefix):
    text = f"{prefix}Error: it broke"
    assert (errors(text), pieces(MentionKind.ERROR, text)) == (["Error: it broke"], ["Error: it broke"])


def test_markup_is_no_part_of_what_a_report_says():
    assert errors("<tool_use_error>No such\tfile.</tool_use_error>\r\n\x1b[1mError: \x1b[0m it  broke") == [
        "No such file.",
        "Error: it broke",
    ]


def test_a_long_report_is_cut():
    (found,) = errors(f"Error: {'x' * 1000}")
    assert len(found) == LONGEST


def test_a_report_encloses_what_it_names():
    (report, *within) = mentions("src/a.ts(3,7): error TS2304: Cannot find name 'fooBar'.")
    assert report.kind is MentionKind.ERROR
    assert [(each.kind, each.value) for each in within] == [(MentionKind.PATH, "src/a.ts")]


def test_every_line_is_looked_at():
    text = "Error: one thing\nError: another\n\nfine\nfatal: the last"
    assert errors(text) == ["Error: one thing", "Error: another", "fatal: the last"]
