"""Floor 3: what a statistic looks like where there is nothing to find, or exactly one factor."""
