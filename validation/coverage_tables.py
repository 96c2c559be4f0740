"""Write the tables of coverage in Markdown."""

import platform
from pathlib import Path

import numpy as np
import scipy

import psychollm
from validation.coverage_index import index

LOW, HIGH = 0.93, 0.97
Totals = dict[tuple[str, str, str, int], tuple[int, ...]]
ALL_BUT = 0.05  # proportion of data sets below which those without a flag are not reported


def cell(
    datasets: int, covered: int, undefined: int, flagged: int = 0, flagged_covered: int = 0
) -> str:
    """Return coverage in per cent, marked if it is outside the range by more than chance."""
    # If some results flag that their interval may be too short, only the others are counted.
    if not datasets:
        return "–"
    text = f"{100 * covered / datasets:.1f}"
    others, held = datasets - flagged, covered - flagged_covered
    if others > ALL_BUT * datasets:
        share, error = held / others, np.sqrt(LOW * (1 - LOW) / others)
        if share < LOW - 2 * error or share > HIGH + 2 * error:
            text = f"**{text}**"
    if flagged:
        text += f" ⚑{100 * flagged / datasets:.0f}"
        text += f": {100 * held / others:.1f}" if others > ALL_BUT * datasets else ""
    if undefined:
        text += f" ({undefined})"
    return text


def lines(totals: Totals) -> list[str]:
    """One table per family: metrics in rows, scenarios and sizes in columns."""
    text: list[str] = []
    for family in sorted({key[0] for key in totals}):
        keys = [key for key in totals if key[0] == family]
        scenarios = list(dict.fromkeys(key[1] for key in keys))
        metrics = list(dict.fromkeys(key[2] for key in keys))
        sizes = sorted({key[3] for key in keys})
        most = max(sum(totals[key][:3:2]) for key in keys)
        text.append(f"## {family.capitalize()}\n")
        text.append(
            f"{most:,} data sets per cell; columns are n = {', '.join(map(str, sizes))}.\n"
        )
        for scenario in scenarios:
            text += table(totals, family, scenario, metrics, sizes)
    return text


def table(
    totals: Totals, family: str, scenario: str, metrics: list[str], sizes: list[int]
) -> list[str]:
    """Return the table of one scenario, with a note if it has fewer data sets than others."""
    here = [sum(counts[:3:2]) for key, counts in totals.items() if key[:2] == (family, scenario)]
    most = max(sum(counts[:3:2]) for key, counts in totals.items() if key[0] == family)
    least = "At least " if min(here) < max(here) else ""
    fewer = f"{least}{min(here):,} data sets.\n\n" if min(here) < most else ""
    rows = [f"### {scenario}\n", f"{fewer}| quantity | {' | '.join(f'n = {n}' for n in sizes)} |"]
    rows.append(f"| :--- | {' | '.join('---:' for _ in sizes)} |")
    for metric in metrics:
        found = [totals.get((family, scenario, metric, n)) for n in sizes]
        if any(found):
            shown = " | ".join(cell(*counts) if counts else "" for counts in found)
            rows.append(f"| `{metric}` | {shown} |")
    return [*rows, ""]


def write_tables(totals: Totals, path: Path) -> None:
    """Write all tables, with the versions that made them."""
    head = (
        f"<!-- Made by validation/interval_coverage.py: psychollm {psychollm.__version__}, NumPy "
        f"{np.__version__}, SciPy {scipy.__version__}, Python {platform.python_version()}. -->\n"
    )
    path.write_text("\n".join([head, *index(), *lines(totals)]), encoding="utf-8")
