"""Self-efficacy: what models say they can do, and whether it holds."""
