"""refold rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Unpack

import click

from cli.options import as_of_option, json_option, leaf_option
from cli.summarizing import SummarizerOptions, summarizer_options_with

if TYPE_CHECKING:
    from compaction.rule_reader import RulesRead
    from compaction.summarizers import Cancellation
    from eventstore.log import StoredLog
    from projections.audit.rules_at_leaf import RuleAtLeaf

_INDENT: Final = 18
"""Columns before a rule's text."""
_STYLES: Final = {"not found": "red", "restated": "", "shown": ""}


@click.command("rules", epilog="Example:  refold rules @last")
@click.argument("session")
@leaf_option
@as_of_option
@click.option("--again", is_flag=True, help="Have everything read again, also what a model has read before.")
@summarizer_options_with("nobody: rules are found by their words", "reads the messages")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    leaf: str | None,
    as_of: int | None,
    again: bool,
    as_json: bool,
    **summarizer_options: Unpack[SummarizerOptions],
) -> None:
    """List the user's standing rules, and whether the model still has them.

    A rule is shown if the context has the user's message, restated if a summary or another message says it in
    similar words, and not found otherwise: the model may have lost it.

    With --summarizer or --model, a model first reads the user's messages and the summaries that none has read yet.
    It finds many more rules than their words alone reveal, and recognizes them in other words. The log keeps what it
    found, and audits use it.
    """
    from cli.output import echo_json, echo_note
    from cli.store import opened_session, resolve_leaf
    from cli.summarizing import advise_on_failure, cancellable
    from compaction.rule_reader import RulesRead
    from projections.audit.rules_at_leaf import rules_at
    from projections.context.cursor import resolve_cursor

    asks = any(summarizer_options.values())
    if again and not asks:
        raise click.UsageError("--again needs --summarizer or --model", ctx)
    if asks and as_of is not None:
        raise click.UsageError("--as-of shows the log before a model's answer: leave one of them out", ctx)
    failure = advise_on_failure(ctx, "what was read before it is kept; try again later")
    with opened_session(ctx, session) as (log, name), failure, cancellable(ctx) as interrupt:
        with log.snapshot() as snapshot:
            entry = resolve_leaf(snapshot, name, leaf)
        read = _read(ctx, log, name, summarizer_options, interrupt, again=again) if asks else RulesRead()
        with log.snapshot() as snapshot:
            found = rules_at(snapshot, resolve_cursor(snapshot, name, leaf=entry, as_of=as_of))
    if as_json:
        echo_json({"session": name, "read": read._asdict(), "rules": found})
        return
    _print(found)
    if asks:
        echo_note(_report(read))


def _read(
    ctx: click.Context,
    log: StoredLog,
    session: str,
    summarizer_options: SummarizerOptions,
    is_cancelled: Cancellation,
    *,
    again: bool,
) -> RulesRead:
    """Have the chosen summarizer read the messages. Raises UsageError if it cannot."""
    from cli.compacting import template_sources
    from cli.summarizing import build_summarizer_chain, choose_summarizer
    from compaction.rule_reader import read_rules
    from compaction.summarizers.registry import SUMMARIZERS
    from eventstore.writing import SessionWriter

    chosen = choose_summarizer(ctx, summarizer_options).summarizer
    if not SUMMARIZERS[chosen].follows_instructions:
        able = ", ".join(name for name, kind in SUMMARIZERS.items() if kind.follows_instructions)
        raise click.UsageError(f"--summarizer {chosen} reads no rules: name one of {able}", ctx)
    chain = build_summarizer_chain(ctx, log, summarizer_options, is_cancelled, session=session)
    return read_rules(SessionWriter(log, session), chain, sources=template_sources(), again=again)


def _print(rules: list[RuleAtLeaf]) -> None:
    from cli.output import console, counted, paged, print_line, safe_line, wrapped

    out = console()
    with paged(out):
        for rule in rules:
            line = f"{rule.state:<9}  #{rule.seq:<5} {safe_line(rule.text)}"
            text = wrapped(line, out.width, hanging=_INDENT)
            out.print(
                text, style=_STYLES[rule.state], crop=False, no_wrap=True, overflow="ignore", markup=False
            )
        states = [rule.state for rule in rules]
        counts = ", ".join(f"{states.count(state)} {state}" for state in _STYLES if state in states)
        read = sum(rule.is_read for rule in rules)
        by = ((read, "a model"), (len(rules) - read, "their words, which miss most"))
        how = ", ".join(f"{number:,} found by {whom}" for number, whom in by if number)
        found = f" ({how}): {counts}" if counts else " found"
        print_line(out, counted(len(rules), "standing rule") + found, style="bold")


def _report(read: RulesRead) -> str:
    """Say what a model read."""
    from cli.output import counted

    if not read.messages and not read.summaries:
        return "a model had already read everything; --again asks once more"
    unmatched = f"; {counted(read.unmatched, 'quotation')} in no message left out" if read.unmatched else ""
    messages, summaries = counted(read.messages, "message"), counted(read.summaries, "summary", "summaries")
    none = (
        ""
        if read.rules or not read.messages
        else "; rules by their words are no longer listed, --again asks once more"
    )
    return f"a model read {messages} and {summaries}: {counted(read.rules, 'new rule')}{unmatched}{none}"
