"""Slow twin of the exchanged right answer: every one of M + 1 answers taken away in turn."""

from collections import Counter


def exchanged(classes, right_class):
    """Return (confidence, correctness) for each choice of the right answer, equally likely.

    `right_class` is None where no sample is right. None among the classes is an abstention.
    """
    own = object()
    everyone = [*classes, own if right_class is None else right_class]
    found = []
    for place, right in enumerate(everyone):
        if right is None:
            continue
        rest = everyone[:place] + everyone[place + 1 :]
        counts = Counter("abstains" if one is None else one for one in rest)
        largest = max(counts.values())
        modal = [one for one, n in counts.items() if n == largest]
        found.append((largest / len(rest), (right in modal) / len(modal)))
    return found


def overconfidence(classes, right_class):
    pairs = exchanged(classes, right_class)
    return sum(f - a for f, a in pairs) / len(pairs)
