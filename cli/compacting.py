"""Options of commands that compact: policy, templates and context window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.options import Decorator
from cli.user_files import POLICIES, TEMPLATES

if TYPE_CHECKING:
    from compaction.compactor import Compactor
    from compaction.part import Limits, PolicyPart
    from compaction.policy.model import Policy
    from compaction.summarizers.chain import SummarizerChain
    from compaction.templates import Source, Template
    from eventstore.log import EventLog
    from projections.context.cursor import Leaf

DEFAULT_WINDOW: Final = 200_000
DEFAULT_POLICY: Final = "refold"
"""Defaults of `compaction.part`, repeated so that help imports no lower package."""

window_option: Final[Decorator] = click.option(
    "--window",
    type=click.IntRange(1),
    default=DEFAULT_WINDOW,
    show_default=True,
    metavar="TOKENS",
    help="The context window of the session's model.",
)


def policy_option(default: str = DEFAULT_POLICY) -> Decorator:
    """Return the `--policy` option with a default."""
    return click.option(
        "--policy",
        metavar="NAME|FILE",
        default=default,
        show_default=True,
        help="A policy that comes with refold, one of your own, or a TOML file.",
    )


def policy_named(name: str) -> Policy:
    """Load a policy from a file, from the user's folder, or from those that come with refold.

    Raises NotFoundError, and BadInputError for an invalid policy or one whose own name differs.
    """
    from compaction.policy.load import find_policy, load_policy_file

    return load_policy_file(Path(name)) if POLICIES.is_path(name) else find_policy(name, [POLICIES.folder])


def part_name(part: PolicyPart) -> str:
    """Return the name of a policy's part in TOML."""
    return str(part.__struct_config__.tag)


def template_sources() -> list[Source]:
    """Return the sources of templates that come before the session and refold's own."""
    from compaction.templates import folder_source, plugin_sources

    return [*plugin_sources(), folder_source(TEMPLATES.folder)]


def template_of_file(path: str) -> Template:
    """Load a template from a file. Raises BadInputError."""
    from compaction.templates import parse_template
    from eventstore.errors import BadInputError

    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadInputError(f"template {path}", reason, "name a file, or one of 'refold templates'") from None
    return parse_template(text, source=path)


def with_template(name: str) -> tuple[list[Source], str]:
    """Return sources of templates that have the named one, and its name; a file comes first.

    With "", return the usual sources and "". Raises BadInputError.
    """
    sources = template_sources()
    if not TEMPLATES.is_path(name):
        return sources, name
    own = template_of_file(name)
    return [lambda wanted: own if wanted == own.name else None, *sources], own.name


def check_templates(
    log: EventLog,
    session: str,
    policy: Policy,
    sources: Sequence[Source],
    *,
    leaf: Leaf = None,
    instead: str = "",
) -> None:
    """Raise an error for a missing template before any summarizer is called.

    A policy without summaries needs none. `instead` is the user's template that replaces the policy's, or "".
    Raises NotFoundError if that one is missing, InvalidInputError if one of the policy's is.
    """
    if not policy.summarizes:
        return
    from compaction.policy.validate import find_missing_templates
    from compaction.templates import find_template, with_session
    from compaction.validation import InvalidInputError
    from projections.context.cursor import resolve_cursor

    with log.snapshot() as snapshot:
        in_session = with_session(sources, snapshot, resolve_cursor(snapshot, session, leaf=leaf))
    if instead:
        find_template(instead, in_session)
    if found := find_missing_templates(policy.prompting, in_session, instead=instead):
        raise InvalidInputError(f"policy {policy.name}", found)


def build_compactor(
    log: EventLog,
    policy: Policy,
    chain: SummarizerChain,
    limits: Limits,
    *,
    counter: str,
    sources: Sequence[Source],
) -> Compactor:
    """Return a compactor with the installed hooks and a counter by its name."""
    from compaction.compactor import Compactor
    from compaction.hooks import installed_hooks
    from projections.tokens import counter as counter_named

    tokens, hooks = counter_named(counter, log=log), installed_hooks()
    return Compactor(policy=policy, chain=chain, limits=limits, tokens=tokens, sources=sources, hooks=hooks)


def warn_of_misfits(policy: Policy, limits: Limits) -> None:
    """Print on stderr what in a policy does not fit the model."""
    from cli.output import echo_note
    from compaction.policy.validate import policy_warnings

    for warning in policy_warnings(policy, limits=limits):
        echo_note(warning)
