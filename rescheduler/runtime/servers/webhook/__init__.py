"""The admission webhook: answers the API server about pods that are being created."""
