"""A template without one of its sections loses exactly what only that section named."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent
from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.prompts import Prompt
from compaction.replay import replay_session
from compaction.replay.variants import Variant
from compaction.summarizers import Answer, Cancellation
from compaction.summarizers.chain import SummarizerChain
from compaction.templates import find_template
from eventstore.memory import MemoryLog
from tests.support.talk import Story, assistant, call, result, user

SECTIONS = find_template("compaction", []).sections
FILES = {section: f"src/part_{number}.py" for number, section in enumerate(SECTIONS)}


class Obedient:
    """A summarizer that writes the sections that it is asked for, each with a file of its own."""

    name = "obedient"

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        del is_cancelled
        return Answer(
            text="\n\n".join(
                f"## {each}\n{FILES[each]}" for each in prompt.template.sections if each in FILES
            ),
            model="",
        )


def variant(*sections: str) -> Variant:
    """Return a policy with refold's template, reduced to these sections."""
    template = msgspec.structs.replace(find_template("compaction", []), name="own", sections=sections)
    return Variant(
        name=", ".join(sections),
        policy=msgspec.structs.replace(load_preset("refold"), cut=KeepRecent(tokens=2_000)),
        chain=SummarizerChain(summarizers=[Obedient()]),
        template="own",
        sources=[lambda name: template if name == "own" else None],
    )


@pytest.fixture
def story() -> Story:
    """Each section's file is read at the beginning, and used again at the end."""
    story = Story(MemoryLog(clock=lambda: 0))
    story.says(user(f"Read {', '.join(FILES.values())}."))
    for number in range(20):
        story.says(
            user("More."), assistant("A long answer. " * 500), user(f"And {number}?"), assistant("Yes.")
        )
    for number, file in enumerate(FILES.values()):
        story.says(
            user("Next."),
            assistant(call("edit", f"d{number}", path=file, newText="x")),
            result("done", tool="edit", call_id=f"d{number}"),
        )
    return story


@pytest.mark.parametrize("dropped", SECTIONS)
def test_a_template_without_a_section_loses_exactly_that(story: Story, dropped: str) -> None:
    whole, less = variant(*SECTIONS), variant(*(each for each in SECTIONS if each != dropped))
    with story.log.snapshot() as snapshot:
        first = next(replay_session(snapshot, story.session, [whole, less], limits=Limits(window=200_000)))
    assert {value for _, value in first.kept.needed} == set(FILES.values())
    assert {value for _, value in first.kept.by_variant[whole.name]} == set(FILES.values())
    lost = first.kept.by_variant[whole.name] - first.kept.by_variant[less.name]
    assert {value for _, value in lost} == {FILES[dropped]}
