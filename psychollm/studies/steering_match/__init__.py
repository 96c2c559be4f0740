"""Steering matched to targets: best strengths, agreement with the targets, and controls."""
