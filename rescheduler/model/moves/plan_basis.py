"""What a plan counts on: readings, schedulers, and how landings compared with predictions."""

from typing import Annotated, Any

import msgspec

from rescheduler.model.field_doc import doc
from rescheduler.model.problem import Problem


class ReadingResult(msgspec.Struct, frozen=True, kw_only=True):
    """How good a reading was."""

    name: Annotated[str, doc("Name in the catalogue of readings.")]
    coverage: Annotated[
        float, doc("Share of the expected nodes or pods that have a value, 0 to 1.")
    ]
    ageSeconds: Annotated[
        float | None, doc("Age of the oldest value that was used; null where there is none.")
    ]
    windowSeconds: Annotated[float, doc("Time that a value is aggregated over.")]
    maxAgeSeconds: Annotated[float, doc("Age from which on a value is not trusted.")]
    minCoverage: Annotated[float, doc("Coverage below which the reading is unfit, 0 to 1.")]
    unit: Annotated[str, doc("Unit of the values.")]
    query: Annotated[str, doc("The PromQL that was evaluated.")]
    notes: Annotated[list[str], doc("What was odd and left out.")] = []
    problem: Annotated[Problem | None, doc("Why the reading is unfit, or null.")] = None


class CountedPods(msgspec.Struct, frozen=True, kw_only=True):
    """What a limit on moves that is a percentage is of."""

    limit: Annotated[str, doc("Field of the Limits.")]
    group: Annotated[
        str, doc("What is counted together, such as a namespace or a UID; empty: all moves.")
    ]
    pods: Annotated[int, doc("Pods that run in it: the percentage is of these.")]


class LandingRates(msgspec.Struct, frozen=True, kw_only=True):
    """How landings compared with their predictions; later ones weigh more."""

    kind: Annotated[str, doc("Kind of the controller; empty for all kinds.")]
    version: Annotated[str, doc("Version of the scheduler: major and minor.")]
    compared: Annotated[int, doc("Replacements whose landing was compared.")]
    hitRate: Annotated[
        float, doc("Share that landed where predicted at all, 0 to 1; later ones weigh more.")
    ]
    likeliestRate: Annotated[float, doc("Share that landed on one of the likeliest nodes, 0 to 1.")]
    brier: Annotated[float, doc("Mean Brier score over nodes: 0 is perfect, 2 the worst.")]
    expectedBrier: Annotated[
        float, doc("What it would be if the predicted probabilities were right.")
    ]


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of predicted landings."""

    scheduler: Annotated[str, doc("Version of the scheduler that counts now: major and minor.")]
    overall: Annotated[
        LandingRates | None,
        doc("All kinds under that version, or null where nothing was compared."),
    ] = None
    kinds: Annotated[
        list[LandingRates], doc("By kind of controller and version of the scheduler.")
    ] = []
    problem: Annotated[
        Problem | None,
        doc("Why pods of a kind stay until their landings are trusted again, or null."),
    ] = None


class SchedulerResult(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler whose decisions the plan counts on."""

    name: Annotated[str, doc("The spec.schedulerName of its pods.")]
    source: Annotated[
        str, doc("Where its profile comes from: the version's default, a document, /configz.")
    ]
    version: Annotated[str, doc("Minor version of Kubernetes that its decisions follow.")] = ""
    digest: Annotated[
        str, doc("SHA-256 of the profile; a move is only made while it is still this one.")
    ] = ""
    profile: Annotated[
        dict[str, Any], doc("All that is followed of it: plugins, weights and arguments.")
    ] = {}
    document: Annotated[
        dict[str, Any], doc("The Scheduler document that declares it; empty without one.")
    ] = {}
    problem: Annotated[
        Problem | None,
        doc("Why its decisions are not predicted, or null; its pods are left alone then."),
    ] = None
