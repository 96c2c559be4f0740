"""Self-efficacy: models' ratings of their own abilities, and their validity."""
