"""The plugins of kube-scheduler, one module each, and what they are made of."""
