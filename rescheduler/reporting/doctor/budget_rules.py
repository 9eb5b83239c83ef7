"""Which PodDisruptionBudgets can never allow an eviction, however long anybody waits."""

from collections.abc import Iterator

from rescheduler.documents.amounts import pods_of_amount
from rescheduler.kube.controllers import PodDisruptionBudget
from rescheduler.model.checkup import Diagnosis
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.wording import count_text
from rescheduler.reporting.alerts import advice

BUDGETS = "PodDisruptionBudgets"
_MANY = 10**9
_OWNER = "Its owner decides; `maxUnavailable: 1` lets one pod go at a time."


def check_budgets(snapshot: Snapshot) -> Iterator[Diagnosis]:
    """Budgets that never allow an eviction, and pods that two of them select."""
    bad = [*_never(snapshot), *_doubtful(snapshot), *_overlaps(snapshot)]
    yield from bad
    if not bad:
        text = f"{count_text(len(snapshot.budgets), 'PodDisruptionBudget')}. "
        text = f"{text}Each can allow an eviction." if snapshot.budgets else "There is none."
        yield Diagnosis(area=BUDGETS, severity="ok", message=text)


def why_never(budget: PodDisruptionBudget) -> str:
    """Why this budget allows no eviction even when all its pods are Ready, or "".

    Source: getExpectedScale in pkg/controller/disruption/disruption.go: a percentage of
    `minAvailable` is rounded up, and so is one of `maxUnavailable`.
    """
    spec, pods = budget.spec, budget.status.expectedPods
    if spec.maxUnavailable is not None:
        never = _amount(spec.maxUnavailable, _MANY) == 0
        return f"maxUnavailable is {spec.maxUnavailable}" if never else ""
    if spec.minAvailable is None or pods == 0:
        return ""
    if _ready_pods(spec.minAvailable, pods) >= pods:
        return f"minAvailable is {spec.minAvailable}, and it selects {count_text(pods, 'pod')}"
    return ""


def _amount(amount: int | str, of: int) -> int:
    return amount if isinstance(amount, int) else pods_of_amount(amount, of)


def _ready_pods(amount: int | str, pods: int) -> int:
    """How many pods must stay; a percentage is rounded up."""
    if isinstance(amount, int):
        return amount
    number = amount.removesuffix("%")
    return -(-int(number) * pods // 100) if number.isdigit() else 0


def _never(snapshot: Snapshot) -> Iterator[Diagnosis]:
    for budget in snapshot.budgets:
        why = why_never(budget)
        if why and budget.status.expectedPods:
            name = f"{budget.metadata.namespace}/{budget.metadata.name}"
            yield Diagnosis(
                area=BUDGETS,
                severity="warning",
                code="BUD002",
                message=f"{name} can never allow an eviction: {why}.",
                advice=_OWNER,
            )


def _doubtful(snapshot: Snapshot) -> Iterator[Diagnosis]:
    for budget in snapshot.budgets:
        if budget.doubt:
            yield Diagnosis(
                area=BUDGETS,
                severity="warning",
                code="BUD003",
                message=f"In namespace {budget.metadata.namespace}: {budget.doubt}.",
                advice=advice("BUD003"),
            )


def _overlaps(snapshot: Snapshot) -> Iterator[Diagnosis]:
    pairs: dict[tuple[int, ...], int] = {}
    representatives, template = snapshot.pod_template
    sizes = [0] * len(representatives)
    for number in template.tolist():
        sizes[number] += 1
    for place, pod in enumerate(representatives.tolist()):
        budgets = tuple(snapshot.budgets_of(pod))
        if len(budgets) > 1:
            pairs[budgets] = pairs.get(budgets, 0) + sizes[place]
    for budgets, pods in pairs.items():
        names = ", ".join(snapshot.budgets[budget].metadata.name for budget in budgets)
        namespace = snapshot.budgets[budgets[0]].metadata.namespace
        yield Diagnosis(
            area=BUDGETS,
            severity="warning",
            code="BUD001",
            message=f"{count_text(pods, 'pod')} of namespace {namespace} cannot be evicted: "
            f"{len(budgets)} budgets select them ({names}).",
            advice=advice("BUD001"),
        )
