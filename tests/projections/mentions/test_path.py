"""Files and folders that a text names."""

from __future__ import annotations

import pytest

from projections.mentions import MentionKind
from tests.projections.mentions.finding import pieces, values


def paths(text):
    return values(MentionKind.PATH, text)


def test_a_path_is_found():
    rows = [
        "/var/log/app/server.log",
        "/home/ada/work",
        "/tmp",  # noqa: S108  a text, not a folder
        "/etc/hosts",
        "~/notes/todo.md",
        "../common/util.py",
        "../up",
        "src/app/main.ts",
        "src/app",
        "internal/sync/push.go",
        "tests/unit/store",
        "web/pages/index.vue",
        ".github/workflows/ci.yml",
        ".git/index.lock",
        "node_modules/.bin/tsc",
        "C:\\Users\\ada\\plan.xlsx",
        "D:/builds/out.zip",
        "..\\lib\\a.cs",
        "package.json",
        "README.md",
        "store.test.ts",
        "pnpm-lock.yaml",
        "go.mod",
        "Makefile",
        "Dockerfile",
        ".gitignore",
        ".env",
        ".env.local",
        ".eslintrc.json",
        "__init__.py",
        "grün/straße.md",
    ]
    assert {path: paths(f"look at {path} again") for path in rows} == {path: [path] for path in rows}


def test_what_only_looks_like_a_path_is_none():
    rows = [
        "and/or read/write client/server yes/no TCP/IP I/O w/o N/A CI/CD before/after/during",
        "1/2 of it, 24/7, 16/9, on 2026/01/02 or 01/02/2026",
        "text/html, application/json, image/svg+xml",
        "feature/login, bugfix/crash-on-start, origin/main, refs/heads/main, refs/x/y/",
        "</div> <br/> <a></a> />",
        "// a comment /* another */ a / b, c//d",
        "/ab+c/g s/foo/bar/g y/abc/xyz/ /start/,/end/p",
        "/help /clear /login/start GET /users/me",
        "example.com, docs.example.org/start.html, example.com/a.js",
        "name@example.com git@example.com:a/b.git",
        "1.2.3 v18.0.1 3.11 1.0.x",
        "console.log process.env document.html s.cfg this.lock foo.bar r.c",
        "foo.go() items.map(x) res.json() fs.open",
        "done.Next we go. It works.The end. e.g. i.e. etc.",
        "Node.js Next.js Vue.js Socket.io",
        "a .json file, .test.ts and .go ones",
        "@scope/package and '@lib/x'",
        "$HOME/bin ${ROOT}/lib $x/a.ts %2Fdocs%2Fa.md",
        "node:fs/promises node:internal/modules/loader.js",
        "\\\\server\\share\\a.txt",
        "the Makefiles, a Dockerfiles' list, MakefileX",
        "... .. . / ~ //",
    ]
    assert {text: found for text in rows if (found := paths(text))} == {}


@pytest.mark.parametrize(
    "text", ["src/**/*.ts", "*.test.js", "./...", "packages/[name]/x.ts", "a/${b}/c.ts", "x/<id>/y.ts"]
)
def test_a_pattern_names_no_one_file(text):
    assert paths(text) == []


def test_a_place_in_a_file_is_no_part_of_its_path():
    rows = [":12", ":12:5", ":50-200", ":12:", "(12,5)", "#L12", "-12-", "-303-	// text"]
    assert {suffix: pieces(MentionKind.PATH, f"src/a.ts{suffix}")[0] for suffix in rows} == dict.fromkeys(
        rows, "src/a.ts"
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        "()",
        "[]",
        "``",
        '""',
        "''",
        "<>",
        ("**", "**"),
        "**",
        ("", "."),
        ("", ","),
        ("", "?"),
        ("", "!"),
        ("", ":"),
        ("", ";"),
    ],
)
def test_what_stands_around_a_path_is_no_part_of_it(left, right):
    found = paths(f"see {left}lib/a.py{right} now")
    assert found == ([] if left == "<" else ["lib/a.py"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("./scripts/run.sh", "scripts/run.sh"),
        ("src/", "src"),
        ("tests/unit/", "tests/unit"),
        ("/opt/x/", "/opt/x"),
    ],
)
def test_ways_to_write_one_path_have_one_value(text, value):
    assert paths(f"in {text} there") == [value]


def test_a_path_in_quotes_may_have_blanks():
    text = "open '/home/ada/My Pictures/shot 3.png' and \"~/a b/c.txt\""
    assert paths(text) == ["/home/ada/My Pictures/shot 3.png", "~/a b/c.txt"]


@pytest.mark.parametrize("text", ["'/home/ada/run it --now.sh'", "'/usr/bin/python script.py'"])
def test_a_command_in_quotes_is_no_path_with_blanks(text):
    assert all(" " not in path for path in paths(text))


@pytest.mark.parametrize(
    "text", ["--- a/{}", "+++ b/{}", "diff --git a/{0} b/{0}", "x\n--- a/{}", "x\\n+++ b/{}"]
)
def test_a_diff_names_files_without_its_prefixes(text):
    assert set(paths(text.format("pkg/new.go"))) == {"pkg/new.go"}


def test_a_folder_called_a_is_kept_elsewhere():
    assert paths("see a/b.go") == ["a/b.go"]


def test_a_folder_ends_in_a_slash_or_has_a_known_name():
    assert paths("in `eventlog/`, (worker/) and tests/unit/ but not in either/or and/ here") == [
        "eventlog",
        "worker",
        "tests/unit",
    ]


def test_a_tree_lists_folders():
    assert paths("├── core/\n│   └── base.py\n  interactive/\n") == ["core", "base.py", "interactive"]


def test_folders_that_are_words_of_prose_need_quotes_or_depth():
    assert paths("new tests/status changes in `tests/status` and tests/unit/store") == [
        "tests/status",
        "tests/unit/store",
    ]


def test_an_escaped_line_break_is_no_letter_of_a_path():
    assert paths(r"fixed\nsrc/a.ts\nlib/b.ts\n") == ["src/a.ts", "lib/b.ts"]


def test_a_file_handed_to_an_agent_is_a_path():
    assert paths("see @notes.md and @src/a.ts") == ["notes.md", "src/a.ts"]


def test_every_path_of_a_list_is_found():
    assert paths("bash.ts, edit.ts,find.ts;grep.ts|ls.ts") == [
        "bash.ts",
        "edit.ts",
        "find.ts",
        "grep.ts",
        "ls.ts",
    ]
