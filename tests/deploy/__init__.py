"""Tests of the manifests and the image."""
