"""What the simulated processes are told to do."""

POLICIES = """
apiVersion: rescheduler.io/v1alpha1
kind: Limits
metadata: {name: default}
spec:
  movesPerHour: 6
  movesPerCycle: 3
  movesPerNode: 2
  batchSize: 2
  coolDown: 5m
  coolDownCap: 2h
  readyTimeout: 60s
  minPodAge: 2m
  minReadyTime: 20s
  minLandingSample: 3
---
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: hot}
spec:
  mode: Enforce
  match: {all: true}
  nodes: {all: true}
  targets: {cpu: {high: 60%}}
"""


def with_kueue(text: str) -> str:
    """The policies, with limits that let gangs that Kueue runs be moved."""
    for before, after in (
        ("movesPerHour: 6", "movesPerHour: 9\n  gainShare: 0.2"),
        ("movesPerCycle: 3", "movesPerCycle: 5\n  movesPerNamespace: 5"),
        ("minLandingSample: 3", "minLandingSample: 6"),
        ("movesPerNode: 2", "movesPerNode: 4"),
        ("batchSize: 2", "batchSize: 3\n  gangs: Whole\n  kueue: Restart"),
    ):
        text = text.replace(before, after)
    return text


TAINTED = ("  minPodAge: 2m\n", "  minPodAge: 2m\n  steering: {by: SoftTaint}\n")
"""What to replace, and by what, so that replacements are steered by soft taints."""
SPREAD = """---
apiVersion: rescheduler.io/v1alpha1
kind: Spread
metadata: {name: zones}
spec:
  mode: Enforce
  match: {namespaces: [default]}
  topologyKey: topology.kubernetes.io/zone
  maxSkew: 1
"""
