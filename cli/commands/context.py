"""refold context."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import click

from cli.options import as_of_option, counter_option, leaf_option, utf8

if TYPE_CHECKING:
    from projections.context.parts import Context
    from projections.tokens import Counter


@click.command("context", epilog="Example:  refold context @last --as-of 10 --format transcript")
@click.argument("session")
@leaf_option
@as_of_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "pi", "transcript", "anthropic"]),
    default="text",
    show_default=True,
    help="For people; as pi builds it (JSON); as a summarizer is given it; as the body of a Messages API request.",
)
@click.option(
    "--model", metavar="NAME", callback=utf8, help="With anthropic: another model than the context's."
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=8192,
    show_default=True,
    metavar="N",
    help="With anthropic: how much the model may write.",
)
@click.option("--system", type=click.File("rb"), metavar="FILE", help="With anthropic: the system prompt.")
@click.option(
    "--tools",
    type=click.File("rb"),
    metavar="FILE",
    help="With anthropic: the tools, a JSON list of definitions.",
)
@click.option(
    "--cache-breakpoints",
    type=click.IntRange(0, 4),
    default=0,
    show_default=True,
    metavar="N",
    help="With anthropic: how many cache breakpoints to set.",
)
@counter_option
@click.option(
    "--full",
    is_flag=True,
    help="With text: whole messages, not their first lines; with anthropic: a line for every repair.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: every message with its event, fate and tokens; with anthropic the body, repairs, violations.",
)
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    leaf: str | None,
    as_of: int | None,
    form: str,
    model: str | None,
    max_tokens: int,
    system: BinaryIO | None,
    tools: BinaryIO | None,
    cache_breakpoints: int,
    counter: str,
    full: bool,
    as_json: bool,
) -> None:
    """Show what the model was sent at a leaf: messages, model, thinking level."""
    from cli.output import console, echo_json, echo_json_bytes, echo_transcript, paged
    from cli.request import echo_request
    from cli.store import opened_session, resolve_leaf
    from cli.texts import text_of
    from projections.context.build import build_context
    from projections.renderers.transcript import transcript
    from projections.requests import request
    from projections.tokens import counter as counter_named

    if form != "anthropic":
        _refuse_options_of_requests(ctx, form)
    with opened_session(ctx, session) as (log, name):
        with log.snapshot() as snapshot:
            at = resolve_leaf(snapshot, name, leaf)
            context = build_context(snapshot, name, leaf=at, as_of=as_of, verify=form == "anthropic")
        if form == "anthropic":
            asked = request(
                context,
                form,
                model=model,
                max_tokens=max_tokens,
                system=text_of(system) if system else None,
                tools=tools.read() if tools else None,
                cache_breakpoints=cache_breakpoints,
            )
            echo_request(asked, as_json=as_json, is_full=full)
            ctx.exit(1 if asked.violations else 0)
        elif as_json:
            echo_json(context_json(context, counter_named(counter, log=log)))
        elif form == "pi":
            echo_json_bytes(context.pi_json())
        elif form == "transcript":
            echo_transcript(transcript(context))
        else:
            from cli.context_view import print_context

            out = console()
            with paged(out):
                print_context(out, context, counter_named(counter, log=log), is_full=full)


def _refuse_options_of_requests(ctx: click.Context, form: str) -> None:
    """Raise UsageError for an option that was given and has an effect on the body of a request only."""
    for name in ("model", "max_tokens", "system", "tools", "cache_breakpoints"):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} goes with --format anthropic, not with {form}", ctx)


def context_json(context: Context, tokens: Counter) -> dict[str, object]:
    """A context with what is known of each message."""
    import msgspec

    from projections.tokens import is_estimate

    counts, level = tokens.count(context.parts), context.settings.thinking_level
    return {
        "session": context.session,
        "leaf": context.leaf,
        "asOf": context.as_of,
        "rules": context.rules,
        "counter": tokens.name,
        "exact": tokens.is_exact,
        "estimate": is_estimate(tokens, context.settings.model),
        "tokens": sum(counts),
        "thinkingLevel": None if level is msgspec.UNSET else level,
        "model": context.settings.model,
        "messages": [
            {
                "event": part.id,
                "seq": part.seq,
                "kind": part.kind,
                "role": part.role,
                "fate": part.fate,
                "tokens": count,
                "message": msgspec.Raw(part.raw),
            }
            for part, count in zip(context.parts, counts, strict=True)
        ],
    }
