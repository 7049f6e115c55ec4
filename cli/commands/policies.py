"""refold policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from cli.compacting import DEFAULT_POLICY, DEFAULT_WINDOW
from cli.user_files import ActionOptions, action_options, run_action

if TYPE_CHECKING:
    from compaction.part import Limits
    from compaction.policy.model import Policy


@click.command("policies", epilog="Example:  refold policies show oh-my-pi")
@action_options(origin_help=f"With new: the policy that it extends.  [default: {DEFAULT_POLICY}]")
@click.pass_context
def command(ctx: click.Context, **options: Unpack[ActionOptions]) -> None:
    """List policies, show one, start your own, or check it.

    Your own policy is a TOML file: `extends` names one of refold's, and everything else overrides it.
    Policies are stored as NAME.toml in the folder `policies` of REFOLD_CONFIG, or of the platform's settings
    folder.
    """
    run_action(ctx, options, listing=_list, begin=_new, show=_show)


def _list(*, as_json: bool) -> list[str]:
    """List all policies, the user's own first; return the problems of invalid ones."""
    from cli.compacting import policy_named
    from cli.output import console, echo_json, safe_line, table
    from cli.user_files import POLICIES
    from compaction.policy.load import load_preset, preset_names
    from eventstore.errors import RefoldError

    found: list[tuple[Policy, str]] = []
    problems: list[str] = []
    for own in POLICIES.names():
        try:
            found.append((policy_named(own), str(POLICIES.find(own))))
        except RefoldError as error:
            problems += error.lines
    taken = {policy.name for policy, _ in found}
    found += [(load_preset(name), "built-in") for name in preset_names() if name not in taken]
    if as_json:
        echo_json(
            {
                "policies": [
                    {"name": policy.name, "source": source, "description": policy.description}
                    for policy, source in found
                ],
                "problems": problems,
            }
        )
    else:
        listing = table("NAME", "FROM", "WHAT IT DOES")
        for policy, source in found:
            listing.add_row(safe_line(policy.name), safe_line(source), safe_line(policy.description))
        console().print(listing)
    return problems


def _new(name: str, origin: str | None, *, as_json: bool) -> None:
    from cli.output import echo_json, echo_text, safe_line
    from cli.user_files import POLICIES, toml_text
    from compaction.policy.load import load_preset, preset_names
    from eventstore.errors import BadInputError, NotFoundError, shell_command

    origin, extensible = origin or DEFAULT_POLICY, f"extend one of {', '.join(preset_names())}"
    if origin not in preset_names():
        if POLICIES.find(origin) is not None:
            raise BadInputError(f"policy {origin!r}", "is your own", extensible)
        raise NotFoundError("policy", origin, extensible)
    if name in preset_names():
        raise BadInputError(
            f"policy {name!r}", "comes with refold, and yours would hide it", "choose another name"
        )
    own = toml_text({"name": name, "extends": origin, "description": ""})
    path = POLICIES.add(name, f"{own}\n{_commented(load_preset(origin))}")
    if as_json:
        echo_json({"policy": name, "path": str(path)})
    else:
        echo_text(f"edit {safe_line(str(path))}, then: {safe_line(shell_command('policies check', name))}")


def _commented(policy: Policy) -> str:
    """Return a policy without its name as TOML comments, to uncomment and edit."""
    import msgspec

    from cli.user_files import toml_text

    values = msgspec.to_builtins(policy)
    del values["name"], values["description"]
    title = f"The settings of {policy.name}. A table that you write replaces the whole table here;"
    lines = [title, 'to remove one, set it to "none": cut = "none".', *toml_text(values).splitlines()]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _show(ctx: click.Context, name: str, *, is_check: bool, as_json: bool) -> None:
    from cli.compacting import policy_named, template_sources
    from cli.output import echo_json, echo_note, echo_problem, echo_text, echo_verbatim, safe_line
    from compaction.part import Limits
    from compaction.policy.load import InvalidPolicyError
    from compaction.policy.validate import find_missing_names, policy_warnings
    from compaction.validation import ValidationIssue

    limits = Limits(window=DEFAULT_WINDOW)
    policy, misfits, problems = None, list[str](), list[ValidationIssue]()
    try:
        policy = policy_named(name)
        source, prompting = f"policy {policy.name}", policy.prompting if policy.summarizes else None
        misfits = policy_warnings(policy, limits=limits)
    except InvalidPolicyError as error:
        source, prompting = error.source, error.prompting
        problems += error.issues
    problems += find_missing_names(prompting, template_sources()) if prompting else []
    if as_json:
        echo_json({"policy": policy, "warnings": misfits, "problems": problems})
    elif policy is not None and not is_check:
        echo_verbatim(_toml(policy).rstrip())
    elif policy is not None and not problems:
        echo_text(f"{safe_line(policy.name)} is a policy: {_one_line(policy, limits)}")
    for problem in problems:
        echo_problem(f"{source}: {problem}")
    for misfit in misfits:
        echo_note(misfit)
    if problems:
        ctx.exit(1)


def _toml(policy: Policy) -> str:
    import msgspec

    from cli.user_files import toml_text

    return toml_text(msgspec.to_builtins(policy))


def _one_line(policy: Policy, limits: Limits) -> str:
    """Describe when a policy acts, and by which parts."""
    from cli.compacting import part_name

    threshold = policy.trigger.threshold(limits)
    sign = "from" if policy.trigger.fires(threshold, limits) else "over"
    parts = [part_name(part) for part in policy.rewrites]
    parts += [f"{part_name(policy.cut)} with template {policy.prompting.template}"] if policy.cut else []
    acts = ", then ".join(parts) or "nothing happens"
    return f"{sign} {threshold:,} of {limits.window:,} tokens, {acts}"
