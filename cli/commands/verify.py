"""refold verify."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from cli.options import json_option


@click.command("verify", epilog="Example:  refold verify && echo sound")
@click.option(
    "--heads",
    metavar="FILE",
    help="Find missing events by the heads saved in FILE; if all is sound, save the current heads there.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, heads: str | None, as_json: bool) -> None:
    """Check every digest, index and pointer of the store; exit with 1 if anything is wrong.

    If events were cut off at a session's end, the store itself shows no trace; --heads FILE finds that too. A
    file that backup wrote is only compared, never changed. The index of search cannot be checked: the next search
    makes it again.
    """
    from cli.output import counted, echo_json, echo_text, progress_bar
    from cli.store import opened, store_path
    from cli.whole_file import write_atomically
    from eventstore.lmdb.pages import check_pages
    from eventstore.verify import encode_heads, read_heads, verify
    from projections.search.full_text import remove_index

    folder = Path(store_path(ctx.obj))
    if heads is not None and Path(heads).absolute().parent.resolve() == folder.resolve():
        raise click.BadParameter("a file in the store's folder would be lost with it", param_hint="--heads")
    saved = read_heads(heads) if heads is not None and Path(heads).exists() else None
    compared, is_saved = 0, False
    found = check_pages(folder)
    if found is None:
        with opened(ctx) as log, progress_bar("verifying") as progress:
            found = verify(log, saved=saved.heads if saved else (), progress=progress)
            compared = len(saved.heads) if saved else 0
            if heads is not None and not found.findings and (saved is None or saved.by != "backup"):
                with log.snapshot() as snapshot:
                    write_atomically(heads, [encode_heads(snapshot.heads(), "verify")], option="--heads")
                is_saved = True
            # Whoever only reads the store has no index in it.
            with suppress(OSError):
                remove_index(log.folder)
    heads_json = None if heads is None else {"file": heads, "compared": compared, "saved": is_saved}
    if as_json:
        echo_json(
            {
                "sessions": found.sessions,
                "events": found.events,
                "findings": found.findings,
                "heads": heads_json,
            }
        )
    else:
        for finding in found.findings:
            where = f"{finding.session} #{finding.seq}" if finding.seq else finding.session or "the store"
            echo_text(f"{where}: {finding.problem}")
        state = counted(len(found.findings), "problem") if found.findings else "sound"
        echo_text(f"{counted(found.events, 'event')} of {counted(found.sessions, 'session')}: {state}")
        if heads_json is not None:
            echo_text(_heads_line(heads_json, found.sessions, is_new=saved is None))
    ctx.exit(1 if found.findings else 0)


def _heads_line(heads: dict[str, Any], sessions: int, *, is_new: bool) -> str:
    from cli.output import counted

    if is_new:
        made = f"{counted(sessions, 'head')} saved" if heads["saved"] else "none saved"
        return f"{heads['file']}: there was no such file; no head compared, {made}"
    against = f"compared with {counted(heads['compared'], 'saved head')}"
    state = "the present heads are saved" if heads["saved"] else "left as it was"
    return f"{heads['file']}: {against}; {state}"
