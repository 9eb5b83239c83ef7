"""A checkup: what the rescheduler needs of a cluster, whether it is there, and what to do."""

from datetime import datetime
from typing import Literal

import msgspec

SCHEMA_VERSION = "1"

Severity = Literal[
    "ok",  # it is as it must be
    "note",  # good to know; nothing must be done
    "warning",  # something moves less than it could, or is less safe than it looks
    "error",  # something cannot work as it is
]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked. area: what it belongs to. advice: what to do, "" for nothing."""

    area: str
    severity: Severity
    message: str
    advice: str = ""
    code: str = ""


class Checkup(msgspec.Struct, frozen=True, kw_only=True, tag="Checkup", tag_field="kind"):
    """All that was checked, area by area. account: whose rights. mode: for which they must do."""

    schemaVersion: str = SCHEMA_VERSION
    tool: str
    taken: datetime
    cluster: str
    version: str
    mode: str
    account: str
    diagnoses: list[Diagnosis]

    def of_severity(self, severity: Severity) -> list[Diagnosis]:
        """Those of that severity."""
        return [diagnosis for diagnosis in self.diagnoses if diagnosis.severity == severity]
