"""`rescheduler pause`: holds all evictions in a cluster, while plans are still made."""

import click

from rescheduler.cli.shared.confirmation import confirm
from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.options import takes
from rescheduler.runtime.settings import Settings


@click.command()
@takes("kubeconfig", "context", "yes")
def command(settings: Settings) -> int:
    """Pause all evictions in the cluster. Plans are still made and reported.

    It writes `paused: "true"` into the ConfigMap rescheduler-state, and nothing else. A cycle that
    is under way stops before its next eviction.

    \b
      rescheduler pause
      rescheduler pause --context production --yes
    """  # noqa: D301 - click wants the character
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.pausing import PauseSwitch  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.kubernetes.client import connect  # noqa: PLC0415 - keeps help quick

    configure(settings)
    connection = connect(settings.kubeconfig, settings.context)
    switch = PauseSwitch(connection)
    if switch.is_paused():
        say(f"Evictions in cluster {connection.name} are paused already. Nothing was changed.")
        return 0
    confirm(f"Pause all evictions in cluster {connection.name}?", yes=settings.yes)
    switch.write_paused(paused=True)
    say(
        f"Evictions in cluster {connection.name} are paused. Plans are still made and reported.\n"
        "A cycle that is under way stops before its next eviction.\n"
        "`rescheduler resume` ends the pause."
    )
    return 0
