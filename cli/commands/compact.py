"""refold compact."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Unpack

import click

from cli.compacting import policy_option, window_option
from cli.options import chosen_counter, json_option, utf8
from cli.summarizing import SummarizerOptions, summarizer_options

if TYPE_CHECKING:
    from cli.summarizing import SummarizerChoice
    from compaction.compactor import Compactor
    from compaction.cuts import AnyCut
    from compaction.policy.model import Policy
    from compaction.summary import SummaryOptions
    from eventstore.log import EventLog, StoredLog
    from projections.context.cursor import Leaf


@click.command("compact", epilog="Example:  refold compact @last --policy oh-my-pi --dry-run")
@click.argument("session")
@click.argument("instructions", default="", callback=utf8)
@policy_option()
@click.option(
    "--template", metavar="NAME|FILE", default="", help="Use this template instead of the policy's."
)
@summarizer_options
@click.option(
    "--keep-recent",
    type=click.IntRange(0),
    metavar="TOKENS",
    help="Keep this many recent tokens, whatever the policy says.",
)
@window_option
@click.option(
    "--system",
    type=click.File("rb"),
    help="The harness's system prompt, for policies that send real messages.",
)
@click.option(
    "--tools", type=click.File("rb"), help="The harness's tools as a JSON list, for the same policies."
)
@click.option("--leaf", metavar="ID", help="Compact the branch that ends at this entry, and go there.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; ask no model, append nothing.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    instructions: str,
    *,
    policy: str,
    template: str,
    keep_recent: int | None,
    window: int,
    system: BinaryIO | None,
    tools: BinaryIO | None,
    leaf: str | None,
    dry_run: bool,
    as_json: bool,
    **summarizer_options: Unpack[SummarizerOptions],
) -> None:
    """Replace a session's older messages with a summary.

    INSTRUCTIONS are for the summary's author. Everything stays in the log, and refold undo reverts a
    compaction. Ctrl-C cancels it: the session is unchanged except for a record of the attempt.
    """
    from cli.compacting import build_compactor, check_templates, policy_named, warn_of_misfits, with_template
    from cli.options import prompt_of
    from cli.output import echo_note
    from cli.store import opened_session, resolve_leaf
    from cli.summarizing import advise_on_failure, build_summarizer_chain, cancellable, choose_summarizer
    from compaction.part import Limits
    from compaction.summarizers.chain import SummarizerChain
    from compaction.summary import SummaryOptions

    chosen, limits, sent = policy_named(policy), Limits(window=window), prompt_of(system, tools)
    sources, template = with_template(template)
    options = SummaryOptions(
        instructions=instructions, template=template, system=sent.system, tools=sent.tools
    )
    cut = None if keep_recent is None else _cut_keeping(chosen, keep_recent)
    choice = choose_summarizer(ctx, summarizer_options, chosen)
    with (
        opened_session(ctx, session, writes=not dry_run) as (log, name),
        advise_on_failure(ctx),
        cancellable(ctx) as interrupt,
    ):
        with log.snapshot() as snapshot:
            at = resolve_leaf(snapshot, name, leaf)
        if cut is None:
            warn_of_misfits(chosen, limits)
        chain = SummarizerChain(summarizers=[])
        if not dry_run:
            about = {"session": name, "instructions": instructions}
            chain = build_summarizer_chain(ctx, log, summarizer_options, interrupt, chosen, **about)
        check_templates(log, name, chosen, sources, leaf=at, instead=template)
        counter = chosen_counter(ctx, chosen.counter)
        compactor = build_compactor(log, chosen, chain, limits, counter=counter, sources=sources)
        if compactor.tokens.note:
            echo_note(compactor.tokens.note)
        if dry_run:
            _show_plan(log, name, compactor, choice, options, leaf=at, cut=cut, as_json=as_json)
            return
        is_done = _compact(log, name, compactor, options, leaf=at, cut=cut, as_json=as_json)
    ctx.exit(0 if is_done else 1)


def _compact(
    log: StoredLog,
    session: str,
    compactor: Compactor,
    options: SummaryOptions,
    *,
    leaf: Leaf,
    cut: AnyCut | None,
    as_json: bool,
) -> bool:
    """Compact and print what was done; return False if nothing was compacted."""
    from cli.views.compaction import print_done
    from eventstore.writing import SessionWriter

    done = compactor.compact(SessionWriter(log, session), options=options, cut=cut, leaf=leaf)
    print_done(log, session, compactor, done, cut, as_json=as_json)
    return done.outcome not in ("cancelled", "no-gain")


def _show_plan(
    log: EventLog,
    session: str,
    compactor: Compactor,
    choice: SummarizerChoice,
    options: SummaryOptions,
    *,
    leaf: Leaf,
    cut: AnyCut | None,
    as_json: bool,
) -> None:
    """Print what would happen."""
    from cli.output import echo_json, echo_note
    from cli.summarizing import ignored_instructions
    from cli.views.compaction import is_estimated, plan_json, print_nothing, print_plan

    with log.snapshot() as snapshot:
        found = compactor.plan(snapshot, session, leaf=leaf, cut=cut)
    estimated = is_estimated(log, session, compactor.tokens, leaf=leaf)
    if isinstance(found, str):
        echo_json(None) if as_json else print_nothing(found, compactor.policy, cut)
        return
    for note in ignored_instructions(choice.summarizer) if options.instructions else ():
        echo_note(note)
    if as_json:
        echo_json(plan_json(compactor, found, estimated=estimated))
    else:
        print_plan(compactor, found, choice, template=options.template, estimated=estimated)


def _cut_keeping(policy: Policy, tokens: int) -> AnyCut:
    """Return the policy's cut with `tokens` to keep, or else a `keep-recent` cut."""
    from compaction.cuts import KeepRecent

    return (policy.cut and policy.cut.keeping(tokens)) or KeepRecent(tokens=tokens)
