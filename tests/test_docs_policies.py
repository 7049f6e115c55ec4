"""docs/policies.md is whole and true: every part, key and default is in it, and its examples are what they say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

import msgspec
import pytest

from cli.harness_protocol import HarnessEvent, parse_settings
from cli.user_files import toml_text
from compaction import rewrites
from compaction.continuations import CONTINUATIONS
from compaction.cuts import AnyCut
from compaction.maintainer import BranchSummaries, NextStep, Promotion, Settings
from compaction.newest_answer import DONE
from compaction.policy.load import load_preset, parse_policy, preset_names
from compaction.policy.model import Policy, Prompting, Restoring
from compaction.prompts import PROMPT_SHAPES
from compaction.rewrites import AnyRewrite
from compaction.summarizers.registry import SUMMARIZERS
from compaction.triggers import AnyTrigger
from projections.placements import PLACEMENTS
from tests.cli.running import PROJECT

PAGE: Final = (PROJECT / "docs" / "policies.md").read_text("utf-8")
SECTIONS: Final = {
    title: text
    for title, _, text in (part.partition("\n") for part in re.split(r"^###? ", PAGE, flags=re.MULTILINE)[1:])
}


def parts(union: Any) -> tuple[type[msgspec.Struct], ...]:
    """The parts of a registry, which may have one only."""
    return get_args(union) or (union,)


LISTS: Final[dict[str, type[msgspec.Struct]]] = {"A policy of your own": Policy, "Summaries": Prompting}
PARTS: Final = {
    str(part.__struct_config__.tag): part for part in (*parts(AnyTrigger), *parts(AnyRewrite), *parts(AnyCut))
}
TOML: Final = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]


def rows(section: str, heading: str) -> dict[str, str]:
    """The first two cells of the rows of the table with this first heading."""
    table = re.search(rf"^\| {heading} \|.*\n\|[- |]+\|\n((?:\|.*\n)*)", SECTIONS[section], re.MULTILINE)
    cells = [[cell.strip() for cell in row.split("|")] for row in (table[1] if table else "").splitlines()]
    return {row[1].strip("`"): row[2] for row in cells}


def keys_of_part(name: str) -> dict[str, str]:
    """The keys with their defaults behind a part's "Keys:"; it may name a part that has the same."""
    lists = SECTIONS["Trigger"] + SECTIONS["Rewrites"] + SECTIONS["Cuts"]
    (item,) = re.findall(rf"^- \*\*`{re.escape(name)}`\*\*:(.*?)\n(?! )", lists, re.MULTILINE | re.DOTALL)
    keys = item.partition("Keys:")[2]
    if same := re.match(r"\s+as `([\w-]+)`", keys):
        return keys_of_part(same[1])
    return keys_in(keys)


def keys_in(text: str) -> dict[str, str]:
    """The keys in a text with their defaults: `key = default`, or `key`: for one without."""
    found = re.findall(r"`([\w.]+)(?:\s=\s([^`]+)`|`:)", text)
    return {key: f"`{default}`" if default else "none" for key, default in found}


def defaults(struct: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """Each field of a struct with its default as the page writes it: as TOML has it, or "none"."""
    for field in msgspec.structs.fields(struct):
        if field.default is msgspec.NODEFAULT:
            yield field.encode_name, "none"
        elif isinstance(field.default, msgspec.Struct):
            yield field.encode_name, f"`[{field.encode_name}]`"
        else:
            yield field.encode_name, "none" if field.default is None else f"`{literal(field.default)}`"


def literal(value: Any) -> str:
    return toml_text({"x": value}).removeprefix("x = ").rstrip("\n")


@pytest.mark.parametrize("section", LISTS)
def test_every_key_has_its_default_listed(section: str) -> None:
    lists = "\n".join(re.findall(r"^- `.*", SECTIONS[section], re.MULTILINE))
    assert list(keys_in(lists).items()) == list(defaults(LISTS[section]))


@pytest.mark.parametrize("name", PARTS)
def test_each_row_has_its_parts_keys(name: str) -> None:
    assert list(keys_of_part(name).items()) == list(defaults(PARTS[name]))


def test_every_key_of_restoring_is_in_its_section() -> None:
    assert list(keys_in(SECTIONS["Restoring"]).items()) == list(defaults(Restoring))


def test_every_shape_of_prompts_is_named() -> None:
    assert [each for each in PROMPT_SHAPES if each not in SECTIONS["Summaries"]] == []


def test_every_setting_and_its_default_is_in_the_page_and_no_other_is() -> None:
    tables = {"promotion": Promotion, "branch_summary": BranchSummaries}
    of_tables = [(f"{name}.{key}", default) for name, of in tables.items() for key, default in defaults(of)]
    policys = {"reserve_tokens": "none", "keep_recent_tokens": "none"}
    of_settings = {**dict(defaults(Settings)), **policys}
    del of_settings["branch_summary"]
    lists = "\n".join(re.findall(r"^- `.*", SECTIONS["Settings"], re.MULTILINE))
    assert list(keys_in(lists).items()) == [*of_settings.items(), *of_tables]


def test_every_preset_is_in_the_table_with_its_rewrites_continuation_and_counter() -> None:
    lines = [line for line in SECTIONS["Presets"].splitlines() if line.startswith("| `")]
    table = {name: line for line in lines for name in re.findall(r"`([^`]+)`", line.split("|")[1])}
    assert sorted(table) == preset_names()
    for name, row in table.items():
        policy = load_preset(name)
        for part in policy.rewrites:
            assert str(part.__struct_config__.tag) in row
        assert f"| `{policy.continuation}` | `{policy.counter}` |" in row


def test_what_rewrites_show_is_in_the_page() -> None:
    shown = (
        rewrites.MASKED,
        rewrites.COMPACTED,
        rewrites.CLEARED,
        rewrites.SUPERSEDED,
        rewrites.ELIDED,
        DONE,
    )
    assert [text for text in shown if text not in " ".join(PAGE.split())] == []


@pytest.mark.parametrize(
    ("section", "heading", "choices"),
    [
        ("Placement", "placement", PLACEMENTS),
        ("Continuation", "continuation", CONTINUATIONS),
        ("While a harness runs", "`do`", get_args(NextStep)),
    ],
)
def test_every_choice_is_a_row_of_its_table(section: str, heading: str, choices: Iterable[str]) -> None:
    assert list(rows(section, heading)) == list(choices)


def test_every_summarizer_is_named() -> None:
    assert [name for name in SUMMARIZERS if f"`{name}`" not in SECTIONS["Summaries"]] == []


def test_security_names_every_address() -> None:
    security = (PROJECT / "SECURITY.md").read_text("utf-8")
    variables = [kind.endpoint_variable for kind in SUMMARIZERS.values() if kind.endpoint_variable]
    assert [each for each in variables if f"`{each}`" not in security] == []


def test_what_a_harness_can_tell_is_in_the_page_and_is_understood() -> None:
    decode = msgspec.json.Decoder(HarnessEvent).decode
    told = rows("While a harness runs", "line")
    assert [type(decode(line)) for line in told] == list(get_args(HarnessEvent))


def test_the_policy_in_the_page_is_a_policy() -> None:
    (policy,) = (block for block in TOML if "name" in block)
    made = parse_policy(toml_text(policy), source="docs")
    assert (made.name, made.cut, made.trigger) == (
        "mine",
        msgspec.structs.replace(load_preset("oh-my-pi").cut, tokens=40_000),
        load_preset("oh-my-pi").trigger,
    )


def test_the_settings_in_the_page_are_settings() -> None:
    (settings,) = (block for block in TOML if "name" not in block)
    promotion = parse_settings(settings, "docs").promotion
    assert promotion is not None
    assert promotion.window == 1_000_000
