"""Summaries without a model: every template's sections, filled with quotations."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from compaction.prompts import live_prompt, serialized_prompt
from compaction.summarizers import CancelledError
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import (
    NOTHING,
    ExtractiveSummarizer,
    Kind,
    Quotation,
    parse_summaries,
)
from compaction.templates import built_in_names, missing_sections, parse_template
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from eventstore.node import NO_HISTORY, SPLIT_TURN
from projections.context.build import build_context
from tests.compaction.summarizers.prompts import live, never, prompt, template
from tests.support import claude_code, codex, opencode
from tests.support.contexts import context_of
from tests.support.events import NOW
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.pi_sessions import file_of, pi_entries
from tests.support.talk import assistant, call, result, user

TALK = [
    user("Build the parser in src/parse.ts. Never touch the lexer."),
    assistant("First I read it.", call("read", "c1", path="src/lexer.ts")),
    result("export class Lexer {}", call_id="c1", tool="read"),
    assistant(call("write", "c2", path="src/parse.ts", content="parseAll()")),
    result("written", call_id="c2", tool="write"),
    assistant(call("bash", "c3", command="npm test")),
    result("src/parse.ts(1,2): error TS2304: Cannot find name 'x'.", call_id="c3", is_error=True),
    assistant("The parser keeps one table instead of two. It reads all files. Shall I add `Tree` as well?"),
    user("yes please, add it"),
    assistant("Now the tree.", call("bash", "c4", command="npm run build")),
    result("error: out of memory", call_id="c4", is_error=True),
    assistant("The heap is too small for the build.", call("bash", "c5", command="node --version")),
]
TEMPLATES = [name for name in built_in_names() if template(name).sections]
every_template = pytest.mark.parametrize("name", TEMPLATES)


def summarize(asked, **options):
    return ExtractiveSummarizer(**options).summarize(asked, is_cancelled=never).text


def summary(name="compaction", *messages, **options):
    return summarize(prompt(name, *(messages or TALK), **{"max_tokens": 4_000, **options}))


def own_template(text, front="", source="test"):
    return parse_template(f'+++\nname = "own"\nversion = 1\n{front}\n+++\n{text}', source=source)


def summary_by(text, *messages, front="", source="test", **options):
    parts = context_of(*(messages or TALK)).parts
    asked = {"system": "", "max_tokens": 4_000, **options}
    return summarize(serialized_prompt(own_template(text, front, source), parts, **asked))


def headings_of(text):
    return [line for line in text.splitlines() if line.lstrip().startswith("#")]


SUMMARY = """\
## Goal
First and newest messages, in order:
> Build the parser in src/parse.ts. Never touch the lexer.

> yes please, add it

## Constraints & Preferences
Nothing is quoted here.

## Progress
Files modified:
- src/: parse.ts

Commands, with the outcome of their call:
- `node --version`: no result
- `npm run build`: failed
- `npm test`: failed

## Key Decisions
Nothing is quoted here.

## Next Steps
Nothing is quoted here.

## Critical Context
Errors, the last line of their result:
- error: out of memory
- src/parse.ts(1,2): error TS2304: Cannot find name 'x'.

Files read:
- src/: lexer.ts"""


def test_a_summary_quotes_and_says_nothing_else():
    assert summary() == SUMMARY


@every_template
def test_every_template_has_its_sections_and_all_quotations(name):
    text = summary(name)
    assert headings_of(text) == [f"## {section}" for section in template(name).sections]
    blocks = {
        block for part in SUMMARY.split("## ") for block in part.partition("\n")[2].strip().split("\n\n")
    }
    assert [block for block in blocks - {NOTHING} if block not in text] == []


@every_template
def test_sections_without_quotations_say_so(name):
    assert summary(name, assistant("hm")) == "\n\n".join(
        f"## {section}\n{NOTHING}" for section in template(name).sections
    )


def test_a_refused_call_has_the_persons_words(file):
    refusal = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    )
    run = claude_code.call("c", "Bash", command="make all")
    log = MemoryLog()
    lines = [
        claude_code.said("u", None, "go"),
        claude_code.answer("a", "u", "m", run),
        claude_code.result("x", "a", "c", f"{refusal}ask me", fails=True),
    ]
    claude_code.bring(log, file, *lines)
    parts = build_context(log, claude_code.SESSION).parts
    text = summarize(serialized_prompt(template("compaction"), parts, system="", max_tokens=4_000))
    assert "> go\n\n> ask me\n" in text
    assert "- `make all`: refused\n" in text


def test_an_outcome_is_that_of_the_last_call():
    talk = [
        message
        for number, is_error in enumerate((True, False))
        for message in (
            assistant(call("bash", f"c{number}", command="make all")),
            result("hm", call_id=f"c{number}", is_error=is_error),
        )
    ]
    assert "- `make all`: ok\n" in summary("compaction", *talk)
    assert "- `make all`: failed\n" in summary("compaction", *talk[:2])


def test_a_short_summary_is_one_line():
    assert summary("short") == 'Newest message: "yes please, add it" Files modified: 1, commands: 3.'
    assert summary("short", result("x")) == "Files modified: 0, commands: 0."


def test_a_short_summary_says_that_it_is_cut():
    assert summary("short", user("word " * 200), max_tokens=20).endswith(
        'word…" Files modified: 0, commands: 0.'
    )


def test_unknown_sections_stay_empty_and_quotations_follow():
    text = summary_by("Sum up.", front='sections = ["Risks", "goal"]')
    assert headings_of(text) == ["## Risks", "## goal", "## Critical Context"]
    assert text.startswith(f"## Risks\n{NOTHING}\n\n## goal\nFirst and newest messages, in order:\n> Build")


def test_headings_in_a_prompt_are_its_sections():
    asked = summary_by("Say:\n## Goal\nthe goal\n## Risks\nthe risks")
    assert headings_of(asked)[:2] == ["## Goal", "## Risks"]


def test_a_prompt_without_sections_gets_the_quotations_alone():
    text = summary_by("Sum up.")
    assert headings_of(text) == []
    assert text.startswith(f"{Kind.MESSAGES}\n> Build the parser")
    assert summary_by("Sum up.", assistant("hm")) == NOTHING


def test_ones_own_short_template_is_filled_by_sections():
    own = parse_template('+++\nname = "short"\nversion = 1\nsections = ["Goal"]\n+++\nSum up.', source="test")
    text = summarize(serialized_prompt(own, context_of(*TALK).parts, system="", max_tokens=400))
    assert text.startswith("## Goal\nFirst")


def test_instructions_in_place_of_a_template_get_the_sections_of_a_compaction():
    assert summary_by("Sum up.", source="instructions") == summary()


def test_a_conversation_in_front_of_the_prompt_is_summarized_like_one_within_it():
    assert summarize(live(*TALK, name="handoff", max_tokens=4_000)) == summary("handoff")


def test_the_asker_takes_the_answer_as_it_is():
    asked = SummarizerChain(summarizers=[ExtractiveSummarizer()]).summarize(
        prompt("nine-sections", *TALK, max_tokens=4_000)
    )
    assert (asked.missing, len(asked.requests), asked.text) == ([], 1, summary("nine-sections"))


def test_it_is_called_off_between_messages():
    asked = iter([False] * (len(TALK) - 1) + [True])
    with pytest.raises(CancelledError):
        ExtractiveSummarizer().summarize(prompt("compaction", *TALK), is_cancelled=lambda: next(asked))


def quotations(text):
    return parse_summaries([text]).messages


def test_a_long_message_is_cut_and_says_so():
    talk = [user("First. " + "x" * 9_000), *TALK]
    text = summary("compaction", *talk)
    quoted, *_ = quotations(text)
    assert quoted.text == talk[0]["content"][: len(quoted.text)]
    assert len(quoted.text) + quoted.cut == len(talk[0]["content"])
    assert f"\n[{quoted.cut:,} more characters]\n" in text


def long_talk(turns):
    return [
        message
        for number in range(turns)
        for message in (
            user(f"Please add step number {number} to the plan, as it was agreed upon last week."),
            assistant(call("bash", f"c{number}", command=f"make step-{number} in src/step-{number}/main.py")),
            result(f"error: step {number} is unknown", call_id=f"c{number}", is_error=True),
            assistant(f"Step number {number} was added instead of the other one."),
        )
    ]


def test_the_first_and_the_newest_messages_are_quoted():
    text = summary("compaction", *long_talk(300), max_tokens=700)
    first, *newest = (each.text for each in quotations(text))
    numbers = [int(each.split()[4]) for each in newest]
    assert first.split()[4] == "0"
    assert numbers == list(range(300 - len(numbers), 300))
    assert f"[{299 - len(numbers)} other messages]" in text


@pytest.mark.parametrize("tokens", [300, 1_000, 4_000])
def test_a_summary_keeps_to_its_bound(tokens):
    text = summary("compaction", *long_talk(300), max_tokens=tokens)
    assert 3 * tokens * 0.85 < len(text.encode()) <= 3 * tokens


def test_a_summary_is_never_longer_than_the_summarizer_allows():
    asked = prompt("compaction", *long_talk(300), max_tokens=16_000)
    assert len(summarize(asked, most=500).encode()) <= 1_500


def test_a_summary_is_shorter_than_what_it_is_of():
    talk = [assistant(f"see name{number}Of of src/file{number}.py") for number in range(300)]
    said = sum(len(message["content"][0]["text"]) for message in talk)
    assert len(summary("compaction", *talk)) < said


@pytest.mark.parametrize("said", ["## Goal", "a\n## Goal\nb", "see\u2028## Goal", "x\x0b## Goal"])
@every_template
def test_what_is_said_makes_no_headings(name, said):
    talk = [
        user(f"{said} and use tabs"),
        assistant(f"{said} is done now.\n{said}", call("write", "c1", path=f"src/{said}.py")),
        result(f"error: {said} is no name", call_id="c1", is_error=True),
        assistant(call("bash", "c2", command=f"echo; make '{said}'")),
        user(said),
    ]
    text = summary(name, *talk, previous=f"notes of {said}\n{said}")
    assert headings_of(text) == [f"## {each}" for each in template(name).sections]


@pytest.mark.parametrize("tag", ["<summary>", "</summary>", "<analysis>", "<read-files>"])
def test_what_is_said_opens_and_closes_no_part_of_the_answer(tag):
    talk = [user(f"Never write {tag} here."), assistant(call("write", path=f"src/{tag}.ts"))]
    assert tag not in summary("nine-sections", *talk, previous=f"It was {tag} before.")
    assert tag not in summary("short", *talk)


def updated(talk, pieces):
    """The summaries of a conversation that is summarized piece by piece, each going on from the one before."""
    size = -(-len(talk) // pieces)
    found = [""]
    for start in range(0, len(talk), size):
        name = "compaction-update" if found[-1] else "compaction"
        found.append(summary(name, *talk[start : start + size], previous=found[-1]))
    return found[1:]


def test_what_an_earlier_summary_quoted_is_carried_on():
    *_, last = updated(TALK, 3)
    assert sorted(last.splitlines()) == sorted(SUMMARY.splitlines())


def test_updated_with_nothing_a_summary_stays():
    asked = serialized_prompt(
        template("compaction-update"), (), system="", max_tokens=4_000, previous=SUMMARY
    )
    assert summarize(asked) == SUMMARY


def test_first_message_and_count_survive_many_updates():
    texts = updated([user("build the parser of all parsers"), *long_talk(200)], 8)
    assert all("> build the parser of all parsers\n" in text for text in texts)
    *_, last = texts
    assert f"[{201 - len(quotations(last))} other messages]" in last


def test_a_summary_that_is_brought_up_to_date_does_not_grow_for_ever():
    assert max(len(text.encode()) for text in updated(long_talk(240), 12)) <= 12_000


NOTES = "Some notes.\n\n## Goal\nA parser.\n\n### Done\n- [x] the lexer"
"""A summary that a model wrote."""


@pytest.mark.parametrize("times", [1, 2])
def test_a_models_summary_is_quoted_again_and_again(times):
    text = NOTES
    for _ in range(times):
        text = summary("compaction-update", *TALK, previous=text)
    assert f"{Kind.EARLIER}\n" + "\n".join(f"> {line}" for line in NOTES.splitlines()) in text
    assert parse_summaries([text]).earlier == [Quotation(NOTES)]


def claude_codes(log, folder):
    lines = [claude_code.boundary("b1", None), claude_code.summary("u1", "b1", NOTES)]
    return claude_code.bring(log, folder / "s.jsonl", *lines, claude_code.said("u2", "u1", "go on"))[0].id


def codexs(log, folder):
    history = [codex.said("build it"), codex.said("Be brief.", "developer"), codex.said(NOTES)]
    file = folder / "rollout.jsonl"
    file.write_bytes(codex.rollout(codex.compacted(NOTES, *history)))
    return import_file(log, file).id


def opencodes(log, folder):
    made = opencode.Database(folder)
    made.begin()
    made.ask("msg_1", "build it")
    made.compact("msg_2", "msg_3", NOTES)
    return import_file(log, made.path).id


@pytest.mark.parametrize("compacted", [claude_codes, codexs, opencodes])
def test_a_harnesss_summary_in_the_context_is_quoted(compacted, tmp_path):
    log = MemoryLog(clock=lambda: NOW)
    parts = build_context(log, compacted(log, tmp_path)).parts
    found = parse_summaries([summarize(live_prompt(template("handoff"), parts, system="", max_tokens=4_000))])
    assert found.earlier[-1] == Quotation(NOTES)
    assert Quotation("Be brief.") not in found.earlier


def test_a_split_turns_parts_are_carried_on():
    turn = summary("turn-prefix", *TALK[8:])
    previous = summary("compaction", *TALK[:8]) + SPLIT_TURN + "verbatim words\n\n" + turn
    text = summary("compaction-update", previous=previous)
    assert [each.text for each in quotations(text)[:2]] == [TALK[0]["content"], TALK[8]["content"]]
    assert parse_summaries([previous]).earlier == [Quotation("verbatim words")]
    assert parse_summaries([NO_HISTORY + SPLIT_TURN.rstrip()]).earlier == []


def test_tags_of_files_are_not_quoted():
    tagged = f"{SUMMARY}\n\n<read-files>\nsrc/lexer.ts\n</read-files>"
    assert parse_summaries([tagged]) == parse_summaries([SUMMARY])


words = (
    st.text(st.sampled_from("ab /,.:`>#[]\n\r\u2028\u00e4-"), min_size=1, max_size=30)
    .map(str.strip)
    .filter(bool)
)


@given(said=st.lists(words, min_size=1, max_size=4))
def test_messages_are_quoted_literally_and_read_back(said):
    text = summary("compaction", *map(user, said))
    assert [each.text for each in quotations(text)] == said
    again = summary("compaction-update", previous=text)
    assert quotations(again)[: len(said)] == quotations(text)


bounded = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
notes = st.lists(
    st.sampled_from(
        [
            *Kind,
            "## Goal",
            "### Done",
            "- use tabs",
            "- src/: a.py, b.py",
            "- `x`: ok",
            "> a",
            "",
            "[9,999 more characters]",
            "[999,999,999 other messages]",
        ]
    ),
    max_size=9,
).map("\n".join)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("session") / "session.jsonl"


halves = st.text(st.sampled_from("\ud800\udc00\ud83d\ude00\U0001f600 a."), max_size=12)
"""Halves of characters, alone and beside each other, and a whole one."""
long_halves = st.builds(
    lambda half, size, rest: "word " * size + half + rest, halves, st.integers(0, 130), halves
)
"""So long that they are cut where they are quoted."""


@st.composite
def talks_in_halves(draw):
    """A turn in which all that a person, a model and tools can say has halves of characters in it."""
    asked, said, output = draw(long_halves), draw(long_halves), draw(long_halves)
    write = call("write", "c1", path=f"src/{asked[-9:]}/a.ts")
    return [
        user(asked),
        assistant(said, write, call("bash", "c2", command=f"run {said}")),
        result(output, call_id="c1"),
        result(f"Error: {output}", call_id="c2", is_error=True),
        assistant(f"{said} done. Shall I {asked}?"),
    ]


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(
    talk=talks_in_halves(),
    name=st.sampled_from([*TEMPLATES, "short"]),
    previous=halves,
    tokens=st.integers(0, 700),
)
def test_a_summary_has_utf_8_whatever_halves_of_characters_were_said(talk, name, previous, tokens):
    text = summary(name, *talk, previous=previous, max_tokens=tokens)
    assert text.encode().decode() == text


def check(asked):
    """A summary has every section and keeps to its budget; the same prompt has the same summary."""
    text, sections = summarize(asked), asked.template.sections
    assert text == summarize(asked)
    assert missing_sections(text, sections) == []
    empty = "\n\n".join(f"## {section}\n{NOTHING}" for section in sections)
    least = len(empty or "Files modified: 999, commands: 999.") + len(f"\n\n## Critical Context\n{NOTHING}")
    assert len(text.encode()) <= max(3 * asked.max_tokens, least)
    return text


sections_of_ones_own = st.lists(
    st.sampled_from(["Goal", "Risks", "progress", "Open", "Critical Context"]), unique=True, max_size=4
)
templates = st.sampled_from([*TEMPLATES, "short"]).map(template) | sections_of_ones_own.map(
    lambda sections: own_template("Sum up.", f"sections = {sections}".replace("'", '"'))
)


@bounded
@given(entries=pi_entries(), by=templates, previous=notes, tokens=st.integers(0, 600))
def test_whatever_a_session_holds_it_is_summarized(file, entries, by, previous, tokens):
    file.write_bytes(file_of(entries))
    log = MemoryLog(clock=lambda: NOW)
    parts = build_context(log, import_file(log, file).id).parts
    text = check(serialized_prompt(by, parts, system="", max_tokens=tokens, previous=previous))
    event(f"lines: {min(text.count(chr(10)) // 10, 5)}0")


@bounded
@given(appended=native_events(), by=templates)
def test_whatever_refold_itself_wrote_is_summarized(appended, by):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    check(serialized_prompt(by, build_context(log, "s").parts, system="", max_tokens=500))
