"""Resources, labels and namespaces in a policy that the cluster lacks, with the nearest."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from rescheduler.documents.label_selector import Selector
from rescheduler.documents.validation import near
from rescheduler.kube.objects import Labels, PodSpec
from rescheduler.kube.pods.pod_requests import pod_requests
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import NO_OWNER, Exclude, Match
from rescheduler.policies.shared import pod_facts
from rescheduler.policies.shared.matching import select_pods

_MOST = 3
"""How many values of a label are shown."""


def absent_resource(at: str, name: str, snapshot: Snapshot) -> Iterator[str]:
    """Why a target of this resource can never cost anything. at: the field that names it."""
    offered = {resource for node in snapshot.nodes for resource in node.status.allocatable or {}}
    if snapshot.nodes and name not in offered:
        yield _with_hint(f"{at}: no node offers {name}", near(name, offered))
    elif name != "pods" and snapshot.pods:
        specs, _ = snapshot.pod_asking
        if not any(pod_requests(spec).get(name) for spec in specs):
            yield f"{at}: no pod requests {name}"


def absent_labels(at: str, keys: Sequence[str], snapshot: Snapshot) -> Iterator[str]:
    """Why no node is in a domain, if a node must have one of these labels."""
    present = _keys(node.metadata.labels for node in snapshot.nodes)
    if not snapshot.nodes or present & set(keys):
        return
    which = keys[0] if len(keys) == 1 else f"one of the labels {', '.join(keys)}"
    text = f"{at}: no node has {'the label ' if len(keys) == 1 else ''}{which}"
    yield _with_hint(text, near(keys[0], present))


def absent_in_pods(
    at: str, what: str, match: Match, snapshot: Snapshot, has: Callable[[PodSpec], bool]
) -> Iterator[str]:
    """Why a rule that pods bring themselves has nothing to go by. has: whether a pod brings it."""
    chosen = select_pods(match, snapshot)
    representatives, of_pod = snapshot.pod_template
    selected = set(of_pod[chosen].tolist())
    if selected and not any(
        has(snapshot.pods[representatives[template]].spec) for template in selected
    ):
        yield f"{at}: no pod that it selects has {what}"


def why_no_pod(at: str, match: Match | Exclude, snapshot: Snapshot) -> str:
    """Why a match selects no pod."""
    return why_never(at, match, snapshot) or f"{at}: no pod satisfies all that it says"


def why_never(at: str, match: Match | Exclude, snapshot: Snapshot) -> str:
    """The first thing that it asks for and that no pod has; "" where it is all of them together."""
    pods = [pod.metadata.labels for pod in snapshot.pods]
    names = {namespace.metadata.name for namespace in snapshot.namespaces} | {
        pod.metadata.namespace for pod in snapshot.pods
    }
    missing = [namespace for namespace in match.namespaces or () if namespace not in names]
    if missing and len(missing) == len(match.namespaces or ()):
        text = f"{at}: there is no namespace {', '.join(missing)}"
        return _with_hint(text, near(missing[0], names))
    if match.labels is not None:
        nodes = [node.metadata.labels for node in snapshot.nodes]
        why = _unmet_requirement("pod", match.labels, pods, "node", nodes)
        if why:
            hint = (
                "; Maybe `nodes` is meant, which selects nodes" if why.endswith("have it") else ""
            )
            return f"{at}: {why}{hint}"
    if match.namespaceSelector is not None:
        spaces = [namespace.metadata.labels for namespace in snapshot.namespaces]
        why = _unmet_requirement("namespace", match.namespaceSelector, spaces, "pod", pods)
        if why:
            return f"{at}: {why}"
    for field, what, wanted, options in _beyond_labels(match, snapshot):
        missing = [name for name in wanted if name not in options]
        if missing and len(missing) == len(wanted):
            text = f"{at}.{field}: {what} {' or '.join(missing)}"
            return _with_hint(text, near(missing[0], options))
    if match.podDisruptionBudget == "Exists" and not snapshot.budgets:
        return f"{at}.podDisruptionBudget: there is no PodDisruptionBudget"
    if match.resourceClaims == "Exists" and not pod_facts.has_resource_claims(snapshot).any():
        return f"{at}.resourceClaims: no pod has ResourceClaims"
    return ""


def _beyond_labels(
    match: Match | Exclude, snapshot: Snapshot
) -> Iterator[tuple[str, str, Sequence[str], set[str]]]:
    """Fields with the names that they want, and those that there are."""
    if match.ownerKinds:
        options = pod_facts.owner_kinds(snapshot) | {NO_OWNER}
        yield "ownerKinds", "no pod is run by a", match.ownerKinds, options
    if match.requests:
        yield "requests", "no pod requests", match.requests, pod_facts.requested_resources(snapshot)
    claims = match.persistentVolumeClaims
    if claims is not None and claims.storageClasses:
        options = pod_facts.storage_classes(snapshot)
        field = "persistentVolumeClaims.storageClasses"
        yield field, "there is no StorageClass", claims.storageClasses, options


def why_no_node(at: str, match: NodeMatch, snapshot: Snapshot) -> str:
    """Why a match selects no node."""
    if match.labels is not None:
        nodes = [node.metadata.labels for node in snapshot.nodes]
        pods = [pod.metadata.labels for pod in snapshot.pods]
        why = _unmet_requirement("node", match.labels, nodes, "pod", pods)
        if why:
            hint = "; Maybe `match` is meant, which selects pods" if why.endswith("have it") else ""
            return f"{at}: {why}{hint}"
    return f"{at}: no node satisfies all that it says"


def _unmet_requirement(
    what: str,
    selector: Selector,
    of_these: Sequence[Labels | None],
    other: str,
    of_others: Sequence[Labels | None],
) -> str:
    """The first requirement that none satisfies, or "" where it is all of them together."""
    wanted = [(key, [value]) for key, value in selector.matchLabels.items()]
    wanted += [
        (expression.key, list(expression.values) if expression.operator == "In" else [])
        for expression in selector.matchExpressions
        if expression.operator in ("In", "Exists")
    ]
    present = _keys(of_these)
    for key, values in wanted:
        if key not in present:
            text = f"no {what} has the label {key}"
            if key in _keys(of_others):
                return f"{text}; {other}s have it"
            return _with_hint(text, near(key, present))
        has = {label[key] for label in of_these if label and key in label}
        if values and not has & set(values):
            shown = ", ".join(sorted(has)[:_MOST])
            more = ", ..." if len(has) > _MOST else ""
            text = f"no {what} has {key} with the value {' or '.join(values)}"
            return _with_hint(f"{text} (they have {shown}{more})", near(values[0], has))
    return ""


def _keys(labels: Iterable[Labels | None]) -> set[str]:
    return {key for label in {id(one): one for one in labels if one}.values() for key in label}


def _with_hint(text: str, hint: str) -> str:
    return f"{text}; Maybe {hint} is meant" if hint else text
