"""Predicted landings against the decisions of the real kube-scheduler."""
