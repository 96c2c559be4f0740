"""Analyse 29 language models on 12,032 questions: factors, misfitting questions, a short form.

    python examples/mmlu_pro.py --data DIR --tables docs/mmlu_pro_tables.md

``DIR`` contains ``mmlu_pro_correct.csv.gz``, which is not part of this package: five-shot
correctness on MMLU-Pro, from https://github.com/TIGER-AI-Lab/MMLU-Pro (Apache-2.0), one row per
model. The script takes a few minutes on one core.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import psychollm as psy
from psychollm._base.numbers import p_equals, percent
from psychollm.factor import rotate
from psychollm.irt import fit_multidimensional, item_fit, item_screen, short_form

SEED = 20261121
N_ITEMS = 100
WORST = 8
# Families of models that differ from the first word of the name.
FAMILY = {"Meta": "Llama", "Mixtral": "Mistral", "mathstral": "Mistral", "gemma": "gemini"}


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def dimensions(correct: psy.Responses) -> str:
    """Return the tests of one factor."""
    found = psy.dimensionality(correct, n_null=199, rng=SEED)
    test, share = found.one_factor_test, found.second_share
    rows = [
        ["one factor, rule-free test", p_equals(float(test.p_value))],
        ["first eigenvalue's share", percent(found.spectrum.shares[0], 1)],
        [
            "second factor's share",
            f"{percent(float(share.observed), 1)} (one factor: 95 % below "
            f"{percent(float(np.quantile(share.draws, 0.95)), 1)})",
        ],
    ]
    table = markdown(["", ""], rows)
    return f"## How many factors\n\n> {found.verdict}\n\n{table}\n"


def two_abilities(correct: psy.Responses) -> str:
    """Return the analysis of a second ability of the questions."""
    fit = fit_multidimensional(correct, 2, respondents="questions").rotated(rotate)
    table = fit.to_frame()
    rows = []
    for at, name in enumerate(("first", "second"), 1):
        column = f"loading_ability_{at}"
        for row in table.nlargest(4, column).to_dict("records"):
            numbers = [f"{row[f'loading_ability_{j}']:.2f}" for j in (1, 2)]
            share = f"{np.nanmean(correct.to_frame().loc[row['item']]):.2f}"
            rows.append([f"{name}: {row['item']}", *numbers, share])
    words = (
        "Models are treated as items with two slopes each. After oblique rotation the two factors "
        f"correlate {fit.factor_correlation[0, 1]:.2f}. The table lists the four models with the "
        "highest loadings on each factor."
    )
    header = ["model", "loading on the first", "on the second", "share correct"]
    return f"## A second factor\n\n{words}\n\n{markdown(header, rows)}\n"


def misfit(correct: psy.Responses) -> tuple[str, psy.irt.IRTFit]:
    """Return the worst-fitting questions, and the fit."""
    fit = psy.fit_irt(correct)
    screen = item_screen(fit, correct)
    table = item_fit(fit, correct).to_frame()
    table = table.assign(slope=fit.slope, yes_rate=screen.yes_rate, adjusted=screen.adjusted)
    worst = table.dropna(subset=["outfit"]).nlargest(WORST, "outfit")
    rows = [
        [
            str(row.item),
            f"{row.yes_rate:.2f}",
            f"{row.slope:.2f}",
            f"{row.infit:.2f}",
            f"{row.outfit:.2f}",
            f"{row.zh:.2f}",
            f"{row.adjusted:.2f}",
        ]
        for row in worst.itertuples()
    ]
    header = ["question", "share correct", "slope", "infit", "outfit", "Zh", "miskeyed, p (Holm)"]
    negative = int(np.sum(fit.slope < 0))
    said = f"{negative or 'No'} questions have a negative slope. {screen.summary()}"
    return f"## The questions that fit worst\n\n{said}\n\n{markdown(header, rows)}\n", fit


def short_forms(correct: psy.Responses) -> str:
    """Return the error of a hundred selected questions for held-out families."""
    complete = correct.to_frame().dropna(axis="columns")
    families = {model: FAMILY.get(name := model.split("-")[0], name) for model in complete.index}
    found = short_form(complete, N_ITEMS, families=families, rng=SEED)
    rows = [
        [way, rule, f"{error:.3f}"]
        for (way, rule), error in zip(found.tried, found.tried_rmse, strict=True)
        if rule != "both"
    ]
    header = ["chosen by", "predicted by", "error in the share correct"]
    size = (
        f"The table is based on {complete.shape[1]:,} questions that all models answered, and on "
        f"five folds of models; each of the {len(set(families.values()))} families is within one "
        "fold."
    )
    return f"## A short form\n\n{size}\n\n{markdown(header, rows)}\n\n{found.summary()}\n"


def followed(correct: psy.Responses) -> str:
    """Return each model's loading on the common factor."""
    fit = psy.fit_irt(correct, respondents="questions")
    table = fit.to_frame().sort_values("slope", ascending=False)
    shown = list(table.itertuples())
    rows = [[str(row.item), f"{row.slope:.2f} ± {row.se_slope:.2f}"] for row in shown[:3]]
    rows += [["...", ""]]
    rows += [[str(row.item), f"{row.slope:.2f} ± {row.se_slope:.2f}"] for row in shown[-3:]]
    words = (
        "Questions are treated as respondents. Slopes measure how strongly each model's answers "
        "depend on the common factor."
    )
    return f"## What models share\n\n{words}\n\n{markdown(['model', 'slope'], rows)}\n"


def sections(correct: psy.Responses) -> Iterator[str]:
    """Yield the parts of the page."""
    yield dimensions(correct)
    yield two_abilities(correct)
    text, fit = misfit(correct)
    found = psy.ability(fit, correct)
    low, high = np.quantile(found.se, [0.05, 0.95])
    sure = f"{low:.3f} to {high:.3f}, computed on {fit.n_nodes} nodes"
    yield f"{text}\nPosterior standard deviations of abilities are {sure}.\n"
    yield short_forms(correct)
    yield followed(correct)


def main() -> None:
    """Make the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", type=Path)
    options = parser.parse_args()
    correct = psy.read_responses(options.data / "mmlu_pro_correct.csv.gz")
    page = "\n".join(sections(correct))
    print(page)
    if options.tables:
        head = f"<!-- Made by examples/mmlu_pro.py, seed {SEED}. -->\n\n"
        options.tables.write_text(head + page, encoding="utf-8")


if __name__ == "__main__":
    main()
