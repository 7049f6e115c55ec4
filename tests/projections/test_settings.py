"""The model and the thinking level in use."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from eventstore.event import EventFacts, Flag, NewEvent
from eventstore.facts import facts_of_node
from eventstore.harnesses import format_of
from eventstore.javascript import TooDeepError
from eventstore.log import EventLog
from eventstore.records import Compaction, ModelChange, ThinkingLevelChange
from projections.context.build import build_context
from projections.context.cursor import ROOT
from projections.settings import Model, ModelSettings, settings, settings_at
from tests.support.events import message
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.talk import assistant, user


def test_a_session_that_names_nothing_has_no_model_and_does_not_think(story):
    story.says(user("hello"))
    assert settings(story.log, "s") == ModelSettings(thinking_level="off", model=None)


def test_the_root_has_no_model_whatever_comes_later(story):
    story.says(assistant("hello"))
    assert settings(story.log, "s", leaf=ROOT) == ModelSettings()


def test_the_last_model_change_holds(story):
    story.add(ModelChange(provider="p", model_id="m"), ModelChange(provider="q", model_id="n"))
    assert settings(story.log, "s").model == Model(provider="q", model_id="n")


def test_an_assistants_message_after_a_model_change_overrides_it(story):
    story.add(ModelChange(provider="q", model_id="n"))
    story.says(assistant("hello", provider="p", model="m"))
    assert settings(story.log, "s").model == Model(provider="p", model_id="m")


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_a_message_that_failed_names_its_model_too(story, stop):
    story.add(ModelChange(provider="q", model_id="n"))
    story.says(assistant(provider="p", model="m", stop=stop))
    assert settings(story.log, "s").model == Model(provider="p", model_id="m")


def test_the_last_thinking_level_holds(story):
    story.add(ThinkingLevelChange(thinking_level="high"), ThinkingLevelChange(thinking_level="low"))
    assert settings(story.log, "s").thinking_level == "low"


def test_settings_behind_a_compaction_still_hold(story):
    story.add(ModelChange(provider="p", model_id="m"), ThinkingLevelChange(thinking_level="high"))
    (kept,) = story.says(user("kept"))
    story.add(Compaction(summary="before", first_kept_entry_id=kept, tokens_before=9))
    assert settings(story.log, "s") == ModelSettings(
        thinking_level="high", model=Model(provider="p", model_id="m")
    )


def test_settings_are_those_of_the_path(story):
    root = story.says(user("root"))[0]
    story.add(ThinkingLevelChange(thinking_level="high"))
    elsewhere = story.add(ModelChange(provider="p", model_id="m"), parent=root)
    assert settings(story.log, "s", leaf=elsewhere).thinking_level == "off"


def test_settings_as_of_an_event_know_nothing_of_later_ones(story):
    story.add(ThinkingLevelChange(thinking_level="low"), ThinkingLevelChange(thinking_level="high"))
    assert settings(story.log, "s", as_of=1).thinking_level == "low"


def test_a_field_that_a_record_lacks_is_not_in_the_settings(store, tmp_path, pi):
    pi.entry("a1", "model_change", modelId="m")
    pi.entry("a2", "thinking_level_change")
    found = settings(store, pi.store_in(store, tmp_path))
    assert json.loads(msgspec.json.encode(found)) == {"model": {"modelId": "m"}}


def test_a_thinking_level_of_null_is_null(store, tmp_path, pi):
    pi.entry("a1", "thinking_level_change", thinkingLevel=None)
    assert settings(store, pi.store_in(store, tmp_path)).thinking_level is None


def test_a_message_with_damaged_text_names_its_model(store, tmp_path, pi):
    pi.says("a1", assistant("half a pair \ud83d", provider="p", model="m"))
    assert settings(store, pi.store_in(store, tmp_path)).model == Model(provider="p", model_id="m")


def test_a_model_is_called_by_its_providers_name_and_its_own():
    assert str(Model(provider="p", model_id="m")) == "p/m"


def test_a_model_without_a_provider_is_called_by_its_own_name():
    assert str(Model(model_id="m")) == "m"


@pytest.mark.parametrize("model", [None, UNSET, 5, ""])
def test_a_provider_alone_is_no_model(model):
    assert str(Model(provider="anthropic", model_id=model)) == ""


def test_an_answer_that_was_stored_nested_too_deeply_is_reported_in_one_line(store, monkeypatch):
    monkeypatch.setattr("eventstore.append.DEEPEST_RECORD", 100_000)
    deep = b"[" * 50_000 + b"]" * 50_000
    body = b'{"type":"message","message":{"role":"assistant","content":%s}}' % deep
    facts = EventFacts(role="assistant", message=(28, len(body) - 1), flags=Flag.SETS_MODEL)
    stored = msgspec.structs.replace(message("a"), body=body, facts=facts)
    store.append("s", [stored])
    with pytest.raises(TooDeepError) as refused:
        build_context(store, "s")
    assert "\n" not in str(refused.value)


def oh_my_pis(messages: Iterable[dict[str, Any]]) -> list[NewEvent]:
    """Oh-my-pi's records of messages; the numbers are their ids."""
    version = "oh-my-pi/3"
    bodies = [json.dumps({"type": "message", "message": each}).encode() for each in messages]
    return [
        NewEvent(
            id=str(number),
            kind="message",
            body=body,
            format=version,
            facts=facts_of_node(format_of(version).node(version, "message", body), "message", body),
        )
        for number, body in enumerate(bodies, 1)
    ]


@pytest.mark.slow
def test_settings_along_a_path_without_answers_take_linear_time(log: EventLog) -> None:
    log.append("s", oh_my_pis([user("x")] * 2_000))
    with log.snapshot() as snapshot:

        def along(entries: int) -> None:
            for seq in range(1, entries + 1):
                assert settings_at(snapshot, "s", seq).model is None

        assert times_as_long(along, 250, 2_000) < NO_SQUARE


def test_without_a_change_the_newest_answer_of_oh_my_pi_names_the_model(log: EventLog) -> None:
    answers = [assistant("b", provider="p", model="m"), assistant("d", provider="q", model="n")]
    log.append("s", oh_my_pis([user("a"), answers[0], user("c"), answers[1]]))
    with log.snapshot() as snapshot:
        models = [settings_at(snapshot, "s", seq).model for seq in (3, 1, 4, 2, 3)]
    first, second = Model(provider="p", model_id="m"), Model(provider="q", model_id="n")
    assert models == [first, None, second, first, first]
