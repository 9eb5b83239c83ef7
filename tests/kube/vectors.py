"""Questions to Kubernetes' own code, and its answers, which the tests of `kube` are held to.

`python -m tests.kube.vectors` asks them again (it needs Go, and the modules that the end-to-end
suite builds its control plane from) and writes `answers.json`.
"""

import json
import random
import subprocess
import tempfile
from pathlib import Path
from shutil import copy
from typing import Any

FOLDER = Path(__file__).parent
ANSWERS = FOLDER / "answers.json"
MODULE = FOLDER.parent / "e2e" / "controlplane" / "kubernetes"

QUANTITIES = {
    "cpu": ["100.5m", "1", "0", "250m", "0.1", "2", "3500u", "1500m"],
    "memory": ["1Gi", "128Mi", "0", "1500000", "1e9", "1.5Gi", "100M", "1234567890m"],
    "ephemeral-storage": ["1Gi", "0", "500M"],
    "nvidia.com/gpu": ["1", "2", "8"],
    "example.com/share": ["1", "250", "30"],
    "deviceclass.resource.kubernetes.io/gpu": ["1"],
    "attachable-volumes-x": ["3"],
}
"""Odd amounts are there on purpose: only they show when a component rounds."""
POD_WIDE = ("cpu", "memory")
VALUES = ["1", "2", "2", "x", "1_0", "10" * 12]
"""Of labels; the last is no int64, and the one before it no number."""
HUGE = ["2Mi", "4Mi", "100Mi"]


def resources(draw: random.Random) -> dict[str, Any]:
    """Requests and limits; huge pages as the API server takes them, with equal ones."""
    answer: dict[str, Any] = {}
    for side in ("requests", "limits"):
        if draw.random() < 0.7:
            names = draw.sample(sorted(QUANTITIES), draw.randint(0, 3))
            answer[side] = {name: draw.choice(QUANTITIES[name]) for name in names}
    if draw.random() < 0.1:
        amount = draw.choice(HUGE)
        for side in ("requests", "limits"):
            answer.setdefault(side, {})["hugepages-2Mi"] = amount
    return answer


def status(draw: random.Random, container: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": container["name"]}
    if draw.random() < 0.7:
        answer["resources"] = {
            "requests": {
                name: draw.choice(QUANTITIES[name]) for name in POD_WIDE if draw.random() < 0.6
            }
        }
        if draw.random() < 0.5:
            answer["allocatedResources"] = {"cpu": draw.choice(QUANTITIES["cpu"])}
    return answer


def pod(draw: random.Random) -> dict[str, Any]:
    containers = [
        {"name": f"c{number}", "resources": resources(draw)} for number in range(draw.randint(1, 3))
    ]
    first: list[dict[str, Any]] = [
        {"name": f"i{number}", "resources": resources(draw)} for number in range(draw.randint(0, 3))
    ]
    for container in first:
        if draw.random() < 0.5:
            container["restartPolicy"] = "Always"
    spec: dict[str, Any] = {"containers": containers, "initContainers": first}
    if draw.random() < 0.3:
        spec["overhead"] = {"cpu": draw.choice(["10.5m", "250m"]), "memory": "16Mi"}
    if draw.random() < 0.3:
        spec["resources"] = {
            side: {name: draw.choice(QUANTITIES[name]) for name in POD_WIDE if draw.random() < 0.6}
            for side in ("requests", "limits")
            if draw.random() < 0.7
        }
    answer: dict[str, Any] = {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}
    if draw.random() < 0.4:
        answer["status"] = {
            "containerStatuses": [status(draw, container) for container in containers],
            "initContainerStatuses": [status(draw, container) for container in first],
        }
        if "resources" in spec and draw.random() < 0.7:
            answer["status"]["resources"] = {
                "requests": {name: draw.choice(QUANTITIES[name]) for name in POD_WIDE}
            }
            answer["status"]["allocatedResources"] = {"cpu": draw.choice(QUANTITIES["cpu"])}
        if draw.random() < 0.3:
            reason = draw.choice(["Infeasible", "Deferred"])
            answer["status"]["conditions"] = [
                {"type": "PodResizePending", "status": "True", "reason": reason}
            ]
    return answer


def taints() -> list[dict[str, Any]]:
    """Every toleration against every taint, out of few words."""
    tolerations = [
        {"key": key, "operator": operator, "value": value, "effect": effect}
        for key in ("", "gpu", "other")
        for operator in ("", "Equal", "Exists", "Gt", "Lt", "Odd")
        for value in ("", "yes")
        for effect in ("", "NoSchedule")
    ]
    found = [
        {"key": "gpu", "value": value, "effect": effect}
        for value in ("", "yes")
        for effect in ("NoSchedule", "PreferNoSchedule")
    ]
    return [{"toleration": one, "taint": other} for one in tolerations for other in found]


def requirement(draw: random.Random, operators: list[str]) -> dict[str, Any]:
    operator = draw.choice(operators)
    answer: dict[str, Any] = {"key": draw.choice(["a", "b", "c"]), "operator": operator}
    if operator in ("In", "NotIn"):
        answer["values"] = draw.sample(["1", "2", "x"], draw.randint(1, 2))
    elif operator in ("Gt", "Lt"):
        answer["values"] = [draw.choice(["1", "2", "07", "1_0", "9" * 18, "9" * 20])]
    return answer


def labels(draw: random.Random) -> dict[str, str]:
    return {key: draw.choice(VALUES) for key in "abc" if draw.random() < 0.6}


def selector(draw: random.Random) -> dict[str, Any] | None:
    if draw.random() < 0.3:
        return None
    plain = ["In", "NotIn", "Exists", "DoesNotExist"]
    return {
        "matchLabels": {"a": "1"} if draw.random() < 0.3 else {},
        "matchExpressions": [requirement(draw, plain) for _ in range(draw.randint(0, 2))],
    }


def term(draw: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"topologyKey": "zone", "labelSelector": {}}
    if draw.random() < 0.6:
        made["namespaces"] = draw.sample(["own", "one", "two", "gone"], draw.randint(0, 2))
    chosen = selector(draw)
    if chosen is not None:
        made["namespaceSelector"] = chosen
    spaces = {name: labels(draw) for name in ("own", "one", "two", "three")}
    return {"own": "own", "term": made, "namespaces": spaces}


def node_term(draw: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {}
    operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    if draw.random() < 0.8:
        count = draw.randint(0, 2)
        made["matchExpressions"] = [requirement(draw, operators) for _ in range(count)]
    if draw.random() < 0.3:
        names = draw.sample(["n0", "n1", "n2"], draw.choice([1, 1, 1, 2]))
        operator = draw.choice(["In", "NotIn"])
        made["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": names}]
    return made


def node_case(draw: random.Random) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if draw.random() < 0.7:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [node_term(draw) for _ in range(draw.randint(0, 3))]
        }
    affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
        {"weight": draw.randint(1, 100), "preference": _preference(draw)}
        for _ in range(draw.randint(0, 2))
    ]
    spec = {"containers": [], "affinity": {"nodeAffinity": affinity}}
    if draw.random() < 0.4:
        spec["nodeSelector"] = labels(draw)
    nodes = [{"metadata": {"name": f"n{number}", "labels": labels(draw)}} for number in range(4)]
    return {"spec": spec, "nodes": nodes}


def _preference(draw: random.Random) -> dict[str, Any]:
    """A preference that can be read: kube-scheduler gives up on the pod where it cannot."""
    made = node_term(draw)
    for field in made.get("matchFields", ()):
        field["values"] = field["values"][:1]
    for expression in made.get("matchExpressions", ()):
        if expression["operator"] in ("Gt", "Lt"):
            expression["values"] = ["1"]
    return made


def questions() -> dict[str, Any]:
    """The same in every run."""
    draw = random.Random(9)
    return {
        "pods": [{"pod": pod(draw)} for _ in range(120)],
        "taints": taints(),
        "terms": [term(draw) for _ in range(100)],
        "nodes": [node_case(draw) for _ in range(80)],
    }


def answered(kind: str) -> list[dict[str, Any]]:
    """The questions of one kind, each with its answers."""
    kept = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return list(kept[kind])


def output_of(program: list[str], folder: str | Path) -> str:
    """The questions with what the program answers, one a line."""
    asked = questions()
    given = subprocess.run(
        program, cwd=folder, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True
    )
    answers = json.loads(given.stdout)
    kinds = []
    for kind, cases in asked.items():
        pairs = zip(cases, answers[kind], strict=True)
        lines = [json.dumps({**case, **answer}, separators=(",", ":")) for case, answer in pairs]
        kinds.append(f'"{kind}": [\n' + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def ask() -> str:
    """The answers of Kubernetes' own code, in the version of the end-to-end suite."""
    with tempfile.TemporaryDirectory() as folder:
        for source in (MODULE / "go.mod", MODULE / "go.sum", FOLDER / "answers.go"):
            copy(source, folder)
        return output_of(["go", "run", "-mod=mod", "answers.go"], folder)


if __name__ == "__main__":
    ANSWERS.write_text(ask(), encoding="utf-8")
