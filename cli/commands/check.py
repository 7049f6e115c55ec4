"""refold check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from cli.options import json_option, require_all_or_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventstore.log import StoredLog
    from projections.audit.checks import CheckResult, SessionChecks
    from projections.rules.base import Check


_PREFIX: Final = 8
"""Characters of an event's id in the lines below a table; its number is beside it."""
_NOTHING: Final = "-"
"""Shown where the records say nothing that could be checked."""
_OF_ESTIMATES: Final = "; differences from estimates ('about') do not count"


@click.command("check", epilog="Example:  refold check session.jsonl")
@click.argument("sessions", metavar="SESSION...", nargs=-1)
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Check every session of the store, one line each.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, sessions: tuple[str, ...], *, is_all: bool, as_json: bool) -> None:
    """Check a session's contexts against figures in its own records.

    Records say how many messages there were, which requests shared a prefix, how large contexts were, and
    what a compaction kept. The exit code is 1 if an exact check fails; sizes are estimates and are only
    shown.
    """
    from cli.output import echo_problem, json_bytes, json_list
    from cli.store import chosen_names, looks_like_file, opened, resolve_session

    require_all_or_names(ctx, "checks", sessions, is_all=is_all)
    found: list[SessionChecks] = []
    has_failed = False
    problems: list[str] = []
    with opened(ctx, create=any(map(looks_like_file, sessions))) as log:
        names = chosen_names(log) if is_all else [resolve_session(log, session) for session in sessions]
        if as_json:
            with json_list("sessions") as add:
                for checks in _checked(log, names, problems, shows_progress=False):
                    has_failed = has_failed or bool(checks.failed)
                    add(json_bytes(checks))
        else:
            found.extend(_checked(log, names, problems, shows_progress=is_all))
    if not as_json:
        _print(found, is_all=is_all, is_complete=not problems)
    for problem in problems:
        echo_problem(problem)
    has_failed = has_failed or any(checks.failed for checks in found)
    ctx.exit(1 if problems or has_failed else 0)


def _checked(
    log: StoredLog, names: Sequence[str], problems: list[str], *, shows_progress: bool
) -> Iterator[SessionChecks]:
    """Check sessions one by one; append a line to `problems` for each unreadable one."""
    from contextlib import nullcontext

    from cli.output import progress_bar
    from cli.store import explain_missing
    from eventstore.errors import RefoldError, StoreError
    from projections.audit.checks import check_session

    bar = progress_bar("checking") if shows_progress else nullcontext(lambda _done, _total: None)
    with bar as progress:
        for done, name in enumerate(names):
            progress(done, len(names))
            try:
                with explain_missing(log, name):
                    checks = check_session(log, name)
                yield checks
            except StoreError:
                raise
            except RefoldError as error:
                problems.append(f"session {name!r} cannot be checked: {error}")
            except Exception as error:  # noqa: BLE001  the other sessions continue
                bug = f"a bug in refold ({type(error).__name__}: {error})"
                problems.append(f"session {name!r} cannot be checked: {bug}")


def _print(found: Sequence[SessionChecks], *, is_all: bool, is_complete: bool) -> None:
    from cli.output import console, paged, print_line, safe_line
    from cli.store import short_names

    out = console()
    short = short_names([checks.session for checks in found])
    length = _PREFIX if is_all else None
    with paged(out):
        if is_all and found:
            out.print(_sessions_table(found), crop=False)
        for checks in found:
            if not is_all:
                print_line(
                    out, f"{safe_line(checks.session)} (by the rules of {checks.harness})", style="bold"
                )
                out.print(_checks_table(checks.results), crop=False)
            for result in checks.results:
                for failure in result.failures:
                    where = f"{safe_line(short[checks.session])}: " if is_all else ""
                    figures = _figures(failure, is_exact=result.exact)
                    line = (
                        f"{where}{result.name}, {safe_line(failure.event[:length])} #{failure.seq}: {figures}"
                    )
                    print_line(out, line, style="red" if result.exact else "yellow")
        if verdict := _verdict(found, is_complete=is_complete):
            print_line(out, verdict, style="dim")


def _verdict(found: Sequence[SessionChecks], *, is_complete: bool) -> str:
    """Return the outcome as a line, "" if it is unknown: too little could be checked."""
    from cli.output import counted
    from projections.audit.checks import RECORDED

    results = [result for checks in found for result in checks.results]
    recorded = [each for each in results if each.name == RECORDED and each.checked]
    passed, requests = sum(each.passed for each in recorded), sum(each.checked for each in recorded)
    proven = f"{passed:,} of {counted(requests, 'recorded request')} proven" if requests else ""
    is_off = any(each.failures for each in results if not each.exact)
    if wrong := sum(len(each.failures) for each in results if each.exact):
        verdict = f"failed: {counted(wrong, 'exact figure differs', 'exact figures differ')}"
        verdict += f"; {proven}" if proven else ""
    elif is_complete and proven:
        verdict = f"proven: {counted(requests, 'recorded request')} equal by hash"
        if len(recorded) < len(found):
            verdict += (
                f", in {len(recorded):,} of {counted(len(found), 'session')}; in the others, sizes agree"
            )
    elif is_complete and any(each.checked for each in results):
        verdict = "no exact figure differs" if is_off else "sizes agree"
    else:
        return ""
    return verdict + _OF_ESTIMATES * is_off


def _checks_table(results: Sequence[CheckResult]) -> object:
    from cli.output import safe_line, table

    listing = table("CHECK", "AGREE", "FARTHEST OFF", right=("AGREE",))
    for each in results:
        worst = each.worst
        off = (
            f"{_figures(worst, is_exact=each.exact)}, at {safe_line(worst.event)} #{worst.seq}"
            if worst
            else ""
        )
        listing.add_row(each.name, _share(each.passed, each.checked), off)
    return listing


def _sessions_table(found: Sequence[SessionChecks]) -> object:
    from cli.output import safe_line, table
    from cli.store import short_names
    from cli.views.texts import part_of

    short = short_names([checks.session for checks in found])
    names = list(dict.fromkeys(result.name for checks in found for result in checks.results))
    listing = table("SESSION", *map(str.upper, names), right=[name.upper() for name in names])
    for checks in found:
        by_name = {result.name: result for result in checks.results}
        shares = [
            part_of(by_name[name].passed, by_name[name].checked) if name in by_name else _NOTHING
            for name in names
        ]
        listing.add_row(safe_line(short[checks.session]), *shares)
    harnesses = sorted({checks.harness for checks in found})
    groups = {f"all of {each}": [of for of in found if of.harness == each] for each in harnesses}
    for label, members in [*(groups.items() if len(groups) > 1 else ()), ("all", found)]:
        results = [result for checks in members for result in checks.results]
        sums = [[each for each in results if each.name == name] for name in names]
        totals = [part_of(sum(each.passed for each in of), sum(each.checked for each in of)) for of in sums]
        if len(found) > 1:
            listing.add_row(label, *totals)
    return listing


def _share(passed: int, checked: int) -> str:
    return f"{passed:,} of {checked:,}" if checked else _NOTHING


def _figures(check: Check, *, is_exact: bool) -> str:
    from cli.output import counted, thousands

    about = "" if is_exact else "about "
    if isinstance(check.difference, str):
        return f"{thousands(check.found)} of {thousands(check.expected)} {check.unit}, then differs: {check.difference}"
    return (
        f"{counted(check.found, check.unit.removesuffix('s'))}, expected {about}{thousands(check.expected)}"
    )
