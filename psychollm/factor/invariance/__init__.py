"""Confirmatory factor models of several groups, with tests of invariance."""
