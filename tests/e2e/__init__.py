"""The whole loop on real parts: a real control plane, a real Prometheus, the installed program."""
