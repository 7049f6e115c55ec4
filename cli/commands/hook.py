"""refold hook."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from cli.options import json_option

if TYPE_CHECKING:
    from compaction.giving_back import GivenBack
    from eventstore.log import Snapshot, StoredLog
    from projections.context.cursor import Cursor

_COMPACTED: Final = "Compacted"
"""The event by which the plugin's module tells of a new summary, which it passes along."""
_COMPACT: Final = "Compact"
"""The event by which an integration asks for a compaction by a `policy` in a `window`."""
_UNRECORDED: Final = "claude-code"
"""The harness that tells of a compaction before it records it."""
_SEVERAL: Final = "opencode"
"""The harness whose file has several sessions."""
_UNTOLD: Final = "codex"
"""The harness whose summarizer cannot be told anything."""
_HARNESSES: Final = (_UNRECORDED, "codex", "oh-my-pi", "opencode", "pi")
_TIMEOUT: Final = 4.0
_READS: Final = "REFOLD_HOOK_READS"
"""Set to anything, this has the open window read in the background."""
_PRIVATE: Final = 0o600
"""The mode of a new log: its lines quote errors."""


@click.command("hook", epilog="Example:  refold hook --explain @last")
@click.argument("harness", required=False, type=click.Choice(_HARNESSES), metavar="[HARNESS]")
@click.option("--event", metavar="JSON", help="The event, instead of standard input.")
@click.option(
    "--timeout",
    default=_TIMEOUT,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="When to give up.",
)
@click.option(
    "--explain", metavar="SESSION", help="Print what would go back behind each compaction, and why."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    harness: str | None,
    event: str | None,
    timeout: float,
    explain: str | None,
    as_json: bool,
) -> None:
    """Answer an event of a running harness: keep its session, and quote what leaves it.

    `refold install claude-code` sets it up. It never fails: if anything goes wrong, it prints nothing, and a line in
    the file STORE.hook.log says why.
    """
    if (harness is None) == (explain is None) or (as_json and explain is None):
        raise click.UsageError("name a harness, or a session with --explain", ctx)
    if explain is not None:
        _explain(ctx, explain, as_json=as_json)
    elif harness is not None:
        with _failing_open(ctx.obj, timeout) as stop_clock:
            from compaction import MARK

            if MARK in os.environ:
                return
            given = json.loads(sys.stdin.read() if event is None else event)
            answer = _answer(ctx, harness, given)
            stop_clock()
            if answer:
                click.echo(answer)


@contextmanager
def _failing_open(store: str | None, timeout: float) -> Iterator[Callable[[], None]]:
    """Log every error of the block, and end the process if it takes too long.

    Yield a function that stops that clock.
    """
    import threading

    def give_up() -> None:
        _log(store, f"gave up after {timeout:g} s")
        # A lock of the store is waited for outside of Python, where nothing else ends it.
        os._exit(0)

    timer = threading.Timer(timeout, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield timer.cancel
    except Exception as error:  # noqa: BLE001  the harness goes on, whatever it is
        _log(store, f"{type(error).__name__}: {error}")
    finally:
        timer.cancel()


def _log_file(store: str | None) -> Path:
    """Return the file of problems beside a store; make it if needed."""
    from cli.store import store_path
    from eventstore.addresses import is_postgres

    file = Path(f"{store_path(None if store and is_postgres(store) else store).rstrip('/')}.hook.log")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(_PRIVATE)
    return file


def _log(store: str | None, problem: str) -> None:
    from contextlib import suppress
    from datetime import UTC, datetime

    with suppress(Exception), _log_file(store).open("a", encoding="utf-8") as lines:
        lines.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {' '.join(problem.split())}\n")


def _answer(ctx: click.Context, harness: str, event: dict[str, Any]) -> str:
    """Import what is new, and return the answer to an event, "" for none."""
    from cli.store import opened

    name, of_agent = event["hook_event_name"], bool(event.get("agent_id"))
    is_compacted = name == _COMPACTED or (name == "SessionStart" and event.get("source") == "compact")
    if not (is_compacted or name in ("PreCompact", "SessionEnd", _COMPACT)):
        return ""
    with opened(ctx, create=True) as log:
        session = _imported(log, harness, event)
        if not of_agent and name in ("PreCompact", _COMPACT):
            _read_in_background(ctx, log, session)
        if name == _COMPACT:
            return _compaction(ctx, log, session, event)
        if of_agent or name == "SessionEnd" or (name == "PreCompact" and harness == _UNTOLD):
            return ""
        text = _words(log, session, harness, event, is_compacted=is_compacted)
    if not text or name != "SessionStart":
        return text
    return json.dumps(
        {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}, ensure_ascii=False
    )


def _words(log: StoredLog, session: str, harness: str, event: dict[str, Any], *, is_compacted: bool) -> str:
    """Return what a summarizer is told, or what goes back behind a compaction; a note keeps it."""
    from compaction.giving_back import FOR_SUMMARIZER, masked_words, words_behind, words_for_summarizer
    from projections.context.cursor import resolve_cursor

    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        if not is_compacted:
            return words_for_summarizer(snapshot, cursor, masked_words(FOR_SUMMARIZER)).text
        if harness == _UNRECORDED:
            given = words_behind(snapshot, cursor, masked_words(), summary=event.get("summary"))
        else:
            from compaction.recorded_boundaries import behind_newest

            given = behind_newest(snapshot, cursor, masked_words())
        before = _last_before(snapshot, cursor, harness)
    if given.text:
        _keep(log, session, before, given)
    return given.text


def _imported(log: StoredLog, harness: str, event: dict[str, Any]) -> str:
    """Return the session of an event; import its file, unless all of it was read already."""
    from eventstore.harnesses.source import source_path

    path = event["transcript_path"]
    with log.snapshot() as snapshot:
        known = snapshot.source(source_path(path))
    if known is not None and known.sessions and Path(path).exists():
        status = Path(path).stat()
        if (known.read, known.device, known.inode) == (status.st_size, status.st_dev, status.st_ino):
            return known.sessions[0]
    from eventstore.errors import NotFoundError
    from eventstore.files.importing import import_sessions
    from eventstore.imports import generation_of

    found = [each.id for each in import_sessions(log, path, harness=harness)]
    named = event.get("session_id")
    if harness != _SEVERAL or named is None:
        return named if named in found else found[0]
    # An imported export of it may be an earlier generation.
    if session := next((each for each in found if generation_of(each)[0] == named), None):
        return session
    raise NotFoundError("session", named, f"it is not in {path}")


def _read_in_background(ctx: click.Context, log: StoredLog, session: str) -> None:
    """Have the person's `command` read the open window for the next compaction, if they want."""
    if not os.environ.get(_READS):
        return
    import subprocess

    from eventstore.paths import path_of_kinds
    from projections.audit.readings import BOUNDARIES

    with log.snapshot() as snapshot:
        above = sum(1 for _ in path_of_kinds(snapshot, session, snapshot.head(session).leaf, BOUNDARIES))
    words = [sys.executable, "-m", "refold", *(("--store", ctx.obj) if ctx.obj else ()), "judge", session]
    words += ["--boundary", str(above + 1), "--summarizer", "command", "--yes"]
    with _log_file(ctx.obj).open("ab") as errors:
        # The shell ends at once, and the reading goes on.
        subprocess.run(  # noqa: S603  the words are ours
            ["/bin/sh", "-c", '"$@" &', "sh", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            check=True,
        )


def _compaction(ctx: click.Context, log: StoredLog, session: str, event: dict[str, Any]) -> str:
    """Return a compaction for the harness to record, as JSON.

    Raises BadInputError if the policy makes none, and what a summarizer raises.
    """
    from cli.compacting import build_compactor, policy_named, with_template
    from cli.summarizing import build_summarizer_chain
    from compaction.part import Limits
    from eventstore.errors import BadInputError
    from eventstore.paths import event as event_at
    from eventstore.preview import PreviewLog
    from eventstore.writing import SessionWriter

    policy, (sources, _) = policy_named(event["policy"]), with_template("")
    chain = build_summarizer_chain(
        ctx, log, {"summarizers": (), "no_redact": False}, lambda: False, policy, session=session
    )
    with log.snapshot() as snapshot:
        preview = PreviewLog(snapshot, session)
        compactor = build_compactor(
            preview, policy, chain, Limits(window=event["window"]), counter=policy.counter, sources=sources
        )
        done = compactor.compact(SessionWriter(preview, session), reason="threshold")
        if done.outcome != "compacted":
            problem = f"made no compaction ({done.reason or done.outcome})"
            raise BadInputError(f"policy {policy.name}", problem, "the harness makes its own")
        with preview.snapshot() as after:
            made = event_at(after, session, after.locate(session, done.events[0]))
            return made.body.decode()


def _last_before(snapshot: Snapshot, cursor: Cursor, harness: str) -> str:
    """Return the id of the last entry before the new compaction, "" for none."""
    from eventstore.paths import event

    leaf = cursor.leaf
    if leaf and harness != _UNRECORDED:
        last = event(snapshot, cursor.session, leaf)
        made = leaf if last.kind == "compaction" else last.compaction_seq
        leaf = event(snapshot, cursor.session, made).parent_seq if made else 0
    return event(snapshot, cursor.session, leaf).id if leaf else ""


def _keep(log: StoredLog, session: str, leaf: str, given: GivenBack) -> None:
    """Append a note of what was given back, about the last entry before the compaction, `leaf`."""
    import msgspec

    from eventstore.records import Note
    from eventstore.writing import SessionWriter

    # What was left out is neither masked nor needed again.
    told = {"text": given.text, "rules": given.rules, "messages": given.messages, "files": given.files}
    data = {"type": "given-back", **msgspec.to_builtins(told)}
    SessionWriter(log, session).append(Note(target_id=leaf, data=data))


def _explain(ctx: click.Context, session: str, *, as_json: bool) -> None:
    from cli.output import console, echo_json, echo_text, paged, print_line, safe_line
    from cli.store import opened_session
    from compaction.giving_back import masked_words
    from compaction.recorded_boundaries import at_boundaries
    from projections.context.cursor import resolve_cursor

    with opened_session(ctx, session) as (log, name), log.snapshot() as snapshot:
        boundaries = [*at_boundaries(snapshot, resolve_cursor(snapshot, name), masked_words())]
    if as_json:
        found = [{"event": each, "seq": seq, "given": given} for each, seq, given in boundaries]
        echo_json({"session": name, "boundaries": found})
        return
    if not boundaries:
        echo_text("the session has no compaction")
    out = console()
    with paged(out):
        for _, seq, given in boundaries:
            print_line(out, f"#{seq}  {_why(given)}", style="bold")
            for line in given.text.splitlines():
                print_line(out, f"  {safe_line(line)}")


def _why(given: GivenBack) -> str:
    from cli.output import counted

    parts = [
        (len(given.rules), "of a rule that a model read", "of rules that a model read"),
        (len(given.messages), "of your messages", "of your messages"),
        (len(given.in_summary), "left out: the summary has it", "left out: the summary has them"),
        (len(given.too_much), "left out: over the budget", "left out: over the budget"),
    ]
    found = [f"{count:,} {one if count == 1 else many}" for count, one, many in parts if count]
    return f"{counted(len(given.rules) + len(given.messages), 'quotation')}" + (
        f" ({', '.join(found)})" if found else ""
    )
