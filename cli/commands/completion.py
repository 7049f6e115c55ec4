"""refold completion."""

from __future__ import annotations

import click


@click.command("completion", epilog="Example:  refold completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a shell script that completes refold's commands and options."""
    from click.shell_completion import get_completion_class

    from cli.output import echo_verbatim

    complete = get_completion_class(shell)
    assert complete is not None  # noqa: S101  click knows the three shells of the choice
    echo_verbatim(complete(ctx.find_root().command, {}, "refold", "_REFOLD_COMPLETE").source())
