"""Which schedulers of a document cannot be predicted, as can be seen from the document alone."""

from collections.abc import Iterator

from rescheduler.documents.field_problems import FieldWarning
from rescheduler.documents.validation import near
from rescheduler.scheduler.config.known_plugins import PARTS, PLACELESS
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.scheduler_profile import (
    HALF_ON,
    MAY_DECIDE,
    NOT_MODELLED,
    declared_profiles,
)
from rescheduler.scheduler.config.versions import NEWEST


def unpredictable(document: Scheduler) -> Iterator[FieldWarning]:
    """Why pods of a scheduler stay where they are, whatever the cluster is."""
    at = ("configuration",) if document.configuration is not None else ()
    for profile in declared_profiles(document, f"1.{NEWEST}", {}):
        if profile.problem:
            message = f"pods of {profile.name} stay where they are: {profile.problem}"
            yield FieldWarning(at, message, hint=_advice(profile.problem))


def _advice(problem: str) -> str:
    """The one change that would help."""
    subject = problem.removeprefix("its plugin ").removeprefix("the extender ").partition(" ")[0]
    if problem == NOT_MODELLED.format(subject):
        say = f"`addedPlugins: [{{name: {subject}, affectsPlacement: false}}]`"
        harmless = f"{say} in this document, if it never decides on which node a pod goes"
        near_name = [] if subject in (*PARTS, *PLACELESS) else near(subject, (*PARTS, *PLACELESS))
        return f"{near_name} is meant; else {harmless}" if near_name else harmless
    if problem == MAY_DECIDE.format(subject):
        say = f"`harmlessExtenders: [{subject}]`"
        return f"{say} in this document, if it is ignorable and never decides where a pod goes"
    if problem == HALF_ON.format(subject):
        return "turn it on or off at all of its extension points, as multiPoint does"
    return ""
