"""Make the summary of a plan: choose prompts and steps, and combine the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Final

import msgspec

from compaction.plan import Plan
from compaction.policy.model import Prompting
from compaction.policy.validate import template_names
from compaction.prompts import (
    PROMPT_SHAPES,
    SERIALIZED,
    Prompt,
    PromptInputs,
    PromptShape,
    output_budget,
    serialized_prompt,
    short_budget,
    turn_prefix_budget,
)
from compaction.summarizers import CancelledError
from compaction.summarizers.chain import SummarizerChain, SummarizersFailedError, SummaryReply, request_record
from compaction.summarizers.folding import (
    FoldedSummary,
    PartGroup,
    fold_groups,
    group_parts,
    newest_parts_that_fit,
)
from compaction.templates import SYSTEM, Source, Template, find_template, replace_text
from eventstore.node import NO_HISTORY, REQUESTS, SPLIT_TURN, PromptView
from projections.context.parts import Part, view_of_part
from projections.tokens import Counter

_LOOK_EVERY: Final = 0.05
"""Seconds between looks at requests that are made at once."""
_ROOM_FOR_TEMPLATE: Final = 4_000
"""Tokens reserved for the text around the conversation in a prompt."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary as it goes into a record, without file tags.

    `missing` are required sections that it lacks. `left_out` are ids of messages that were too long for any
    prompt. `requests` are the records of its requests. `template` is the template's name and version.
    """

    text: str
    short: str = ""
    missing: list[str] = []
    left_out: list[str] = []
    requests: list[dict[str, Any]] = []
    template: str = ""

    @property
    def request(self) -> dict[str, Any]:
        """The record of its requests, {} if none were made."""
        return request_record(self.requests, missing=self.missing, left_out=self.left_out)


class SummaryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for a summary: instructions, lines of context, another template or prompt.

    `system` and `tools` (a JSON list of definitions) are what the harness sends before its messages. A live
    prefix repeats them, so that the provider can read them from its cache.
    """

    instructions: str = ""
    context: tuple[str, ...] = ()
    template: str = ""
    prompt: str = ""
    system: str = ""
    tools: bytes = b""

    def with_prompt(self, prompt: str, context: Sequence[str]) -> SummaryOptions:
        """Return options with the hooks' prompt ("" for none) and lines of context added."""
        return msgspec.structs.replace(self, prompt=prompt or self.prompt, context=(*self.context, *context))


DEFAULT_SUMMARY_OPTIONS: Final = SummaryOptions()


def summarize_plan(
    plan: Plan,
    prompting: Prompting,
    chain: SummarizerChain,
    *,
    tokens: Counter,
    sources: Sequence[Source] = (),
    options: SummaryOptions = DEFAULT_SUMMARY_OPTIONS,
) -> Summary:
    """Summarize what a plan says is to be summarized.

    Summarize the history and a split turn's prefix separately, at the same time. The short summary is for
    people; if it fails, the result has none. The chain's deadline covers all requests together. Raises
    NotFoundError for a missing template before any request, and SummarizersFailedError or CancelledError with
    the records of all requests.
    """
    is_split = bool(plan.turn_prefix and prompting.turn_prefix)
    parts = plan.to_summarize if is_split else (*plan.to_summarize, *plan.turn_prefix)
    is_over = Event()
    chain = msgspec.structs.replace(
        chain, is_cancelled=_either(chain.is_cancelled, is_over.is_set), end=chain.end_from_now()
    )
    maker = _Maker(
        plan=plan, prompting=prompting, chain=chain, tokens=tokens, sources=sources, options=options
    )
    maker.check_templates()
    jobs: list[Callable[[], FoldedSummary]] = [lambda: maker.of_history(parts)]
    jobs += [maker.of_turn_prefix] if is_split else []
    history, *beginning = run_at_once(jobs, is_over)
    text = history.text or NO_HISTORY
    if beginning or plan.cut.quoted:
        heading = SPLIT_TURN if plan.cut.splits_turn else REQUESTS
        text += (heading + _quoted(plan) + "".join(each.text for each in beginning)).rstrip()
    requests = [request for each in (history, *beginning) for request in each.requests]
    template = maker.template(previous=plan.previous_summary)
    return Summary(
        text=text,
        short=maker.of_short(requests),
        missing=[section for each in (history, *beginning) for section in each.missing],
        left_out=[message for each in (history, *beginning) for message in each.left_out],
        requests=requests,
        template=f"{template.name}@{template.version}",
    )


def _either(one: Callable[[], bool], other: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: one() or other()


def run_at_once(jobs: Sequence[Callable[[], FoldedSummary]], is_over: Event) -> list[FoldedSummary]:
    """Run jobs in threads; if one fails, set `is_over` so that the others stop.

    A single job needs no thread, so that Ctrl-C ends it at once.
    """
    if len(jobs) == 1:
        return [job() for job in jobs]
    running: list[Future[FoldedSummary]] = []
    try:
        with ThreadPoolExecutor(len(jobs)) as threads:
            try:
                running += [threads.submit(job) for job in jobs]
                waiting = set(running)
                while waiting:
                    # A signal that comes just before a wait, or to another thread, does not end it.
                    done, waiting = wait(waiting, _LOOK_EVERY, FIRST_COMPLETED)
                    for each in done:
                        each.result()
            except BaseException:
                is_over.set()
                raise
    except (SummarizersFailedError, CancelledError) as error:
        error.requests = [request for each in running for request in _requests(each)]
        raise
    return [each.result() for each in running]


def _requests(job: Future[FoldedSummary]) -> list[dict[str, Any]]:
    error = job.exception()
    if error is None:
        return job.result().requests
    return error.requests if isinstance(error, SummarizersFailedError | CancelledError) else []


def _quoted(plan: Plan) -> str:
    """Return the messages that the summary repeats word for word."""
    gone = (*plan.to_summarize, *plan.turn_prefix)
    # An entry of another session, of which this one is a copy, may have the same id: the newer one is meant.
    session_of = {part.id: part.session for part in gone if part.id in plan.cut.quoted}
    texts = [view_of_part(part).text for part in gone if session_of.get(part.id) == part.session]
    return "".join(f"{text}\n\n" for text in texts if text)


class _Maker(msgspec.Struct, frozen=True, kw_only=True):
    plan: Plan
    prompting: Prompting
    chain: SummarizerChain
    tokens: Counter
    sources: Sequence[Source]
    options: SummaryOptions

    def check_templates(self) -> None:
        """Raise NotFoundError for a missing template, BadInputError for a broken one.

        Check every template before the first request, even those needed last.
        """
        own = self.options.template
        for name in (own, *template_names(self.prompting, instead=own).values()):
            find_template(name, self.sources) if name else None

    def template(self, *, previous: str) -> Template:
        updates = previous and self.prompting.update and not self.options.template
        name = self.options.template or (self.prompting.update if updates else self.prompting.template)
        found = find_template(name, self.sources)
        return replace_text(found, self.options.prompt, source="hook") if self.options.prompt else found

    def of_history(self, parts: Sequence[Part]) -> FoldedSummary:
        """Summarize messages; without messages, return the previous summary."""
        previous = self.plan.previous_summary
        if self._shape.follows_harness and self.prompting.source == "context":
            sent = self.plan.sent
            parts = [sent[part.key] for part in parts if part.key in sent]
        return fold_groups(
            self._groups(parts, self._shape),
            self._summarize,
            room=self._room(self._answer),
            previous=previous,
        )

    def of_turn_prefix(self) -> FoldedSummary:
        """Summarize a turn's beginning."""
        template = find_template(self.prompting.turn_prefix, self.sources)
        budget = turn_prefix_budget(self.prompting.reserve)

        def summarize(parts: Sequence[Part], previous: str) -> SummaryReply:
            prompt = serialized_prompt(
                template, parts, system=self._system, max_tokens=budget, previous=previous
            )
            return self.chain.summarize(prompt)

        return fold_groups(
            self._groups(self.plan.turn_prefix, SERIALIZED), summarize, room=self._room(budget)
        )

    def of_short(self, requests: list[dict[str, Any]]) -> str:
        """Return the short summary for people, "" for none; append its requests to `requests`."""
        if not self.prompting.short:
            return ""
        template = find_template(self.prompting.short, self.sources)
        budget = short_budget(self.prompting.reserve)
        groups = self._groups((*self.plan.to_summarize, *self.plan.turn_prefix), SERIALIZED)
        prompt = serialized_prompt(
            template,
            newest_parts_that_fit(groups, self._room(budget)(self.plan.previous_summary)),
            system=self._system,
            max_tokens=budget,
            previous=self.plan.previous_summary,
        )
        try:
            reply = self.chain.summarize(prompt)
        except (SummarizersFailedError, CancelledError) as error:
            requests += error.requests
            if isinstance(error, SummarizersFailedError):
                return ""
            error.requests = requests
            raise
        requests += reply.requests
        return reply.text

    def _summarize(self, parts: Sequence[Part], previous: str) -> SummaryReply:
        return self.chain.summarize(self._prompt(parts, previous))

    def _prompt(self, parts: Sequence[Part], previous: str) -> Prompt:
        template = self.template(previous=previous)
        is_shown = previous == self.plan.previous_summary
        return self._shape.prompt(
            PromptInputs(
                template=template,
                parts=parts,
                system=self._system,
                max_tokens=self._answer,
                previous=previous,
                shown=self.plan.summary if is_shown else None,
                updates=bool(self.prompting.update),
                harness=PromptView(system=self.options.system, tools=self.options.tools),
                context=self.options.context,
                instructions=self.options.instructions,
            )
        )

    @property
    def _shape(self) -> PromptShape:
        return PROMPT_SHAPES[self.prompting.shape]

    @property
    def _system(self) -> str:
        return find_template(SYSTEM, self.sources).text

    @property
    def _answer(self) -> int:
        """The maximum number of tokens of a summary."""
        return self.prompting.output or output_budget(self.prompting.reserve)

    def _groups(self, parts: Sequence[Part], shape: PromptShape) -> list[PartGroup]:
        """Group messages, with the tokens that they take in prompts of a shape."""
        return group_parts(parts, shape.sizes(parts, self.tokens))

    def _room(self, answer: int) -> Callable[[str], int]:
        """Return a function that maps an earlier summary to the tokens left for messages."""
        return lambda previous: max(
            self.prompting.window - answer - self.tokens.of_text(previous) - _ROOM_FOR_TEMPLATE, 1
        )
