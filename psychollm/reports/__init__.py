"""Floor 6: one self-contained HTML page per study."""
