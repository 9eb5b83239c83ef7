"""Moves: planned, sent, recorded in the history; gates, gains and steering of each."""
