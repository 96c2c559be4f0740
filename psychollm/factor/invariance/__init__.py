"""Confirmatory factor models of several groups: what is the same in all of them."""
