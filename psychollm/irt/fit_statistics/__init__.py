"""How well a fitted model describes its answers: items, respondents, pairs, the whole."""
