"""Fits of replicated answers, under the fitted model or under shuffling."""
