"""The policy that packs nodes."""

PACK = """---
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: pack}
spec:
  mode: Enforce
  match: {all: true}
  nodes: {all: true}
  strategy: Pack
  cold: 0.2
  targets: {cpu: {high: 80%}}
"""
