"""The Locality policy of measured traffic."""

from tests.e2e.loop import (
    WINDOW,
)

TRAFFIC = f"""
apiVersion: rescheduler.io/v1alpha1
kind: Locality
metadata: {{name: talk}}
spec:
  match: {{all: true}}
  levels:
    - {{name: zone, labels: [topology.kubernetes.io/zone]}}
  traffic:
    series: mesh_sent_bytes_total
    source: {{namespace: source_namespace, name: source_workload}}
    destination: {{namespace: destination_namespace, name: destination_workload}}
    window: {WINDOW}s
    maxAge: 15s
"""
