"""Shortening of long names."""

from collections.abc import Iterable
from typing import Any

LONGEST = 34  # largest number of characters of a name in a figure or table


def shortened(name: Any, longest: int = LONGEST) -> str:
    """Shorten a name to at most `longest` characters, with an ellipsis in the middle."""
    text = str(name)
    if len(text) <= longest:
        return text
    kept = max(longest - 1, 1)
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def short_names(names: Iterable[Any], longest: int = LONGEST) -> list[str]:
    """Return shortened names that remain distinct."""
    whole = [str(name) for name in names]
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(whole):
        alike.setdefault(shortened(name, longest), []).append(name)
    short = {
        name: text
        for first, group in alike.items()
        for name, text in zip(group, _apart(group, longest) if group[1:] else [first], strict=True)
    }
    return [short[name] for name in whole]


def _apart(group: list[str], longest: int) -> list[str]:
    """Shorten the common prefix of similar names; add numbers to names that are still equal."""
    # The common prefix of the first and the last name in sorted order is shared by all names.
    first, last = min(group), max(group)
    begin = next(k for k in range(len(last)) if first[k : k + 1] != last[k])
    tails = [shortened(name[begin:], longest - 6) for name in group]
    if len(set(tails)) == len(tails):
        return [f"{name[:5]}…{tail}" for name, tail in zip(group, tails, strict=True)]
    return [f"{shortened(name, longest - 5)} #{k}" for k, name in enumerate(group, start=1)]
