"""Names that the literature and other programs use for our functions, from `elsewhere.md`.

Names are compared as Python identifiers: cronbach_alpha, cronbachs_alpha and CronbachAlpha match
"Cronbach's alpha", and efa matches "factor analysis (EFA)".
"""

import re
from collections.abc import Iterator
from pathlib import Path

_ROW = re.compile(r"(?m)^\|(?P<elsewhere>[^|]+)\|(?P<here>[^|]*`psychollm\.[^|]+)\|$")
_TERM = re.compile(r"[,:()]|, and ")


def names_here(name: str) -> list[str]:
    """Return the full names of our functions that papers or other programs call `name`.

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
            words = re.findall("[a-z0-9]+", plain)
            yield from ("_".join(words), "".join(words))
