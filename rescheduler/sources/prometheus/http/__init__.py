"""Requests to metric sources: how they are sent, with which credentials, and their answers."""
