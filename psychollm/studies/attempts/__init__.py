"""How often a model succeeds when it may try several times, and how often it does every time."""
