"""Policies of other programs, written as policies of ours."""
