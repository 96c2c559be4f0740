"""Rules for abstaining, compared at the same proportion of answers on questions of SQuAD.

    python -m validation.gate_squad FOLDER [--questions 1200] [--write]

FOLDER holds squad_dev_v1.1_questions.csv.gz and squad_dev_v1.1_em.csv.gz, as published by
rajpurkar/SQuAD-explorer (CC BY-SA 4.0). Correctness is real: exact match of the published
predictions of five systems that read the passage. Simulated answers whose difficulty depends on
the text, and simulated yes/no self-reports of a stated validity, are added. Gates use only the
question; they are cross-validated by question and by article. ``--write`` makes
docs/gate_tables.md. Takes ten minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.studies import fit_gate

OUT = Path(__file__).resolve().parent.parent / "docs" / "gate_tables.md"
SEED = 20261127


def planted(texts: list[str], rng: np.random.Generator) -> np.ndarray:
    """Return answers that are right less often with digits and rare words in the question."""
    words = [text.lower().split() for text in texts]
    known = pd.Series([word for own in words for word in own]).value_counts()
    rare = np.array([np.mean([known[word] < 3 for word in own]) for own in words])
    digits = np.array([any(c.isdigit() for c in text) for text in texts])
    z = 1.2 - 1.5 * (rare - rare.mean()) / rare.std() - 1.0 * digits
    return (rng.random(len(texts)) < 1 / (1 + np.exp(-z))).astype(float)


def said_of(right: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Return a model's own yes or no, whose log odds follow its correctness by `strength`."""
    z = 0.4 + strength * np.nan_to_num(right - np.nanmean(right)) + rng.normal(0, 1, right.size)
    return (z > 0).astype(float)


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=1200)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    questions = pd.read_csv(options.folder / "squad_dev_v1.1_questions.csv.gz")
    answers = pd.read_csv(options.folder / "squad_dev_v1.1_em.csv.gz", index_col=0)
    rng = np.random.default_rng(SEED)
    # Draw whole articles, so that groups are as large as in the data.
    titles = rng.permutation(questions["title"].unique())
    size = questions["title"].value_counts()[titles].cumsum()
    own_titles = titles[: int(np.searchsorted(size, options.questions)) + 1]
    rows = np.flatnonzero(questions["title"].isin(own_titles))
    texts = [questions["question"][row] for row in rows]
    groups = questions["title"][rows].tolist()
    scored = answers.iloc[:, rows].to_numpy(dtype=float)
    cases = [("planted", planted(texts, rng), None)]
    for name in ("BERT (ensemble)", "Logistic Regression"):
        place = next(i for i, label in enumerate(answers.index) if label.startswith(name))
        others = np.delete(scored, place, axis=0).mean(axis=0)
        cases.append((name, scored[place], others))
    lines = [
        f"Risks on {len(texts):,} questions of {len(own_titles)} articles:",
        "",
        "| answers | folds | share answered | own yes | gate | shared score | always answer "
        "| gate minus own yes |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, right, others in cases:
        own = said_of(right, 1.0, rng)
        for folds, by in (("question", None), ("article", groups)):
            found = fit_gate(texts, right, risk=0.2, own=own, groups=by, bootstrap=1000, rng=1)
            risks = found.at_own_share
            shared = "–"
            if others is not None:
                with_others = fit_gate(
                    texts, right, risk=0.2, own=own, scores=others, groups=by, bootstrap=1000,
                    rng=1,
                ).at_own_share  # fmt: skip
                shared = with_others.text(with_others.labels.index("shared score"), 3)
            lead = risks.difference("gate", "own yes/no")
            cells = [
                name,
                folds,
                f"{own.mean():.2f}",
                *(risks.text(risks.labels.index(rule), 3) for rule in ("own yes/no", "gate")),
                shared,
                risks.text(risks.labels.index("always answer"), 3),
                f"{lead.value:+.3f} [{lead.interval[0]:+.3f}, {lead.interval[1]:+.3f}]",
            ]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if options.write:
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
