"""refold compact."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Unpack

import click

from cli.compacting import policy_option, window_option
from cli.options import chosen_counter, json_option, utf8
from cli.summarizing import SummarizerOptions, summarizer_options

if TYPE_CHECKING:
    from compaction.cuts import AnyCut
    from compaction.policy.model import Policy


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
    from cli.compacting import check_templates, policy_named, warn_of_misfits, with_template
    from cli.options import text_of, tool_definitions
    from cli.output import echo_json, echo_note
    from cli.store import opened_session, resolve_leaf
    from cli.summarizing import (
        advise_on_failure,
        build_summarizer_chain,
        cancellable,
        choose_summarizer,
        ignored_instructions,
    )
    from cli.views.compaction import is_estimated, plan_json, print_done, print_nothing, print_plan
    from compaction.compactor import Compactor
    from compaction.hooks import installed_hooks
    from compaction.part import Limits
    from compaction.summarizers.chain import SummarizerChain
    from compaction.summary import SummaryOptions
    from eventstore.writing import SessionWriter
    from projections.tokens import counter as counter_named

    chosen = policy_named(policy)
    sources, template = with_template(template)
    options = SummaryOptions(
        instructions=instructions,
        template=template,
        system=text_of(system) if system else "",
        tools=tool_definitions(tools) if tools else b"",
    )
    cut = None if keep_recent is None else _cut_keeping(chosen, keep_recent)
    choice = choose_summarizer(ctx, summarizer_options, chosen)
    with opened_session(ctx, session) as (log, name), advise_on_failure(ctx), cancellable(ctx) as interrupt:
        with log.snapshot() as snapshot:
            at = resolve_leaf(snapshot, name, leaf)
        check_templates(log, name, chosen, sources, leaf=at, instead=template)
        if cut is None:
            warn_of_misfits(chosen, Limits(window=window))
        compactor = Compactor(
            policy=chosen,
            chain=SummarizerChain(summarizers=[])
            if dry_run
            else build_summarizer_chain(
                ctx, log, summarizer_options, interrupt, chosen, session=name, instructions=instructions
            ),
            limits=Limits(window=window),
            tokens=counter_named(chosen_counter(ctx, chosen.counter), log=log),
            sources=sources,
            hooks=installed_hooks(),
        )
        if compactor.tokens.note:
            echo_note(compactor.tokens.note)
        if dry_run:
            with log.snapshot() as snapshot:
                found = compactor.plan(snapshot, name, leaf=at, cut=cut)
            estimated = is_estimated(log, name, compactor.tokens, leaf=at)
            if isinstance(found, str):
                echo_json(None) if as_json else print_nothing(found, chosen, cut)
                return
            for note in ignored_instructions(choice.summarizer) if instructions else ():
                echo_note(note)
            if as_json:
                echo_json(plan_json(compactor, found, estimated=estimated))
            else:
                print_plan(compactor, found, choice, template=template, estimated=estimated)
            return
        done = compactor.compact(SessionWriter(log, name), options=options, cut=cut, leaf=at)
        if done.outcome == "nothing" and not as_json:
            print_nothing(done.reason, chosen, cut)
        print_done(log, name, compactor, done, as_json=as_json)
    if done.outcome in ("cancelled", "no-gain"):
        ctx.exit(1)


def _cut_keeping(policy: Policy, tokens: int) -> AnyCut:
    """Return the policy's cut with `tokens` to keep, or else a `keep-recent` cut."""
    from compaction.cuts import KeepRecent

    return (policy.cut and policy.cut.keeping(tokens)) or KeepRecent(tokens=tokens)
