"""refold rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Unpack

import click

from cli.options import json_option, leaf_option
from cli.summarizing import SummarizerOptions, summarizer_options_with

if TYPE_CHECKING:
    from rich.console import Console

    from compaction.rule_reader import RulesRead
    from compaction.summarizers import Cancellation
    from eventstore.log import StoredLog
    from projections.audit.said import SaidMessage

_INDENT: Final = 20
"""Columns before a message's text."""
_LONGEST: Final = 400
"""Characters of a message to print."""


@click.command("rules", epilog="Example:  refold rules @last")
@click.argument("session")
@leaf_option
@summarizer_options_with("nobody", "reads the messages")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    leaf: str | None,
    as_json: bool,
    **summarizer_options: Unpack[SummarizerOptions],
) -> None:
    """List what you wrote in a session, and what of it stands in the model's context.

    A message stands in the context if the context has its text literally, in the message itself or quoted in
    another, such as a summary. What a summary says in other words does not count.

    With --summarizer, a model first reads the messages that none has read yet, and finds rules that you
    gave for good. The log keeps them.
    """
    from cli.output import echo_json, echo_note
    from cli.store import opened_session, resolve_leaf
    from cli.summarizing import advise_on_failure, cancellable
    from compaction.rule_reader import RulesRead
    from projections.audit.said import said_messages
    from projections.context.cursor import resolve_cursor

    asks = bool(summarizer_options["summarizers"])
    if summarizer_options["no_redact"] and not asks:
        raise click.UsageError("--no-redact needs --summarizer", ctx)
    failure = advise_on_failure(ctx, "what was read before it is kept; try again later")
    with opened_session(ctx, session, writes=asks) as (log, name), failure, cancellable(ctx) as interrupt:
        with log.snapshot() as snapshot:
            entry = resolve_leaf(snapshot, name, leaf)
        read = _read(ctx, log, name, summarizer_options, interrupt) if asks else RulesRead()
        with log.snapshot() as snapshot:
            found = said_messages(snapshot, resolve_cursor(snapshot, name, leaf=entry))
    if as_json:
        echo_json({"session": name, "read": read._asdict(), "messages": found})
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
    return read_rules(SessionWriter(log, session), chain, sources=template_sources())


def _print(messages: list[SaidMessage]) -> None:
    from cli.output import console, counted, paged, print_line

    out = console()
    with paged(out):
        for message in messages:
            _print_text(out, message.seq, message.text, stands=message.stands)
            for rule in message.rules or ():
                _print_text(out, message.seq, f"rule: {rule.text}", stands=rule.stands)
        stand = sum(message.stands for message in messages)
        total = counted(len(messages), "message")
        print_line(out, f"{stand:,} of {total} in the context, word for word", style="bold")


def _print_text(out: Console, seq: int, text: str, *, stands: bool) -> None:
    from cli.output import cut_line, safe_line, wrapped

    state = "in context" if stands else "not there"
    line = f"{state:<10}  #{seq:<6} {cut_line(safe_line(' '.join(text.split())), _LONGEST)}"
    shown = wrapped(line, out.width, hanging=_INDENT)
    style = "" if stands else "red"
    out.print(shown, style=style, crop=False, no_wrap=True, overflow="ignore", markup=False)


def _report(read: RulesRead) -> str:
    """Say what a model read."""
    from cli.output import counted

    if not read.messages:
        return "a model had already read everything"
    unmatched = f"; {counted(read.unmatched, 'quotation')} in no message left out" if read.unmatched else ""
    return f"a model read {counted(read.messages, 'message')}: {counted(read.rules, 'new rule')}{unmatched}"
