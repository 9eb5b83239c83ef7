"""`rescheduler reset`: ends a hold, forgets landings or a demotion, or accepts a lost state."""

import click

from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.options import takes
from rescheduler.runtime.settings import Settings

_NAMES = {
    "hold": "a namespace, or NAMESPACE/POD",
    "landings": "a kind of controller, or KIND/NAMESPACE",
    "demotion": "a policy",
}


@click.command()
@click.argument("target", type=click.Choice([*_NAMES, "state"]))
@click.argument("name", required=False, default="")
@takes("kubeconfig", "context")
def command(settings: Settings, target: str, name: str) -> int:
    """Reset one thing by its name. The next run obeys; nothing that was spent is given back.

    \b
    hold NAMESPACE[/POD]        forgive missing replacements: they hold nobody any more
    landings KIND[/NAMESPACE]   forget where such pods landed, so that they are moved again
    demotion POLICY             let a demoted policy act again
    state                       accept a lost, replaced or restored state, with no moves in it

    A state that can be believed is never reset: budgets, cool-downs and moves stay as they are.
    """  # noqa: D301 - click wants the character
    if (target == "state") == bool(name):
        needs = "takes no name" if target == "state" else f"needs a name: {_NAMES[target]}"
        raise click.UsageError(f"`reset {target}` {needs}")
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.resetting import Resetting  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.kubernetes.client import connect  # noqa: PLC0415 - keeps help quick

    configure(settings)
    resetting = Resetting(connect(settings.kubeconfig, settings.context))
    if target == "state":
        doubt = resetting.state()
        if not doubt:
            say("There is nothing to reset: the state can be believed. Budgets stay as they are.")
            return 0
        say(f"The next run begins with an empty state, and slowly. It was not believed: {doubt}.")
        return 0
    done = resetting.by_name(target, name)
    if not done:
        say(f"There is nothing to reset: no {target} of {name} is known.")
    for line in done:
        say(f"From the next run on {line}.")
    return 0
