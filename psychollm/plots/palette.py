"""Colours of the figures: Petroff's ten, which stay apart for colour-blind readers.

References
----------
Petroff, M. A. (2021). Accessible color sequences for data visualization.
https://doi.org/10.48550/arXiv.2107.02270
"""

BLUE = "#3f90da"
ORANGE = "#ffa90e"
RED = "#bd1f01"
GREY = "#94a4a2"
PURPLE = "#832db6"
BROWN = "#a96b59"
DEEP_ORANGE = "#e76300"
KHAKI = "#b9ac70"
SLATE = "#717581"
CYAN = "#92dadd"

# Text on white keeps a contrast of at least 4.5 in all three.
INK = "#22262e"
MUTED = "#5b6270"
QUIET = "#6f7784"

RULE = "#c9ced6"
GRID = "#e9ebef"
STRIPE = "#f6f7f9"
PAPER = "#ffffff"

# Neighbours in this order differ in lightness as well as in hue.
SEQUENCE = (BLUE, DEEP_ORANGE, PURPLE, ORANGE, RED, CYAN, BROWN, KHAKI, SLATE, GREY)
DIVERGING = ("#1f5fa8", "#8db7e2", "#f6f6f4", "#f2b27a", "#b34700")
SEQUENTIAL = ("#fdf3e3", "#fbc878", "#e8862e", "#b34a12", "#6b1f07")


def colour_of(rank: int) -> str:
    """Return the colour of the nth series, from 0; colours recur after ten."""
    return SEQUENCE[rank % len(SEQUENCE)]


def ink_on(colour: str) -> str:
    """Return the colour of text on a ground: paper, or ink where that is pale."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5))
    # Relative luminance, with a plain square for the curve of sRGB.
    return INK if 0.21 * red**2 + 0.72 * green**2 + 0.07 * blue**2 > 0.36 else PAPER
