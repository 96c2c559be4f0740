"""Agreement of raters and agreement of repeated runs."""
