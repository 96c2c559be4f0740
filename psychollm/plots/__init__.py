"""Floor 5: one plot per file; a result goes in, Axes come out."""
