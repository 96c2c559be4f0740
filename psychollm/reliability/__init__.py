"""Floor 4: how far scores, raters and repeated runs can be relied on."""

__all__: list[str] = []
