"""A hostile tenant: it does in its own namespace what it likes, and others are moved as before.

    python -m tests.simulation.hostile --storms 1000 --first 0

It lets its pods never go and its replacements never come or run, scales, opts out and in, writes
budgets, autoscalers, LimitRanges, quotas, Events, Workloads of Kueue and objects that nobody can
decode, and has targets scraped that tell other loads of all nodes. What it does may change no
verdict of another namespace, but through what its pods request.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from rescheduler.model.moves.plan import Outcome, plan_in
from tests.fakes import kueue
from tests.fakes.manners import stamp
from tests.simulation.loads import constant
from tests.simulation.objects import Object, leaving, uid_of
from tests.simulation.policies import POLICIES
from tests.simulation.process import Cycle
from tests.simulation.scenario import Run, simulated
from tests.simulation.soak import prepare

EVIL, GOOD = "evil", ("default", "shop")
CYCLES = 6
_TEXT = (
    POLICIES.replace("minLandingSample: 3", "minLandingSample: 3\n  movesPerNamespace: 1")
    + """---
apiVersion: rescheduler.io/v1alpha1
kind: Readings
metadata: {name: ours}
spec:
  exporters:
    - name: node-exporter
      matchers: {job: node}
"""
)
"""Whose exporters are heard is said, as of a cluster in which tenants may have targets scraped."""
_NOT_FOR_OTHERS = frozenset(
    {
        "GRD003",
        "GRD009",
        "ELG038",
        "ELG039",
        "ELG040",
        "ELG041",
        "ELG042",
        "BUD004",
        "BUD005",
        "DAT001",
        "ACT010",
        "ACT024",
    }
)
"""Codes with which a namespace without faults is never left alone for another one."""
_ENDED = frozenset({"ACT016", "ACT019", "ACT023"})
"""Verdicts by which one tenant would stop the moves of all."""


class Tenant:
    """Acts in its own namespace, one thing after the other, drawn by chance."""

    def __init__(self, run: Run, seed: int) -> None:
        self.run = run
        self.chance = random.Random(f"tenant {seed}")
        self.starves = False
        self.made: Counter[str] = Counter()
        self._pick = run.cluster.pick
        run.cluster.pick = self._place

    def act(self) -> None:
        """Do one thing, or two."""
        acts: list[Callable[[], None]] = [
            self.hang,
            self.starve,
            self.scale,
            self.opt,
            self.write_budget,
            self.write_autoscaler,
            self.delete,
            self.turn_odd,
            self.write_rules,
            self.write_events,
            self.write_workload,
            self.export,
        ]
        for act in self.chance.sample(acts, self.chance.choice([1, 1, 2])):
            act()
            self.made[act.__name__] += 1

    def hang(self) -> None:
        """Finalizers on its pods: what is evicted never goes."""
        self.run.cluster.held ^= {uid_of(pod) for pod in self._pods()}

    def starve(self) -> None:
        """Its new pods get no node, and then do again."""
        self.starves = not self.starves

    def scale(self) -> None:
        """One of its workloads wants more pods, or fewer."""
        app = self.chance.choice(["evil0", "evil1"])
        for kind, name in (("deployments", app), ("replicasets", f"{app}-1")):
            found = self.run.cluster.objects[kind, EVIL, name]
            found["spec"]["replicas"] = max(0, found["spec"]["replicas"] + self.change)
            self.run.cluster.bump(found)

    @property
    def change(self) -> int:
        """By how many pods it scales."""
        return self.chance.choice([-1, 1])

    def opt(self) -> None:
        """Its namespace opts out, or in again."""
        space = self.run.cluster.objects["namespaces", "", EVIL]
        notes = {"rescheduler.io/opt-out": self.chance.choice(["true", "false"])}
        space["metadata"]["annotations"] = notes
        self.run.cluster.bump(space)

    def write_budget(self) -> None:
        """A budget over one of its workloads, or two over the same."""
        selector = {"matchLabels": {"app": "evil0"}}
        spec = {"selector": selector, "maxUnavailable": self.chance.choice([0, 1, 5])}
        body = {"metadata": {"generation": 1}, "spec": spec, "status": {}}
        name = f"all-{self.chance.randint(0, 1)}"
        self.run.cluster.put("poddisruptionbudgets", EVIL, name, body)

    def write_autoscaler(self) -> None:
        """An autoscaler of its workload that has just scaled."""
        target = {"kind": "Deployment", "name": "evil0"}
        status = {"currentReplicas": 3, "desiredReplicas": self.chance.randint(0, 9)}
        body = {
            "metadata": {},
            "spec": {"scaleTargetRef": target, "maxReplicas": 9},
            "status": {**status, "lastScaleTime": stamp(self.run.cluster.now())},
        }
        self.run.cluster.put("horizontalpodautoscalers", EVIL, "a", body)

    def delete(self) -> None:
        """It deletes one of its pods, as often as not a replacement of ours."""
        pods = [pod for pod in self._pods() if not leaving(pod)]
        if pods:
            self.run.cluster.delete(pods[-1])

    def turn_odd(self) -> None:
        """One of its pods cannot be decoded, or can again."""
        for pod in self._pods()[:1]:
            odd = pod["spec"].get("priority") == "high"
            pod["spec"]["priority"] = 0 if odd else "high"
            self.run.cluster.bump(pod)

    def write_rules(self) -> None:
        """A LimitRange and a quota that admit none of its own pods, or all."""
        most = self.chance.choice(["1m", "8", "much"])
        container = {"type": "Container", "max": {"cpu": most}, "default": {"cpu": most}}
        self.run.cluster.put("limitranges", EVIL, "l", {"spec": {"limits": [container]}})
        hard, used = {"pods": self.chance.choice(["0", "99"])}, {"pods": "6"}
        quota = {"spec": {"hard": hard}, "status": {"hard": hard, "used": used}}
        self.run.cluster.put("resourcequotas", EVIL, "q", quota)

    def write_events(self) -> None:
        """An Event that says of somebody else's pod, in our name, that it was evicted."""
        pods = [pod for pod in self.run.cluster.of("pods") if pod["metadata"]["namespace"] != EVIL]
        about = self.chance.choice(pods)["metadata"]
        event = {"regarding": {"kind": "Pod", **about}, "reason": "Evicted", "note": "ACT001"}
        event["reportingController"] = "rescheduler.io/rescheduler"
        self.run.cluster.put("events", EVIL, f"e{self.chance.randint(0, 9)}", event)

    def write_workload(self) -> None:
        """A Workload of Kueue that waits for a queue that is, or is not, or cannot be decoded."""
        made = kueue.workload("evil0", "dep-evil0", pods=self.chance.choice([1, 500]))
        made["spec"]["queueName"] = self.chance.choice(["team", "nowhere", 7])
        self.run.cluster.put("workloads", EVIL, made["metadata"]["name"], made)

    def export(self) -> None:
        """A target of its own tells another load of some nodes: nothing, or all of it."""
        names = sorted(self.run.metrics.exporters)
        some = self.chance.sample(names, self.chance.randint(0, len(names)))
        self.run.metrics.forged = {name: self.chance.choice([0.0, 0.99]) for name in some}

    def _place(self, pod: Object, nodes: list[str]) -> str:
        if pod["metadata"]["namespace"] == EVIL and self.starves:
            return ""
        return self._pick(pod, nodes)

    def _pods(self) -> list[Object]:
        pods = self.run.cluster.of("pods")
        return [pod for pod in pods if pod["metadata"]["namespace"] == EVIL]


def storm(seed: int, reached: Counter[str]) -> list[str]:
    """The promises that were broken while the tenant did its worst for some cycles."""
    run = _cluster(seed, reached)
    tenant = Tenant(run, seed)
    broken: list[str] = []
    waited = False
    for _ in range(CYCLES):
        tenant.act()
        cycle = run.process().run()
        broken += _broken(run, cycle)
        waited |= _waits(cycle)
        run.cluster.timeline.advance(600.0)
    reached.update(tenant.made)
    reached["storms"] += 1
    for evicted in run.ground.evicted:
        own = evicted.pod["metadata"]["namespace"] == EVIL
        reached["evicted of the tenant" if own else "evicted of others"] += 1
    others = any(eviction.pod["metadata"]["namespace"] != EVIL for eviction in run.ground.evicted)
    reached["room for its Pending pods"] += waited
    if not others and not waited:
        broken.append("nobody else was moved")
    return [f"seed {seed}: {violation}" for violation in broken]


def _cluster(seed: int, reached: Counter[str]) -> Run:
    """A hot node with pods of two tenants and of the hostile one, and room elsewhere."""
    run = Run(seed, reached, text=_TEXT)
    names = [f"n{number}" for number in range(6)]
    for number, name in enumerate(names):
        run.cluster.add_node(name, zone="ab"[number % 2])
    heat: dict[str, float] = {}
    for namespace in (*GOOD, EVIL):
        run.cluster.put("namespaces", "", namespace, {})
        for number in range(2):
            app = f"{namespace}{number}"
            at = len(heat)
            where = [names[0], names[1 + at % 5], names[1 + (at + 2) % 5]]
            run.cluster.add_workload("Deployment", app, where, cpu=0.25, namespace=namespace)
            heat[app] = 0.55
    run.metrics.loads = {app: constant(value) for app, value in heat.items()}
    run.cluster.pick = run.as_predicted
    run.metrics.begin()
    run.warm()
    run.metrics.scrape()
    run.cluster.timeline.advance(900.0)
    return run


def _waits(cycle: Cycle) -> bool:
    """Whether others stay as the scheduler could give their room to a Pending pod of the tenant."""
    refused = plan_in(cycle.report).refused if cycle.report is not None else []
    return any(refusal.code == "GRD008" and refusal.pod.namespace in GOOD for refusal in refused)


def _broken(run: Run, cycle: Cycle) -> Iterator[str]:
    """What this cycle did for the tenant's sake to somebody else."""
    if cycle.report is None:
        yield f"the cycle made no report: {cycle.error}"
        return
    plan = plan_in(cycle.report)
    for refusal in plan.refused:
        if refusal.pod.namespace in GOOD and refusal.code in _NOT_FOR_OTHERS:
            yield f"{refusal.pod.name} stays: {refusal.code} {refusal.message}"
    if not isinstance(cycle.report, Outcome):
        return
    if cycle.report.verdict.code in _ENDED:
        yield f"the run ended: {cycle.report.verdict.code} {cycle.report.verdict.message}"
    for move in cycle.report.moves:
        if move.pod.namespace in GOOD and move.code in _NOT_FOR_OTHERS:
            yield f"{move.pod.name} was not moved: {move.code} {move.message}"
    most = run.limits.movesPerNamespace
    own = sum(m.pod.namespace == EVIL and m.result == "evicted" for m in cycle.report.moves)
    if isinstance(most, int) and own > most:
        yield f"{own} moves of the tenant in one cycle"


def main() -> int:
    """Play storms and print what was reached; 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storms", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    prepare()
    reached: Counter[str] = Counter()
    broken: list[str] = []
    with simulated():
        for seed in range(given.first, given.first + given.storms):
            broken += storm(seed, reached)
    sys.stdout.write("\n".join([*broken[:40], str(dict(reached))]) + "\n")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
