"""Coverage of 95 % intervals if the errors of models in a family are correlated.

``python -m validation.coverage_families`` writes docs/irt_families_tables.md, with ``--names``
docs/irt_names_tables.md, with ``--screen`` docs/question_screen_tables.md.

The first member of a family is the parent. On each question, every other member repeats with
probability `COPY` the parent's random number that decides between right and wrong, so that it
repeats the parent's answer if both are equally able. Abilities are normal, with a proportion
`WITHIN` of their variance within families. Slopes are lognormal (log SD .35), difficulties normal,
200 questions. True values are transformed to the scale of the fit. *Named* is the proportion of
tables in which a fit without families reports respondents with nearly identical answers. Seeds are
0 to the number of tables.

The second page counts tables without families in which a 2PL fit reports any respondent. Abilities
are N(0, 1), slopes and difficulties are as above, and each line adds its own departures. A lapse
replaces the answer by a coin toss, a guess turns a wrong answer into a right one, and a second
ability, independent of the first, has slopes N(0, .5).

Takes seven minutes of CPU, with ``--names`` three and with ``--screen`` half a minute,
extrapolated from two tables or fewer in each line.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from psychollm._base.errors import ConvergenceWarning
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.studies.question_screen.study import question_screen

PAGE = Path(__file__).resolve().parents[1] / "docs" / "irt_families_tables.md"
QUESTIONS, Z = 200, 1.959964
CELLS = (  # families, members, COPY, WITHIN
    (5, 5, 0.8, 0.0),
    (5, 5, 0.8, 0.3),
    (10, 3, 0.4, 0.3),
    (15, 2, 0.0, 0.3),
    (25, 1, 0.0, 0.0),
)
NAMES = (  # respondents, questions, lapses, guesses, slopes' SD of a second ability
    (25, 500, 0.0, 0.0, 0.0),
    (12, 300, 0.0, 0.0, 0.0),
    (25, 500, 0.02, 0.0, 0.0),
    (12, 300, 0.04, 0.0, 0.0),
    (25, 500, 0.0, 0.2, 0.0),
    (25, 500, 0.0, 0.0, 0.5),
)


def named(cell: tuple[int, int, float, float, float], seed: int) -> bool:
    """Return whether a fit reports any respondent in a table without families."""
    n, questions, lapses, guesses, second = cell
    rng = np.random.default_rng([n, questions, *(int(100 * x) for x in cell[2:]), seed])
    theta, slope = rng.normal(size=n), rng.lognormal(0.0, 0.35, questions)
    logits = theta[:, None] * slope - slope * rng.normal(size=questions)
    logits += second * np.outer(rng.normal(size=n), rng.normal(size=questions))
    chance = 1.0 / (1.0 + np.exp(-logits))
    chance = lapses / 2 + (1.0 - lapses) * (chance + guesses * (1.0 - chance))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return bool(fit_irt((rng.random(chance.shape) < chance).astype(int)).alike)


def name_line(cell: tuple[int, int, float, float, float], tables: int) -> str:
    """Return one line of the page of names."""
    found = sum(named(cell, seed) for seed in range(tables))
    n, questions, lapses, guesses, second = cell
    extra = [
        f"{100 * lapses:g} % lapses" * bool(lapses),
        f"{100 * guesses:g} % guesses" * bool(guesses),
        f"a second ability, slopes N(0, {second:g})" * bool(second),
    ]
    return (
        f"| {n} x {questions} | {', '.join(filter(None, extra)) or 'nothing'} | {tables} "
        f"| {100 * found / tables:.1f} % |"
    )


def draw(cell: tuple[int, int, float, float], seed: int) -> tuple[np.ndarray, ...]:
    """Return abilities, slopes, intercepts, answers and families of one table."""
    n_families, members, copy, within = cell
    rng = np.random.default_rng([n_families, members, int(100 * copy), int(100 * within), seed])
    family = np.repeat(np.arange(n_families), members)
    theta = np.sqrt(1 - within) * rng.normal(size=n_families)[family]
    theta = theta + np.sqrt(within) * rng.normal(size=family.size)
    slope = rng.lognormal(0.0, 0.35, QUESTIONS)
    intercept = -slope * rng.normal(size=QUESTIONS)
    luck, parent = rng.random((family.size, QUESTIONS)), family * members
    repeats = rng.random(luck.shape) < copy
    luck = np.where(repeats, luck[parent], luck)
    chance = 1.0 / (1.0 + np.exp(-theta[:, None] * slope - intercept))
    return theta, slope, intercept, (luck < chance).astype(int), family


def figures(cell: tuple[int, int, float, float], seed: int, *, told: bool) -> list[float]:
    """Return coverages, whether the fit converged, and whether it reports any respondent."""
    theta, slope, intercept, answers, family = draw(cell, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_irt(answers, families=family if told else None)
    weight = fit.respondent_weight if told else np.ones(theta.size)
    mean = np.average(theta, weights=weight)
    sd = np.sqrt(np.average((theta - mean) ** 2, weights=weight))
    slope, intercept = slope * sd, intercept + slope * mean
    scored = ability(fit, answers)
    pairs = (
        (scored.ability, scored.se, (theta - mean) / sd),
        (fit.slope, fit.se_slope, slope),
        (fit.intercept, fit.se_intercept, intercept),
        (fit.difficulty, fit.se_difficulty, -intercept / slope),
    )
    shares = []
    for found, se, truth in pairs:
        usable = np.isfinite(se)
        shares.append(float(np.mean(np.abs(found - truth)[usable] <= Z * se[usable])))
    return [*shares, float(fit.convergence.converged), float(bool(fit.alike))]


def family_line(cell: tuple[int, int, float, float], tables: int, *, told: bool) -> str:
    """Return one line of the page of families."""
    rows = np.mean([figures(cell, seed, told=told) for seed in range(tables)], axis=0)
    shares = " | ".join(f"{x:.3f}" for x in rows[:4])
    return (
        f"| {cell[0]} x {cell[1]} | {cell[2]:g} | {cell[3]:g} | {'yes' if told else 'no'} "
        f"| {tables} | {shares} | {100 * rows[4]:.0f} % "
        f"| {'' if told else f'{100 * rows[5]:.0f} %'} |"
    )


def screen_line(cell: tuple[int, int, float, float], tables: int) -> str:
    """Return how often `question_screen` flags sound questions and pairs, by families or not."""
    found = []
    for seed in range(tables):
        *_, answers, family = draw(cell, seed)
        screens = [question_screen(answers, families=one) for one in (None, family)]
        found.append([(one.against.any(), len(one.pairs) > 0) for one in screens])
    rates = (100 * np.mean(found, axis=0)).ravel()
    return (
        f"| {cell[0]} x {cell[1]} | {cell[2]:g} | {cell[3]:g} | {tables} | "
        + " | ".join(f"{one:.0f} %" for one in rates)
        + " |"
    )


HEADS = {
    "families": "| families x members | repeated | within | `families=` | tables | abilities "
    "| slopes | intercepts | difficulties | converged | named |",
    "names": "| respondents x questions | in addition to one ability | tables | named |",
    "screen": "| families x members | repeated | within | tables "
    "| negative discrimination | duplicates "
    "| with `families=`: negative discrimination | duplicates |",
}
PAGES = {
    "families": PAGE,
    "names": PAGE.with_name("irt_names_tables.md"),
    "screen": PAGE.with_name("question_screen_tables.md"),
}


def lines_of(what: str, tables: int) -> Iterator[str]:
    """Yield the lines of a page."""
    for one in NAMES if what == "names" else ():
        yield name_line(one, tables)
    for cell in CELLS if what != "names" else ():
        if what == "screen":
            yield screen_line(cell, tables)
            continue
        for told in (False, True)[: 1 + (cell[1] > 1)]:
            share = 1 if told or cell[1] == 1 else 5
            yield family_line(cell, tables // share, told=told)


def main() -> None:
    """Write a page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=100, help="with families; a fifth without")
    parser.add_argument("--names", action="store_true", help="tables without families")
    parser.add_argument("--screen", action="store_true", help="questions, by their answers")
    options = parser.parse_args()
    what = "names" if options.names else "screen" if options.screen else "families"
    lines = [HEADS[what], "|---" * (HEADS[what].count("|") - 1) + "|"]
    for line in lines_of(what, options.tables):
        lines.append(line)
        print(line, flush=True)
    PAGES[what].write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
