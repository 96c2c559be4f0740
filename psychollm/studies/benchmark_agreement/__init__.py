"""Agreement of two benchmarks on the ranking of models, corrected for sampling noise."""
