"""refold templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import click

from cli.user_files import ActionOptions, action_options, run_action

if TYPE_CHECKING:
    from compaction.templates import Template


@click.command("templates", epilog="Example:  refold templates show compaction")
@action_options(origin_help="With new: the template to copy.")
@click.pass_context
def command(ctx: click.Context, **options: Unpack[ActionOptions]) -> None:
    """List templates, show one, start your own, or check it.

    A template is a Markdown file with TOML between two lines `+++`: its name, version and sections. Your own
    are stored as NAME.md in the folder `templates` of REFOLD_CONFIG, or of the platform's settings folder,
    and override refold's by name.
    """
    run_action(ctx, options, listing=_list, begin=_new, show=_show)


def _list(*, as_json: bool) -> list[str]:
    """List all templates; return the problems of invalid ones."""
    from cli.compacting import template_sources
    from cli.output import console, echo_json, safe_line, table
    from cli.user_files import TEMPLATES
    from compaction.templates import built_in_names, find_template
    from eventstore.errors import RefoldError

    found: list[Template] = []
    problems: list[str] = []
    for name in sorted({*TEMPLATES.names(), *built_in_names()}):
        try:
            found.append(find_template(name, template_sources()))
        except RefoldError as error:
            problems += error.lines
    if as_json:
        echo_json({"templates": [_json(each) for each in found], "problems": problems})
    else:
        listing = table("NAME", "VERSION", "FROM", "SECTIONS THAT IT ASKS FOR", right=("VERSION",))
        for each in found:
            sections = ", ".join(each.sections)
            listing.add_row(
                safe_line(each.name), str(each.version), safe_line(each.source), safe_line(sections)
            )
        console().print(listing)
    return problems


def _new(name: str, origin: str | None, *, as_json: bool) -> None:
    from cli.output import echo_json, echo_text, safe_line
    from cli.user_files import TEMPLATES
    from compaction.templates import built_in_names, built_in_text, rename_template
    from eventstore.errors import NotFoundError, shell_command

    if origin is None and name not in built_in_names():
        raise NotFoundError(
            "template", name, "name the template to start from with --from, such as compaction"
        )
    begun = built_in_text(name) if origin is None else rename_template(_text_of(origin), name)
    path = TEMPLATES.add(name, begun)
    if as_json:
        echo_json({"template": name, "path": str(path)})
    else:
        echo_text(f"edit {safe_line(str(path))}, then: {safe_line(shell_command('templates check', name))}")


def _text_of(name: str) -> str:
    """Return the file text of a template: the user's own, refold's, or one from a package."""
    from cli.compacting import template_sources
    from cli.user_files import TEMPLATES
    from compaction.templates import built_in_text, find_template

    template, own = find_template(name, template_sources()), TEMPLATES.find(name)
    if own is not None and template.source == str(own):
        return own.read_text("utf-8")
    return built_in_text(name) if template.source == "built-in" else _file(template)


def _show(ctx: click.Context, name: str, *, is_check: bool, as_json: bool) -> None:
    from cli.compacting import template_of_file, template_sources
    from cli.output import echo_json, echo_note, echo_text, echo_verbatim, safe_line
    from cli.user_files import TEMPLATES
    from compaction.templates import find_template, template_warnings

    del ctx
    template = template_of_file(name) if TEMPLATES.is_path(name) else find_template(name, template_sources())
    found = template_warnings(template)
    if as_json:
        more = {"strip": template.strip, "text": template.text, "warnings": found}
        echo_json({**_json(template), **more})
    elif is_check:
        asks = f"asks for {', '.join(template.sections)}" if template.sections else "asks for no sections"
        echo_text(safe_line(f"{template.name} is a template, version {template.version}: {asks}"))
    else:
        echo_verbatim(_file(template))
    for warning in found:
        echo_note(warning)


def _json(template: Template) -> dict[str, Any]:
    return {
        "name": template.name,
        "version": template.version,
        "source": template.source,
        "sections": list(template.sections),
        "digest": template.digest,
    }


def _file(template: Template) -> str:
    """Return a template in the form of its file."""
    from cli.user_files import toml_text

    front = {"name": template.name, "version": template.version, "sections": list(template.sections)}
    strip = {"strip": template.strip} if template.strip else {}
    return f"+++\n{toml_text({**front, **strip})}+++\n{template.text}"
