"""Two-choice questions: meta-d' and other statistics of trials."""
