"""Omega coefficients of reliability: total, hierarchical and categorical."""
