"""Number of factors: parallel analysis and other rules."""
