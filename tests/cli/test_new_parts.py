"""A part of any kind is added by its text and a line in its registry, and works from a policy to a request.

Each is added to a copy of the program.
"""

from __future__ import annotations

import shutil
from compileall import compile_dir
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compaction.prompts import Prompt
from compaction.templates import load_built_in
from tests.cli.long_talk import SESSION
from tests.cli.running import PROJECT, Outcome, Refold

PACKAGES = ("eventstore", "projections", "compaction", "cli")
CUT = '[cut]\npart = "keep-recent"\ntokens = 250\n'


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """A new part: its file and that file's text, if it has its own, and what becomes of which texts of its registry."""

    file: str = ""
    text: str = ""
    registry: str = ""
    lines: dict[str, str] = {}


REWRITE = Addition(
    registry="compaction/rewrites.py",
    lines={
        "AnyRewrite = ": """
class Hush(PolicyPart, frozen=True, tag="hush"):
    word: str = "[hush]"

    def plan(self, context):
        return [TextReplacement(target=each.id, text=self.word) for each in context.results if not each.is_rewritten]

AnyRewrite = Hush | """,
    },
)
TRIGGER = Addition(
    registry="compaction/triggers.py",
    lines={
        "AnyTrigger = ": """
class HalfFull(TriggerPart, frozen=True, tag="half-full"):
    halves: int = 1

    def threshold(self, limits):
        return limits.window * self.halves // 2

AnyTrigger = HalfFull | """,
    },
)
SHAPE = Addition(
    registry="compaction/prompts.py",
    lines={
        "PROMPT_SHAPES: ": """
def roll_call(of):
    return Prompt(
        template=of.template,
        system=f"{of.harness.system} Call the roll.",
        text=request_text(of.template, of.previous, of.context, of.instructions),
        max_tokens=of.max_tokens,
        parts=tuple(of.parts[:1]),
        previous=of.previous,
    )

ROLL_CALL = PromptShape(
    name="roll-call", prompt=roll_call, sizes=lambda parts, tokens: [1 for _ in parts], follows_harness=True
)
PROMPT_SHAPES: """,
        "for each in (SERIALIZED": "for each in (ROLL_CALL, SERIALIZED",
    },
)
NEW_CUT = Addition(
    registry="compaction/cuts.py",
    lines={
        "AnyCut = ": """
class LastWord(CutPart, frozen=True, tag="last-word"):
    def cut(self, window, limits):
        return None if window.is_compacted else cut_at(window, len(window.items) - 1)

AnyCut = LastWord | """,
    },
)
PLACEMENT = Addition(
    registry="projections/placements.py",
    lines={
        "PLACEMENTS: Final": (
            'LOUD: Final = Placement(name="loud", render=lambda summary: f"HEAR, HEAR\\n\\n{summary}")\n\n'
            "PLACEMENTS: Final"
        ),
        "for each in (": "for each in (LOUD, ",
    },
)
CONTINUATION = Addition(
    registry="compaction/continuations.py",
    lines={
        "CONTINUATIONS: ": """
NUDGE = Continuation(
    name="nudge",
    after=lambda situation: ContinuationPlan(
        branch="nudged",
        reason=f"{len(situation.kept)} messages stay",
        record=CustomMessage(custom_type="compaction_continue", content="Well?", display=False),
    ),
    reasons=frozenset({"threshold"}),
)
CONTINUATIONS: """,
        "for each in (NONE": "for each in (NUDGE, NONE",
    },
)
SUMMARIZER = Addition(
    file="compaction/summarizers/parrot.py",
    text="""
from compaction.summarizers import Answer

class Parrot:
    name = "parrot"

    def summarize(self, prompt, *, is_cancelled):
        return Answer(text="\\n".join(f"## {each}\\nA cracker." for each in prompt.template.sections), model="p")
""",
    registry="compaction/summarizers/registry.py",
    lines={
        "from compaction.summarizers import Summarizer": (
            "from compaction.summarizers import Summarizer\nfrom compaction.summarizers.parrot import Parrot"
        ),
        '"recorded": ': '"parrot": SummarizerKind(make=lambda _: Parrot()),\n    "recorded": ',
    },
)
TEMPLATE = Addition(
    file="compaction/templates/texts/limerick.md",
    text='+++\nname = "limerick"\nversion = 4\nsections = ["Goal"]\n+++\nSum up in verse.\n\n## Goal\n',
)
PRESET = Addition(
    file="compaction/policy/presets/frugal.toml",
    text=f'name = "frugal"\n[trigger]\nreserve = 300\n{CUT}',
)


class Extended:
    """The program with a part more, and a session that is due for a compaction."""

    def __init__(self, refold: Refold, program: Path, root: Path) -> None:
        self._refold, self._program, self._root = refold, program, root

    def add(self, part: Addition) -> None:
        shutil.copytree(self._program, self._root)
        if part.file:
            (self._root / part.file).write_text(part.text)
        if part.registry:
            registry = self._root / part.registry
            text = registry.read_text()
            for old, new in part.lines.items():
                assert text.count(old) == 1
                text = text.replace(old, new)
            registry.write_text(text)

    def runs(self, *arguments: str, stdin: bytes = b"") -> Outcome:
        return self._refold.program(*arguments, stdin=stdin, PYTHONPATH=str(self._root))

    def maintains(self, policy: str, *options: str, summarizer: str = "extractive") -> list[Any]:
        """Return the records that `maintain` appends after a turn, except decisions.

        The window is 1,020 tokens. With an empty `summarizer`, the policy's own is asked.
        """
        options = (*options, "--summarizer", summarizer) if summarizer else options
        told = self.runs(
            *("maintain", SESSION, "--policy", policy, "--window", "1020", *options),
            stdin=b'{"on":"after_turn"}\n',
        )
        (recommendation,) = told.json_lines
        assert recommendation["error"] is None
        events = [self.runs("show", SESSION, event, "--json").json for event in recommendation["events"]]
        return [event["record"] for event in events if event["kind"] != "decision"]

    def says(self) -> list[str]:
        """The messages of the request that comes next."""
        body = self.runs("context", SESSION, "--format", "anthropic").json
        return [str(message["content"]) for message in body["messages"]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program, compiled."""
    folder = tmp_path_factory.mktemp("program")
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    compile_dir(folder, quiet=1)
    return folder


@pytest.fixture
def extended(talked: Refold, tmp_path: Path, program: Path) -> Extended:
    return Extended(talked, program, tmp_path / "program")


def policy(folder: Path, text: str) -> str:
    (folder / "mine.toml").write_text(f'name = "mine"\n{text}')
    return "mine.toml"


@pytest.mark.slow
def test_a_rewrite(extended: Extended, tmp_path: Path) -> None:
    extended.add(REWRITE)
    mine = policy(tmp_path, '[trigger]\ntokens = 1_050\n[[rewrites]]\npart = "hush"\nword = "[still]"\n')
    (record,) = extended.maintains(mine)
    assert (record["reason"], record["targets"][0]["target"]) == ("hush", "r1")
    assert "[still]" in extended.says()[2]


@pytest.mark.slow
def test_a_trigger(extended: Extended, tmp_path: Path) -> None:
    extended.add(TRIGGER)
    mine = policy(tmp_path, f'[trigger]\npart = "half-full"\nhalves = 1\n{CUT}')
    (told,) = extended.runs("policies", "check", mine).lines
    assert "over 100,000 of 200,000 tokens" in told
    (record,) = extended.maintains(mine)
    assert (record["type"], record["policy"]) == ("compaction", "mine")


@pytest.mark.slow
def test_a_trigger_that_does_not_fire_appends_nothing(extended: Extended, tmp_path: Path) -> None:
    extended.add(TRIGGER)
    mine = policy(tmp_path, f'[trigger]\npart = "half-full"\nhalves = 3\n{CUT}')
    assert extended.maintains(mine) == []


@pytest.mark.slow
def test_a_trigger_also_where_a_person_sets_a_threshold_and_what_stays_free(
    extended: Extended, tmp_path: Path
) -> None:
    extended.add(TRIGGER)
    mine = policy(tmp_path, f'[trigger]\npart = "half-full"\nhalves = 3\n{CUT}')
    (tmp_path / "settings.toml").write_text("threshold_tokens = 900\nreserve_tokens = 400\n")
    assert len(extended.maintains(mine, "--settings", "settings.toml")) == 1


@pytest.mark.slow
def test_where_there_are_two_triggers_a_policy_may_still_leave_out_which(
    extended: Extended, tmp_path: Path
) -> None:
    extended.add(TRIGGER)
    assert len(extended.maintains(policy(tmp_path, f"[trigger]\nreserve = 300\n{CUT}"))) == 1


@pytest.mark.slow
def test_a_shape(extended: Extended, tmp_path: Path) -> None:
    extended.add(SHAPE)
    mine = policy(tmp_path, f'[trigger]\nreserve = 300\n{CUT}[prompting]\nshape = "roll-call"\n')
    (tmp_path / "system.txt").write_text("You are a harness.")
    (record,) = extended.maintains(mine, "--system", "system.txt")
    (request,), template = record["request"]["requests"], load_built_in("compaction")
    system = "You are a harness. Call the roll."
    sent = Prompt(template=template, system=system, text=template.text, max_tokens=1, parts=())
    assert request["promptDigest"] == sent.digest
    assert "Fix the parser" in record["summary"]
    assert "Request 2" not in record["summary"]


@pytest.mark.slow
def test_a_cut_also_where_a_person_sets_what_is_kept(extended: Extended, tmp_path: Path) -> None:
    extended.add(NEW_CUT)
    mine = policy(tmp_path, '[trigger]\nreserve = 300\n[cut]\npart = "last-word"\n')
    (tmp_path / "settings.toml").write_text("reserve_tokens = 400\n")
    (record,) = extended.maintains(mine, "--settings", "settings.toml")
    assert (record["firstKeptEntryId"], record["policy"]) == ("a5", "mine")
    assert "Answer 5." in extended.says()[-1]


@pytest.mark.slow
def test_a_placement(extended: Extended, tmp_path: Path) -> None:
    extended.add(PLACEMENT)
    (record,) = extended.maintains(policy(tmp_path, f'placement = "loud"\n[trigger]\nreserve = 300\n{CUT}'))
    assert record["placement"] == "loud"
    assert "HEAR, HEAR" in extended.says()[0]


@pytest.mark.slow
def test_a_continuation(extended: Extended, tmp_path: Path) -> None:
    extended.add(CONTINUATION)
    record, message = extended.maintains(
        policy(tmp_path, f'continuation = "nudge"\n[trigger]\nreserve = 300\n{CUT}')
    )
    assert record["continuation"] == {"branch": "nudged", "reason": "2 messages stay"}
    assert message["content"] == "Well?"
    assert "Well?" in extended.says()[-1]


@pytest.mark.slow
def test_a_summarizer(extended: Extended, tmp_path: Path) -> None:
    extended.add(SUMMARIZER)
    mine = policy(tmp_path, f'[trigger]\nreserve = 300\n{CUT}[prompting]\nsummarizer = "parrot"\n')
    (record,) = extended.maintains(mine, summarizer="")
    assert record["request"]["requests"][0]["summarizer"] == "parrot"
    assert "A cracker." in extended.says()[0]


@pytest.mark.slow
def test_a_template(extended: Extended, tmp_path: Path) -> None:
    extended.add(TEMPLATE)
    mine = policy(tmp_path, f'[trigger]\nreserve = 300\n{CUT}[prompting]\ntemplate = "limerick"\n')
    (record,) = extended.maintains(mine)
    assert record["template"] == "limerick@4"
    assert record["summary"].startswith("## Goal\n")


@pytest.mark.slow
def test_a_preset(extended: Extended) -> None:
    extended.add(PRESET)
    (record,) = extended.maintains("frugal")
    assert record["policy"] == "frugal"
    assert "<summary>" in extended.says()[0]
