"""Instructions in what users say: sentences made up for their traps, and the labelled ones of real sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.mentions.instructions import instructions_in
from tests.labels.instructions import is_as_labelled, labelled_messages
from tests.support.growth import NO_SQUARE, times_as_long

ORDERS = """
Use tabs.
use tabs
fix the bug in src/a.ts
read this file
add a test for `parse`
ok, now rename foo to bar
no, remove it
commit often
write tests first
be concise
always run npm run check after changes
only use pnpm
Only change files under src/.
Run the tests (they are slow).
Keep functions small.
keep going until all tests pass
Answer in German.
Do it with asyncio, not threads.
Commit after each step.
let's keep the old API
Please add a test.
fix all of it please
make sure that the build passes
Before you commit, run the linter.
If the tests fail, fix them first.
In the README, mention the new flag.
To be clear: use the builtin tools.
From now on, write commit messages in English.
from now on: use tabs
You must run the linter before committing.
The comments should be in English.
Config has to be in TOML.
Everything must be typed.
It should be called parse_all.
We need to support Python 3.11.
I think we should keep both.
Use ruff (e.g. `ruff check`) and mypy.
fix this error: TypeError: x is not a function
- Use tabs.
3. Use tabs.
**Use** `tabs`.
Keep it short, ok?
""".strip().splitlines()

FORBIDS = """
Don't touch the tests.
don\u2019t touch the tests
dont touch the tests
Never commit without asking.
DO NOT push to main!
Do **NOT** edit the lockfile.
No emojis.
no emojis
no mocks, no stubs
No new dependencies without my approval.
Stop adding comments.
avoid new dependencies
Note: never edit generated files.
You should never force-push.
Tests must not sleep.
that should never happen
Don't worry about backwards compatibility.
read a.ts (don't read all of it)
Use tabs, not spaces.
Never mention me, ok?
""".strip().splitlines()

PREFERS = """
I prefer small functions.
I'd rather have one file.
I would like shorter names.
I want the old name back.
i actually want to keep these files
I don't want comments in the code.
We want tabs.
I'd go with the second one.
I like the first one better.
""".strip().splitlines()

NOTHING = """
can you use tabs?
can you use tabs
could you add a test
What should we use?
should we use tabs?
do you think we must use tabs?
why do you always use tabs?
how about we use tabs?
Have you run the tests
do it
ok, go ahead
yes, please
continue
just keep going until done
yes
wow
wait
no
thanks!
hm
looks good, thanks
I added a test and it fails.
I never use tabs in Python
We used tabs before.
You never told me that.
it always fails
The build never finishes.
It checks addresses but never ports.
The test must have been flaky.
it must be a bug in the parser
This should work now.
Everything should be working now.
The docs say you should use tabs
I wonder whether we need this
I want to know why it fails.
I don't understand why it fails
I don't think so
don't know
never mind
no idea
no problem
No errors.
No changes found.
No mutex protects it.
the use of tabs is common
Tests fail on main.
Test coverage is thin.
Commit 3f2a was fine.
Build is broken again.
Confirm:
"always use tabs"
you can leave it
I like it.
When I run the tests they pass.
if you add a test it fails
""".strip().splitlines()

PASTED = """
Error: you must specify a file
error: must provide --name
TypeError: use a string
> never push
$ use tabs
+ use tabs
@@ use tabs @@
# Use tabs
| use tabs |
{"use": "tabs"}
    at use (src/a.ts:3:4)
<b>use tabs</b>
[INFO] use tabs
[lint:go] use tabs
2025-01-01 10:00:00 use tabs
use tabs() {
def use(tabs): return
[use tabs]
─── use tabs
""".strip().splitlines()


def test_what_orders_forbids_or_prefers_is_an_instruction():
    rows = [*ORDERS, *FORBIDS, *PREFERS]
    assert {said: len(instructions_in(said)) for said in rows} == dict.fromkeys(rows, 1)


def test_questions_reports_and_go_aheads_are_none():
    assert {said: found for said in NOTHING if (found := instructions_in(said))} == {}


def test_what_looks_pasted_is_none():
    assert {pasted: found for pasted in PASTED if (found := instructions_in(pasted))} == {}


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
def test_fenced_code_holds_none(fence):
    assert instructions_in(f"{fence}sh\nuse tabs\n{fence}\nUse spaces.") == ["Use spaces."]


def test_what_a_harness_put_in_holds_none():
    said = "<system-reminder>\nUse tabs.\n</system-reminder>\nUse spaces.\n<file name='a'>Use tabs.</file>"
    assert instructions_in(said) == ["Use spaces."]


def test_each_item_of_a_list_is_a_sentence():
    said = "Rules:\n- use tabs\n  for indentation\n* no emojis\n1. never push\n- [ ] add tests"
    assert instructions_in(said) == ["use tabs for indentation", "no emojis", "never push", "add tests"]


def test_a_sentence_goes_on_over_a_line_that_was_broken_for_width():
    first, second = "Never commit anything at all without having run all of the tests", "and the linter."
    assert instructions_in(f"{first}\n{second} It is slow.") == [f"{first} {second}"]


def test_abbreviations_paths_and_code_end_no_sentence():
    said = "Use e.g. a.ts, src/b.ts or `x. Use y` (i.e. both. Really) etc. for now. Never push! Keep v1.2"
    first = "Use e.g. a.ts, src/b.ts or `x. Use y` (i.e. both. Really) etc. for now."
    assert instructions_in(said) == [first, "Never push!", "Keep v1.2"]


def test_an_instruction_given_twice_stands_once():
    assert instructions_in("Use tabs. It is late. Use tabs.") == ["Use tabs."]


@given(st.text() | st.text(alphabet="use no. `*_()>-\n'?!"))
def test_any_text_may_be_read(text):
    assert all(sentence == " ".join(sentence.split()) for sentence in instructions_in(text))


@pytest.mark.parametrize(
    "unit", ["use a1. ", "`a. ", "(a. ", "1. ", ".", "never ", ",,", "<file>\n", "**", "[a](", "\n", "e.g. "]
)
def test_a_large_text_is_read_in_time_that_grows_with_it(unit):
    few = 15_000 // len(unit)
    assert times_as_long(instructions_in, unit * few, unit * few * 8) < NO_SQUARE


@pytest.fixture(scope="module")
def read(corpus):
    """From a sentence of the labelled messages to whether it is held out, an instruction, and found to be one.

    A sentence that is found and has no label is a mistake of either half.
    """
    labels, found = {}, set()
    for message in labelled_messages():
        string = message.string(corpus)
        found.update(instructions_in(string))
        for sentence in message.sentences:
            text = " ".join(string[sentence.start : sentence.stop].split())
            labels[text] = sentence
    return labels, found


def test_labels_are_of_the_sentences_that_were_read(corpus):
    for message in labelled_messages():
        string = message.string(corpus)
        assert all(is_as_labelled(sentence, string) for sentence in message.sentences)


@pytest.mark.parametrize("held_out", [False, True], ids=["development", "held out"])
def test_of_what_is_found_in_real_messages_95_in_100_are_instructions(read, held_out):
    labels, found = read
    known = [labels.get(text) for text in found]
    half = [label for label in known if label is None or label.is_held_out == held_out]
    right = sum(label is not None and label.is_instruction for label in half)
    assert right / len(half) >= 0.95


@pytest.mark.parametrize("held_out", [False, True], ids=["development", "held out"])
def test_of_the_instructions_in_real_messages_85_in_100_are_found(read, held_out):
    labels, found = read
    half = [text for text, label in labels.items() if label.is_instruction and label.is_held_out == held_out]
    assert len(found.intersection(half)) / len(half) >= 0.85
