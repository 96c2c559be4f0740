"""Agreement of raters and of runs."""
