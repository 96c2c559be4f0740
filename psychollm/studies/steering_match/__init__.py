"""Steering matched to targets: best strengths, what they reproduce, and the controls."""
