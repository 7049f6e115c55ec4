"""The front door: what `refold` gives, and what importing it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import msgspec
import pytest

import compaction
import eventstore
import projections
import refold
from compaction.policy.load import load_policy_file
from compaction.summarizers import Answer
from eventstore.errors import RefoldError
from tests.cli.running import command
from tests.conftest import PROJECT
from tests.support import claude_code
from tests.support.pi_files import header, said
from tests.support.talk import assistant, user

HEAVY = (
    "anthropic",
    "httpx2",
    "tiktoken",
    "rich",
    "click",
    "jinja2",
    "genai_prices",
    "markdown_it",
)
LONG = "All of it, in many words. " * 400


def ran(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with refold.open(tmp_path / "store") as opened:
        yield opened


def talk(session: refold.Session, *texts: str) -> list[str]:
    """Append a question and an answer for each text, and return the ids."""
    ids = []
    for each in texts:
        ids += [session.append(user(each)), session.append(assistant(f"{each}: {LONG}"))]
    return ids


def test_to_import_it_loads_nothing_heavy() -> None:
    script = f"import refold, sys; print([each for each in {HEAVY} if each in sys.modules])"
    assert ran("-c", script) == "[]"


def test_to_read_and_write_a_session_loads_no_summarizer(tmp_path: Path) -> None:
    script = f"""
import refold, sys
with refold.open({str(tmp_path / "store")!r}) as store:
    session = store.new()
    session.append({{"role": "user", "content": "hello"}})
    session.context().messages(), session.tree(), session.export()
    print([each for each in ({HEAVY} + ("compaction.summarizers",)) if each in sys.modules])
"""
    assert ran("-c", script) == "[]"


def test_every_error_that_refold_raises_is_exported() -> None:
    for package in (eventstore, projections, compaction):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    pending, errors = [RefoldError], set[type[RefoldError]]()
    while pending:
        each = pending.pop()
        pending += each.__subclasses__()
        if each.__module__.startswith(("eventstore", "projections", "compaction")):
            errors.add(each)
    public = {each for each in errors if not each.__name__.startswith("_")}
    exported = {getattr(refold, name) for name in refold.__all__ if name.endswith("Error")}
    assert exported == public


@pytest.mark.parametrize("name", [name for name in refold.__all__ if name != "ROOT"])
def test_each_name_is_what_is_called_so(name: str) -> None:
    assert getattr(refold, name).__name__ == name


def test_a_name_that_is_not_there_is_reported() -> None:
    with pytest.raises(AttributeError) as refused:
        refold.shrink  # noqa: B018  asking is what fails
    assert "'shrink'" in str(refused.value)


@pytest.mark.slow
def test_python_runs_the_command_line_by_its_name() -> None:
    assert ran("-m", "refold", "--version") == ran(*command("--version")[1:])


@pytest.mark.slow
@pytest.mark.parametrize("foreign", ["cli.py", "cli/__init__.py"])
def test_a_foreign_package_that_hides_the_command_line_is_an_error_of_one_line(
    tmp_path: Path, foreign: str
) -> None:
    (file := tmp_path / foreign).parent.mkdir(exist_ok=True)
    file.write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "refold", "--version"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "package 'cli'" in done.stderr


def test_sessions_are_found_by_their_ids(store: refold.Store) -> None:
    one, other = store.new(), store.new("other")
    assert list(store) == []
    talk(one, "hello")
    talk(other, "and you")
    assert list(store) == sorted([one.id, "other"])
    assert store["other"].context() == other.context()
    with pytest.raises(refold.NotFoundError):
        store["nobody"]
    with pytest.raises(refold.BadInputError):
        store.new("other")


def test_a_session_without_a_message_is_not_stored_yet_and_its_errors_say_so(store: refold.Store) -> None:
    session = store.new("later")
    for read in (session.context, session.tree, session.audit, session.compact_if_due):
        with pytest.raises(refold.NotFoundError, match="stored with its first message") as info:
            read()
        assert (info.value.what, info.value.name) == ("session", "later")
    talk(session, "hello")
    assert session.compact_if_due().error is None


def test_a_session_file_is_imported_and_comes_back_as_it_was(store: refold.Store, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(header() + said("one", "a", None) + b"\n" + said("two", "b", "a"))
    session = store.import_file(file)
    assert session.export("original") == file.read_bytes()
    assert [json.loads(line)["type"] for line in session.export().splitlines()] == [
        "session",
        "message",
        "message",
    ]
    talk(written := store.new(), "hello")
    with pytest.raises(refold.NotFoundError):
        written.export("original")
    with pytest.raises(refold.BadInputError):
        written.export("nobody's")


def test_a_context_is_that_of_a_time_and_of_a_leaf(store: refold.Store) -> None:
    session = store.new()
    ids = talk(session, "one", "two")
    assert [part.id for part in session.context().parts] == ids
    assert [part.id for part in session.context(as_of=1).parts] == ids[:1]
    assert [part.id for part in session.context(leaf=ids[1]).parts] == ids[:2]
    assert session.context(leaf=refold.ROOT).messages() == []


def test_who_moves_goes_on_from_there(store: refold.Store) -> None:
    session = store.new()
    ids = talk(session, "one", "two")
    assert session.move(ids[1]).move.new_leaf == ids[1]
    (more,) = (session.append(user("another way")),)
    assert [part.id for part in session.context().parts] == [*ids[:2], more]
    assert session.move(to=ids[2]).move.editor_text == "two"
    assert [part.id for part in session.context().parts] == ids[:2]
    tree = session.tree()
    assert (tree.roots, {node.id for node in tree.nodes} >= {*ids, more}) == (ids[:1], True)


def test_a_session_is_compacted_and_audited(store: refold.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    session = store.new()
    talk(session, *(f"part {number}" for number in range(30)))
    before = session.context()
    done = session.compact("pi", window=50_000)
    after = session.context()
    assert done.outcome == "compacted"
    assert len(after.parts) < len(before.parts)
    assert [each.id for each in session.audit().compactions] == done.events[:1]
    assert session.context(as_of=before.as_of) == before


def test_a_compaction_waits_until_it_is_due(store: refold.Store) -> None:
    session = store.new()
    talk(session, *(f"part {number}" for number in range(30)))
    before = session.context()
    asked = {"policy": "pi", "summarizer": "extractive"}
    assert not session.compact_if_due(**asked, window=1_000_000).history_rewritten
    assert session.context().parts == before.parts
    assert session.compact_if_due(**asked, window=50_000).history_rewritten
    assert len(session.context().parts) < len(before.parts)


def test_a_policy_may_be_a_file_and_a_summarizer_ones_own(store: refold.Store, tmp_path: Path) -> None:
    from compaction.summarizers import Answer  # noqa: PLC0415  one test's

    class Short:
        name = "short"

        def summarize(self, prompt: Any, *, is_cancelled: Any) -> Answer:
            del prompt, is_cancelled
            return Answer(text="They talked.", model="")

    policy = tmp_path / "mine.toml"
    policy.write_text('name = "mine"\nextends = "pi"\n[cut]\npart = "keep-recent"\ntokens = 3000\n')
    session = store.new()
    talk(session, "one", "two", "three")
    done = session.compact(str(policy), summarizer=Short())
    assert done.outcome == "compacted"
    assert "They talked." in json.loads(session.context().parts[0].raw)["summary"]
    with pytest.raises(refold.NotFoundError):
        session.compact("no-such-policy")
    with pytest.raises(refold.NotFoundError):
        session.compact(summarizer="nobody")


def unlike(*types: type) -> list[Any]:
    """Values that are of none of these types."""
    return [each for each in (None, True, 7, 1.5, "?", b"x", [], {}, object()) if type(each) not in types]


SESSION_CALLS: dict[str, tuple[Any, list[Any]]] = {
    "store[id]": (lambda session, value: session.store[value], [*unlike(), "\ud800"]),
    "store.new": (
        lambda session, value: session.store.new(value),
        [*unlike(type(None), str), "", "@last", "#3", "../x", "a/b", "x.jsonl", "x.json", "a\nb", "\ud800"],
    ),
    "store.import_file": (lambda session, value: session.store.import_file(value), [*unlike(), ".", "a\0b"]),
    "as_of": (lambda session, value: session.context(as_of=value), [*unlike(type(None), int), -1, 99]),
    "leaf": (lambda session, value: session.context(leaf=value), unlike(type(None))),
    "move": (lambda session, value: session.move(value), unlike()),
    "export": (lambda session, value: session.export(value), unlike()),
    "append": (lambda session, value: session.append(value), unlike()),
    "compact": (
        lambda session, value: session.compact(value),
        [*unlike(), "", Path("no.toml"), "no.toml", "a\0b.toml", Path("a\0b")],
    ),
    "window": (lambda session, value: session.compact(window=value), [*unlike(int), 0, -1, float("inf")]),
    "summarizer": (lambda session, value: session.compact(summarizer=value), [*unlike(type(None)), ""]),
    "due": (lambda session, value: session.compact_if_due(value), unlike()),
    "window of due": (lambda session, value: session.compact_if_due(window=value), [*unlike(int), 0]),
    "summarizer of due": (
        lambda session, value: session.compact_if_due(summarizer=value),
        unlike(type(None)),
    ),
}


@pytest.mark.parametrize("call", SESSION_CALLS)
def test_every_wrong_argument_gives_a_documented_error_and_changes_nothing(
    store: refold.Store, call: str
) -> None:
    session = store.new("s")
    talk(session, "one")
    before = session.context()
    make, values = SESSION_CALLS[call]
    for value in values:
        with pytest.raises((refold.BadInputError, refold.NotFoundError)):
            make(session, value)
    assert session.context() == before
    assert list(store) == ["s"]


def test_a_negative_number_is_no_moment(store: refold.Store) -> None:
    session = store.new("s")
    talk(session, "one")
    with pytest.raises(refold.BadInputError, match="argument 'as_of'"):
        session.context(as_of=-1)


@pytest.mark.parametrize(
    "arguments",
    [
        *({"path": value} for value in [*unlike(str), "", "a\0b"]),
        *({"create": value} for value in unlike(bool)),
        *({"durability": value} for value in unlike()),
    ],
)
def test_a_store_is_opened_by_arguments_that_are_documented_alone(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    with pytest.raises(refold.BadInputError):
        refold.open(**{"path": tmp_path / "store", **arguments})
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_library_names_no_option_of_the_command_line(
    store: refold.Store, tmp_path: Path
) -> None:
    session = store.new()
    talk(session, "one")
    (tmp_path / "file").write_text("")
    wrong: list[Any] = [
        lambda: store["nobody"],
        lambda: session.context(as_of=99),
        lambda: session.context(leaf="nobody"),
        lambda: session.move("nobody"),
        lambda: session.export("original"),
        lambda: session.export("xml"),
        lambda: session.compact("no-such-policy"),
        lambda: refold.open(tmp_path / "nothing", create=False),
        lambda: refold.open(tmp_path / "file"),
    ]
    for call in wrong:
        with pytest.raises(RefoldError) as refused:
            call()
        assert "--" not in str(refused.value)
        assert "refold " not in str(refused.value)


def test_what_can_be_exported_is_told_the_original_too(store: refold.Store) -> None:
    session = store.new()
    talk(session, "one")
    with pytest.raises(refold.BadInputError) as refused:
        session.export("xml")
    assert {"pi", "original"} <= set(refused.value.remedy.replace(",", "").split())


def test_a_store_says_whether_it_has_a_session(store: refold.Store) -> None:
    talk(store.new("s"), "one")
    assert ("s" in store, "other" in store, 7 in store) == (True, False, False)


def test_its_names_are_those_that_are_documented() -> None:
    assert {name for name in dir(refold) if not name.startswith("_")} == set(refold.__all__)
    assert set(refold.__all__) >= {"Policy", "Summarizer", "Prompt", "Answer"}


@pytest.mark.slow
@pytest.mark.parametrize("answer", [None, 7, "a summary", Answer(text=7, model="m")])  # type: ignore[arg-type]
def test_a_summarizer_that_returns_no_answer_fails_as_one_without_a_summary(
    store: refold.Store, answer: Any
) -> None:
    class Wrong:
        name = "wrong"

        def summarize(self, prompt: Any, *, is_cancelled: Any) -> Any:
            del prompt, is_cancelled
            return answer

    session = store.new()
    talk(session, *(f"part {number}" for number in range(30)))
    before = session.context().parts
    with pytest.raises(refold.SummarizersFailedError):
        session.compact(summarizer=Wrong(), window=50_000)
    due = [session.compact_if_due(summarizer=Wrong(), window=90_000) for _ in range(4)]
    assert [bool(each.error) for each in due] == [True, True, True, False]
    assert "3 compactions in a row have failed" in (due[-1].warning or "")
    assert session.context().parts == before


def test_a_policy_may_be_made_in_python_and_its_file_named_by_a_path(
    store: refold.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nextends = "pi"\n[cut]\npart = "keep-recent"\ntokens = 3000\n')
    own = msgspec.structs.replace(load_policy_file(file), name="own")
    assert isinstance(own, refold.Policy)
    for policy in (file, own):
        session = store.new()
        talk(session, *(f"part {number}" for number in range(30)))
        assert session.compact(policy).outcome == "compacted"


def test_a_file_that_holds_its_subagents_too_is_imported_and_is_its_own_session(
    store: refold.Store, tmp_path: Path
) -> None:
    lines = [
        claude_code.said("x", None, "look around", isSidechain=True),
        claude_code.said("a", None, "hello"),
        claude_code.answer("b", "a", "m1", "hi"),
    ]
    (file := tmp_path / "session.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    session = store.import_file(file)
    assert session.id == claude_code.SESSION
    assert len(session.context().parts) == 2
    assert set(store) > {session.id}


def test_a_store_and_its_sessions_say_which_they_are(tmp_path: Path) -> None:
    with refold.open(tmp_path / "store") as store:
        assert repr(store) == f"<Store {str(tmp_path / 'store')!r}>"
        assert repr(store.new("mine")) == "<Session 'mine'>"
