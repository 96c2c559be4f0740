"""Answers to planes of bits, as sets of cells."""


def planes(row, column, value, k, words):
    """Return yes and answered as rows of words, and the place of the first repeated answer."""
    said = {}
    repeated = -1
    for place, (r, c, v) in enumerate(zip(row, column, value, strict=True)):
        if v < 0:
            continue
        if (r, c) in said and repeated < 0:
            repeated = place
        said.setdefault((r, c), v)
    yes = [[0] * words for _ in range(k)]
    answered = [[0] * words for _ in range(k)]
    for (r, c), v in said.items():
        answered[r][c // 64] += 2 ** (c % 64)
        yes[r][c // 64] += v * 2 ** (c % 64)
    return yes, answered, repeated
