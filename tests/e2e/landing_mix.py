"""Random clusters in which the features that decide a landing meet, from a seed."""

from random import Random
from typing import Any

from tests.e2e.builders.nodes import HOSTNAME, RACK, ZONE, node
from tests.e2e.builders.surroundings import claim, service, volume
from tests.e2e.builders.workloads import deployment, stateful_set

Manifest = dict[str, Any]
NAMESPACES = {"default": {}, "blue": {"team": "blue"}, "green": {"team": "green"}}
_SOFT = "ScheduleAnyway"
_MIB = 1024 * 1024


class Mix:
    """Nodes and workloads of one random cluster."""

    def __init__(self, seed: int, sizes: tuple[int, int] = (5, 40)) -> None:
        """Draw nothing yet: see `nodes` and `workloads`. sizes: least and most nodes."""
        self._random = Random(seed)
        self._count = self._random.randint(*sizes)
        self._zones = self._random.choice([[], ["a", "b"], ["a", "b", "c"]])
        self._apps = [f"app{number}" for number in range(self._random.randint(6, 14))]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def nodes(self) -> list[Manifest]:
        """Nodes of several sizes, most in a zone and a rack, some tainted or with images."""
        return [self._node(f"n{number:02}") for number in range(self._count)]

    def _node(self, name: str) -> Manifest:
        draw = self._random
        taints = [
            {"key": key, "value": "yes", "effect": effect}
            for key, effect, share in (
                ("dedicated", "NoSchedule", 0.1),
                ("busy", "PreferNoSchedule", 0.2),
                ("old", "PreferNoSchedule", 0.1),
            )
            if self._chance(share)
        ]
        made = node(
            name,
            zone=draw.choice(self._zones) if self._zones and self._chance(0.9) else None,
            rack=draw.choice(["r1", "r2", "r3"]) if self._chance(0.7) else None,
            cpu=draw.choice([4, 8, 16]),
            memory=draw.choice(["8Gi", "16Gi", "48Gi"]),
            gpus=draw.choice([0, 0, 4]),
            labels={"disk": draw.choice(["ssd", "hdd"]), "level": str(draw.randint(1, 9))},
            taints=taints,
            unschedulable=self._chance(0.05),
        )
        made["status"]["images"] = [
            {"names": [f"registry.test/big{number}:1"], "sizeBytes": (number + 1) * 300 * _MIB}
            for number in range(3)
            if self._chance(0.4)
        ]
        return made

    def workloads(self) -> list[Manifest]:
        """Deployments and StatefulSets with mixed features, some with a Service or a volume."""
        made: list[Manifest] = []
        for number, app in enumerate(self._apps):
            namespace = self._random.choice(["default", "default", *NAMESPACES])
            template = self._template(app)
            if self._chance(0.3):
                made.append(service(app, namespace=namespace))
            if self._chance(0.1):
                made += self._stored(f"data{number}", namespace)
                template["claims"] = [f"data{number}"]
            make = stateful_set if self._chance(0.3) else deployment
            made.append(make(app, self._random.randint(1, 5), namespace=namespace, **template))
        return made

    def _stored(self, name: str, namespace: str) -> list[Manifest]:
        """A volume that some zones, or half of the nodes, can reach, and its claim."""
        made = volume(name)
        reach = ["a", "b"] if self._zones else ["ssd"]
        key = ZONE if self._zones else "disk"
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": reach}]}
        made["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        return [made, claim(name, namespace=namespace)]

    def _template(self, app: str) -> dict[str, Any]:
        draw = self._random
        template: dict[str, Any] = {
            "cpu": draw.choice([None, "50m", "100m", "333m", "1", "1500m"]),
            "memory": draw.choice([None, "64Mi", "300Mi", "1Gi", "3Gi"]),
            "gpus": draw.choice([0, 0, 0, 0, 1]),
            "labels": {"tier": draw.choice(["front", "back"])},
            "grace": 30,
        }
        if self._chance(0.3):
            template["tolerations"] = [
                {"key": draw.choice(["dedicated", "busy", ""]), "operator": "Exists"}
            ]
        if self._chance(0.15):
            template["node_selector"] = {"disk": draw.choice(["ssd", "hdd"])}
        if affinity := self._affinity():
            template["affinity"] = affinity
        if self._chance(0.35):
            template["spread"] = self._spread()
        return template | self._inside(app)

    def _inside(self, app: str) -> dict[str, Any]:
        """Fields of the spec: init containers, pod-level requests."""
        draw, more = self._random, {}
        image = f"registry.test/{draw.choice(['big0', 'big1', 'big2', app])}:1"
        small = {"requests": {"cpu": draw.choice(["10m", "700m"])}}
        helper = {"name": "init", "image": image, "resources": small}
        if self._chance(0.2):
            more["initContainers"] = [{**helper, "restartPolicy": "Always"}]
        elif self._chance(0.2):
            more["initContainers"] = [helper]
        if self._chance(0.1):
            more["resources"] = {"requests": {"cpu": "2", "memory": "4Gi"}}
        return more

    def _affinity(self) -> dict[str, Any]:
        affinity: dict[str, Any] = {}
        if self._chance(0.3):
            affinity["nodeAffinity"] = self._node_affinity()
        for part, share in (("podAffinity", 0.25), ("podAntiAffinity", 0.35)):
            if self._chance(share):
                affinity[part] = self._inter_pod(hard=self._chance(0.3))
        return affinity

    def _node_affinity(self) -> dict[str, Any]:
        draw = self._random
        low = {"key": "level", "operator": "Gt", "values": [str(draw.randint(1, 3))]}
        ssd = {"key": "disk", "operator": draw.choice(["In", "NotIn"]), "values": ["ssd"]}
        made: dict[str, Any] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": draw.randint(1, 100), "preference": {"matchExpressions": [each]}}
                for each in (low, ssd)
            ]
        }
        if self._chance(0.3):
            terms = [{"matchExpressions": [low]}, {"matchExpressions": [ssd]}]
            made["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        return made

    def _inter_pod(self, *, hard: bool) -> dict[str, Any]:
        draw = self._random
        key = draw.choice([HOSTNAME, HOSTNAME, RACK, ZONE])
        by_app = {"matchLabels": {"app": draw.choice(self._apps)}}
        by_tier = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["back"]}]}
        term: dict[str, Any] = {
            "topologyKey": key,
            "labelSelector": by_app if hard else draw.choice([by_app, by_tier]),
        }
        if self._chance(0.5):
            term["namespaceSelector"] = draw.choice([{}, {"matchLabels": {"team": "blue"}}])
        if hard:
            return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        weighted = {"weight": draw.randint(1, 100), "podAffinityTerm": term}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}

    def _spread(self) -> list[dict[str, Any]]:
        draw = self._random
        made = []
        for key in draw.sample([HOSTNAME, RACK, ZONE], draw.randint(1, 2)):
            constraint: dict[str, Any] = {
                "maxSkew": draw.randint(1, 3),
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule" if self._chance(0.4) else _SOFT,
                "nodeTaintsPolicy": draw.choice(["Honor", "Ignore"]),
                "nodeAffinityPolicy": draw.choice(["Honor", "Ignore"]),
            }
            if constraint["whenUnsatisfiable"] != _SOFT and self._chance(0.3):
                constraint["minDomains"] = draw.randint(1, 3)
            if self._chance(0.3):
                constraint["matchLabelKeys"] = ["pod-template-hash"]
            made.append(constraint)
        return made
