"""A reading of one's own: the length of a queue."""

QUEUE = """\
apiVersion: rescheduler.io/v1alpha1
kind: Readings
metadata: {name: serving}
spec:
  readings:
    node.queue:
      value: sum by (node) (avg_over_time(queue_length{$match}[$window]))
      unit: count
      capacity: {fixed: 100}
    pod.queue:
      value: sum by (namespace, pod) (avg_over_time(queue_length{$match}[$window]))
      unit: count
---
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: short-queues}
spec:
  nodes: {all: true}
  match: {all: true}
  targets:
    own: {queue: {high: 80%}}
---
apiVersion: rescheduler.io/v1alpha1
kind: Health
metadata: {name: heat}
spec:
  nodes: {all: true}
  match: {all: true}
  signs:
    own: {node.gpu.temperature: 90, node.disk.space: 95%}
"""
