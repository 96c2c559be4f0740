"""How far two benchmarks rank the same models alike, corrected for sampling noise."""
