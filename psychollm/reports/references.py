"""References of a report: cited in the text, listed at its end, linked to each other."""

from collections.abc import Sequence
from html import escape
from typing import TypeAlias

# Key, author and year as they stand in the text, full entry, DOI ("" where there is none).
Reference: TypeAlias = tuple[str, str, str, str]

_DOI = "https://doi.org/"

WILSON: Reference = (
    "wilson",
    "Wilson, 1927",
    "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical "
    "inference. <i>Journal of the American Statistical Association, 22</i>(158), 209–212.",
    "10.1080/01621459.1927.10502953",
)


def linked(references: Sequence[Reference], keys: Sequence[str]) -> str:
    """Return references for the running text, linked to their entries."""
    names = {key: name for key, name, _, _ in references}
    links = [f'<a href="#ref-{key}">{escape(names[key])}</a>' for key in keys]
    return f"({'; '.join(links)})"


def listed(references: Sequence[Reference]) -> tuple[str, ...]:
    """Return all entries in the order of the alphabet, with links to their DOIs."""
    entries = sorted(references, key=lambda entry: entry[2])
    return tuple(
        f'<span id="ref-{key}">{text.replace(" & ", " &amp; ")}</span>'
        + (f' <a href="{_DOI}{doi}">doi:{doi}</a>' if doi else "")
        for key, _, text, doi in entries
    )
