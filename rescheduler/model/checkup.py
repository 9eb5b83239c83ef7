"""A checkup: what the rescheduler needs of a cluster, whether it is there, and what to do."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from rescheduler.model.field_doc import SchemaVersion, doc

SCHEMA_VERSION = "1"

Severity = Literal[
    "ok",  # it is as it must be
    "note",  # good to know; nothing must be done
    "warning",  # something moves less than it could, or is less safe than it looks
    "error",  # something cannot work as it is
]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked."""

    area: Annotated[str, doc("What it belongs to.")]
    severity: Annotated[
        Severity,
        doc(
            "ok; note: nothing must be done; warning: less moves than could, or it is less "
            "safe than it looks; error: something cannot work as it is."
        ),
    ]
    message: Annotated[str, doc("What was found.")]
    advice: Annotated[str, doc("What to do; empty for nothing.")] = ""
    code: Annotated[str, doc("Reason code; empty where there is none.")] = ""


class Checkup(msgspec.Struct, frozen=True, kw_only=True, tag="Checkup", tag_field="kind"):
    """What the rescheduler needs of a cluster, and whether it is there."""

    schemaVersion: SchemaVersion = SCHEMA_VERSION
    tool: Annotated[str, doc("Name and version of the program that wrote this.")]
    taken: Annotated[
        datetime, doc("When the cluster was read, by the API server's clock where it was.")
    ]
    cluster: Annotated[str, doc("Name of the cluster, as the kubeconfig calls it.")]
    version: Annotated[
        str, doc("Version of the API server; empty where the cluster could not be read.")
    ]
    mode: Annotated[str, doc("Mode for which the rights must do.")]
    account: Annotated[str, doc("Whose rights were checked; empty where nobody could say.")]
    diagnoses: Annotated[list[Diagnosis], doc("All that was checked, area by area.")]

    def of_severity(self, severity: Severity) -> list[Diagnosis]:
        """Those of that severity."""
        return [diagnosis for diagnosis in self.diagnoses if diagnosis.severity == severity]
