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
