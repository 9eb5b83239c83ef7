"""`rescheduler completion`: lets a shell complete verbs, options, their values and files."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "rescheduler"
_VARIABLE = "_RESCHEDULER_COMPLETE"
"""By which the shell asks the program itself; click reads it."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script by which a shell completes `rescheduler`.

    \b
      rescheduler completion bash > ~/.local/share/bash-completion/completions/rescheduler
      rescheduler completion zsh > "${fpath[1]}/_rescheduler"
      rescheduler completion fish > ~/.config/fish/completions/rescheduler.fish
    """  # noqa: D301 - click wants the character
    completion = get_completion_class(shell)
    assert completion is not None  # noqa: S101 - each of SHELLS is one that click has
    program = ctx.find_root().command
    click.echo(completion(program, {}, _PROGRAM, _VARIABLE).source())
    return 0
