"""`rescheduler resume`: ends the pause of evictions in a cluster."""

import click

from rescheduler.cli.shared.confirmation import confirm
from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.options import takes
from rescheduler.runtime.settings import Settings


@click.command()
@takes("kubeconfig", "context", "yes")
def command(settings: Settings) -> int:
    """End the pause of evictions in the cluster. The next cycle in mode Enforce may evict again.

    It writes `paused: "false"` into the ConfigMap rescheduler-state, and nothing else. Budgets,
    cool-downs and holds stay as they are.

    \b
      rescheduler resume
      rescheduler resume --context production --yes
    """  # noqa: D301 - click wants the character
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.pausing import PauseSwitch  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.kubernetes.client import connect  # noqa: PLC0415 - keeps help quick

    configure(settings)
    connection = connect(settings.kubeconfig, settings.context)
    switch = PauseSwitch(connection)
    if not switch.is_paused():
        say(f"Evictions in cluster {connection.name} are not paused. Nothing was changed.")
        return 0
    confirm(f"Let evictions in cluster {connection.name} go on?", yes=settings.yes)
    switch.write_paused(paused=False)
    say(
        f"The pause in cluster {connection.name} has ended. "
        "The next cycle in mode Enforce may evict again.\n"
        "Budgets, cool-downs and holds are as they were: see `rescheduler status`."
    )
    return 0
