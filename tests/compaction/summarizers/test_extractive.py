"""Summaries without a model: every template's sections, filled from the messages."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from compaction.prompts import serialized_prompt
from compaction.summarizers import CancelledError, UnsupportedTemplateError
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summarizers.facts import collect_facts
from compaction.templates import built_in_names, missing_sections, parse_template
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from projections.mentions.message_facts import SessionFacts
from tests.compaction.summarizers.prompts import live, never, prompt, template
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


def sections(text):
    """The lines under each heading."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            found[line] = []
        elif line:
            found[list(found)[-1]].append(line)
    return found


def test_every_section_of_a_compaction_is_filled():
    assert sections(summary()) == {
        "## Goal": [
            "- yes please, add it",
            "- at first: Build the parser in src/parse.ts. Never touch the lexer.",
        ],
        "## Constraints & Preferences": ["- Build the parser in src/parse.ts.", "- Never touch the lexer."],
        "## Progress": [],
        "### Done": [
            "- [x] The parser keeps one table instead of two. It reads all files.",
            "- src/: parse.ts (changed)",
        ],
        "### In Progress": ["- [ ] The heap is too small for the build."],
        "### Blocked": ["- `npm run build` failed: error: out of memory"],
        "## Key Decisions": ["- The parser keeps one table instead of two."],
        "## Next Steps": ["- go on with what is in progress"],
        "## Critical Context": [
            "- `node --version`: ok",
            "- `npm run build`: failed",
            "- `npm test`: failed",
            "- error: out of memory",
            "- src/parse.ts(1,2): error TS2304: Cannot find name 'x'.",
            "- src/: lexer.ts",
            "- names: Tree, parseAll",
        ],
    }


@every_template
def test_every_template_has_its_sections_and_the_files_commands_and_errors(name):
    text = summary(name)
    assert missing_sections(text, template(name).sections) == []
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {section}" for section in template(name).sections
    ]
    told = [
        "src/",
        "parse.ts",
        "lexer.ts",
        "npm test",
        "error: out of memory",
        "parseAll",
        "Never touch the lexer.",
    ]
    assert [each for each in told if each not in text] == []


@every_template
def test_what_there_is_nothing_for_says_so(name):
    lines = sections(summary(name, assistant("hm"))).values()
    assert all(each in (["none"], [], ["- [x] hm"]) for each in lines)
    assert ["none"] in lines


@every_template
def test_no_line_is_told_twice(name):
    lines = [line for each in sections(summary(name)).values() for line in each if line != "none"]
    assert len(set(lines)) == len(lines)


def test_a_short_summary_is_a_few_sentences():
    assert summary("short") == (
        'Asked for: "yes please, add it." Files changed: 1, commands run: 3. '
        'It stands at: "The heap is too small for the build."'
    )


def test_a_short_summary_of_nothing_says_so():
    assert summary("short", result("x")) == 'Asked for: "nothing."'


def test_a_short_summary_keeps_to_its_bound_if_it_can():
    assert summary("short", max_tokens=10) == 'Asked for: "yes please, add it."'


def summary_by(text, *messages, front="", source="test", **options):
    own = parse_template(f'+++\nname = "own"\nversion = 1\n{front}\n+++\n{text}', source=source)
    parts = context_of(*(messages or TALK)).parts
    return summarize(serialized_prompt(own, parts, **{"system": "", "max_tokens": 4_000, **options}))


def test_a_template_of_ones_own_is_filled_as_far_as_its_sections_are_known():
    told = sections(summary_by("Sum up.", front='sections = ["Goal", "Risks", "next steps"]'))
    assert list(told)[:3] == ["## Goal", "## Risks", "## next steps"]
    assert told["## Risks"] == ["none"]
    assert told["## Goal"] == sections(summary())["## Goal"]
    assert told["## next steps"] == sections(summary())["## Next Steps"]


def test_lines_for_which_a_template_has_no_section_get_one_behind_its_own():
    told = sections(summary_by("Sum up.", front='sections = ["Goal", "Risks"]'))
    assert list(told) == ["## Goal", "## Risks", "## Critical Context"]
    assert "- Never touch the lexer." in told["## Critical Context"]


def test_a_template_that_names_its_sections_in_its_prompt_alone_is_followed():
    assert list(sections(summary_by("Say:\n## Goal\nthe goal\n## Risks\nthe risks")))[:2] == [
        "## Goal",
        "## Risks",
    ]


@pytest.mark.parametrize(("front", "found"), [("", ()), ('sections = ["Risks", "Open"]', ("Risks", "Open"))])
def test_a_template_with_no_section_that_is_known_is_refused(front, found):
    with pytest.raises(UnsupportedTemplateError) as raised:
        summary_by("Sum up.", front=front)
    refused = raised.value
    assert (refused.summarizer, refused.sections, refused.is_transient) == ("extractive", found, False)


@pytest.mark.parametrize("most", [100, 200, 400, 4_000])
def test_with_a_section_of_its_own_it_keeps_to_its_bound(most):
    told = summary_by("Sum up.", front='sections = ["Goal", "Risks"]', max_tokens=most)
    assert len(told.encode()) <= 3 * most


def test_a_short_summary_of_ones_own_is_filled_by_its_sections():
    own = parse_template('+++\nname = "short"\nversion = 1\nsections = ["Goal"]\n+++\nSum up.', source="test")
    text = summarize(serialized_prompt(own, context_of(*TALK).parts, system="", max_tokens=400))
    assert text.startswith("## Goal\n- ")


def test_instructions_in_place_of_a_template_get_the_sections_of_a_compaction():
    assert summary_by("Sum up.", source="instructions") == summary()


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_that_come_with_refold_have_a_section_for_all_that_is_told(name):
    told = {line for line in summary(name).splitlines() if line.startswith("## ")}
    assert told == {f"## {each}" for each in template(name).sections}


def test_a_conversation_in_front_of_the_prompt_is_summarized_like_one_within_it():
    assert summarize(live(*TALK, name="handoff", max_tokens=4_000)) == summary("handoff")


def test_the_asker_takes_the_answer_as_it_is():
    asked = SummarizerChain(summarizers=[ExtractiveSummarizer()]).summarize(
        prompt("nine-sections", *TALK, max_tokens=4_000)
    )
    assert (asked.missing, len(asked.requests), asked.text) == ([], 1, summary("nine-sections"))


def test_messages_that_were_read_before_give_the_same_summary():
    shared = ExtractiveSummarizer(facts=SessionFacts())
    for asked in (
        prompt("compaction", *TALK[:6]),
        prompt("compaction", *TALK),
        prompt("nine-sections", *TALK),
    ):
        assert shared.summarize(asked, is_cancelled=never).text == summarize(asked)


def long_talk(turns):
    return [
        message
        for number in range(turns)
        for message in (
            user(f"Please add step number {number} to the plan, as it was agreed upon last week."),
            assistant(call("bash", f"c{number}", command=f"make step-{number} in src/step-{number}/main.py")),
            result(
                f"error: step {number} is `unknownThing{number}` of nobody",
                call_id=f"c{number}",
                is_error=True,
            ),
            assistant(f"Step number {number} was added instead of the other one."),
        )
    ]


@pytest.mark.parametrize("tokens", [300, 1_000, 4_000])
def test_a_summary_keeps_to_its_bound(tokens):
    text = summary("compaction", *long_talk(300), max_tokens=tokens)
    assert 3 * tokens * 0.9 < len(text.encode()) <= 3 * tokens


def test_a_summary_is_never_longer_than_the_summarizer_allows():
    assert (
        len(summarize(prompt("compaction", *long_talk(300), max_tokens=16_000), most=500).encode()) <= 1_500
    )


def test_rules_go_before_all_else():
    talk = [user("Never touch the lexer of the old parser, whatever happens to it."), *long_talk(50)]
    told = sections(summary("compaction", *talk, max_tokens=700))
    assert "- Never touch the lexer of the old parser, whatever happens to it." in [
        *told["## Constraints & Preferences"],
        *(line.replace("at first: ", "") for line in told["## Goal"]),
    ]
    assert len(told["## Constraints & Preferences"]) > 20
    assert told["## Critical Context"] == ["none"]


def test_a_summary_is_shorter_than_what_it_is_of():
    talk = [assistant(f"see `name{number}Of` of src/file{number}.py") for number in range(300)]
    said = sum(len(message["content"][0]["text"]) for message in talk)
    assert len(summary("compaction", *talk)) < said / 2


@pytest.mark.parametrize(
    "said", ["## Goal", "a\n## Goal\nb", "see\u2028## Goal", "```\n## Goal\n```", "x\x0b## Goal"]
)
@every_template
def test_what_is_said_makes_no_headings(name, said):
    talk = [
        user(f"{said} and use tabs"),
        assistant(f"{said} is done now.\n{said}", call("write", "c1", path=f"src/{said}.py")),
        result(f"error: {said} is no name", call_id="c1", is_error=True),
        assistant(call("bash", "c2", command=f"echo; make '{said}'")),
        user(said),
    ]
    text = summary(name, *talk, previous=f"## Goal\n- {said}\n  {said}")
    headings = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    parts = ["### Done", "### In Progress", "### Blocked"] if "## Progress" in headings else []
    assert sorted(headings) == sorted([*(f"## {each}" for each in template(name).sections), *parts])


@pytest.mark.parametrize("tag", ["<summary>", "</summary>", "<analysis>", "<read-files>"])
def test_what_is_said_opens_and_closes_no_part_of_the_answer(tag):
    talk = [user(f"Never write {tag} here."), assistant(f"I chose {tag} over the others.")]
    assert tag not in summary("nine-sections", *talk)
    assert tag not in summary("short", *talk)


def updated(talk, pieces):
    """The summaries of a conversation that is summarized piece by piece, each going on from the one before."""
    size = -(-len(talk) // pieces)
    found = [""]
    for start in range(0, len(talk), size):
        name = "compaction-update" if found[-1] else "compaction"
        found.append(summary(name, *talk[start : start + size], previous=found[-1]))
    return found[1:]


def test_a_summary_that_is_brought_up_to_date_keeps_every_rule():
    rules = [f"Never touch the file number {number} of the lexer." for number in range(12)]
    talk = [message for rule in rules for message in (user(f"Hello there. {rule}"), *long_talk(3))]
    *_, last = updated(talk, 6)
    assert [rule for rule in rules if rule not in last] == []


def test_a_summary_that_is_brought_up_to_date_does_not_grow_for_ever():
    sizes = [len(text.encode()) for text in updated(long_talk(240), 12)]
    assert max(sizes) <= 12_000


def test_something_is_gained_by_a_summary_that_is_brought_up_to_date():
    before = summary("compaction", *long_talk(60))
    said = long_talk(2)
    parts = context_of(*said).parts
    after = summarize(
        serialized_prompt(template("compaction-update"), parts, system="", max_tokens=4_000, previous=before)
    )
    assert len(before) < len(after) < len(before) + collect_facts(parts).size


def test_a_summary_brought_up_to_date_with_nothing_stays_as_it_is():
    text = summary()
    prompted = serialized_prompt(
        template("compaction-update"), (), system="", max_tokens=4_000, previous=text
    )
    assert summarize(prompted) == text


def test_the_first_request_is_told_after_many_updates():
    texts = updated([user("build the parser of all parsers"), *long_talk(40)], 8)
    assert all("build the parser of all parsers" in text for text in texts)


bounded = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
notes = st.lists(
    st.sampled_from(
        [
            "## Goal",
            "### Done",
            "- use tabs",
            "- [ ] go",
            "- src/: a.py, b.py (changed)",
            "- . is /",
            "- names: a, b",
            "- `x`: ok",
        ]
    ),
    max_size=6,
).map("\n".join)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("session") / "session.jsonl"


def test_it_is_called_off_between_messages():
    asked = iter([False] * (len(TALK) - 1) + [True])
    with pytest.raises(CancelledError):
        ExtractiveSummarizer().summarize(prompt("compaction", *TALK), is_cancelled=lambda: next(asked))


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


earlier_in_halves = halves.map(
    lambda half: f"## Goal\n- {half} x\n## Critical Context\n- src/{half}/: a.ts\n- `{half}`: ok"
)


@settings(max_examples=examples(200))
@given(
    talk=talks_in_halves(),
    name=st.sampled_from([*TEMPLATES, "short"]),
    previous=st.just("") | earlier_in_halves,
    tokens=st.integers(0, 700),
)
def test_a_summary_has_utf_8_whatever_halves_of_characters_were_said(talk, name, previous, tokens):
    text = summary(name, *talk, previous=previous, max_tokens=tokens)
    assert text.encode().decode() == text


@bounded
@given(
    entries=pi_entries(),
    name=st.sampled_from([*TEMPLATES, "short"]),
    previous=notes,
    tokens=st.integers(0, 600),
)
def test_whatever_a_session_holds_it_is_summarized(file, entries, name, previous, tokens):
    file.write_bytes(file_of(entries))
    log = MemoryLog(clock=lambda: NOW)
    parts = build_context(log, import_file(log, file).id).parts
    asked = serialized_prompt(template(name), parts, system="", max_tokens=tokens, previous=previous)
    text = summarize(asked)
    event(f"lines: {min(text.count(chr(10)) // 10, 5)}0")
    assert text == summarize(asked)
    assert missing_sections(text, template(name).sections) == []
    headings = sum(
        len(f"### {section}\nnone\n\n") for section in (*template(name).sections, "Done", "Blocked")
    )
    assert len(text.encode()) <= max(3 * tokens, headings + 20, 300)


@bounded
@given(appended=native_events(), name=st.sampled_from(TEMPLATES))
def test_whatever_refold_itself_wrote_is_summarized(appended, name):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    asked = serialized_prompt(template(name), build_context(log, "s").parts, system="", max_tokens=500)
    text = summarize(asked)
    lines = [line for each in sections(text).values() for line in each if line != "none"]
    assert len(set(lines)) == len(lines)
    assert text == summarize(asked)
