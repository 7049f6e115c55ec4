"""A session as a document: its structure is the session's, whatever its texts hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.prices import library_prices
from projections.markdown import MAX_RESULT, session_markdown
from projections.overview import session_overview
from tests.cli import tale as tales
from tests.support import claude_code
from tests.support.pi_files import SESSION
from tests.support.talk import PiSession, assistant, call, image, result, shell, thinking, user

APART = "\N{ZERO WIDTH SPACE}"
HOSTILE = st.lists(
    st.sampled_from(
        [
            "```", "````", "~~~", "`", "</details>", "<details>", "<summary>", "<script>", "</script>", "<!--", "-->",
            "# Heading", "Setext\n===", "---", "> quote", "- item", "1. item", "    indented", "\t", "\n", "\n\n",
            "\r", "\x0b", "\x0c", "\x1b[31m", "\x00", "\u2028", "\u202e", "\ud800", "<a href='x'>", "<![CDATA[", "]]>",
            "<?x", "<!X", "\\", "\\<b>", "\\\\<b>", "|a|b|\n|-|-|", "[x]: http://x", "[x]", "&lt;", "`<b>`", "*", "x",
        ]
    ),
    max_size=12,
).map("".join) | st.text(max_size=60)  # fmt: skip


def document(made: PiSession, folder: Path, leaf: str | None = None) -> str:
    log = MemoryLog()
    return rendered(log, made.store_in(log, folder), leaf)


def the_tale(folder: Path, leaf: str | None = None) -> str:
    log = MemoryLog()
    return rendered(log, import_file(log, tales.write(folder / "tale.jsonl")).id, leaf)


def rendered(log: MemoryLog, name: str, leaf: str | None) -> str:
    with log.snapshot() as snapshot:
        overview = session_overview(snapshot, name, library_prices())
        return "".join(session_markdown(snapshot, overview, leaf=leaf))


def outline(markdown: str) -> list[str]:
    """The headings, and the HTML blocks with what labels them left out; nothing below the top is HTML."""
    found = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown):
        if token.type in ("heading_open", "fence", "blockquote_open") and token.level == 0:
            found.append(token.type + token.tag)
        if token.type == "html_block":
            assert token.level == 0, token.content
            assert token.content.count("<") in (1, 3), token.content
            found.append(token.content.split("\n")[0])
        assert not any(child.type == "html_inline" for child in token.children or ()), token.content
    return found


def session(said: str) -> PiSession:
    made = PiSession()
    made.says("u1", user(f"x{said}"))
    made.says("a1", assistant(f"x{said}", thinking(f"x{said}"), call(f"t{said}", "k1", path=f"x{said}")))
    made.says("r1", result(f"x{said}", tool=f"t{said}", call_id="k1"))
    made.says("r2", result(f"x{said}", tool=f"t{said}", call_id="k9"))
    made.says("b1", shell(f"x{said}", f"x{said}"))
    made.compacts("c1", "u1", summary=f"x{said}")
    made.says("u2", user("end"))
    made.entry("i1", "session_info", name=f"x{said}")
    return made


@pytest.mark.slow
@given(HOSTILE)
def test_no_text_changes_the_structure(tmp_path_factory, said):
    folder = tmp_path_factory.getbasetemp()
    assert outline(document(session(said), folder)) == outline(document(session(""), folder))


def test_the_tale_with_its_branches_results_and_summaries(tmp_path):
    found = the_tale(tmp_path)
    lines = found.split("\n")
    assert lines[0] == f"# {tales.TITLE}"
    assert [line for line in lines if line.startswith("## ")] == [
        f"## {name}"
        for name in (
            "User",
            "Assistant",
            "User",
            "Assistant",
            "User",
            "Assistant",
            "Another branch",
            "Branch summary",
            "Compaction",
            "User",
            "Assistant",
        )
    ]
    assert found.count("<details>") == found.count("</details>") == 7
    assert "except those from `#7` on" in found
    assert f"… {4000 - MAX_RESULT:,} more characters" in found
    assert "<summary>✗ bash ls</summary>" in found


def test_a_branch_is_the_path_to_its_leaf(tmp_path):
    found = the_tale(tmp_path, leaf="b2")
    assert "Try a regular expression." in found
    assert not any(each in found for each in ("Another branch", "Thanks!", "Expressions are worse."))


def test_images_are_named(tmp_path):
    made = PiSession()
    made.says("u1", user([image("QUJD")]))
    found = document(made, tmp_path)
    assert "Image: `image/png`, 3 bytes" in found
    assert "QUJD" not in found


def test_the_folder_above_the_project_is_not_shown(tmp_path):
    assert f"- Session: `{SESSION}`" in the_tale(tmp_path)
    assert "/project" not in the_tale(tmp_path)


def test_a_first_request_as_a_heading_is_cut_and_masks_in_it_are_readable(tmp_path):
    mask = "[masked-1" + "*" * 12 + "]"
    heading = document(session(f"use {mask} and {mask} " + "many words " * 40), tmp_path).partition("\n")[0]
    assert "*" * 12 in heading
    (inline,) = [each for each in MarkdownIt("commonmark").parse(heading) if each.type == "inline"]
    assert [child.type for child in inline.children or ()] == ["text"]
    assert inline.content.count("\\*") == 0
    assert 60 < len("".join(child.content for child in inline.children or ())) <= 81
    assert f"use {mask}" in "".join(child.content for child in inline.children or ())


def labels(markdown: str) -> list[str]:
    return re.findall("<summary>(.*)</summary>", markdown)


def of_claude_code(folder: Path, *lines: bytes) -> str:
    log = MemoryLog()
    (imported,) = claude_code.bring(log, folder / "session.jsonl", *lines)
    return rendered(log, imported.id, None)


def test_calls_that_run_at_once_are_no_branches(tmp_path):
    for end in ("r1", "r2"):
        found = of_claude_code(
            tmp_path,
            claude_code.said("u1", None, "Look."),
            claude_code.answer("a1", "u1", "m1", claude_code.call("k1", file_path="one")),
            claude_code.answer("a2", "a1", "m1", claude_code.call("k2", file_path="two")),
            claude_code.result("r1", "a1", "k1", "1"),
            claude_code.result("r2", "a2", "k2", "2"),
            claude_code.answer("a3", end, "m2", "Done."),
        )
        assert "Another branch" not in found
        assert labels(found) == ["Read one", "Read two"]


def test_a_call_is_labelled_by_its_file(tmp_path):
    edit = claude_code.call("k1", "Edit", replace_all=False, file_path="store.py", old_string="a")
    lines = claude_code.said("u1", None, "Edit."), claude_code.answer("a1", "u1", "m1", edit)
    assert labels(of_claude_code(tmp_path, *lines)) == ["Edit store.py"]


def test_a_long_path_shows_its_end(tmp_path):
    made = PiSession()
    made.says("a1", assistant(call("read", "k1", path=f"/{'long/' * 20}src/store.py")))
    assert labels(document(made, tmp_path)) == ["read …/src/store.py"]


def test_what_an_extension_sent_is_folded_inside_of_a_turn(tmp_path):
    made = PiSession()
    made.says("u1", user("Go."))
    made.says("a1", assistant("I go."))
    content = "<system-reminder>\nMind the gap.\n</system-reminder>"
    made.entry("x1", "custom_message", customType="hint", content=content, display=True)
    made.says("a2", assistant("I mind it."))
    found = document(made, tmp_path)
    assert labels(found) == [f"#{APART}3 Extension: Mind the gap."]
    assert re.findall("^## .*", found, re.MULTILINE) == ["## User", "## Assistant"]


def test_an_answer_without_content_says_why(tmp_path):
    made = PiSession()
    made.says("a1", assistant(stopReason="aborted"))
    assert "Stopped: `aborted`" in document(made, tmp_path)


def said_in(text: str, folder: Path) -> str:
    """Return how a document shows a message."""
    made = PiSession()
    made.says("u1", user("begin"))
    made.says("a1", assistant(text))
    return document(made, folder).split("`#2` `m`\n\n")[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![chart](https://x.com/a.png)", "> \\![chart](https://x.com/a.png)"),
        ("![chart][1]\n\n[1]: https://x.com/a.png", "> \\![chart][1]\n>\n> [1]: https://x.com/a.png"),
        ("ask @octocat, or @org/team", "> ask @·octocat, or @·org/team"),
        ("a**@octocat**", "> a**@·octocat**"),
        ("Fixes #1, closes o/r#2, see GH-3", "> Fixes #·1, closes o/r#·2, see GH-·3"),
        ("Fixes https://github.com/o/r/issues/1", "> Fixes· https://github.com/o/r/issues/1"),
        ("closes:\nhttps://github.com/o/r/pull/1", "> closes·:\n> https://github.com/o/r/pull/1"),
        ("no `code` but \\`@octocat\\`", "> no `code` but \\`@·octocat\\`"),
        ("mail me@host.com, see https://x.com/@a#1", "> mail me@host.com, see https://x.com/@a#1"),
        ("run `npm i @org/name#1`", "> run `npm i @org/name#1`"),
        ("```py\n@decorated  # 1\n![x](y)\n```", "> ```py\n> @decorated  # 1\n> ![x](y)\n> ```"),
        ("&#64;octocat", "> ```text\n> &#64;octocat\n> ```"),
    ],
)
def test_a_text_does_nothing_on_a_page(tmp_path: Path, text: str, shown: str) -> None:
    assert said_in(text, tmp_path) == shown.replace("·", APART) + "\n\n"


def test_title_and_labels_mention_nobody(tmp_path: Path) -> None:
    made = PiSession()
    made.says("u1", user("ask @octocat about #1"))
    made.says("a1", assistant(call("bash", "k1", command="ask @octocat")))
    made.says("r1", result("ok", tool="bash", call_id="k1"))
    assert (
        re.findall("[@#][a-z0-9]", re.sub("```.*?```|`.*?`", "", document(made, tmp_path), flags=re.DOTALL))
        == []
    )


_LIVELY = st.lists(
    st.sampled_from(
        [
            "@a",
            "#1",
            "![x](http://x)",
            "`",
            "``",
            "```\n",
            "\n",
            "\n\n",
            " ",
            "\\",
            "*",
            "_",
            "a",
            "Fixes ",
            "&#64;",
        ]
    ),
    max_size=12,
).map("".join)


@given(_LIVELY)
def test_no_parser_finds_a_live_image_or_mention(tmp_path_factory, said):
    shown = said_in(f"x{said}", tmp_path_factory.getbasetemp())
    for token in MarkdownIt("commonmark").parse(shown):
        for child in token.children or ():
            assert child.type != "image"
            assert child.type == "code_inline" or not re.search(r"(?<!\w)[@#][a1]", child.content)
