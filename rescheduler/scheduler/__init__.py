"""What the scheduler does: kube-scheduler's filters and scores, and where a pod will land."""
