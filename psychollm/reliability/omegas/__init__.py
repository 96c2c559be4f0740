"""Omega: total, hierarchical, categorical."""
