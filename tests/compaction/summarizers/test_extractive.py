"""Summaries without a model: what the messages tell by themselves, in the sections that are asked for."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from compaction.prompts import Prompt, serialized_prompt
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.templates import built_in, built_in_names, missing_sections
from eventstore.memory_log import MemoryLog
from projections.context import build_context
from tests.support.events import NOW
from tests.support.native import native_events
from tests.support.talk import assistant, call, result, user


def prompt(parts, template="compaction", **fields) -> Prompt:
    return serialized_prompt(built_in(template), parts, system="", max_tokens=4_000, **fields)


def summary(story, template="compaction", **fields):
    asked = prompt(build_context(story.log, "s").parts, template, **fields)
    return ExtractiveSummarizer().summarize(asked, is_cancelled=lambda: False).text


def section(text, name):
    return text.partition(f"## {name}\n")[2].partition("\n\n## ")[0].splitlines()


@pytest.fixture
def worked(story):
    story.says(user("Build a parser. Never touch the migrations."))
    story.says(assistant(call("read", "c1", path="src/lexer.py")), result("it", tool="read", call_id="c1"))
    story.says(assistant(call("edit", "c2", path="src/parser.py")), result("ok", tool="edit", call_id="c2"))
    failed = result("ValueError: bad header in line 7", call_id="c3", is_error=True)
    story.says(assistant(call("bash", "c3", command="pytest -q")), failed)
    story.says(assistant("The header is next.\n1. Read the header anew."))
    return story


@pytest.mark.parametrize("template", built_in_names())
def test_every_section_that_a_template_asks_for_is_there(worked, template):
    assert missing_sections(summary(worked, template), built_in(template).sections) == []


def test_goals_are_what_was_asked_for(worked):
    assert section(summary(worked), "Goal") == ["- Build a parser. Never touch the migrations."]


def test_constraints_are_what_was_forbidden(worked):
    assert "- Never touch the migrations." in section(summary(worked), "Constraints & Preferences")


def test_progress_names_what_was_changed(worked):
    assert "- [x] changed src/parser.py" in section(summary(worked), "Progress")


def test_next_steps_come_from_the_newest_answer(worked):
    assert section(summary(worked), "Next Steps") == ["- 1. Read the header anew."]


def test_commands_stand_with_what_came_of_them_and_errors_and_files_beside_them(worked):
    found = section(summary(worked), "Critical Context")
    assert {"- `pytest -q`: failed", "- src/lexer.py", "- ValueError: bad header in line 7"} <= set(found)


def test_the_lines_of_the_summary_before_are_carried_on(worked):
    text = summary(worked, previous="## Key Decisions\n- **Use LALR**: it is fast.")
    assert "- **Use LALR**: it is fast." in section(text, "Key Decisions")


def test_a_section_with_nothing_to_say_says_so(story):
    story.says(user("hello"))
    assert section(summary(story), "Key Decisions") == ["none"]


def test_a_summary_stays_within_its_budget(story):
    story.says(*(user(f"Look at src/module_{number}/file_{number}.py") for number in range(3_000)))
    assert len(summary(story)) <= 12_000


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(appended=native_events())
def test_any_messages_give_all_sections_and_always_the_same(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    asked = prompt(build_context(log, "s").parts)
    texts = {ExtractiveSummarizer().summarize(asked, is_cancelled=lambda: False).text for _ in range(2)}
    assert [missing_sections(text, asked.template.sections) for text in texts] == [[]]
