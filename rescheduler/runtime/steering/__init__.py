"""Answers to the API server and to schedulers about pods that are being made or placed."""
