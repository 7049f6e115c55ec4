"""Making the summary of a branch that is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from compaction.navigation.branch import entries_for_summary
from compaction.navigation.navigate import Move
from compaction.part import Limits
from compaction.prompts import SERIALIZED, serialized_prompt
from compaction.summarizers.asking import Asker, Reply, ask, attempt_recorded
from compaction.summarizers.folding import grouped, last_fitting
from compaction.templates import SYSTEM, Source, Template, find, with_session, with_text
from compaction.triggers import Threshold
from eventstore.checked import checked
from eventstore.files.sources import observed_rewrites
from eventstore.writing import SessionWriter
from projections.context.build import part_of
from projections.context.cursor import stand
from projections.context.parts import Part
from projections.tokens import Counter

MOST_OUTPUT: Final = 2_048
"""Tokens that a branch's summary may have."""
TEMPLATE: Final = "branch"


def summarize_branch(
    writer: SessionWriter,
    move: Move,
    asker: Asker,
    *,
    limits: Limits,
    tokens: Counter,
    sources: Sequence[Source] = (),
    instructions: str = "",
    reserve: int | None = None,
) -> Reply | None:
    """Summarize the branch that a move leaves, from as many of its newest messages as fit the model.

    A message costs what the prompt has of it: long results are cut there, and images left out. `reserve` tokens of
    the window stay free; None: as many as where nobody chose a reserve for a `Threshold`. Where not even the newest
    fits, it is told all the same, an answer with its results. None where the branch holds no message. Instructions
    of a person replace the template. A failed or cancelled request leaves the tree as it was, and an `attempt`. Raises
    AskingError, CancelledError.
    """
    with checked(writer.log) as snapshot:
        observed = observed_rewrites(snapshot, writer.session)
        parts: dict[int, Part] = {}
        for entry in move.to_summarize:
            frame = snapshot.frame(writer.session, entry.seq)
            part = part_of(frame, changed=observed.get(entry.seq, ()))
            if part is not None:
                parts[entry.seq] = part
        places = with_session(sources, snapshot, stand(snapshot, writer.session))
    found = find(TEMPLATE, places)
    counts = dict(zip(parts, SERIALIZED.sizes(list(parts.values()), tokens), strict=True))
    told = _told(move, parts, counts, Threshold(reserve=reserve).threshold(limits))
    if not told:
        return None
    template = _instructed(found, instructions) if instructions else found
    system = find(SYSTEM, places).text
    prompt = serialized_prompt(template, told, system=system, max_tokens=MOST_OUTPUT)
    with attempt_recorded(writer, "branch"):
        return ask(prompt, asker)


def _told(move: Move, parts: Mapping[int, Part], counts: Mapping[int, int], budget: int) -> list[Part]:
    """The messages of a branch that a summarizer is given, oldest first."""

    def fitting(room: int) -> list[Part]:
        chosen = entries_for_summary(move.to_summarize, room, lambda entry: counts.get(entry.seq, 0))
        return [parts[entry.seq] for entry in chosen if entry.seq in parts]

    told = fitting(budget)
    if told:
        return told
    everything = fitting(sum(counts.values()))
    return last_fitting(grouped(everything, [counts[part.seq] for part in everything]), budget)


def _instructed(template: Template, instructions: str) -> Template:
    """A template whose prompt is a person's own, which asks for no sections."""
    return msgspec.structs.replace(with_text(template, instructions, source="instructions"), sections=())
