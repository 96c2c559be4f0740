"""Variance components: intraclass correlations and generalizability theory."""
