"""Probes of hidden states, compared with predictors that do not need them."""
