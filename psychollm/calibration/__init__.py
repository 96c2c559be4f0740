"""Floor 3: how confidence and correctness agree, within and between models."""
