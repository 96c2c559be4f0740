"""Votes on pairs of models: strengths, ranks and tiers, with voters, ties, sides and prompts."""
