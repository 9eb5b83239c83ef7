"""Whether a saved plan or outcome is still as it was written.

Two things are recomputed when a file is read. The plan's digest says whether what decides was
changed; it is what people approve. The file's checksums, one for each part of it, cover all the
rest too, and name the part that was changed. Neither is a signature: who can write the file can
write both again, so anybody who approves a plan keeps its digest elsewhere (`apply --digest`).
"""

from typing import Any

from rescheduler import __version__
from rescheduler.model.errors import PlanEdited
from rescheduler.model.moves.plan import Report, plan_in
from rescheduler.model.moves.plan_digest import ID_LENGTH, checksum, digest_of
from rescheduler.model.wording import clean
from rescheduler.reporting.phrasing import shorten

CHECKSUMS = "checksums"
_DIGITS = 16
_MOST_NAMED = 6


def checksums(document: dict[str, Any]) -> dict[str, str]:
    """The first digits of the SHA-256 of each part of a file; in an outcome, of its plan's too."""
    return {name: checksum(part)[:_DIGITS] for name, part in _parts(document).items()}


def _parts(document: dict[str, Any]) -> dict[str, Any]:
    parts = {key: part for key, part in document.items() if key != CHECKSUMS}
    plan = parts.get("plan")
    if isinstance(plan, dict):
        del parts["plan"]
        parts |= {f"plan.{key}": part for key, part in plan.items()}
    return parts


def check_unedited(report: Report, document: dict[str, Any], path: str) -> None:
    """Refuse what is not as it was written. document: the same file as plain JSON.

    Raises:
        PlanEdited: the digest or a checksum is another than what the file holds makes.
    """
    plan = plan_in(report)
    digest = digest_of(plan)
    changed = _changed_parts(document)
    if plan.digest == digest and plan.id == digest[:ID_LENGTH] and changed == []:
        return
    if plan.digest == digest:
        made = f"its digest {digest} still covers what decides"
    else:
        written = shorten(clean(plan.digest), 64) or "missing"
        made = f"its digest is {written}, and what it holds now makes {digest}"
    raise PlanEdited(
        f"{path} was changed after it was written: {made}; {_changes(changed)}",
        _hint(clean(plan.tool), changed),
    )


def _changed_parts(document: dict[str, Any]) -> list[str] | None:
    """The parts that were changed, added or taken away; None where that is not known."""
    written = document.get(CHECKSUMS)
    if not isinstance(written, dict):
        return None
    checksums_now = checksums(document)
    return [
        name
        for name in {**checksums_now, **written}
        if checksums_now.get(name) != written.get(name)
    ]


def _changes(changed: list[str] | None) -> str:
    if not changed:
        return f"which part was changed is not known, since its {CHECKSUMS} are " + (
            "missing" if changed is None else "those of what it holds now"
        )
    named = ", ".join(f"`{shorten(clean(name), 40)}`" for name in changed[:_MOST_NAMED])
    more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    return f"changed: {named}{more}"


def _hint(tool: str, changed: list[str] | None) -> str:
    ours = f"rescheduler {__version__}"
    if changed == [] and tool != ours:
        theirs = shorten(tool, 60) or "another version"
        return f"{theirs} wrote it, and this is {ours}: make a new plan with this one."
    return "make a new plan with `plan -o json`: a plan is changed by its policies, never by hand."
