"""Which rights an account needs for its mode, and what a checkup says of those that it has."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rescheduler.model.checkup import Diagnosis
from rescheduler.model.wording import count_text

RIGHTS = "Rights"
_MOST = 12
_HARMLESS = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
"""API groups of reviews, which change nothing."""
_READING = frozenset({"get", "list", "watch"})
EVERYTHING = "*"


class Right(NamedTuple):
    """A verb on the resources of an API group; "" as namespace or name: on all of them.

    served: the path of the list where the cluster may not serve it, so that nobody needs the right.
    optional: what is less good without the right; "" where it is needed.
    """

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    served: str = ""
    optional: str = ""

    def __str__(self) -> str:
        """As people say it: `update configmaps/rescheduler-state in rescheduler`."""
        group = f".{self.group}" if self.group else ""
        name = f"/{self.name}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{name}{where}"


class GrantedRule(NamedTuple):
    """A rule as a SelfSubjectRulesReview tells it."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]


def check_rights(
    account: str, mode: str, expected: Iterable[Right], missing: Iterable[Right]
) -> Iterator[Diagnosis]:
    """What the account lacks for its mode."""
    expected, missing = tuple(expected), tuple(missing)
    needed = [right for right in missing if not right.optional]
    if needed:
        yield Diagnosis(
            area=RIGHTS,
            severity="error",
            message=f"{account} lacks for mode {mode}: {name_rights(needed)}.",
            advice="Apply the manifests of deploy/kustomize for this mode again.",
        )
    for why in dict.fromkeys(right.optional for right in missing if right.optional):
        lacking = [right for right in missing if right.optional == why]
        yield Diagnosis(
            area=RIGHTS,
            severity="note",
            message=f"{account} may not {name_rights(lacking)}: {why}",
            advice="Apply the component of deploy/kustomize that grants it, if you want it.",
        )
    if not needed:
        count = count_text(len(expected) - len(missing), "right")
        text = f"{account} has the {count} that mode {mode} needs."
        yield Diagnosis(area=RIGHTS, severity="ok", message=text)


def check_spare(account: str, mode: str, spare: Iterable[str]) -> Iterator[Diagnosis]:
    """What the account may do and does not need."""
    spare = tuple(spare)
    if EVERYTHING in spare:
        yield Diagnosis(
            area=RIGHTS,
            severity="warning",
            message=f"{account} may do everything in this cluster, and mode {mode} needs little.",
            advice="Run it as the account of deploy/kustomize.",
        )
    elif spare:
        more = f" and {len(spare) - _MOST} more" if len(spare) > _MOST else ""
        yield Diagnosis(
            area=RIGHTS,
            severity="warning",
            message=f"{account} may do what mode {mode} does not need: "
            f"{', '.join(spare[:_MOST])}{more}.",
            advice="Find out who granted it, and take it away.",
        )


def spare_rights(rules: Iterable[GrantedRule], expected: Iterable[Right]) -> list[str]:
    """What rules grant beyond the expected rights: writes, and reading secrets."""
    expected = tuple(expected)
    answer: dict[str, None] = {}
    for rule in rules:
        if EVERYTHING in rule.verbs and EVERYTHING in rule.groups and EVERYTHING in rule.resources:
            return [EVERYTHING]
        for group in rule.groups:
            if group in _HARMLESS:
                continue
            for resource in rule.resources:
                for verb in rule.verbs:
                    if _is_spare(verb, resource, group, rule.names, expected):
                        answer[str(Right(verb, resource, group, name="|".join(rule.names)))] = None
    return list(answer)


def _is_spare(
    verb: str, resource: str, group: str, names: tuple[str, ...], expected: tuple[Right, ...]
) -> bool:
    if verb in _READING and resource != "secrets":
        return False
    ours = [right for right in expected if right[:3] == (verb, resource, group)]
    if any(not right.name for right in ours):
        return False
    own_names = {right.name for right in ours}
    return not names or not set(names) <= own_names


def name_rights(rights: Iterable[Right]) -> str:
    """The first rights by name, and how many more there are."""
    names = [str(right) for right in rights]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
