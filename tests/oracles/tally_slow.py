"""Slow twin of the tally: one answer at a time, as often as its question was drawn."""


def tally(times, question, group, right, n_groups):
    """Sums of correct and wrong answers at each confidence, lists of n_groups."""
    correct, wrong = [0.0] * n_groups, [0.0] * n_groups
    for q, g, share in zip(question, group, right, strict=True):
        for _ in range(int(times[q])):
            correct[g] += share
            wrong[g] += 1 - share
    return correct, wrong
