"""Why a pod moves or stays, and why a node or a Pending pod is as it is."""
