"""Runs one cycle and ends: for a CronJob or a person."""

from rescheduler.model.moves.plan import Report
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.parts import connection_of, parts_of, policies_of, state_of
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop


def run_once(settings: Settings) -> tuple[Report, int]:
    """Run one cycle in the settings' mode; answers its plan or outcome, and the exit code.

    Raises:
        ReschedulerError: there is neither.
    """
    policies = policies_of(settings)
    connection = connection_of(settings)
    stop = Stop()
    state = None
    if settings.mode == "Enforce" and connection is not None:
        state = state_of(connection, stop)
        stop.on_signals()
    parts = parts_of(
        settings,
        connection,
        state=state,
        stop=stop,
        policies=lambda: policies,
        remembers=True,
    )
    report = run_cycle(parts, seed=settings.seed)
    return report, exit_code(report)
