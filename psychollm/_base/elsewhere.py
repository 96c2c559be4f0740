"""What the field, and other programs, call the things that are here: the tables of `elsewhere.md`.

A name of the field becomes a name of Python as people write it: "Cronbach's alpha" is looked up as
cronbach_alpha and as cronbachs_alpha, "factor analysis (EFA)" as efa, too.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_ROW = re.compile(r"(?m)^\|(?P<elsewhere>[^|]+)\|(?P<here>[^|]*`psychollm\.[^|]+)\|$")
_TERM = re.compile(r"[,:()]|, and ")


def names_here(name: str) -> list[str]:
    """Return what is called so elsewhere, by its full name; nothing if the name is not known.

    Examples
    --------
    >>> names_here("cronbach_alpha")
    ['psychollm.reliability.alpha']
    >>> names_here("dif")
    ['psychollm.irt.differential_functioning', 'psychollm.irt.differential_items']
    """
    text = (Path(__file__).parent / "elsewhere.md").read_text(encoding="utf-8")
    found = [
        here
        for row in _ROW.finditer(text)
        if name.lower() in _names(row["elsewhere"])
        for here in re.findall(r"`(psychollm\.[\w.]+)`", row["here"])
    ]
    return list(dict.fromkeys(found))


def _names(terms: str) -> Iterator[str]:
    for term in _TERM.split(terms.lower()):
        for plain in (re.sub("'s|(?<=s)'", "", term), term.replace("'", "")):
            yield re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
