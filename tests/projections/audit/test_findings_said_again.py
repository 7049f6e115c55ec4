"""Find what a person had to say again behind a compaction, and nothing where the context had it."""

from __future__ import annotations

import pytest

from projections.audit.session import audit
from tests.support.talk import assistant, call, user


def test_what_a_person_has_to_say_again_is_serious(agent):
    agent.says(user("the release notes mention the wrong version of the parser library"))
    agent.compacts()
    agent.goes_on()
    again = agent.says(user("again, the release notes still have the wrong version of the parser library"))
    assert agent.found() == [("repeated", "serious", [again])]


def test_a_message_that_a_person_comes_back_to_in_the_same_words_is_one_finding(agent):
    agent.says(user("the release notes mention the wrong version of the parser library"))
    agent.does("bash", "1.0", command="cat version.txt")
    agent.compacts()
    agent.says(assistant("All is done."))
    again = agent.says(user("again, the release notes still have the wrong version of the parser library"))
    assert agent.found() == [("repeated", "serious", [again])]


def test_a_sentence_that_a_person_says_again_in_a_longer_complaint_is_serious(agent):
    agent.says(user("the import works. prices come in cents from the cash desk. next the report"))
    agent.says(assistant("Understood."))
    agent.compacts()
    agent.goes_on()
    again = agent.says(
        user("no, this is wrong. the cash desk gives prices in cents, look at line 4. and the title is ugly")
    )
    assert agent.found() == [("repeated", "serious", [again])]


def test_a_complaint_in_the_middle_of_a_long_message_is_found(agent):
    agent.says(user("the label comes from the article's newest delivery that has one"))
    agent.says(assistant("Understood."))
    agent.compacts()
    agent.goes_on()
    more = "i looked at the folders and they are fine now, thanks. " * 10
    again = agent.says(
        user(f"{more}label isn't what i said. the article's newest delivery is meant, not the group. go on")
    )
    assert agent.found() == [("repeated", "serious", [again])]


def test_a_person_who_corrects_themselves_does_not_object(agent):
    agent.says(user("storno books the same thing turned around with the old text"))
    agent.says(assistant("Understood."))
    agent.compacts()
    agent.goes_on()
    agent.says(
        user("fine. next `move 7 8-10`... no, keep it simple: a storno with the same text turned around")
    )
    assert agent.found() == []


def test_a_sentence_that_the_summary_says_was_not_lost(agent):
    agent.says(user("the import works. prices come in cents from the cash desk. next the report"))
    agent.says(assistant("Understood."))
    agent.compacts("prices from the cash desk are in cents")
    agent.goes_on()
    agent.says(
        user("no, this is wrong. the cash desk gives prices in cents, look at line 4. and the title is ugly")
    )
    assert agent.found() == []


@pytest.mark.parametrize(
    "since",
    [
        assistant("The prices come from the cash desk in euros."),
        assistant("I looked at the desk. Then I counted cash. All prices are there."),
        assistant(call("write", path="a.py", content="desk cents cash prices")),
    ],
)
def test_words_of_the_model_do_not_tell_what_a_person_says_again(agent, since):
    agent.says(user("the import works. prices come in cents from the cash desk. next the report"))
    agent.says(assistant("Understood."))
    agent.compacts()
    agent.goes_on()
    agent.says(since)
    again = agent.says(user("no, this is wrong. the cash desk gives prices in cents, look at line 4"))
    assert agent.found() == [("repeated", "serious", [again])]


def test_an_error_that_a_person_reports_again_is_serious(agent):
    agent.does("bash", "TypeError: cannot read header of undefined stream", fails=True, command="make")
    agent.compacts()
    agent.goes_on()
    again = agent.says(user("I get this now:\n\nTypeError: cannot read header of undefined stream"))
    assert agent.found() == [("repeated", "serious", [again])]


@pytest.mark.parametrize(
    ("question", "is_found"),
    [
        ("Which file has the fixtures?", True),
        ("I could not find any fixtures. Can you point me to them?", True),
        ("Would you like me to go on?", False),
        ("Is it fine to round them?", False),
        ("All done.", False),
    ],
)
def test_a_fact_that_the_model_asks_for_was_told_before(agent, question, is_found):
    agent.says(user("the fixtures are in data/people.csv"))
    agent.does("read", "x = 1", path="main.py")
    agent.compacts()
    asked = agent.says(assistant(question))
    told = agent.says(user("data/people.csv"))
    assert agent.found() == [("repeated", "serious", [asked, told])] * is_found


def test_a_fact_that_the_model_asks_for_with_a_tool_was_told_before(agent):
    agent.says(user("the fixtures are in data/people.csv"))
    agent.compacts()
    agent.does("AskUserQuestion", "They are in data/people.csv.", question="Where are the fixtures?")
    assert [(kind, weight) for kind, weight, _ in agent.found()] == [("repeated", "serious")]


def test_a_fact_that_a_tool_finds_was_not_told_again(agent):
    agent.says(user("the fixtures are in data/people.csv"))
    agent.compacts()
    agent.does("bash", "data/people.csv", command="ls data")
    assert agent.found() == []


@pytest.mark.parametrize(
    ("summary", "words", "is_found"),
    [
        ("The work goes on.", "we agreed that invoices round to cents", True),
        ("Invoices round to cents.", "we agreed that invoices round to cents", False),
        ("The work goes on.", "let invoices round to cents", False),
        ("The work goes on.", "we agreed to have lunch", False),
    ],
)
def test_a_reminder_of_what_left_the_context_is_serious(agent, summary, words, is_found):
    agent.says(assistant("Then all invoices will round to whole cents, as the tax office wants."))
    agent.compacts(summary)
    agent.goes_on()
    reminder = agent.says(user(words))
    assert agent.found() == [("repeated", "serious", [reminder])] * is_found


def test_a_reminder_in_words_that_are_used_all_the_time_is_no_finding(agent):
    for number in range(20):
        agent.says(assistant(f"All invoices round to whole cents in module {number}."))
    agent.compacts()
    agent.goes_on()
    agent.says(user("we agreed that invoices round to cents"))
    assert agent.found() == []


def test_a_reminder_of_what_was_said_since_is_no_finding(agent):
    agent.says(assistant("All invoices round to whole cents."))
    agent.compacts()
    agent.goes_on()
    agent.says(user("let all invoices round to whole cents"))
    agent.says(user("we agreed that invoices round to cents"))
    assert agent.found() == []


def test_a_reminder_is_about_its_own_sentence_and_the_one_before(agent):
    agent.says(assistant("All invoices round to whole cents, as the tax office wants."))
    agent.compacts()
    agent.goes_on()
    agent.says(user("as i said, be brief. the title is ugly. invoices of the tax office round oddly"))
    assert agent.found() == []


def test_a_long_specification_says_nothing_again(agent):
    agent.says(user("prices come in cents from the cash desk"))
    agent.says(assistant("Understood."))
    agent.compacts()
    agent.goes_on()
    agent.says(
        user("one more point for the plan. " * 80 + "this is wrong. the cash desk gives prices in cents")
    )
    assert agent.found() == []


def test_an_aside_at_the_end_of_a_report_is_no_reminder(agent):
    agent.says(assistant("All invoices round to whole cents, because the bank is from 1974."))
    agent.compacts()
    agent.goes_on()
    agent.says(
        user(
            "ok. the import fails now: "
            + "line 6 is odd, " * 18
            + "invoices round. the bank is from 1974, as i said"
        )
    )
    assert agent.found() == []


@pytest.mark.parametrize(
    "words",
    [
        "Great, you fixed it! Now write the release notes for the invoice export",
        "make sure you test before committing the invoice export",
        "perfect, you found out why. write the invoice export docs",
        "I already did the backup of the invoice export",
    ],
)
def test_praise_and_orders_remind_of_nothing(agent, words):
    agent.says(assistant("I will look at the invoice export and write its notes and docs later."))
    agent.compacts()
    agent.says(assistant("Done."))
    agent.says(user(words))
    assert audit(agent.story.log, "s").compactions[0].findings == []
