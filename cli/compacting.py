"""Options of commands that compact: policy, templates, window, and who is asked for a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

import click
from click.shell_completion import CompletionItem

from cli.options import Decorator
from cli.user_files import POLICIES, TEMPLATES

if TYPE_CHECKING:
    from compaction.part import Limits, PolicyPart
    from compaction.policy.model import Policy
    from compaction.summarizers import Cancellation
    from compaction.summarizers.asking import Asker
    from compaction.templates import Source, Template
    from eventstore.lmdb.store import LmdbLog
    from eventstore.log import EventLog
    from projections.context.cursor import Leaf


DEFAULT_WINDOW: Final = 200_000
_WHO_ASKS: Final = {
    "anthropic": "a key is set: the summary is asked of Anthropic; --summarizer extractive asks nobody",
    "extractive": "no ANTHROPIC_API_KEY is set: the summary is extracted from the log, without a model",
}
"""What is said where a person has not chosen."""

window_option: Final[Decorator] = click.option(
    "--window",
    type=click.IntRange(1),
    default=DEFAULT_WINDOW,
    show_default=True,
    metavar="TOKENS",
    help="How much the session's model takes.",
)


def policy_option(default: str) -> Decorator:
    """The option that names a policy."""
    return click.option(
        "--policy",
        metavar="NAME|FILE",
        default=default,
        show_default=True,
        help="A policy that comes with refold, one of your own, or a TOML file.",
    )


class Asking(TypedDict):
    """The options of `asking_options`, as a command gets them."""

    summarizer: str | None
    models: tuple[str, ...]
    endpoint: str


class SummarizerName(click.ParamType):  # type: ignore[type-arg]  # older clicks take none
    """The name of a summarizer; the registry that has them is not loaded before somebody asks for one."""

    name = "summarizer"

    def get_metavar(self, *args: Any, **fields: Any) -> str | None:
        return self._choice.get_metavar(*args, **fields)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._choice.convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self._choice.shell_complete(ctx, param, incomplete)

    @property
    def _choice(self) -> click.Choice[str]:
        from compaction.summarizers.registry import SUMMARIZERS

        return click.Choice(list(SUMMARIZERS))


_ASKING: Final[list[Decorator]] = [
    click.option(
        "--summarizer",
        type=SummarizerName(),
        help="Who writes the summary.  [default: anthropic where its key is set, else extractive]",
    ),
    click.option(
        "--model",
        "models",
        metavar="NAME",
        multiple=True,
        help="The model that anthropic asks; given again, the one to ask where those before it fail.",
    ),
    click.option(
        "--endpoint",
        metavar="URL",
        default="",
        help="The address that http asks, or of a server that speaks as Anthropic does.",
    ),
]


def asking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options by which a person chooses who writes a summary."""
    for option in reversed(_ASKING):
        command = option(command)
    return command


class Asked(NamedTuple):
    """Who is asked for a summary: a summarizer by its name, and its models, () for its own.

    `is_chosen`: the options or the policy name it.
    """

    summarizer: str
    models: tuple[str, ...]
    is_chosen: bool


def who_is_asked(ctx: click.Context, asking: Asking, policy: Policy | None = None) -> Asked:
    """The summarizer of the options, else the policy's, else the usual one; so the models.

    Raises UsageError for options that say nothing to the summarizer, NotFoundError for a policy's that there is not.
    """
    from compaction.summarizers.registry import SUMMARIZERS, default_summarizer
    from eventstore.errors import NotFoundError

    name, models, endpoint = asking["summarizer"], asking["models"], asking["endpoint"]
    if models and name is not None and not SUMMARIZERS[name].takes_model:
        raise click.UsageError(f"--model says nothing to --summarizer {name}", ctx)
    of_models = next(each for each, kind in SUMMARIZERS.items() if kind.takes_model)
    by_policy = policy.prompting.summarizer if policy is not None and not models else ""
    choice = name or by_policy or (of_models if models else "")
    chosen = choice or default_summarizer()
    if chosen not in SUMMARIZERS:
        raise NotFoundError("summarizer", chosen, f"there are: {', '.join(SUMMARIZERS)}")
    if endpoint and not (choice and SUMMARIZERS[choice].endpoint):
        whose = [
            f"--summarizer {each} ({kind.endpoint})" for each, kind in SUMMARIZERS.items() if kind.endpoint
        ]
        raise click.UsageError(f"--endpoint goes with {' or '.join(whose)}: add one of them", ctx)
    if not models and policy is not None and SUMMARIZERS[chosen].takes_model:
        models = policy.prompting.models
    return Asked(chosen, models, is_chosen=bool(choice))


def asker_of(
    ctx: click.Context,
    log: LmdbLog,
    asking: Asking,
    is_cancelled: Cancellation,
    policy: Policy | None = None,
    *,
    session: str = "",
    instructions: str = "",
    remote: str | None = None,
) -> Asker:
    """How the chosen summarizer is asked, which is told on stderr.

    So is, before it is asked first, who it is where nobody chose, and that it follows no instructions where there are
    any. `session` is the one at hand, `remote` the address of a service that is asked before, if one is. Raises what
    `who_is_asked` does, BadInputError for http without an address, and SummarizerError for anthropic without a key.
    """
    from cli.summarizing import Waiting
    from compaction.summarizers.asking import Asker
    from compaction.summarizers.registry import Choice, summarizer_named

    asked = who_is_asked(ctx, asking, policy)
    foretold = []
    if not asked.is_chosen:
        who = _WHO_ASKS[asked.summarizer]
        foretold.append(f"{remote} is asked first; where it fails: {who}" if remote else who)
    if instructions:
        foretold += ignored_instructions(asked.summarizer)
    return Asker(
        summarizers=[
            summarizer_named(
                asked.summarizer,
                Choice(log=log, session=session, model=model, endpoint=asking["endpoint"]),
            )
            for model in asked.models or ("",)
        ],
        is_cancelled=is_cancelled,
        onlooker=Waiting(foretold),
    )


def ignored_instructions(summarizer: str) -> list[str]:
    """What is to be told of instructions to a summarizer that follows none."""
    from compaction.summarizers.registry import SUMMARIZERS

    follows = SUMMARIZERS[summarizer].follows_instructions
    return [] if follows else [f"{summarizer} follows no instructions: it selects from the messages"]


def new_session_name() -> str:
    """A name for a session that goes on from another."""
    from eventstore.event import random_id

    return f"handoff-{random_id()}"


def policy_named(name: str) -> Policy:
    """The policy of a file's path, of a person's own folder, or one that comes with refold.

    Raises NotFoundError, and BadInputError for one that is broken, or goes by another name inside.
    """
    from compaction.policy.load import find, policy_of_file

    return policy_of_file(Path(name)) if POLICIES.is_path(name) else find(name, [POLICIES.folder])


def part_name(part: PolicyPart) -> str:
    """What a part of a policy is called in TOML."""
    return str(part.__struct_config__.tag)


def template_sources() -> list[Source]:
    """Where templates are looked for before the session and those that come with refold."""
    from compaction.templates import from_folder, from_plugins

    return [*from_plugins(), from_folder(TEMPLATES.folder)]


def template_of_file(path: str) -> Template:
    """The template of a file. Raises BadInputError."""
    from compaction.templates import parse
    from eventstore.errors import BadInputError

    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadInputError(f"template {path}", reason, "name a file, or one of 'refold templates'") from None
    return parse(text, source=path)


def with_template(sources: list[Source], name: str) -> tuple[list[Source], str]:
    """Sources that have the template which a person names, and its name; a file's comes before all others."""
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
    """Raise where a template is not there for a session, before anybody is asked for anything.

    A policy that makes no summaries needs none. `instead` is the one that a person names in place of those of the
    policy's summaries, "" for none. Raises NotFoundError for that one, FaultyInputError for those that the policy
    names.
    """
    if not policy.summarizes:
        return
    from compaction.policy.validate import unresolved_templates
    from compaction.templates import find, with_session
    from compaction.validation import FaultyInputError
    from projections.context.cursor import stand

    with log.snapshot() as snapshot:
        in_session = with_session(sources, snapshot, stand(snapshot, session, leaf=leaf))
    if instead:
        find(instead, in_session)
    if found := unresolved_templates(policy.prompting, in_session, instead=instead):
        raise FaultyInputError(f"policy {policy.name}", found)


def check_window(policy: Policy, limits: Limits) -> None:
    """Raise BadInputError where every context would be too large; tell on stderr what else does not fit the model."""
    from eventstore.errors import BadInputError

    if policy.trigger.leaves_nothing(limits):
        problem = f"for a window of {limits.window:,} tokens every context is too large"
        raise BadInputError(f"policy {policy.name}", problem, "lower what its trigger keeps free")
    tell_misfits(policy, limits)


def tell_misfits(policy: Policy, limits: Limits) -> None:
    """Tell on stderr what of a policy does not fit its model."""
    from cli.output import echo_note
    from compaction.policy.validate import warnings

    for warning in warnings(policy, limits=limits):
        echo_note(warning)
