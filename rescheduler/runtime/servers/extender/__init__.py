"""A scheduler extender: kube-scheduler asks us about nodes (k8s.io/kube-scheduler/extender/v1)."""
