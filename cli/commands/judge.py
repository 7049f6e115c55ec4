"""refold judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Unpack

import click

from cli.options import chosen_counter, json_option, require_all_or_names, require_consent
from cli.summarizing import SummarizerOptions, summarizer_options_with

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compaction.judge.material import Material
    from compaction.judge.reading import Templates
    from compaction.prompts import Prompt
    from compaction.summarizers.chain import SummarizerChain
    from eventstore.log import Snapshot, StoredLog
    from projections.audit.prices import Price
    from projections.audit.readings import Reading
    from projections.tokens import Counter

_ANSWER: Final = 4_000
"""Tokens of an answer, for the estimate; limits count the longest one."""
_NOTHING_SENT: Final = "nothing was sent: allow it with --yes, --budget or --max-tokens"
_MILLION: Final = 1_000_000


class Due(NamedTuple):
    """A boundary to be read, its session, and the tokens of its requests."""

    session: str
    boundary: str
    tokens: int


class Found(NamedTuple):
    """A session, a reading of it, and its boundary's number, "" for the open window."""

    session: str
    reading: Reading
    name: str


@click.command("judge", epilog="Example:  refold judge @last --dry-run")
@click.argument("sessions", metavar="SESSION...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Read every session of the store.")
@click.option(
    "--boundary",
    type=click.IntRange(1),
    metavar="N",
    help="Read only the Nth boundary of each session; the last one is the open window.",
)
@summarizer_options_with("nobody", "reads")
@click.option(
    "--second-model", metavar="NAME|MODEL", help="Who takes the second looks.  [default: who reads]"
)
@click.option("--dry-run", is_flag=True, help="Print the estimate, and stop.")
@click.option("--yes", "-y", is_flag=True, help="Send the requests without asking.")
@click.option(
    "--budget", type=click.FloatRange(0), metavar="DOLLARS", help="Stop before the requests cost more."
)
@click.option(
    "--max-tokens", type=click.IntRange(1), metavar="N", help="Stop before the requests have more tokens."
)
@click.option(
    "--prompts",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write each prompt without an answer to a file; send nothing.",
)
@click.option(
    "--answers",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Take the answers from files with the names of their prompts'.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    *,
    is_all: bool,
    boundary: int | None,
    second_model: str | None,
    dry_run: bool,
    yes: bool,
    budget: float | None,
    max_tokens: int | None,
    prompts: Path | None,
    answers: Path | None,
    as_json: bool,
    **summarizer_options: Unpack[SummarizerOptions],
) -> None:
    """Have a model read what each compaction lost, and check every word that it says.

    At each boundary, a compaction, a branch summary or the open window, it names rules, facts, losses that led to
    trouble, and statements that nobody made, with quotations. A claim counts only if its words stand where it
    says; a loss also needs a second look. The log keeps each reading as it comes, so that an interrupted run goes
    on. A boundary whose messages are the same is not read again.

    With --prompts and --answers, any program or agent can answer: write the prompts, put each answer into a
    file of the same name, run it again with both. The prompts of second looks follow the first answers.
    """
    from cli.output import echo_note, echo_text
    from cli.store import chosen_names, opened, resolve_session
    from cli.summarizing import advise_on_failure, build_summarizer_chain, cancellable
    from compaction.judge.answer_folder import AnswerFolder
    from compaction.summarizers.chain import SummarizerChain
    from projections.tokens import counter

    require_all_or_names(ctx, "reads", sessions, is_all=is_all)
    uses_files = prompts is not None or answers is not None
    readers = _readers(ctx, summarizer_options, second_model)
    if bool(readers) == uses_files and not dry_run:
        raise click.UsageError("name who reads: --summarizer, or --prompts and --answers", ctx)
    found = list[Found]()
    failure = advise_on_failure(ctx, "what was read before it is kept; run it again later")
    with opened(ctx, writes=not dry_run) as log, failure, cancellable(ctx) as interrupt:
        names = chosen_names(log) if is_all else [resolve_session(log, each) for each in sessions]
        templates = _templates()
        tokens = counter(chosen_counter(ctx), log=log)
        due, failed = _due(log, names, boundary, templates, tokens, is_all=is_all)
        limit = Limit(dollars=budget, tokens=max_tokens, prices=_prices(ctx, readers, budget), counter=tokens)
        if not as_json and (dry_run or readers):
            (echo_text if dry_run else echo_note)(_estimate(due, limit))
        if due and not dry_run:
            folder = AnswerFolder(answers=answers, prompts=prompts)
            chains = [SummarizerChain(summarizers=[folder], redacts=not summarizer_options["no_redact"])]
            if readers:
                if not yes and budget is None and max_tokens is None:
                    require_consent("Send these requests?", _NOTHING_SENT)
                chains = [build_summarizer_chain(ctx, log, each, interrupt) for each in readers]
            where = f"; their prompts are in {prompts}" if prompts else ""
            found = _read(log, due, chains, templates, limit, lacking=where if uses_files else None)
    _show(found, as_json=as_json)
    ctx.exit(int(failed))


def _readers(
    ctx: click.Context, options: SummarizerOptions, second_model: str | None
) -> list[SummarizerOptions]:
    """Return who reads, and who takes the second looks if that is another; [] for files."""
    found = [options] if options["summarizers"] else []
    if second_model is not None:
        if not found:
            raise click.UsageError("--second-model needs --summarizer", ctx)
        found.append({**options, "summarizers": (second_model,)})
    for each in found:
        _require_reader(ctx, each)
    return found


class Limit:
    """The tokens and dollars that requests may cost in all, None without a limit.

    Of several prices, the highest counts.
    """

    def __init__(
        self, *, dollars: float | None, tokens: int | None, prices: Sequence[Price], counter: Counter
    ) -> None:
        self._dollars, self._tokens, self._prices, self._counter = dollars, tokens, prices, counter

    def cost(self, tokens: int, answers: int) -> float | None:
        """Return the dollars of requests, None without a known price."""
        costs = ((tokens * each.input + answers * each.output) / _MILLION for each in self._prices)
        return max(costs, default=None)

    def may_ask(self, prompt: Prompt) -> bool:
        """Reserve a request with the longest answer; return False if it could exceed a limit."""
        tokens = self._counter.of_text(prompt.system) + self._counter.of_text(prompt.text)
        cost = self.cost(tokens, prompt.max_tokens) or 0.0
        if self._tokens is not None:
            self._tokens -= tokens + prompt.max_tokens
        if self._dollars is not None:
            self._dollars -= cost
        return (self._tokens or 0) >= 0 and (self._dollars or 0.0) >= 0


def _templates() -> Templates:
    from cli.compacting import template_sources
    from compaction.judge.reading import find_templates

    return find_templates(template_sources())


def _due(
    log: StoredLog,
    names: Sequence[str],
    boundary: int | None,
    templates: Templates,
    tokens: Counter,
    *,
    is_all: bool,
) -> tuple[list[Due], bool]:
    """Return the boundaries that nobody has read as they are now.

    Also return True if a session cannot be read: that costs a line, not the rest. Of all sessions, those of programs
    that refold asked are left out.
    """
    from cli.output import echo_problem
    from compaction.judge.material import materials
    from compaction.judge.reading import prompts_of
    from eventstore.errors import RefoldError, StoreError
    from projections.asked import is_asked
    from projections.audit.readings import readings
    from projections.context.cursor import resolve_cursor

    def of_session(snapshot: Snapshot, name: str) -> Iterator[Due]:
        if is_all and is_asked(snapshot, name):
            return
        known = readings(snapshot, name)
        for number, each in enumerate(materials(snapshot, resolve_cursor(snapshot, name)), 1):
            read = known.get(each.boundary)
            if boundary in (None, number) and each.before and (read is None or read.input != each.digest):
                prompts = prompts_of(each, templates.reading)
                yield Due(name, each.boundary, sum(tokens.of_text(prompt.text) for prompt in prompts))

    found, failed = list[Due](), False
    for name in names:
        try:
            with log.snapshot() as snapshot:
                found += list(of_session(snapshot, name))
        except StoreError:
            raise
        except RefoldError as error:
            failed = True
            echo_problem(f"not judged: {error}")
    return found, failed


def _prices(ctx: click.Context, readers: Sequence[SummarizerOptions], budget: float | None) -> list[Price]:
    """Return the models' prices, [] if one is unknown: then a budget raises BadInputError."""
    from cli.summarizing import choose_summarizer
    from eventstore.errors import BadInputError
    from projections.audit.prices import library_prices

    prices = library_prices()
    models = [models[:1] for each in readers if (models := choose_summarizer(ctx, each).models)]
    found = [price for (model,) in models if (price := prices.price(model)) is not None]
    if len(found) == len(readers):
        return found
    if budget is not None:
        raise BadInputError(
            "--budget", "the price of who reads is unknown", "give --max-tokens, or name a model"
        )
    return []


def _estimate(due: Sequence[Due], limit: Limit) -> str:
    from cli.output import counted

    if not due:
        return "every boundary has been read as it is"
    tokens = sum(each.tokens for each in due)
    dollars = limit.cost(tokens, _ANSWER * len(due))
    cost = "" if dollars is None else f", about ${dollars:,.2f}"
    boundaries = counted(len(due), "boundary", "boundaries")
    return f"{boundaries} to read, about {tokens:,} tokens{cost}; losses are read twice"


def _require_reader(ctx: click.Context, options: SummarizerOptions) -> None:
    """Raise UsageError for a summarizer that follows no instructions."""
    from cli.summarizing import choose_summarizer
    from compaction.summarizers.registry import SUMMARIZERS

    chosen = choose_summarizer(ctx, options).summarizer
    if not SUMMARIZERS[chosen].follows_instructions:
        able = ", ".join(name for name, kind in SUMMARIZERS.items() if kind.follows_instructions)
        raise click.UsageError(f"--summarizer {chosen} reads nothing: name one of {able}", ctx)


def _materials(log: StoredLog, due: Sequence[Due]) -> Iterator[tuple[str, Material]]:
    """Yield what is to be read, with the session; that of one session at a time is in memory."""
    from compaction.judge.material import materials
    from projections.context.cursor import resolve_cursor

    wanted: dict[str, set[str]] = {}
    for each in due:
        wanted.setdefault(each.session, set()).add(each.boundary)
    for session, boundaries in wanted.items():
        with log.snapshot() as snapshot:
            found = [
                each
                for each in materials(snapshot, resolve_cursor(snapshot, session))
                if each.boundary in boundaries
            ]
        yield from ((session, each) for each in found)


def _read(
    log: StoredLog,
    due: Sequence[Due],
    chains: Sequence[SummarizerChain],
    templates: Templates,
    limit: Limit,
    *,
    lacking: str | None,
) -> list[Found]:
    """Read boundaries in turn, by the first chain, with second looks by the last.

    One whose answers have another shape costs a line, not the rest. Where answers may be lacking, a note counts these
    boundaries and ends in `lacking`.
    """
    from cli.output import counted, echo_note, echo_problem, progress_bar
    from compaction.judge.reading import LimitReachedError, judge
    from compaction.summarizers import SummarizerError
    from compaction.summarizers.chain import SummarizersFailedError
    from eventstore.writing import SessionWriter

    found, missing = list[Found](), 0
    with progress_bar("reading") as advance:
        for number, (session, material) in enumerate(_materials(log, due)):
            advance(number, len(due))
            writer = SessionWriter(log, session)
            try:
                read = judge(writer, chains[0], material, templates, second=chains[-1], may_ask=limit.may_ask)
                found.append(Found(session, read, f"#{material.seq}" if material.seq else ""))
            except LimitReachedError:
                echo_note(f"{len(due) - number:,} of {len(due):,} boundaries are left: the limit is reached")
                break
            except SummarizersFailedError:
                if lacking is None:
                    raise
                missing += 1
            except SummarizerError as error:
                echo_problem(f"{session}: not judged: {error}")
    if missing:
        echo_note(f"{counted(missing, 'boundary', 'boundaries')} without all answers{lacking}")
    return found


def _show(found: Sequence[Found], *, as_json: bool) -> None:
    from cli.output import console, echo_json, print_line, safe_line
    from cli.views.readings import lines_of_reading

    if as_json:
        echo_json({"readings": [{"session": each.session, "reading": each.reading} for each in found]})
        return
    out = console()
    for each in found:
        print_line(out, safe_line(each.session), style="bold")
        for text, style in lines_of_reading(each.reading, each.name):
            print_line(out, text, style=style)
