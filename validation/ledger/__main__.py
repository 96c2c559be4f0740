"""Compare the claims of each source with its public table.

    python -m validation.ledger --data DIR [--only bridge livebench] [--out docs/ledger_tables.md]

Prints every claim; with ``--out`` it writes the tables of the page. Takes one minute.
"""

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from validation.ledger.claim import Claim

SOURCES = (
    "bridge", "mmlu_redux", "livebench", "mmlu_pro", "llmfao", "battery", "gastro", "moore_lab",
    "judges", "horizons", "seed_shared", "seed_vornish",
)  # fmt: skip
COLUMNS = ("", "claim", "published", "here [95 %]", "held out", "outcome")


def entry(name: str, data: Path) -> tuple[str, list[Claim]]:
    """Return the section of one source, and its claims."""
    module = import_module(f"validation.ledger.{name}")
    claims = list(module.claims(data))
    rows = [
        (str(place), one.headline, one.published, one.found, one.held_out, f"**{one.outcome}**")
        for place, one in enumerate(claims, 1)
    ]
    shown = [column for column in zip(COLUMNS, *rows, strict=True) if any(column[1:])]
    head, *rest = zip(*shown, strict=True)
    lines = [
        f"## {module.TITLE}",
        "",
        f"{module.SOURCE}.",
        "",
        f"`python -m validation.ledger --data DIR --only {name}`",
        "",
        _row(head),
        _row(["---"] * len(head)),
        *map(_row, rest),
        "",
        *_verdicts(claims),
    ]
    return "\n".join(lines), claims


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _verdicts(claims: list[Claim]) -> list[str]:
    """Return each verdict behind the numbers of the claims that it is about."""
    about: dict[str, list[str]] = {}
    for place, one in enumerate(claims, 1):
        about.setdefault(one.verdict, []).append(str(place))
    lines = (f"**{', '.join(places)}.** {text}" for text, places in about.items())
    return "\n\n".join(lines).splitlines()


def main() -> None:
    """Run the entries asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the public tables")
    parser.add_argument("--only", nargs="*", choices=SOURCES, default=SOURCES)
    parser.add_argument("--out", type=Path, help="file for the tables of all entries")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sections, outcomes = [], Counter[str]()
    for name in options.only:
        start = time.process_time()
        text, claims = entry(name, options.data)
        outcomes.update(one.outcome for one in claims)
        sections.append(text)
        print(text, f"\n({time.process_time() - start:.0f} s)\n", flush=True)
    total = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
    print(total)
    if options.out is not None:
        head = f"{sum(outcomes.values())} claims of {len(sections)} sources: {total}."
        options.out.write_text("\n\n".join([head, *sections]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
