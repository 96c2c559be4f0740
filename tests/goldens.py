"""What was kept of results, in few numbers and words, and how alike another is.

Numbers may differ by what another processor rounds otherwise; numbers in text by one in the last
place that is shown.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

Leaf: TypeAlias = float | str | bool | list[Any] | None
Kept: TypeAlias = dict[str, Leaf]

FOLDER = Path(__file__).parent / "golden"
LONG = 6  # of longer lists of numbers the length, the mean and the spread are kept
# Which versions made a result is said in it, and is another on the next machine.
_VERSION = re.compile(r"\b(python|numpy|scipy|numba|pandas|torch|pymc) \d+(?:\.\w+)+")
_NUMBER = re.compile(r"(?<![\w.−-])([−-]?(?:\d[\d,]*)?\.?\d+)(?![\w-])")


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Yield numbers and texts by their paths; of long lists and tables what they hold in sum."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from flat(one, f"{path}.{key}" if path else str(key))
    elif _is_table(value):
        yield path, [len(value)]
        for key in dict.fromkeys(key for one in value for key in one):
            yield f"{path}.{key}", _of_many([one.get(key) for one in value])
    elif isinstance(value, list | tuple) and value and all(map(_is_leaf, value)):
        yield path, list(map(_leaf, value)) if len(value) <= LONG else _of_many(value)
    elif isinstance(value, list | tuple) and len(value) > LONG and _is_matrix(value):
        for place, column in enumerate(zip(*value, strict=True)):
            yield f"{path}.{place}", _of_many(column)
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from flat(one, f"{path}.{place}")
    else:
        yield path, _leaf(value)


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple | np.ndarray)


def _is_matrix(value: Any) -> bool:
    plain = all(isinstance(row, list | tuple) and all(map(_is_leaf, row)) for row in value)
    return plain and len({len(row) for row in value}) == 1


def _is_table(value: Any) -> bool:
    """Tell whether a list holds rows of plain values."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, Mapping) and all(map(_is_leaf, one.values())) for one in value)
    )


def _leaf(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _of_many(values: Any) -> Leaf:
    """Return how many numbers there are, their mean and spread; of texts the first and last."""
    values = list(map(_leaf, values))
    if any(isinstance(one, str) for one in values):
        texts = ["" if one is None else str(one) for one in values]
        return f"{len(texts)}, {len(set(texts))} distinct: {texts[0]} ... {texts[-1]}"
    known = [float(one) for one in values if one is not None]
    return [len(known), float(np.mean(known)), float(np.std(known))] if known else [0]


def differences(kept: Mapping[str, Any], found: Mapping[str, Any], *, rel: float) -> list[str]:
    """Return where what was found is not what was kept."""
    wrong = [f"{path}: gone" for path in kept if path not in found]
    wrong += [f"{path}: new" for path in found if path not in kept]
    for path in kept:
        if path in found and not _alike(kept[path], found[path], rel):
            wrong.append(_told(path, kept[path], found[path], rel))
    return wrong


def _told(path: str, old: Any, new: Any, rel: float) -> str:
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        place = next(n for n, (a, b) in enumerate(zip(old, new, strict=True))
                     if not _alike(a, b, rel))  # fmt: skip
        return _told(f"{path}.{place}", old[place], new[place], rel)
    return f"{path}: {old!r} became {new!r}"


def _alike(old: Any, new: Any, rel: float) -> bool:
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(
            _alike(a, b, rel) for a, b in zip(old, new, strict=True)
        )
    if isinstance(old, str) and isinstance(new, str):
        return alike(old, new)
    plain = (str, list, type(None))
    if isinstance(old, plain) or isinstance(new, plain):
        return bool(old == new)
    return math.isclose(old, new, rel_tol=rel, abs_tol=1e-9)


def alike(old: str, new: str) -> bool:
    """Tell whether two texts have the same words, and numbers that differ by a last digit."""
    first, second = (_NUMBER.split(_VERSION.sub(r"\1", text)) for text in (old, new))
    if len(first) != len(second) or first[::2] != second[::2]:
        return False
    return all(map(_same_number, first[1::2], second[1::2]))


def _same_number(old: str, new: str) -> bool:
    a, b = (float(one.replace(",", "").replace("−", "-")) for one in (old, new))
    digits = [len(one.partition(".")[2]) for one in (old, new)]
    return a == b or (min(digits) > 0 and abs(a - b) <= 1.01 * 10.0 ** -min(digits))


def check(file: Path, name: str, found: Kept, *, rel: float = 1e-6) -> None:
    """Compare with what a file keeps under a name.

    `PSYCHOLLM_UPDATE_GOLDEN=1` keeps it anew, which only a change that is meant allows.
    """
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if os.environ.get("PSYCHOLLM_UPDATE_GOLDEN"):
        kept[name] = _short(found)
        file.write_text(_written(kept), encoding="utf-8")
    if name not in kept:
        pytest.fail(f"{file.name} keeps nothing of {name}: run with PSYCHOLLM_UPDATE_GOLDEN=1")
    wrong = differences(kept[name], found, rel=rel)
    meant = f"{name} in {file.name} (PSYCHOLLM_UPDATE_GOLDEN=1 keeps what is meant):"
    assert not wrong, "\n".join([meant, *wrong[:20]])


def _short(value: Any) -> Any:
    """Round numbers to nine digits."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return list(map(_short, value))
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _written(kept: Mapping[str, Kept]) -> str:
    """Return JSON with a line for each path."""
    parts = []
    for name in sorted(kept):
        lines = [
            f"{json.dumps(path)}: {json.dumps(one, ensure_ascii=False)}"
            for path, one in sorted(kept[name].items())
        ]
        parts.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
