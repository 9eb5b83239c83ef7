"""`rescheduler check`: policy files, before they reach a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rescheduler.cli.options import SOURCES, takes
from rescheduler.runtime.settings import Settings

if TYPE_CHECKING:
    from rescheduler.policies.documents import PolicySet


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@takes(
    *SOURCES,
    "snapshot",
)
def command(settings: Settings, paths: tuple[Path, ...]) -> int:
    """Check policy files, or folders of them; every problem gets its file, line and column.

    With a Prometheus or a snapshot also whether each reading answers, for how many nodes or pods,
    and how old it is. Exits with 1 where a policy would have no say.

    \b
      rescheduler check policies/
      rescheduler check policies/ --prometheus-url http://localhost:9090
    """  # noqa: D301 - click wants the character
    from rescheduler.policies.documents import load_policies  # noqa: PLC0415 - pydantic is slow
    from rescheduler.runtime.checking import dead  # noqa: PLC0415
    from rescheduler.stories.running import is_story, load  # noqa: PLC0415

    code = 0
    for path in paths:
        if is_story(path):
            click.echo(f"{path}: {len(load(path).tests)} stories; `rescheduler test` tells them")
            continue
        found = load_policies(path)
        names = ", ".join(f"{each.kind} {each.name} ({each.mode})" for each in found.policies)
        click.echo(f"{path}: {len(found.policies)} valid: {names}")
        for remark in dead(found):
            click.echo(f"  note: {remark}")
        if settings.prometheus_url or settings.snapshot or settings.kubeconfig or settings.context:
            code = max(code, _against_cluster(found, settings))
    return code


def _against_cluster(policies: "PolicySet", settings: Settings) -> int:
    from rescheduler.runtime.checking import answers, idle, unheard  # noqa: PLC0415
    from rescheduler.runtime.observing import observer  # noqa: PLC0415
    from rescheduler.runtime.parts import connection_of  # noqa: PLC0415

    observe = observer(settings, connection_of(settings))
    snapshot = observe([each for one in policies.policies for each in one.requests()])
    for title, answer in answers(policies, snapshot):
        click.echo(f"  {title}: {answer}")
    for remark in idle(policies, snapshot):
        click.echo(f"  note: {remark}")
    mute = list(unheard(policies, snapshot))
    for policy, problem in mute:
        click.echo(f"  no say: {policy.kind} {policy.name}: {problem.code} {problem.message}")
    return 1 if mute else 0
