"""Token counts: two estimates of every event, and exact ones where there is a vocabulary."""

from __future__ import annotations

import hashlib
import os
import re
import socket

import pytest
import tiktoken.registry

from eventstore.errors import NotFoundError
from eventstore.records import BranchSummary, Compaction, CustomMessage
from projections import tokens
from projections.context.build import build_context
from projections.settings import Model
from projections.tokens import COUNTERS, counter, is_estimate
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user

_ADDRESS = b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
CACHED_AS = hashlib.sha1(_ADDRESS, usedforsecurity=False).hexdigest()
"""tiktoken names a cached vocabulary after the address that it has it from."""


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    """A folder with the vocabulary in it, unpacked once."""
    folder = tmp_path_factory.mktemp("vocabularies")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("TIKTOKEN_CACHE_DIR", raising=False)
        assert counter("o200k", cache_dir=folder).is_exact
    return folder


@pytest.fixture
def nothing_loaded(monkeypatch):
    """No vocabulary is in memory, before and after; and nobody can be asked for one."""

    def refuse(*_):
        raise AssertionError("something went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    tokens._o200k.cache_clear()
    yield
    tokens._o200k.cache_clear()


def counted(told, **options):
    """Return every counter's count for each message of the context."""
    parts = build_context(told, "s").parts
    return {name: counter(name, **options).count(parts) for name in COUNTERS}


def estimated(log, session="s"):
    parts = build_context(log, session).parts
    return [(part.utf16, part.utf8) for part in parts]


@pytest.mark.parametrize(
    ("message", "estimates"),
    [
        (user("hello"), (2, 2)),
        (user(""), (0, 0)),
        (user([text("abcde"), text("abcde")]), (3, 4)),
        (user([text("abcd"), image()]), (1, 1201)),
        (assistant(thinking("efgh", thinkingSignature="sig!"), "abcd", call("read", path="a")), (6, 7)),
        (assistant(call("read"), call("edit")), (3, 4)),
        (assistant("abcd", call("bash", **{"b": 1.0, "2": "é", "1": 1e21})), (9, 9)),
        (result("ééééé", image()), (1202, 1203)),
        (result(), (0, 0)),
        (shell("ls -l", "a"), (2, 3)),
        (user("😀😀😀"), (2, 3)),
        (user("\ud83d"), (1, 1)),
        ({"role": "custom", "content": [text("abcde"), image()]}, (1202, 1202)),
        ({"role": "hookMessage", "content": "abcde"}, (2, 2)),
        ({"role": "observer", "content": "abcde"}, (0, 2)),
    ],
    ids=lambda value: value.get("role") if isinstance(value, dict) else None,
)
def test_an_estimate_counts_what_its_harness_counts(store, tmp_path, pi, message, estimates):
    pi.says("a1", message)
    assert estimated(store, pi.store_in(store, tmp_path)) == [estimates]


@pytest.mark.parametrize(
    "record",
    [
        Compaction(summary="ééééé", first_kept_entry_id="ghost", tokens_before=9),
        BranchSummary(from_id="root", summary="ééééé"),
        CustomMessage(custom_type="x", content="ééééé"),
    ],
    ids=lambda record: record.kind,
)
def test_an_estimate_of_what_stands_for_a_message_counts_its_text(story, record):
    story.add(record)
    assert estimated(story.log) == [(2, 3)]


def test_the_two_estimates_are_those_that_come_with_the_events(story, vocabulary):
    story.says(user("hello"), user("ééééé"))
    found = counted(story.log, cache_dir=vocabulary)
    assert (found["utf16/4"], found["bytes/4"]) == ([2, 2], [2, 3])


@pytest.mark.parametrize("name", ["utf16/4", "bytes/4"])
def test_an_estimate_is_not_called_exact(name):
    assert (counter(name).is_exact, counter(name).note) == (False, "")


def test_an_unknown_counter_is_refused_by_name():
    with pytest.raises(NotFoundError) as refused:
        counter("p50k")
    assert refused.value.name == "p50k"
    assert re.findall("utf16/4|bytes/4|o200k", refused.value.remedy) == ["utf16/4", "bytes/4", "o200k"]


@pytest.mark.parametrize(
    ("message", "count"),
    [
        (user("hello world"), 2),
        (user("def fold(log):\n    return log"), 7),
        (user("xin chào thế giới"), 5),
        (user("<|endoftext|>"), 7),
        (user("😀😀😀"), 3),
        (user("a" * 100), 13),
        (user([text("hello world"), image()]), 2 + 1200),
        (assistant(thinking("hello world"), "hello world", call("read", path="a.py")), 2 + 2 + 1 + 6),
        (result("hello world", "hello world"), 4),
        (shell("hello world", "hello world"), 4),
        (user(""), 0),
    ],
)
def test_o200k_counts_as_tiktoken_does(story, vocabulary, message, count):
    story.says(message)
    assert counted(story.log, cache_dir=vocabulary)["o200k"] == [count]


def test_o200k_is_exact(vocabulary):
    found = counter("o200k", cache_dir=vocabulary)
    assert (found.name, found.is_exact, found.note) == ("o200k", True, "")


def test_half_a_surrogate_pair_is_counted_and_not_refused(store, tmp_path, pi, vocabulary):
    pi.says("a1", user("cut \ud83d"))
    parts = build_context(store, pi.store_in(store, tmp_path)).parts
    assert counter("o200k", cache_dir=vocabulary).count(parts)[0] > 0


def derived(log):
    """The rows of kept counts."""
    return log._state.kept


def test_an_exact_count_is_kept_in_the_store(story, vocabulary):
    story.says(user("hello world"), user("hello world"), user("other"))
    counted(story.log, log=story.log, cache_dir=vocabulary)
    assert len(derived(story.log)) == 2


def test_a_count_that_was_kept_is_not_made_again(story, vocabulary, monkeypatch):
    story.says(user("hello world"))
    first = counted(story.log, log=story.log, cache_dir=vocabulary)
    monkeypatch.setattr(tokens, "count_message", None)
    assert counted(story.log, log=story.log, cache_dir=vocabulary) == first


def test_a_message_that_came_since_is_counted_beside_the_kept_ones(story, vocabulary):
    story.says(user("hello world"))
    counted(story.log, log=story.log, cache_dir=vocabulary)
    story.says(user("xin chào thế giới"))
    assert counted(story.log, log=story.log, cache_dir=vocabulary)["o200k"] == [2, 5]


def test_without_a_store_nothing_is_kept(story, vocabulary):
    story.says(user("hello world"))
    counted(story.log, cache_dir=vocabulary)
    assert derived(story.log) == {}


@pytest.mark.usefixtures("nothing_loaded")
def test_without_a_vocabulary_o200k_is_an_estimate_and_says_so(story, monkeypatch):
    monkeypatch.setattr(tokens, "_vocabulary_folder", lambda _: None)
    story.says(user("ééééé"))
    found = counter("o200k", log=story.log)
    assert (found.name, found.is_exact) == ("bytes/4", False)
    assert found.count(build_context(story.log, "s").parts) == [3]
    assert re.findall(r"o200k|bytes/4|pip install \S+", found.note) == [
        "o200k",
        "bytes/4",
        "pip install 'refold[vocab]')",
    ]


@pytest.mark.usefixtures("nothing_loaded")
def test_an_estimate_in_place_of_an_exact_count_is_not_kept(story, monkeypatch):
    monkeypatch.setattr(tokens, "_vocabulary_folder", lambda _: None)
    story.says(user("hello"))
    counted(story.log, log=story.log)
    assert derived(story.log) == {}


@pytest.mark.usefixtures("nothing_loaded")
def test_a_vocabulary_with_a_wrong_digest_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tokens, "_packaged_vocabulary", lambda: None)
    (tmp_path / CACHED_AS).write_bytes(b"aGVsbG8= 0\n")
    assert not counter("o200k", cache_dir=tmp_path / "own").is_exact


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_loaded")
def test_a_vocabulary_with_a_wrong_digest_is_not_deleted(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    wrong = tmp_path / CACHED_AS
    wrong.write_bytes(b"aGVsbG8= 0\n")
    assert counter("o200k", cache_dir=tmp_path / "own").is_exact
    assert wrong.read_bytes() == b"aGVsbG8= 0\n"


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_loaded")
def test_a_vocabulary_in_tiktokens_own_cache_is_used_where_it_is(vocabulary, tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(vocabulary))
    assert counter("o200k", cache_dir=tmp_path / "own").is_exact
    assert not (tmp_path / "own").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_loaded")
def test_a_vocabulary_of_ours_that_was_damaged_is_unpacked_again(tmp_path):
    (tmp_path / CACHED_AS).write_bytes(b"torn")
    assert counter("o200k", cache_dir=tmp_path).is_exact


@pytest.mark.usefixtures("nothing_loaded")
def test_where_nothing_can_be_written_o200k_is_an_estimate(tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_bytes(b"")
    assert not counter("o200k", cache_dir=blocked / "vocabularies").is_exact


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_loaded")
def test_loading_a_vocabulary_leaves_the_environment_as_it_was(vocabulary, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "somewhere")
    counter("o200k", cache_dir=vocabulary)
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "somewhere"


@pytest.mark.parametrize(
    "model", ["gpt-5", "gpt-5.1-codex", "gpt-4o-mini", "o3", "openai/gpt-4.1", "gpt-oss-120b"]
)
@pytest.mark.usefixtures("vocabulary")
def test_o200k_is_no_estimate_for_the_models_that_have_it(model):
    assert not is_estimate(counter("o200k"), Model(provider="openai", model_id=model))


@pytest.mark.parametrize(
    "model",
    [
        None,
        Model(),
        Model(provider="anthropic", model_id="claude-opus-4-5"),
        Model(provider="google", model_id="gemini-3-pro"),
        Model(provider="openai", model_id="gpt-4"),
        Model(provider="openai", model_id=["gpt-5"]),
        Model(provider="openai", model_id=""),
    ],
)
@pytest.mark.usefixtures("vocabulary")
def test_o200k_is_an_estimate_for_any_other(model):
    assert is_estimate(counter("o200k"), model)


@pytest.mark.parametrize("name", ["utf16/4", "bytes/4"])
def test_what_counts_by_no_vocabulary_is_an_estimate_for_every_model(name):
    assert is_estimate(counter(name), Model(provider="openai", model_id="gpt-5"))
