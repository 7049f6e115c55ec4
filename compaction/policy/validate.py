"""Check a policy for unknown names and for settings that make no sense together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaction.part import Limits
from compaction.policy.model import Policy, Prompting
from compaction.summarizers.registry import SUMMARIZERS
from compaction.templates import SYSTEM, Source, find_template
from compaction.validation import InvalidInputError, ValidationIssue
from eventstore.errors import BadInputError, NotFoundError


def template_names(prompting: Prompting, *, instead: str = "") -> dict[str, str]:
    """Return the names of all templates that summaries may use, by key; "" for unnamed ones.

    `instead` overrides the summaries' templates, "" for none.
    """
    keys = ("turn_prefix", "short") if instead else ("template", "update", "turn_prefix", "short")
    named = {f"[prompting] {key}": getattr(prompting, key) for key in keys}
    return {"": SYSTEM} | {key: name for key, name in named.items() if name}


def find_missing_names(prompting: Prompting, sources: Sequence[Source] = ()) -> list[ValidationIssue]:
    """Return an issue for each missing or broken template and an unknown summarizer.

    Templates are looked up in `sources` first, then among the built-in ones.
    """
    return [*find_missing_templates(prompting, sources), *_summarizer(prompting)]


def find_missing_templates(
    prompting: Prompting, sources: Sequence[Source], *, instead: str = ""
) -> list[ValidationIssue]:
    """Return an issue for each missing or broken template.

    `instead` overrides the summaries' templates, "" for none.
    """
    names = template_names(prompting, instead=instead)
    return [issue for key, name in names.items() for issue in _template(key, name, sources)]


def policy_warnings(policy: Policy, *, limits: Limits) -> list[str]:
    """Return a line for each setting that makes no sense for a model of these limits."""
    trigger, window = policy.trigger, f"a window of {limits.window:,} tokens"
    if trigger.leaves_nothing(limits):
        return [f"every context is too large for {window}: reserve fewer tokens in its trigger"]
    threshold, kept = trigger.threshold(limits), policy.cut.most_kept(limits) if policy.cut else None
    if kept is None or kept < threshold:
        return []
    return [
        f"with {window}, the policy keeps up to {kept:,} and acts at {threshold:,}: keep fewer tokens in its cut"
    ]


def _template(where: str, name: str, sources: Sequence[Source]) -> Iterator[ValidationIssue]:
    try:
        find_template(name, sources)
    except NotFoundError as error:
        yield ValidationIssue(where, f"there is no template {name!r}", error.remedy)
    except InvalidInputError as error:
        for issue in error.issues:
            yield ValidationIssue(where, f"{error.source}: {issue.description}", issue.remedy)
    except BadInputError as error:
        yield ValidationIssue(where, f"{error.source}: {error.problem}", error.remedy)


def _summarizer(prompting: Prompting) -> Iterator[ValidationIssue]:
    name = prompting.summarizer
    if name and name not in SUMMARIZERS:
        there_are = f"there are: {', '.join(SUMMARIZERS)}"
        yield ValidationIssue("[prompting] summarizer", f"there is no summarizer {name!r}", there_are)
