"""The Bayesian 2PL: its posterior, two ways to draw from it, and what the draws say."""
