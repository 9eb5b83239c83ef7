"""`rescheduler history`: what was moved, whether it helped, and what was prevented."""

import shutil

import click

from rescheduler.cli.shared.options import takes
from rescheduler.cli.shared.output import check_writable, has_colors, trail_of
from rescheduler.runtime.settings import Settings


@click.command()
@takes("audit_trail", "since", "output", "out", formats=("table", "json", "html"))
def command(settings: Settings) -> int:
    """Show from an audit trail what was moved and why, where it went, and whether it helped.

    The trail is what --audit-trail of run and apply wrote; lines of a log that are no records are
    skipped. Exits with 1 where records were changed, lost or moved, and says where.

    \b
      rescheduler history --audit-trail /var/log/rescheduler/ --since 7d
      kubectl logs deployment/rescheduler | rescheduler history --audit-trail - -o html --out h.html
    """  # noqa: D301 - click wants the character
    check_writable(settings.out, trail_of(settings))
    from rescheduler.model.wording import count_text  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.inspecting.move_history import move_history  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.output_file import write_output  # noqa: PLC0415 - keeps help quick

    configure(settings)
    history = move_history(settings)
    if settings.output == "json":
        from rescheduler.reporting.history.history_json import (  # noqa: PLC0415 - only what is shown
            history_json,
        )

        data = history_json(history)
    elif settings.output == "html":
        from rescheduler.reporting.history.history_page import (  # noqa: PLC0415 - only what is shown
            render_history_page,
        )

        data = render_history_page(history).encode()
    else:
        from rescheduler.reporting.history.history_text import (  # noqa: PLC0415 - only what is shown
            render_history,
        )

        width = shutil.get_terminal_size((100, 24)).columns
        data = render_history(history, width=width, color=has_colors(settings.out)).encode()
    write_output(data, settings.out)
    checked = history.integrity
    if not checked.broken:
        return 0
    click.echo(
        f"error: the audit trail is broken in {count_text(checked.broken, 'place')}, first at "
        f"{checked.problems[0]}",
        err=True,
    )
    return 1
