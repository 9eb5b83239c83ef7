"""The real control plane of the end-to-end suite: build, start, clean, audit."""
