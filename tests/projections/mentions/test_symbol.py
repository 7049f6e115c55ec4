"""Names in code that a text names."""

from __future__ import annotations

import pytest

from projections.mentions import MentionKind
from tests.projections.mentions.finding import pieces, values


def symbols(text):
    return values(MentionKind.SYMBOL, text)


def test_a_name_in_code_is_found():
    rows = [
        "load_config",
        "_private_thing",
        "MAX_SIZE",
        "ALL_CAPS_2",
        "parseArgs",
        "utf8Decode",
        "_unsubscribeAgent",
        "HttpServer",
        "XMLHttpRequest",
        "JSONDecoder",
        "os.path.join",
        "std::vec::Vec",
        "self::CONST",
        "process.env",
        "console.log",
        "http.Server",
        "this.chatContainer.addChild",
        "@scope/package",
        "@types/node",
    ]
    assert {symbol: symbols(f"use {symbol}, please") for symbol in rows} == {
        symbol: [symbol] for symbol in rows
    }


@pytest.mark.parametrize("text", ["close()", "`close`", "`close()`", "x->close()", "$`close`"])
def test_a_plain_word_is_a_name_where_it_is_called_or_quoted(text):
    assert symbols(f"then {text} it") == ["close"]


def test_what_only_looks_like_a_name_is_none():
    rows = [
        "A Sentence With Capitals, and well-known end-to-end words.",
        "close it, (close) close, option(s), file(s), len(x), if (x)",
        "GitHub GitLab JavaScript TypeScript macOS iOS iPhone iPhone12 OpenAI PostgreSQL YouTube DocBlocks",
        "McAdams and MacDonald, a PhD",
        "URLs APIs PRs IDs TODOs LLMs OKed",
        "e.g. i.e. etc. a.m. U.S.A. Ph.D.",
        "It is done.Next we go on.The rest follows.now it ends.",
        "example.com docs.example.org me@example.com user@mail_host.org",
        "_emphasis_ and __init and _word **bold**",
        "`two words` `1234` `true` `null` `kebab-case` ``` `` `",
        "function() async() if()",
        "curl -sSfL and ps -axO, powershell -NoProfile",
        "a ruler _____ and ____________ another",
        "-- --- ---- <!--note--> a--b",
        "diff --git",
        "1.2.3 v1.0 3.x",
        "snake-case, kebab-case-name",
        "__init__ `__future__` __call__() __init_subclass__ __FILE__ super().__init__()",
        "__construct() `__dirname` __toString",
    ]
    assert {text: found for text in rows if (found := symbols(text))} == {}


def test_a_calls_brackets_are_no_part_of_its_name():
    assert pieces(MentionKind.SYMBOL, "do run_it(x), runIt() and a.runIt(y)") == [
        "run_it",
        "runIt",
        "a.runIt",
    ]


@pytest.mark.parametrize("name", ["__init", "_init_db", "init__db", "__private_thing"])
def test_a_name_with_underscores_about_it_is_a_programs_own(name):
    assert symbols(f"call {name}()") == [name]


def test_an_optional_member_is_the_member():
    assert symbols("this.store?.flush()") == ["this.store.flush"]


def test_a_product_that_is_called_is_a_name():
    assert symbols("new GitHub(x)") == ["GitHub"]


def test_a_chain_of_members_is_one_name():
    assert symbols("func (s *http.Server) Run(w io.Writer, n int) error { return a.b.Do(c.d_e) }") == [
        "http.Server",
        "io.Writer",
        "a.b.Do",
        "c.d_e",
    ]


@pytest.mark.parametrize(
    "option", ["--dry-run", "--max_size", "--noEmit", "--include=x", "`--dryRun`", "[--no_pull]"]
)
def test_a_commands_option_is_none(option):
    assert symbols(f"use {option}, please") == []


def test_an_options_value_may_be_a_name():
    assert symbols("--grep=findModel --test-name-pattern parse_header") == ["findModel", "parse_header"]


def test_an_escape_is_no_letter_of_a_name():
    assert symbols(r'grep "\bfooBar\|\bbarBaz"; say "\nquxQuux"') == ["fooBar", "barBaz", "quxQuux"]


def test_a_name_behind_a_backslash_that_may_be_an_escape_is_left_out():
    assert symbols(r"html\nav_item App\Models\UserProfile") == ["UserProfile"]


def test_encoded_data_is_no_name():
    assert symbols("aB3" * 40) == []
