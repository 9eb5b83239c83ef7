"""The pages of the command line and of the settings, made from its own parser."""

import inspect
from collections.abc import Iterator

import click

from rescheduler.cli.main import program

_HEAD = ("| option | default | meaning |", "|---|---|---|")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every verb, and what a verb has below it, by what people write."""
    context = click.Context(program)
    for verb in program.list_commands(context):
        command = program.get_command(context, verb)
        assert command is not None
        yield verb, command
        if isinstance(command, click.Group):
            yield from ((f"{verb} {name}", below) for name, below in command.commands.items())


def commands_part() -> str:
    """All verbs with their options."""
    parts: list[str] = []
    for name, command in commands():
        parts += [f"## {name}", "", *_help_lines(command), *_usage(name, command), ""]
        rows = [_row(option) for option in command.params if isinstance(option, click.Option)]
        if rows:
            parts += [*_HEAD, *rows, ""]
    return "\n".join(parts)


def settings_part() -> str:
    """Every variable of the environment, with the verbs that obey it."""
    verbs: dict[str, list[str]] = {}
    options: dict[str, click.Option] = {}
    for name, command in commands():
        for option in command.params:
            if isinstance(option, click.Option) and option.envvar:
                verbs.setdefault(_variable(option), []).append(name)
                options.setdefault(_variable(option), option)
    rows = [
        f"| {variable} | {_default(options[variable])} | {_meaning(options[variable])} "
        f"| {'all' if len(names) > 12 else ', '.join(names)} |"
        for variable, names in sorted(verbs.items())
    ]
    return "\n".join(["| variable | default | meaning | verbs |", "|---|---|---|---|", *rows])


def _help_lines(command: click.Command) -> list[str]:
    """The help as Markdown: what click is told to leave as it is, is code."""
    parts: list[str] = []
    for block in inspect.cleandoc(command.help or "").split("\n\n"):
        lines = block.splitlines()
        as_it_is = lines[0].strip() == "\b"
        parts += ["```sh", *map(str.strip, lines[1:]), "```", ""] if as_it_is else [*lines, ""]
    return parts


def _usage(name: str, command: click.Command) -> list[str]:
    words = command.collect_usage_pieces(click.Context(command))
    return ["```text", f"rescheduler {name} {' '.join(words)}", "```"]


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return f"| {names} | {_default(option)} | {_meaning(option)} |"


def _variable(option: click.Option) -> str:
    names = [option.envvar] if isinstance(option.envvar, str) else [*(option.envvar or [])]
    return ", ".join(f"`{name}`" for name in names)


def _default(option: click.Option) -> str:
    default = option.default
    return f"`{default}`" if isinstance(default, str | int | float) and default else ""


def _meaning(option: click.Option) -> str:
    choices = getattr(option.type, "choices", ())
    one_of = f" One of {', '.join(f'`{choice}`' for choice in choices)}." if choices else ""
    return f"{option.help or ''}{one_of}".replace("|", "\\|").replace("<", "&lt;")
