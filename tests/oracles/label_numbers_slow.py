"""Labels numbered as they come, by a dictionary."""


def numbered(labels):
    """Return the number of each label, and the labels in order of first occurrence."""
    known = {}
    return [known.setdefault(label, len(known)) for label in labels], list(known)
