"""Coverage of 95 % intervals where models of a family repeat one another's luck.

Run as ``python -m benchmarks.coverage_families``: it writes docs/irt_families_tables.md.

The first member of a family is the parent; each other repeats, question by question with chance
`COPY`, the parent's luck (the number that decides between right and wrong), so that it repeats
the parent's answer where both are equally able. Abilities are normal, a share `WITHIN` of their
variance within families. Slopes are lognormal (log SD .35), difficulties normal, 200 questions.
Truth is put on the scale that the fit states. *Named* is the share of tables in which a fit
without families names respondents that answer alike. Seeds are 0 to the number of tables.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from psychollm._base.errors import ConvergenceWarning
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt

PAGE = Path(__file__).resolve().parents[1] / "docs" / "irt_families_tables.md"
QUESTIONS, Z = 200, 1.959964
CELLS = (  # families, members, COPY, WITHIN
    (5, 5, 0.8, 0.0),
    (5, 5, 0.8, 0.3),
    (10, 3, 0.4, 0.3),
    (15, 2, 0.0, 0.3),
    (25, 1, 0.0, 0.0),
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
    """Return shares covered, whether the fit converged, and whether it names anybody."""
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


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=100, help="with families; a fifth without")
    tables = parser.parse_args().tables
    lines = [
        "| families x members | repeated | within | `families=` | tables | abilities | slopes "
        "| intercepts | difficulties | converged | named |",
        "|---" * 11 + "|",
    ]
    for cell in CELLS:
        for told in (False, True):
            if told and cell[1] == 1:
                continue
            number = tables if told or cell[1] == 1 else tables // 5
            rows = np.mean([figures(cell, seed, told=told) for seed in range(number)], axis=0)
            named = "" if told else f"{100 * rows[5]:.0f} %"
            lines.append(
                f"| {cell[0]} x {cell[1]} | {cell[2]:g} | {cell[3]:g} | {'yes' if told else 'no'} "
                f"| {number} | " + " | ".join(f"{x:.3f}" for x in rows[:4]) + " | "
                f"{100 * rows[4]:.0f} % | {named} |"
            )
            print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
