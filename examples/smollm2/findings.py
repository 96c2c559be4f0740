"""Write the tables of the recorded example into the documentation: ``python findings.py``.

Makes ``docs/smollm2_tables.md`` (respondents, domains, the verdict of the study) from
``load_example("smollm2")`` alone.
"""

import argparse
from pathlib import Path

import numpy as np

import psychollm as psy

DOCS = Path(__file__).resolve().parents[2] / "docs"


def table(header, rows):
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def respondents(example):
    """Return a row per respondent: its system prompt and its rates."""
    panel = psy.calibration.auroc(example.stated, example.correctness, rng=1)
    for k, row in enumerate(example.recorded.models):
        low, high = panel.interval[k]
        yield (
            row["model"],
            f"*{row['system']}*" if row["system"] else "(none)",
            f"{float(row['temperature']):g}",
            f"{example.confidence.yes_rates[k]:.3f}",
            f"{example.correctness.yes_rates[k]:.3f}",
            f"{panel.value[k]:.3f} [{low:.3f}, {high:.3f}]",
            int(example.confidence.missing[k].sum()),
        )


def domains(example):
    """Return a row per domain: rates over all respondents."""
    of = np.array([row["domain"] for row in example.recorded.questions])
    said = np.where(example.confidence.missing, np.nan, example.confidence.codes)
    right = np.where(example.correctness.missing, np.nan, example.correctness.codes)
    for domain in dict.fromkeys(of):
        here = of == domain
        yield (
            domain,
            int(here.sum()),
            f"{np.nanmean(said[:, here]):.3f}",
            f"{np.nanmean(right[:, here]):.3f}",
        )


def main():
    """Write the tables."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    example = psy.load_example("smollm2")
    study = psy.shared_confidence(example.confidence, example.correctness, rng=1)
    header = ("respondent", "system prompt", "temperature", "says yes", "is right",
              "AUROC of the probability of yes", "unreadable")  # fmt: skip
    parts = [
        "## The respondents",
        table(header, respondents(example)),
        "## The questions",
        table(("domain", "questions", "says yes", "is right"), domains(example)),
        "## The verdict",
        f"```text\n{study.findings().text()}\n```",
    ]
    path = DOCS / "smollm2_tables.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(study.findings().text())


if __name__ == "__main__":
    main()
