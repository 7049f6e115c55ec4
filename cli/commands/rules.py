"""refold rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from cli.options import json_option, leaf_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from projections.audit.said import ReadRule, SaidMessage

_INDENT: Final = 20
"""Columns before a message's text."""
_LONGEST: Final = 400
"""Characters of a message to print."""


@click.command("rules", epilog="Example:  refold rules @last")
@click.argument("session")
@leaf_option
@json_option
@click.pass_context
def command(ctx: click.Context, session: str, *, leaf: str | None, as_json: bool) -> None:
    """List what you wrote in a session, and what of it stands in the model's context.

    A message stands in the context if the context has its text literally, in the message itself or quoted in
    another, such as a summary. What a summary says in other words does not count.

    Below are the rules that `refold judge` read, with their state behind each compaction.
    """
    from cli.output import echo_json
    from cli.store import opened_session, resolve_leaf
    from projections.audit.said import rules_read, said_messages
    from projections.context.cursor import resolve_cursor

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, name, leaf=resolve_leaf(snapshot, name, leaf))
        messages, rules = said_messages(snapshot, cursor), rules_read(snapshot, cursor)
        boundaries = {fate.boundary for rule in rules for fate in rule.fates if fate.boundary}
        numbers = {each: f"#{snapshot.locate(name, each)}" for each in boundaries}
    if as_json:
        echo_json({"session": name, "messages": messages, "rules": rules})
    else:
        _print(messages, rules, numbers)


def _print(messages: list[SaidMessage], rules: list[ReadRule], numbers: Mapping[str, str]) -> None:
    from cli.output import console, counted, paged, print_line, safe_line

    out = console()
    with paged(out):
        for message in messages:
            _print_text(out, message.seq, message.text, stands=message.stands)
        stand = sum(message.stands for message in messages)
        total = counted(len(messages), "message")
        print_line(out, f"{stand:,} of {total} in the context, word for word", style="bold")
        for rule in rules:
            _print_text(out, rule.said[0].seq, f"rule: {rule.said[0].quote}", stands=rule.stands)
            fates = ", ".join(
                f"{each.state} at {numbers[each.boundary]}" for each in rule.fates if each.boundary
            )
            if fates:
                print_line(out, f"{'':<{_INDENT}}{safe_line(fates)}")


def _print_text(out: Console, seq: int, text: str, *, stands: bool) -> None:
    from cli.output import cut_line, safe_line, wrapped

    state = "in context" if stands else "not there"
    line = f"{state:<10}  #{seq:<6} {cut_line(safe_line(' '.join(text.split())), _LONGEST)}"
    shown = wrapped(line, out.width, hanging=_INDENT)
    style = "" if stands else "red"
    out.print(shown, style=style, crop=False, no_wrap=True, overflow="ignore", markup=False)
