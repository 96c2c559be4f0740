"""Accuracy of short forms for held-out families of models, by selection rule.

Simulated answers have one ability for all questions, further abilities, family effects, and
clones. Real answers are tables of language models that are not part of this package: MMLU-Pro
(github.com/TIGER-AI-Lab/MMLU-Pro), LiveBench (github.com/sambowyer/bayes_evals) and MMLU-Redux
(github.com/aryopg/mmlu-redux).

    OPENBLAS_NUM_THREADS=1 python -m validation.short_forms --data DIR \
        --tables docs/short_forms_tables.md

With ``--coverage`` the script prints instead how often 95 % intervals from a hundred questions
covered the scores of families that were left out of all steps. Takes 20 seconds, without
``--coverage``.
"""

import argparse
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.estimates.folds import dealt
from psychollm.irt.short_form import ShortForm, short_form

SEED = 20261123
SIZES = (30, 100)
WAYS = ("factor", "information", "error", "stratified", "random")
MAKERS = ("qwen", "llama", "mistral", "mixtral", "mathstral", "claude", "gpt", "phi", "gemini")


@dataclass(frozen=True)
class Bank:
    """A table of scores from 0 to 1 (models, questions), and the family of each model."""

    name: str
    scores: np.ndarray
    families: list[str]


@dataclass(frozen=True)
class Misfit:
    """Departures from one ability in simulated answers."""

    n_abilities: int  # beyond the first
    n_families: int
    cloned: float  # proportion of models that repeat four fifths of another's answers
    spread: float  # SD of abilities, in logits

    def draw(self, name: str, n: int, n_items: int, seed: int) -> Bank:
        """Return a table of answers."""
        rng = np.random.default_rng(seed)
        family = rng.integers(0, self.n_families, n)
        shape = (self.n_families, self.n_abilities)
        others = 0.8 * rng.normal(size=shape)[family] + 0.6 * rng.normal(size=(n, shape[1]))
        ability = 0.8 * rng.normal(size=self.n_families)[family] + 0.6 * rng.normal(size=n)
        height = self.spread * ability[:, None] * np.exp(0.4 * rng.normal(size=n_items))
        height += 0.5 + 1.5 * rng.normal(size=n_items)
        height += others @ (0.35 * rng.normal(size=(self.n_abilities, n_items)))
        height += 0.8 * rng.normal(size=(self.n_families, n_items))[family]
        chance = rng.logistic(size=(n, n_items))
        for i in np.flatnonzero(rng.random(n) < self.cloned):
            like = rng.choice(np.flatnonzero(family == family[i]))
            chance[i] = np.where(rng.random(n_items) < 0.8, chance[like], chance[i])
            height[i] = height[like]
        return Bank(name, (chance < height).astype(float), family.astype(str).tolist())


def family_of(model: str) -> str:
    """Return the maker's name in that of a model, or its first word."""
    name = model.lower()
    known = next((maker for maker in MAKERS if maker in name), None)
    return known or re.split(r"[^a-z]", name)[0]


def real(name: str, table: pd.DataFrame) -> Bank:
    """Return the questions that all models answered."""
    table = table.dropna(axis="columns")
    return Bank(name, table.to_numpy(dtype=float), [family_of(model) for model in table.index])


def banks(folder: Path | None) -> Iterator[Bank]:
    """Yield simulated tables, and those in the folder."""
    yield Misfit(4, 53, 0.3, 1.0).draw("simulated, four further abilities", 320, 735, SEED)
    yield Misfit(8, 20, 0.6, 0.6).draw("simulated, eight further abilities", 320, 735, SEED + 1)
    yield Misfit(4, 15, 0.3, 1.0).draw("simulated, few models", 90, 5021, SEED + 2)
    if folder is None:
        return
    yield real("MMLU-Pro", pd.read_csv(folder / "mmlu_pro_correct.csv.gz", index_col=0))
    live = pd.read_parquet(folder / "livebench_scores.parquet")
    live = live.pivot_table(index="model", columns="question", values="score")
    # Keeping models that skipped whole tasks would remove these tasks from the table.
    yield real("LiveBench", live[live.isna().mean(axis=1) < 0.15])
    redux = pd.read_csv(folder / "mmlu_redux_options.csv.gz")
    given = redux.drop(columns=["question", "subject", "key", "label"])
    yield real("MMLU-Redux", given.eq(redux["key"], axis=0).astype(float).T)


def row_of(bank: Bank, form: ShortForm, seconds: float) -> str:
    """Return a row: the smallest error of each method over rules, and that of the whole table."""
    by_line = dict(zip(form.tried, form.tried_rmse, strict=True))["factor", "line"]
    errors = {
        way: min(e for (one, _), e in zip(form.tried, form.tried_rmse, strict=True) if one == way)
        for way in WAYS
    }
    n, n_items = bank.scores.shape
    cells = [
        bank.name,
        f"{n} x {n_items:,} ({len(set(bank.families))})",
        str(len(form.items)),
        *[f"{error:.4f}" for error in (by_line, *errors.values())],
        f"{form.rmse:.4f}",
        f"{form.method}, {form.rule}",
        f"{seconds:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def tables(folder: Path | None) -> str:
    """Return the table."""
    ways = " | ".join(("factor, line", *WAYS))
    lines = [
        f"| table | models x questions (families) | items | {ways} | auto | rule | seconds |",
        "|" + ":--- |" * 2 + " ---: |" * 8 + " :--- | ---: |",
    ]
    short_form(np.eye(20, 30), 3)  # excludes SciPy's imports from the timing
    for bank in banks(folder):
        for size in SIZES:
            start = time.process_time()
            form = short_form(bank.scores, size, families=bank.families, rng=SEED)
            lines.append(row_of(bank, form, time.process_time() - start))
    return "\n".join(lines) + "\n"


def coverage(bank: Bank) -> str:
    """Return coverage and error on families left out, and the error that the forms stated."""
    kin = np.unique(bank.families, return_inverse=True)[1]
    inside, errors, stated = [], [], []
    for seed in range(4 if len(kin) < 60 else 1):
        fold = dealt(kin, 5, np.random.default_rng(seed))
        for out in (fold == k for k in range(5)):
            own = kin[~out].tolist()
            n_folds = min(5, len(set(own)))
            form = short_form(bank.scores[~out], 100, families=own, n_folds=n_folds, rng=seed)
            found = form.predict(bank.scores[out])
            full = bank.scores[out].mean(axis=1)
            inside += ((found.interval[:, 0] <= full) & (full <= found.interval[:, 1])).tolist()
            errors += (found.value - full).tolist()
            stated.append(form.rmse)
    rmse = np.sqrt(np.mean(np.square(errors)))
    return (
        f"{bank.name}: coverage {np.mean(inside):.3f} of {len(inside)}, error {rmse:.4f}, stated "
        f"{np.mean(stated):.4f}, bias {np.mean(errors):.4f}"
    )


def main() -> None:
    """Print the table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of the tables of language models")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--coverage", action="store_true")
    options = parser.parse_args()
    if options.coverage:
        for bank in banks(options.data):
            print(coverage(bank), flush=True)
        return
    text = tables(options.data)
    print(text)
    if options.tables:
        head = f"<!-- Made by validation/short_forms.py, seed {SEED}. -->\n\n"
        options.tables.write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main()
