"""refold context."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from cli.options import LazyChoice, as_of_option, chosen_counter, leaf_option, redact_option, utf8
from cli.output import (
    columns,
    counted,
    cut_line,
    echo_json,
    echo_json_bytes,
    echo_note,
    echo_problem,
    printable,
    safe_line,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eventstore.log import EventLog, Snapshot
    from eventstore.node import PromptView
    from eventstore.redaction import Masks
    from projections.context.cursor import Leaf
    from projections.context.parts import Context, Part
    from projections.requests.rendered import Rendered, Repair
    from projections.tokens import Counter


_LINES: Final = 6
_LONGEST: Final = 400
"""Maximum characters of a line, and how many characters to build it from."""
_LOOKED_AT: Final = 4096
_COLOURS: Final = {
    "user": "green",
    "assistant": "cyan",
    "toolResult": "bright_black",
    "compactionSummary": "magenta",
}


def print_context(
    show: Callable[..., None], snapshot: Snapshot, context: Context, tokens: Counter, *, is_full: bool
) -> None:
    """Print every message under a header line, then the gaps and the totals.

    `show` prints a line of spans; see `styled_lines`.
    """
    from cli.store import fitted_id
    from cli.views.texts import gap_text
    from projections.audit.gaps import context_gaps
    from projections.tokens import is_estimate

    counts, width = tokens.count(context.parts), columns(sys.stdout)
    is_estimated = is_estimate(tokens, context.settings.model)
    about = "about " if is_estimated else ""
    prompt = _prompt(snapshot, context)
    for name, text in _texts_of(prompt):
        show(
            (f"── {name} ", "bold yellow"),
            (f" {about}{counted(tokens.of_text(text), 'token')}", "dim yellow"),
        )
        show((printable(_lines(text, is_full=is_full)) + "\n", ""))
    for part, count in zip(context.parts, counts, strict=True):
        colour, name = (
            _COLOURS.get(part.role, "yellow"),
            fitted_id(snapshot, part.session or context.session, part.id, width),
        )
        show(
            (f"── {part.role} ", f"bold {colour}"),
            (f"{safe_line(name)} #{part.seq}  {about}{counted(count, 'token')}", f"dim {colour}"),
            (f"  {part.fate}" if part.fate != "kept" else "", "bold yellow"),
        )
        show((printable(_body(part, is_full=is_full)) + "\n", ""))
    for gap in context_gaps(snapshot, context, tokens):
        show((gap_text(gap, measured_by="usage up to here"), "dim"))
    model, level = str(context.settings.model or ""), _thinking_level(context)
    estimate = ", an estimate" if is_estimated else ""
    totals = (
        f"{counted(len(context.parts), 'message')}, {counted(sum(counts), 'token')} ({tokens.name}{estimate})"
        f" at {context.leaf or 'the root'} as of #{context.as_of};"
        f" model {model or 'none'}" + ("" if level is None else f", thinking {level}")
    )
    show((totals, "bold"))
    if tokens.note:
        show((tokens.note, "yellow"))


def _thinking_level(context: Context) -> Any:
    """Return the thinking level, None where no record can say it."""
    from msgspec import UNSET

    from projections.rules import rules_named
    from projections.settings import ModelSettings

    level = context.settings.thinking_level
    is_unsaid = level == ModelSettings().thinking_level and not rules_named(context.rules).records_thinking
    return None if is_unsaid or level is UNSET else level


def _body(part: Part, *, is_full: bool) -> str:
    from projections.context.parts import view_of_part
    from projections.message_text import message_text

    return _lines(message_text(view_of_part(part)), is_full=is_full)


def _prompt(snapshot: Snapshot, context: Context) -> PromptView:
    """Return the system prompt and tools that the session records, empty for none."""
    from projections.context.cursor import ROOT, resolve_cursor
    from projections.settings import harness_prompt

    leaf = ROOT if context.leaf is None else context.leaf
    return harness_prompt(snapshot, resolve_cursor(snapshot, context.session, leaf=leaf, as_of=context.as_of))


def _texts_of(prompt: PromptView) -> Iterator[tuple[str, str]]:
    if prompt.system:
        yield "system prompt", prompt.system
    if prompt.tools:
        yield "tool definitions", prompt.tools.decode()


def _lines(text: str, *, is_full: bool) -> str:
    lines = text.splitlines()
    if is_full or len(lines) <= _LINES:
        return "\n".join(line if is_full else _cut(line) for line in lines)
    return "\n".join(map(_cut, lines[:_LINES])) + f"\n… {counted(len(lines) - _LINES, 'more line')} (--full)"


def _cut(line: str) -> str:
    return cut_line(line[:_LOOKED_AT], _LONGEST)


_HINTS: Final = {
    "messages": "there are no messages at this leaf: choose another with --leaf",
    "model": "name one with --model",
}


def echo_request(request: Rendered, *, masks: Masks | None = None, as_json: bool, is_full: bool) -> None:
    """Print the body on stdout unless the API would refuse it; repairs and violations on stderr.

    Repairs share a line per rule with a count; `is_full` prints each of them.
    """
    if as_json:
        import msgspec

        body = msgspec.Raw(request.body)
        found = {"body": body, "repairs": request.repairs, "violations": request.violations}
        echo_json(found | ({"redaction": masks.count()} if masks else {}))
        return
    for line in _each(request.repairs) if is_full else _counts(request.repairs):
        echo_note(line)
    for violation in request.violations:
        where = f"{violation.path}: " if violation.path else ""
        echo_problem(
            f"the API would refuse this request: {where}{violation.problem}", _HINTS.get(violation.rule, "")
        )
    if not request.violations:
        echo_json_bytes(request.body)


def _each(repairs: Sequence[Repair]) -> Iterator[str]:
    for repair in repairs:
        yield f"{repair.event}: {repair.action} ({repair.rule})"


def _counts(repairs: Sequence[Repair]) -> Iterator[str]:
    """Yield a line per rule, with the action if it was applied once."""
    events: dict[str, list[Repair]] = {}
    for repair in repairs:
        events.setdefault(repair.rule, []).append(repair)
    for rule, of_rule in events.items():
        first, others = of_rule[0], len(of_rule) - 1
        more = f", and {others:,} more like it: --full lists them" if others else ""
        yield f"{first.event}: {first.action} ({rule}){more}"


_NATIVE: Final = "native"
"""The format that the session's own harness builds."""
_OF_APIS: Final = ("anthropic", "openai-responses", "openai-chat")
"""The formats that are bodies of requests."""
_FORMATS: Final = ("text", _NATIVE, *_OF_APIS)
"""The formats that any session has."""


def _formats() -> list[str]:
    from projections.rules import format_names

    return [*_FORMATS[:2], *format_names(), *_FORMATS[2:]]


@click.command("context", epilog="Example:  refold context @last --as-of 10 --full")
@click.argument("session")
@leaf_option
@as_of_option
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    type=LazyChoice("format", _formats, always=_FORMATS),
    default="text",
    show_default=True,
    help="text: for people; native: as the session's harness builds it; pi: as pi does; anthropic,"
    " openai-responses, openai-chat: the body of a request to that API.",
)
@click.option("--model", metavar="NAME", callback=utf8, help="With an API: the model, if not the context's.")
@click.option("--system", type=click.File("rb"), metavar="FILE", help="With an API: the system prompt.")
@click.option(
    "--tools",
    type=click.File("rb"),
    metavar="FILE",
    help="With an API: the tool definitions as a JSON list.",
)
@click.option(
    "--cache-breakpoints",
    type=click.IntRange(0, 4),
    default=0,
    show_default=True,
    metavar="N",
    help="With anthropic: the number of cache breakpoints to set.",
)
@redact_option
@click.option(
    "--full",
    is_flag=True,
    help="With text: whole messages instead of first lines; with an API: a line per repair.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: every message with its event, fate and tokens; with an API the body, repairs, violations.",
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
    system: BinaryIO | None,
    tools: BinaryIO | None,
    cache_breakpoints: int,
    redact: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Show what the model was sent at a leaf: messages, model and thinking level."""
    from cli.options import text_of
    from cli.output import echo_json, echo_json_bytes, styled_lines
    from cli.redacting import masked, masks_if
    from cli.store import opened_session, resolve_leaf
    from projections.context.build import harness_json

    _refuse_options_of_requests(ctx, form)
    masks = masks_if(redact)
    with (
        opened_session(ctx, session) as (log, name),
        masked(log, masks) as source,
        source.snapshot() as snapshot,
    ):
        at = resolve_leaf(snapshot, name, leaf)
        is_for_people = form == "text" and not as_json
        context, is_refused = _read(
            snapshot, name, at, as_of, readable=form in _OF_APIS, is_for_people=is_for_people
        )
        if form == "openai-responses" and context.expanded:
            context = _with_native_history(snapshot, name, context)
        if form in _OF_APIS:
            api_request = _rendered(
                form,
                context,
                model=model,
                system=text_of(system) if system else None,
                tools=tools.read() if tools else None,
                cache_breakpoints=cache_breakpoints,
            )
            echo_request(api_request, masks=masks, as_json=as_json, is_full=full)
            is_refused = bool(api_request.violations)
        elif as_json:
            found = context_json(snapshot, context, _tokens(ctx, log))
            echo_json(found | ({"redaction": masks.count()} if masks else {}))
        elif form != "text":
            _refuse_another_harness(ctx, form, context)
            echo_json_bytes(harness_json(context))
        else:
            tokens = _tokens(ctx, log)
            with styled_lines() as show:
                print_context(show, snapshot, context, tokens, is_full=full)
    ctx.exit(1 if is_refused else 0)


def _tokens(ctx: click.Context, log: EventLog) -> Counter:
    from projections.tokens import counter

    return counter(chosen_counter(ctx), log=log)


def _with_native_history(snapshot: Snapshot, session: str, readable: Context) -> Context:
    """Return a context with its provider's own history, if that is recorded as items."""
    from eventstore.harnesses import format_of
    from projections.context.build import build_context

    native = build_context(snapshot, session, leaf=readable.leaf, as_of=readable.as_of)
    of_compaction = [part for part in native.parts if part.kind == "compaction"]
    has_items = any(format_of(part.format).response_item(part.raw) for part in of_compaction)
    return native if has_items else readable


def _rendered(form: str, context: Context, *, cache_breakpoints: int, **options: Any) -> Rendered:
    """Return the body of a request to an API."""
    if form == "anthropic":
        from projections.requests.anthropic import render

        return render(context, cache_breakpoints=cache_breakpoints, **options)
    from projections.requests.openai import render_chat, render_responses

    return (render_chat if form == "openai-chat" else render_responses)(context, **options)


def _read(
    snapshot: Snapshot, session: str, leaf: Leaf, as_of: int | None, *, readable: bool, is_for_people: bool
) -> tuple[Context, bool]:
    """Return a context, and True if it is damaged, which only people may look at."""
    from eventstore.errors import CorruptionError
    from projections.context.build import build_context

    try:
        return build_context(snapshot, session, leaf=leaf, as_of=as_of, readable=readable), False
    except CorruptionError as error:
        # What a program or model reads must be as it was appended.
        if not is_for_people:
            raise
        echo_problem(str(error))
        return build_context(snapshot, session, leaf=leaf, as_of=as_of, verify=False), True


def _refuse_options_of_requests(ctx: click.Context, form: str) -> None:
    """Raise UsageError for an option that only affects the body of another request."""
    if form == "anthropic":
        return
    names = ("cache_breakpoints",) if form in _OF_APIS else ("model", "system", "tools", "cache_breakpoints")
    for name in names:
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            *others, last = _OF_APIS if name != "cache_breakpoints" else ("anthropic",)
            needed = f"{', '.join(others)} or {last}" if others else last
            raise click.UsageError(f"--{option} needs --format {needed}, not {form}", ctx)


def _refuse_another_harness(ctx: click.Context, form: str, context: Context) -> None:
    """Raise UsageError for the format of a harness that would not send this context."""
    from projections.rules import rules_named

    if form != _NATIVE and form not in rules_named(context.rules).format_names:
        problem = (
            f"{safe_line(context.session)} is a session of {context.rules}, whose contexts are not {form}'s"
        )
        raise click.UsageError(f"{problem}: use --format {_NATIVE}", ctx)


def context_json(snapshot: Snapshot, context: Context, tokens: Counter) -> dict[str, object]:
    """Return a context as a JSON value, with all facts about each message."""
    import msgspec

    from projections.audit.gaps import context_gaps
    from projections.context.build import messages_json
    from projections.tokens import is_estimate

    counts = tokens.count(context.parts)
    prompt = _prompt(snapshot, context)
    recorded = {
        "prompt": {
            "system": prompt.system,
            "tools": msgspec.Raw(prompt.tools or b"[]"),
            "tokens": sum(tokens.of_text(text) for _, text in _texts_of(prompt)),
        }
    }
    return (recorded if prompt.system or prompt.tools else {}) | {
        "session": context.session,
        "leaf": context.leaf,
        "asOf": context.as_of,
        "rules": context.rules,
        "counter": tokens.name,
        "exact": tokens.is_exact,
        "estimate": is_estimate(tokens, context.settings.model),
        "tokens": sum(counts),
        "thinkingLevel": _thinking_level(context),
        "model": context.settings.model,
        "gaps": context_gaps(snapshot, context, tokens),
        "messages": messages_json(snapshot, context.parts, counts),
    }
