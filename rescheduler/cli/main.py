"""The command itself: imports a verb when it is called, and reports every fault in a sentence."""

import atexit
import gc
import importlib
import os
import sys
import traceback
from typing import Any

import click
from click.shell_completion import CompletionItem

from rescheduler import __version__
from rescheduler.cli.shared.messages import say
from rescheduler.model.errors import ReschedulerError
from rescheduler.runtime.stopping import end_on_signals

_VERBS = {
    "plan": "Show which pods to move and why; changes nothing.",
    "explain": "Show why a pod or a node is as it is, or why pods are Pending.",
    "render": "Show a saved plan or outcome again.",
    "apply": "Carry out a reviewed plan.",
    "run": "Plan and, in mode Enforce, act: once, or on a schedule.",
    "status": "Show what runs, why nothing moves now, and what is left of each budget.",
    "pause": "Hold all evictions in the cluster, while plans are still made.",
    "resume": "End the pause of evictions.",
    "doctor": "Check what the rescheduler needs of this cluster, and say what to do.",
    "reset": "End a hold, forget landings or a demotion by name, or accept a lost state.",
    "history": "Show what was moved, whether it helped, and what was prevented.",
    "check": "Check policy files.",
    "readings": "Print what readings are defined by, and what a metric source has of them.",
    "convert": "Write policies that say what a file of descheduler says.",
    "test": "Run policy tests: small clusters, and what policies must do to them.",
    "record": "Save the cluster and its readings to a file.",
    "schema": "Print the JSON Schema of policies, plans and other results.",
    "webhook": "Steer replacements as they are created, for the API server.",
    "extender": "Answer a scheduler of your own about nodes.",
    "completion": "Print the script by which a shell completes all of this.",
    "version": "Print the version.",
}

_EXAMPLES = """Finds pods that are no longer well placed, and evicts the few that are worth moving.

Only `apply` and `run --mode Enforce` evict anything.

\b
  rescheduler plan
  rescheduler plan --policies policies/ --prometheus-url http://localhost:9090
  rescheduler plan --policies policies/ --snapshot FILE -o html --out report.html
"""


class Program(click.Group):
    """Imports a verb only when it is called, so that help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - of click
        """The verbs, in the order in which people need them."""
        return list(_VERBS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - of click
        cmd_name: str,
    ) -> click.Command | None:
        """The verb's command, from its own file."""
        if cmd_name not in _VERBS:
            return None
        module = importlib.import_module(f"rescheduler.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb; one that does not exist is answered with those that are like it."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=_VERBS, ctx=ctx
            ) from error

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - of click
        formatter: click.HelpFormatter,
    ) -> None:
        """The table of verbs, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin so, without importing them: a person waits for the answer."""
        verbs = [
            CompletionItem(verb, help=sentence)
            for verb, sentence in _VERBS.items()
            if verb.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb and exit with the code that it answers, or that its fault has."""
        try:
            code = super().invoke(ctx)
        except ReschedulerError as error:
            say(f"{'note' if error.exit_code == 0 else 'error'}: {error}", err=True)
            code = error.exit_code
        except (click.exceptions.Exit, click.ClickException, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            say("stopped", err=True)
            code = 130
        except Exception as error:  # noqa: BLE001 - the edge: people get a sentence, not a traceback
            code = _report_unwritable(error) or _report_unexpected(error)
        ctx.exit(code or 0)


def _report_unwritable(error: Exception) -> int:
    """Say that standard output cannot be written; 0 where the error is another."""
    if not isinstance(error, OSError):
        return 0
    from rescheduler.sources.output_file import output_error  # noqa: PLC0415 - keeps help quick

    problem = output_error(error)
    if problem is None:
        return 0
    say(f"error: {problem}", err=True)
    return problem.exit_code


def _report_unexpected(error: Exception) -> int:
    if "--debug" in sys.argv or os.environ.get("RESCHEDULER_DEBUG", "").lower() in ("1", "true"):
        traceback.print_exception(error)
    text = " ".join(str(error).split())[:500]
    where = traceback.extract_tb(error.__traceback__)[-1]
    say(
        f"error: unexpected {type(error).__name__}: {text} "
        f"(in {os.path.basename(where.filename)}:{where.lineno})\n"  # noqa: PTH119 - no Path needed
        "  Maybe this is our mistake: run it again with --debug and report what it prints.",
        err=True,
    )
    return 1


@click.version_option(__version__, message="%(version)s")
@click.group(
    cls=Program,
    help=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def program() -> None:
    """The whole command line."""


def collect_seldom() -> None:
    """Look for garbage less often than Python does by itself.

    What is imported stays, and so does the cluster: to look through it again and again takes an
    eighth of a short run.
    """
    gc.set_threshold(10_000, 10, 10)


def main() -> None:
    """Entry point of the `rescheduler` and `kubectl-rescheduler` commands."""
    collect_seldom()
    atexit.register(gc.disable)
    end_on_signals()
    try:
        program(prog_name="rescheduler")
    except OSError as error:  # of the help, which click prints before there is a command to run
        code = _report_unwritable(error) or _report_unexpected(error)
        sys.exit(code)
