"""refold completion."""

from __future__ import annotations

import click


@click.command("completion", epilog="Example:  refold completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print the script as a JSON string.")
@click.pass_context
def command(ctx: click.Context, shell: str, *, as_json: bool) -> None:
    """Print a shell script that completes refold's commands and options."""
    from click.shell_completion import get_completion_class

    from cli.output import echo_json, echo_verbatim

    complete = get_completion_class(shell)
    assert complete is not None  # noqa: S101  click knows the three shells of the choice
    script = complete(ctx.find_root().command, {}, "refold", "_REFOLD_COMPLETE").source()
    if as_json:
        echo_json({"shell": shell, "script": script})
    else:
        echo_verbatim(script)
