"""The Numa policy of the suite."""

NUMA = """
apiVersion: rescheduler.io/v1alpha1
kind: Numa
metadata: {name: zones}
spec:
  nodes: {all: true}
  match: {namespaces: [default]}
"""
