"""One page on an evaluation: accuracies with the intervals that belong to them, and the rest."""
