"""Making the summary of a plan: which prompts, in how many steps, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from compaction.plan import Plan
from compaction.policies import Prompting
from compaction.prompts import (
    Prompt,
    live_prompt,
    output_budget,
    serialized_prompt,
    short_budget,
    turn_prefix_budget,
)
from compaction.summarizers.asking import Asked, Asker, ask
from compaction.templates import Source, find
from eventstore.formats import view_of_message
from projections.context import Part
from projections.tokens import Counter

NO_HISTORY: Final = "No prior history."
_SPLIT_TURN: Final = "\n\n---\n\n**Turn Context (split turn):**\n\n"


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary as it goes into a record, without file tags.

    `missing` are required sections that it lacks, `requests` what was asked for it, `template` which prompt
    made it, as name and version.
    """

    text: str
    short: str = ""
    missing: list[str] = []
    requests: list[dict[str, Any]] = []
    template: str = ""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a person and hooks want of a summary: instructions, lines of context, another template or prompt."""

    instructions: str = ""
    context: tuple[str, ...] = ()
    template: str = ""
    prompt: str = ""


NO_WISHES: Final = Wishes()


def summarize(
    plan: Plan,
    prompting: Prompting,
    asker: Asker,
    *,
    tokens: Counter,
    sources: Sequence[Source] = (),
    wishes: Wishes = NO_WISHES,
) -> Summary:
    """The summary that a plan asks for.

    What came before a split turn and the turn's own beginning are summarized apart and at the same time.
    Raises NotFoundError for a template, AskingError, CancelledError.
    """
    maker = _Maker(prompting=prompting, asker=asker, tokens=tokens, sources=sources, wishes=wishes)
    parts = plan.to_summarize if prompting.turn_prefix else (*plan.to_summarize, *plan.turn_prefix)
    with ThreadPoolExecutor(1) as beside:
        prefix = (
            beside.submit(maker.of_turn_prefix, plan.turn_prefix)
            if plan.turn_prefix and prompting.turn_prefix
            else None
        )
        history = maker.of_history(parts, plan.previous_summary) if parts or plan.previous_summary else None
        beginning = prefix.result() if prefix else None
    asked = [each for each in (history, beginning) if each is not None]
    text = history.text if history else NO_HISTORY
    if beginning is not None:
        text += _SPLIT_TURN + _quoted(plan) + beginning.text
    elif plan.cut.quoted:
        text += _SPLIT_TURN + _quoted(plan).rstrip()
    short = maker.of_short(plan) if prompting.short else None
    template = maker.template(previous=plan.previous_summary)
    return Summary(
        text=text,
        short=short.text if short else "",
        missing=[section for each in asked for section in each.missing],
        requests=[request for each in (*asked, *([short] if short else [])) for request in each.requests],
        template=f"{template.name}@{template.version}",
    )


def _quoted(plan: Plan) -> str:
    """The messages that go into the summary word for word."""
    texts = [view_of_message(part.raw).text for part in plan.turn_prefix if part.id in plan.cut.quoted]
    return "".join(f"{text}\n\n" for text in texts if text)


class _Maker(msgspec.Struct, frozen=True, kw_only=True):
    prompting: Prompting
    asker: Asker
    tokens: Counter
    sources: Sequence[Source]
    wishes: Wishes

    def template(self, *, previous: str) -> Any:
        updates = previous and self.prompting.update and not self.wishes.template
        name = self.wishes.template or (self.prompting.update if updates else self.prompting.template)
        found = find(name, self.sources)
        if self.wishes.prompt:
            return msgspec.structs.replace(found, text=self.wishes.prompt, source="hook")
        return found

    def of_history(self, parts: Sequence[Part], previous: str) -> Asked:
        """The summary of messages, in steps where they are too many for one prompt: each updates the one before."""
        requests: list[dict[str, Any]] = []
        asked = None
        for step in _steps(parts, self.tokens.count(parts), self._room(previous)) or [()]:
            asked = ask(self._history_prompt(step, previous), self.asker)
            requests += asked.requests
            previous = asked.text
        assert asked is not None  # noqa: S101  there is a step at least
        return msgspec.structs.replace(asked, requests=requests)

    def _history_prompt(self, parts: Sequence[Part], previous: str) -> Prompt:
        template = self.template(previous=previous)
        budget = self.prompting.output or output_budget(self.prompting.reserve)
        if self.prompting.shape == "live-prefix":
            return live_prompt(
                template,
                parts,
                system=self._system,
                max_tokens=budget,
                previous=previous,
                context=self.wishes.context,
                instructions=self.wishes.instructions,
            )
        return serialized_prompt(
            template,
            parts,
            system=self._system,
            max_tokens=budget,
            previous=previous,
            context=self.wishes.context,
            instructions=self.wishes.instructions,
        )

    def of_turn_prefix(self, parts: Sequence[Part]) -> Asked:
        template = find(self.prompting.turn_prefix, self.sources)
        budget = turn_prefix_budget(self.prompting.reserve)
        return ask(serialized_prompt(template, parts, system=self._system, max_tokens=budget), self.asker)

    def of_short(self, plan: Plan) -> Asked:
        template = find(self.prompting.short, self.sources)
        parts = (*plan.to_summarize, *plan.turn_prefix)
        budget = short_budget(self.prompting.reserve)
        *_, last = _steps(parts, self.tokens.count(parts), self._room("")) or [()]
        prompt = serialized_prompt(
            template, last, system=self._system, max_tokens=budget, previous=plan.previous_summary
        )
        return ask(prompt, self.asker)

    @property
    def _system(self) -> str:
        return find("system", self.sources).text

    def _room(self, previous: str) -> int:
        """Tokens of conversation that fit one prompt beside the answer, the summary before and the template."""
        answer = self.prompting.output or output_budget(self.prompting.reserve)
        return max(self.prompting.window - answer - len(previous) // 3 - 4_000, 1)


def _steps(parts: Sequence[Part], counts: Sequence[int], room: int) -> list[tuple[Part, ...]]:
    """Messages in runs that fit, oldest first; a message that alone does not fit is a run of its own."""
    return list(_runs(parts, counts, room))


def _runs(parts: Sequence[Part], counts: Sequence[int], room: int) -> Iterator[tuple[Part, ...]]:
    run: list[Part] = []
    size = 0
    for part, count in zip(parts, counts, strict=True):
        if run and size + count > room:
            yield tuple(run)
            run, size = [], 0
        run.append(part)
        size += count
    if run:
        yield tuple(run)
