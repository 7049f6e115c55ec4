"""Making the summary of a branch that is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.navigation.branch import entries_for_summary
from compaction.navigation.navigate import Move
from compaction.part import Limits
from compaction.prompts import serialized_prompt
from compaction.summarizers import CancelledError, SummarizerError
from compaction.summarizers.asking import Asker, AskingError, Reply, ask
from compaction.templates import Source, Template, find, with_session, with_text
from compaction.trigger import DEFAULT_RESERVE
from eventstore.records import Attempt
from eventstore.sources import observed_rewrites
from eventstore.writing import SessionWriter
from projections.context import Part, part_of
from projections.standpoint import stand
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
    reserve: int = DEFAULT_RESERVE,
) -> Reply | None:
    """The summary of the branch that a move leaves, by as many of its newest messages as fit the model.

    `reserve` tokens of its window stay free. None where the branch holds no message. Instructions of a person
    replace the template. A failed or cancelled request leaves the tree as it was, and an `attempt`. Raises
    AskingError, CancelledError.
    """
    with writer.log.snapshot() as snapshot:
        observed = observed_rewrites(snapshot, writer.session)
        parts: dict[int, Part] = {}
        for entry in move.to_summarize:
            frame = snapshot.frame(writer.session, entry.seq)
            part = part_of(frame, changed=observed.get(entry.seq, ()))
            if part is not None:
                parts[entry.seq] = part
        places = with_session(sources, snapshot, stand(snapshot, writer.session))
    found = find(TEMPLATE, places)
    counts = dict(zip(parts, tokens.count(list(parts.values())), strict=True))
    budget = limits.window - reserve
    chosen = entries_for_summary(move.to_summarize, budget, lambda entry: counts.get(entry.seq, 0))
    told = [parts[entry.seq] for entry in chosen if entry.seq in parts]
    if not told:
        return None
    template = _instructed(found, instructions) if instructions else found
    system = find("system", places).text
    prompt = serialized_prompt(template, told, system=system, max_tokens=MOST_OUTPUT)
    try:
        return ask(prompt, asker)
    except (SummarizerError, CancelledError) as error:
        requests = error.requests if isinstance(error, AskingError | CancelledError) else []
        writer.append(Attempt(request={"reason": "branch", "requests": requests}, error=str(error)))
        raise


def _instructed(template: Template, instructions: str) -> Template:
    """A template whose prompt is a person's own, which asks for no sections."""
    return msgspec.structs.replace(with_text(template, instructions, source="instructions"), sections=())
