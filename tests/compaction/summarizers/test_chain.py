"""Asking for a summary: candidates, retries, waits, reminders, and the record of all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
import pytest

from compaction.prompts import Prompt
from compaction.summarizers import Answer, CancelledError, SummarizerError
from compaction.summarizers.chain import SummarizersFailedError
from compaction.summarizers.http import HttpSummarizer
from eventstore.views import Usage
from tests.compaction.summarizers.prompts import Clock, Saying, chain, claude, prompt, template
from tests.support.local_http import NO_SERVER
from tests.support.messages_api import MODEL, MessagesApi, calls_tool, complete, errs, says

HALF = "## Original Request\na\n## Early Progress\nb"
WHOLE = f"{HALF}\n## Context for Suffix\nc"


def passing(retry_after=None, problem="busy"):
    return SummarizerError("one", problem, is_transient=True, retry_after=retry_after)


def lasting(name="one", problem="no such model", **options):
    return SummarizerError(name, problem, **options)


def failure(asking, sent: Prompt | None = None):
    with pytest.raises(SummarizersFailedError) as raised:
        asking.summarize(sent or prompt())
    return raised.value


# Retries


def test_the_first_answer_is_taken():
    one = Saying("Done.", "Again.")
    assert chain(one).summarize(prompt()).text == "Done."
    assert len(one.prompts) == 1


def test_a_failure_that_passes_is_tried_again_twice_with_growing_waits():
    clock = Clock()
    problem = failure(chain(Saying(passing()), clock=clock))
    assert (len(problem.requests), clock.waits) == (3, [1.0, 2.0])


def test_a_failure_that_passes_is_followed_by_the_answer():
    assert chain(Saying(passing(), passing(), "Done.")).summarize(prompt()).text == "Done."


def test_the_wait_is_the_one_that_the_provider_names():
    clock = Clock()
    chain(Saying(passing(7.5), passing(), "Done."), clock=clock).summarize(prompt())
    assert clock.waits == [7.5, 2.0]


def test_a_long_wait_is_waited_where_there_is_nobody_else():
    clock = Clock()
    chain(Saying(passing(100), "Done."), clock=clock).summarize(prompt())
    assert clock.waits == [100]


def test_an_endless_wait_is_not_waited():
    clock = Clock()
    problem = failure(chain(Saying(passing(121), "Done."), clock=clock))
    assert (clock.waits, len(problem.requests)) == ([], 1)


def test_a_failure_that_stays_is_not_tried_again():
    assert len(failure(chain(Saying(lasting()))).requests) == 1


def test_an_empty_answer_is_a_failure_that_passes():
    asked = chain(Saying(" \n", "Done.")).summarize(prompt())
    assert asked.text == "Done."
    assert [bool(each.get("error")) for each in asked.requests] == [True, False]


def test_an_answer_of_nothing_but_analysis_is_empty():
    problem = failure(chain(Saying("<analysis>hm</analysis>"), retries=0), prompt("nine-sections"))
    assert [bool(each["error"]) for each in problem.requests] == [True]


# Candidates


def test_the_next_candidate_is_asked_where_the_first_has_failed():
    assert chain(Saying(lasting()), Saying("Done.")).summarize(prompt()).text == "Done."


def test_the_next_candidate_is_asked_after_the_retries_of_the_first():
    one, two = Saying(passing(), name="one"), Saying("Done.", name="two")
    asked = chain(one, two).summarize(prompt())
    tried = [(each["summarizer"], each["attempt"]) for each in asked.requests]
    assert tried == [("one", 1), ("one", 2), ("one", 3), ("two", 1)]


def test_a_long_wait_prefers_the_next_candidate():
    clock = Clock()
    asked = chain(Saying(passing(21)), Saying("Done."), clock=clock).summarize(prompt())
    assert (asked.text, clock.waits, len(asked.requests)) == ("Done.", [], 2)


def test_a_short_wait_does_not():
    clock = Clock()
    chain(Saying(passing(20), "Done."), Saying("Other."), clock=clock).summarize(prompt())
    assert clock.waits == [20]


def test_where_all_fail_the_error_names_each():
    one, two = Saying(lasting("one", "no key"), name="one"), Saying(lasting("two", "no model"), name="two")
    problem = failure(chain(one, two))
    failures = [(each.summarizer, each.problem) for each in problem.failures]
    assert failures == [("one", "no key"), ("two", "no model")]
    assert problem.summarizer == "two"
    assert str(problem.failures[0]) in str(problem)


def test_a_prompt_too_long_for_one_candidate_may_fit_the_next():
    assert chain(Saying(lasting(is_too_long=True)), Saying("Done.")).summarize(prompt()).text == "Done."


def test_a_prompt_too_long_for_one_candidate_is_reported_as_that():
    problem = failure(chain(Saying(lasting(is_too_long=True)), Saying(lasting())))
    assert problem.is_too_long


def test_nobody_to_ask_is_an_error_of_one_line():
    problem = failure(chain())
    assert (problem.summarizer, problem.requests, "\n" in str(problem)) == ("none", [], False)


# Reminders


def test_a_complete_answer_needs_no_reminder():
    asked = chain(Saying(WHOLE)).summarize(prompt("turn-prefix"))
    assert (asked.text, asked.missing, len(asked.requests)) == (WHOLE, [], 1)


def test_missing_sections_are_named_in_one_reminder():
    one = Saying(HALF, WHOLE)
    asked = chain(one).summarize(prompt("turn-prefix"))
    assert (asked.text, asked.missing) == (WHOLE, [])
    assert "lacks these sections:\n## Context for Suffix\n" in one.prompts[1].text
    assert f"<draft>\n{HALF}\n</draft>" in one.prompts[1].text


def test_a_heading_of_another_level_does_not_count():
    one = Saying(WHOLE.replace("## Early", "### Early"))
    assert chain(one).summarize(prompt("turn-prefix")).missing == ["Early Progress"]


def test_there_is_one_reminder_only():
    asked = chain(Saying(HALF)).summarize(prompt("turn-prefix"))
    assert (len(asked.requests), asked.missing) == (2, ["Context for Suffix"])


def test_the_reminder_is_marked_in_the_record():
    asked = chain(Saying(HALF, WHOLE)).summarize(prompt("turn-prefix"))
    assert [each.get("isReminder", False) for each in asked.requests] == [False, True]


def test_the_more_complete_of_the_two_answers_is_kept():
    asked = chain(Saying(HALF, "## Early Progress\nb")).summarize(prompt("turn-prefix"))
    assert (asked.text, asked.missing) == (HALF, ["Context for Suffix"])


def test_of_two_alike_the_newer_is_kept():
    assert chain(Saying(HALF, HALF + "!")).summarize(prompt("turn-prefix")).text == HALF + "!"


def test_a_reminder_that_fails_leaves_the_partial_summary():
    asked = chain(Saying(HALF, lasting())).summarize(prompt("turn-prefix"))
    assert (asked.text, asked.missing) == (HALF, ["Context for Suffix"])
    assert asked.requests[1]["error"] == "no such model"


def test_an_answer_that_broke_off_for_its_length_is_asked_for_in_fewer_words():
    one = Saying(Answer(text=WHOLE, model="m", is_cut=True), WHOLE)
    asked = chain(one).summarize(prompt("turn-prefix"))
    assert "too long and broke off" in one.prompts[1].text
    assert [each.get("isCut", False) for each in asked.requests] == [True, False]


def test_an_answer_that_breaks_off_twice_is_kept():
    cut = Answer(text=HALF, model="m", is_cut=True)
    asked = chain(Saying(cut)).summarize(prompt("turn-prefix"))
    assert (asked.text, asked.missing, len(asked.requests)) == (HALF, ["Context for Suffix"], 2)


def test_of_two_with_the_same_sections_the_one_that_is_whole_is_kept():
    one = Saying(WHOLE.replace("c", ""), Answer(text="", model="m"))
    cut = Answer(text=WHOLE + "!", model="m", is_cut=True)
    assert chain(Saying(cut, WHOLE)).summarize(prompt("turn-prefix")).text == WHOLE
    assert chain(one).summarize(prompt("turn-prefix")).missing == []


def test_the_part_that_a_template_strips_is_no_part_of_the_summary_but_of_the_record():
    sections = "\n".join(f"## {each}\nx" for each in template("nine-sections").sections)
    answer = f"<analysis>hm</analysis>\n<summary>\n{sections}\n</summary>"
    asked = chain(Saying(answer)).summarize(prompt("nine-sections"))
    assert (asked.text, asked.requests[0]["answer"]) == (sections, answer)


# Calling it off


def test_what_is_called_off_before_is_not_asked():
    one = Saying("Done.")
    with pytest.raises(CancelledError):
        chain(one, is_cancelled=lambda: True).summarize(prompt())
    assert one.prompts == []


def test_what_is_called_off_tells_what_was_tried():
    one = Saying(passing(), CancelledError())
    with pytest.raises(CancelledError) as raised:
        chain(one).summarize(prompt())
    assert [each["error"] for each in raised.value.requests] == ["busy", "cancelled"]


def test_a_wait_can_be_called_off():
    clock = Clock()
    asking = chain(Saying(passing(100)), clock=clock, is_cancelled=lambda: clock.seconds() > 1)
    with pytest.raises(CancelledError) as raised:
        asking.summarize(prompt())
    assert clock.seconds() < 1.2
    assert len(raised.value.requests) == 1


def test_a_wait_that_nobody_calls_off_is_as_long_as_it_should():
    clock = Clock()
    chain(Saying(passing(3), "Done."), clock=clock, is_cancelled=lambda: False).summarize(prompt())
    assert clock.seconds() == pytest.approx(3)


# The record


def test_every_request_is_recorded_with_all_that_it_was_made_of():
    class Slow(Saying):
        def summarize(self, prompt, *, is_cancelled):
            clock.wait(1.5)
            return super().summarize(prompt, is_cancelled=is_cancelled)

    clock = Clock()
    usage = Usage(input=1, output=2, cache_read=3, cache_write=4, total=10)
    one = Slow(Answer(text="Done.", model="m-1", usage=usage), name="one")
    sent = prompt()
    (record,) = chain(one, clock=clock).summarize(sent).requests
    assert record == {
        "summarizer": "one",
        "template": "short",
        "templateVersion": 1,
        "templateDigest": sent.template.digest,
        "promptDigest": sent.digest,
        "attempt": 1,
        "durationMs": 1500,
        "model": "m-1",
        "answer": "Done.",
        "usage": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4},
    }


def test_a_failure_is_recorded_with_its_cost():
    usage = Usage(input=1, output=2)
    (record,) = failure(chain(Saying(lasting(usage=usage)))).requests
    assert record["error"] == "no such model"
    assert record["usage"] == {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}


def test_records_are_plain_json():
    problem = failure(chain(Saying(passing(), "", lasting())))
    assert msgspec.json.decode(msgspec.json.encode(problem.requests)) == problem.requests


# With the real client


def test_a_crowded_server_is_asked_again_until_it_answers(messages_api):
    clock = Clock()
    busy = errs(429, "Slow down.", "rate_limit_error", retry_after="3")
    over = errs(529, "Overloaded", "overloaded_error")
    api = messages_api(busy, over, says(complete))
    asked = chain(claude(api), clock=clock).summarize(prompt("turn-prefix"))
    assert (asked.missing, clock.waits) == ([], [3.0, 2.0])
    assert [each.get("error") for each in asked.requests] == ["429: Slow down.", "529: Overloaded", None]
    assert asked.requests[2]["model"] == MODEL


def test_another_server_is_asked_where_the_first_wants_a_long_wait(messages_api):
    far, near = messages_api(errs(429, "Tomorrow.", retry_after="3600")), messages_api(says("Done."))
    asked = chain(claude(far), claude(near)).summarize(prompt())
    assert (asked.text, len(far.requests), len(near.requests)) == ("Done.", 1, 1)


def test_a_model_that_calls_a_tool_is_asked_again(messages_api):
    asked = chain(claude(messages_api(calls_tool, says("Done.")))).summarize(prompt())
    assert asked.text == "Done."
    assert asked.requests[0]["usage"]["output"] == 5


def test_a_model_that_says_nothing_is_asked_again(messages_api):
    asked = chain(claude(messages_api(says(""), says("Done.")))).summarize(prompt())
    assert [bool(each.get("error")) for each in asked.requests] == [True, False]


def test_a_model_that_leaves_out_a_section_is_reminded_of_it_by_name(messages_api):
    api = messages_api(says(HALF), says(WHOLE))
    assert chain(claude(api)).summarize(prompt("turn-prefix")).text == WHOLE
    assert "## Context for Suffix\n\nWrite the whole answer again" in api.asked[1]


def test_a_wrong_key_is_sent_once(messages_api):
    api = messages_api(errs(401, "invalid x-api-key", "authentication_error"))
    failure(chain(claude(api)))
    assert len(api.requests) == 1


def test_a_prompt_that_is_too_long_is_sent_once(messages_api):
    api = messages_api(errs(400, "prompt is too long: 2 tokens > 1 maximum", "invalid_request_error"))
    problem = failure(chain(claude(api)))
    assert (problem.is_too_long, len(api.requests)) == (True, 1)


def test_halves_of_surrogate_pairs_are_replaced_and_halves_that_come_in_two_pieces_joined(messages_api):
    api = messages_api(says("1234567 \ud83d\ude00 \udc00"))
    asked = chain(claude(api)).summarize(prompt("short"))
    assert asked.text == "1234567 😀 \ufffd"


# Listeners


class Watching:
    """An listener who remembers."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def waiting_for(self, whom: str) -> Iterator[None]:
        self.told.append(whom)
        yield
        self.told.append("answered")

    def note(self, what: str) -> None:
        self.told.append(what)


def told(*summarizers, **options) -> list[str]:
    listener = Watching()
    with suppress(SummarizersFailedError):
        chain(*summarizers, listener=listener, **options).summarize(prompt())
    return listener.told


def test_a_listener_is_told_who_is_waited_for():
    assert told(Saying("Done.", name="one")) == ["one", "answered"]


def test_a_listener_is_told_of_the_model_that_is_asked():
    with MessagesApi() as api:
        assert told(claude(api))[0] == "anthropic claude-opus-4-5"


def test_a_listener_is_told_of_the_address_that_is_asked_without_its_secrets():
    address = NO_SERVER.removeprefix("http://")
    whom, *_ = told(HttpSummarizer(f"http://me:secret@{address}/sum?key=secret"), retries=0)
    assert whom == f"http http://{address}/sum"


def test_a_listener_is_told_of_failures_as_they_happen_and_what_is_done_next():
    one, two = Saying(passing(7.5), lasting(), name="one"), Saying("Done.", name="two")
    first, again, second, given_up, *next_one = told(one, two)
    assert (first, second, next_one) == ("one", "one", ["two", "answered"])
    assert again.startswith(f"{passing()}; ")
    assert re.findall(r"[\d.]+", again) == ["7.5", "1", "2"]
    assert given_up.startswith(f"{lasting('one')}; ")
    assert "short" in again
    assert "short" in given_up


def test_of_the_last_failure_a_listener_is_not_told_for_it_is_raised():
    assert told(Saying(lasting(), name="one")) == ["one"]
