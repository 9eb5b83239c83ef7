"""`rescheduler completion`: lets a shell complete verbs, options, their values and files."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "rescheduler"
_VARIABLE = "_RESCHEDULER_COMPLETE"
"""By which the shell asks the program itself; click reads it."""
_KUBECTL = rf"""#!/bin/sh
for word; do :; done
export COMP_WORDS="{_PROGRAM} $*" COMP_CWORD="$word" {_VARIABLE}=fish_complete
answers=$(kubectl-{_PROGRAM})
printf '%s\n' "$answers" | sed -n 's/^plain,//p'
case $answers in *file,* | *dir,*) echo :0 ;; *) echo :4 ;; esac"""
"""What kubectl runs for `kubectl rescheduler`: it wants an answer a line, and then whether files
are another answer (0) or not (4)."""


@click.command()
@click.argument("shell", type=click.Choice([*SHELLS, "kubectl"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script by which a shell completes `rescheduler`, or kubectl its plugin.

    What is for kubectl must be on the PATH, where kubectl's own completion is set up.

    \b
      rescheduler completion bash > ~/.local/share/bash-completion/completions/rescheduler
      rescheduler completion zsh > "${fpath[1]}/_rescheduler"
      rescheduler completion fish > ~/.config/fish/completions/rescheduler.fish
      rescheduler completion kubectl > ~/bin/kubectl_complete-rescheduler
    """  # noqa: D301 - click wants the character
    completion = get_completion_class(shell)
    if completion is None:
        click.echo(_KUBECTL)
    else:
        program = ctx.find_root().command
        click.echo(completion(program, {}, _PROGRAM, _VARIABLE).source())
    return 0
