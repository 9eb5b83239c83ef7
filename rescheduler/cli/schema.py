"""`rescheduler schema`: for editors and for programs that read plans."""

import json

import click


@click.command()
@click.argument(
    "what",
    type=click.Choice(
        ["policies", "plan", "outcome", "explanation", "history", "status", "checkup"]
    ),
    default="policies",
)
def command(what: str) -> int:
    """Print the JSON Schema of policy files, plans and other results."""
    if what == "plan":
        from rescheduler.reporting.formats.plan_json import plan_schema  # noqa: PLC0415 - only what is asked

        schema = plan_schema()
    elif what == "outcome":
        from rescheduler.reporting.formats.plan_json import (  # noqa: PLC0415 - only what is asked
            outcome_schema,
        )

        schema = outcome_schema()
    elif what == "explanation":
        from rescheduler.reporting.explain.report import (  # noqa: PLC0415 - only what is asked
            explanation_schema,
        )

        schema = explanation_schema()
    elif what == "history":
        from rescheduler.reporting.history.history_json import (  # noqa: PLC0415 - only what is asked
            history_schema,
        )

        schema = history_schema()
    elif what == "status":
        from rescheduler.reporting.status.status_json import (  # noqa: PLC0415 - only what is asked
            status_schema,
        )

        schema = status_schema()
    elif what == "checkup":
        from rescheduler.reporting.doctor.checkup_json import (  # noqa: PLC0415 - only what is asked
            checkup_schema,
        )

        schema = checkup_schema()
    else:
        from rescheduler.policies.files.json_schema import json_schema  # noqa: PLC0415 - only what is asked

        schema = json_schema()
    click.echo(json.dumps(schema, indent=2))
    return 0
