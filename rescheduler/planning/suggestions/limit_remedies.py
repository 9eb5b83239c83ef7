"""Remedies that change a field of the Limits: steering, a limit on moves, a setting, a guard."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from pydantic import ValidationError

from rescheduler.model.wording import count_text
from rescheduler.planning.limits.allowances import Allowances
from rescheduler.planning.suggestions.remedies import Remedy, Situation
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.move_limit_fields import MoveLimit
from rescheduler.steering.means_registry import MEANS

STEERABLE = ("FEA002", "FEA003", "FEA011", "FEA016", "FEA017")
"""Why a pod stays that kube-scheduler would send where it should not go."""
STEERING_CHANGE = "Turn on steering"
_LIMITS_OWNER = "the owners of the Limits"
_STEPS = 20
"""Steps of `maxHotShare`: 5 % each."""


@dataclass(frozen=True)
class SettingRemedy:
    """Another value of a field of the Limits. factor: of its number, where it has no own value."""

    code: str
    field: str
    value: Any
    risk: str
    decides: str = _LIMITS_OWNER
    factor: float | None = None


SETTINGS = (
    SettingRemedy(
        "ELG012",
        "minReplicas",
        1,
        "a workload with one Ready pod has none while its replacement starts",
        "the owners of these workloads",
    ),
    SettingRemedy(
        "ELG010",
        "localStorage",
        "Allow",
        "what these pods keep in emptyDir and hostPath volumes is lost",
        "the owners of these pods",
    ),
    SettingRemedy(
        "ELG014",
        "jobs",
        "Allow",
        "each eviction may count as a failure of its Job",
        "the owners of these Jobs",
    ),
    SettingRemedy(
        "ELG016",
        "gangs",
        "Surplus",
        "a gang has fewer pods while one of them starts again",
        "the owners of these gangs",
    ),
    SettingRemedy(
        "ELG036",
        "otherOwners",
        "Allow",
        "owners of kinds that are not read may have opted out unseen",
    ),
    SettingRemedy("MRG001", "margin", None, "pods restart for smaller gains", factor=0.5),
    SettingRemedy("MRG002", "gainShare", None, "pods restart for smaller gains", factor=0.5),
)
"""Each with the reason code that it takes away."""


def limit_remedies(situation: Situation) -> Iterator[Remedy]:
    """All of them that could let a candidate move that is left alone now."""
    guarded = _hot_share(situation)
    if guarded is not None:
        yield guarded
    pods = situation.count(*STEERABLE)
    steered = steering_remedy(situation, situation.policies) if pods else None
    if steered is not None:
        yield replace(steered, pods=pods)
    yield from _move_limits(situation)
    yield from _settings(situation)


def with_limits(policies: PolicySet, **fields: Any) -> PolicySet | None:
    """The policies with other Limits; None where such Limits contradict themselves."""
    limits = policies.limits
    document = limits.model_dump(mode="python") | fields
    try:
        changed = type(limits).model_validate(document)
    except ValidationError:
        return None
    return replace(policies, limits=changed)


def steering_remedy(situation: Situation, policies: PolicySet) -> Remedy | None:
    """Steering of the first means that this cluster serves, where none is on."""
    if policies.limits.steering.means != "None":
        return None
    for name, means in MEANS.items():
        if means.taints or means.extends:
            continue  # these write nodes, or need another scheduler
        impossible = means.impossible(situation.snapshot, policies.schedulers, ["Prefer"])
        if next(iter(impossible), None) is not None:
            continue
        changed = with_limits(policies, steering={"by": name, "strength": "Prefer"})
        if changed is not None:
            most = max(STEERABLE, key=lambda code: (situation.count(code), code))
            return Remedy(
                code=most,
                change=STEERING_CHANGE,
                how=f"Write `steering: {{by: {name}}}` in the Limits, and apply "
                "its component of deploy/kustomize",
                policies=changed,
            )
    return None


def _hot_share(situation: Situation) -> Remedy | None:
    """A greater `maxHotShare`, where that is what holds the cycle."""
    if not any(guard.code == "GRD001" for guard in situation.plan.guards):
        return None
    share = 0.0
    for binding in situation.copy.bindings:
        if binding.loaded is not None and binding.term is not None and binding.term.scope():
            share = max(share, len(binding.loaded.hot_nodes()) / binding.term.scope())
    least = min(ceil(share * _STEPS) / _STEPS, 1.0)
    changed = with_limits(situation.policies, maxHotShare=least)
    if changed is None:
        return None
    return Remedy(
        code="GRD001",
        change=f"Raise maxHotShare to {least:.0%}",
        how=f"Write `maxHotShare: {least:.0%}` in the Limits",
        policies=changed,
        pods=situation.count("GRD001"),
        risk="it guards against readings that are wrong, so check these first",
        decides=_LIMITS_OWNER,
    )


def _move_limits(situation: Situation) -> Iterator[Remedy]:
    """Each limit on moves that candidates have reached, twice as high."""
    limits = situation.policies.limits
    for row in limits.move_limits:
        pods = situation.count(row.code)
        if not pods:
            continue
        amount = _double(limits.amount(row))
        changed = with_limits(situation.policies, **{row.field: amount})
        if changed is not None and amount != limits.amount(row):
            yield Remedy(
                code=row.code,
                change=f"{_limit_sentence(situation, row)}; raise it to {amount}",
                how=f"Write `{row.field}: {amount}` in the Limits",
                policies=changed,
                pods=pods,
                risk=f"more pods are moved{row.per.per} {row.within.text}; without it later cycles "
                "make these moves",
                decides=_LIMITS_OWNER,
            )


def _limit_sentence(situation: Situation, row: MoveLimit) -> str:
    """What the limit does to the moves that it holds back: later cycles make them."""
    amount = situation.policies.limits.amount(row)
    moves = count_text(amount, "move") if isinstance(amount, int) else f"{amount} of the pods"
    per = f"{row.per.noun} and {row.within.name}" if row.per.noun else row.within.name
    windows = _windows_needed(situation, row)
    does = "lets none of these move"
    if windows is not None:
        does = f"spreads these moves over up to {count_text(windows, row.within.name)}"
    return f"Your limit of {moves} per {per} {does}"


def _windows_needed(situation: Situation, row: MoveLimit) -> int | None:
    """In how many cycles, hours or days all candidates could move; None where none ever could.

    Some of those that the limit refuses now may turn out to gain nothing, so it is the most.
    """
    snapshot = situation.snapshot
    allowances = Allowances(snapshot, situation.policies.limits)
    groups = allowances.groups(row.per)
    moves = Counter(groups.number(row.per.of_move(move, snapshot)) for move in situation.plan.moves)
    moves.update(int(groups.of_pods[pod]) for pod in situation.refused_by(row.code))
    needed = [(count, allowances.allowance_of(row, group).most) for group, count in moves.items()]
    if not all(most for _, most in needed):
        return None
    # What earlier moves have used of the limit takes part of the first one.
    return max(2, *(ceil(count / most) for count, most in needed))


def _double(amount: int | str) -> int | str:
    if isinstance(amount, int):
        return 2 * max(amount, 1)
    share = float(amount.removesuffix("%"))
    return f"{min(2 * share, 100.0):g}%"


def _settings(situation: Situation) -> Iterator[Remedy]:
    """Each setting of the table that candidates are left alone for."""
    for setting in SETTINGS:
        pods, now = situation.count(setting.code), getattr(situation.policies.limits, setting.field)
        value = setting.value if setting.factor is None else setting.factor * now
        changed = with_limits(situation.policies, **{setting.field: value}) if pods else None
        if changed is None or value == now:
            continue
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        yield Remedy(
            code=setting.code,
            change=f"Set {setting.field} to {shown}",
            how=f"Write `{setting.field}: {shown}` in the Limits",
            policies=changed,
            pods=pods,
            risk=setting.risk,
            decides=setting.decides,
        )
