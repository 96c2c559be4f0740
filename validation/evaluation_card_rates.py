"""Coverage of the intervals of the evaluation card: docs/evaluation_card.md.

``python -m validation.evaluation_card_rates --write`` rewrites ``docs/evaluation_card_tables.md``.
Tables are drawn from a crossed logistic model (SDs in logits: models .8, questions 1.2,
interaction .8 or none; mean .5), so that both accuracies of every model are known. Models of one
table share its questions and are covered or missed together; standard errors are therefore
computed over tables. Takes six minutes.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from psychollm.estimates.intervals import wilson
from psychollm.reliability.components.crossed_logistic import fit_crossed
from psychollm.reliability.means.repeated_scores import repeated_scores
from psychollm.studies.evaluation_card.accuracies import Chances, accuracies

OUT = Path(__file__).parents[1] / "docs" / "evaluation_card_tables.md"
MEAN, MODELS, QUESTIONS = 0.5, 0.8, 1.2
NODE, WEIGHT = np.polynomial.hermite_e.hermegauss(61)

# Answers per question, standard deviation of the interaction, proportion of empty cells.
DESIGNS = {
    "one answer, no interaction": (1, 0.0, 0.0),
    "three answers, interaction": (3, 0.8, 0.0),
    "one answer, no interaction, 30 % empty": (1, 0.0, 0.3),
    "three answers, interaction, 30 % empty": (3, 0.8, 0.3),
    "one answer, interaction": (1, 0.8, 0.0),
}


def simulated(rng, n_models, n_questions, design):
    """Return scores and both accuracies of each model."""
    n_answers, interaction, empty = design
    level = MEAN + MODELS * rng.standard_normal(n_models)
    ease = QUESTIONS * rng.standard_normal(n_questions)
    own = interaction * rng.standard_normal((n_models, n_questions))
    chance = 1.0 / (1.0 + np.exp(-(level[:, None] + ease + own)))
    scores = (rng.random((n_models, n_questions, n_answers)) < chance[..., None]).astype(float)
    scores[rng.random((n_models, n_questions)) < empty] = np.nan
    spread = np.hypot(QUESTIONS, interaction)
    general = 1.0 / (1.0 + np.exp(-(level[:, None] + spread * NODE))) @ WEIGHT / WEIGHT.sum()
    return scores, chance.mean(axis=1), general


def one_table(rng, n_models, n_questions, design):
    """Return coverage and width of the intervals, and of the plain one of all answers."""
    scores, on_these, on_others = simulated(rng, n_models, n_questions, design)
    answers = repeated_scores(scores)
    fit = fit_crossed(answers, None, None)
    card = accuracies(answers, Chances.of(fit, rng), clusters=None, domains=None, level=0.95)
    posterior = fit.result(1000, 0.95, rng)
    n = np.isfinite(scores).sum(axis=(1, 2))
    plain = wilson(np.nansum(scores, axis=(1, 2)), n)
    claims = (
        (card[0].interval, on_these),
        (plain, on_these),
        (card[1].interval, on_others),
        (posterior.generalised.interval, on_others),
        (plain, on_others),
    )
    rows = [
        (((low <= truth) & (truth <= high)).mean(), (high - low).mean())
        for (low, high), truth in ((bounds.T, truth) for bounds, truth in claims)
    ]
    sd = np.sqrt(posterior.components.value)
    bounds = np.sqrt(posterior.components.interval)
    truth = [one for one in (MODELS, QUESTIONS, design[1]) if one][: len(sd)]
    inside = [low <= one <= high for (low, high), one in zip(bounds, truth, strict=False)]
    return rows, (sd[: len(inside)], inside)


def main():
    """Simulate, print, and write the table if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[5, 10, 20, 60])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--intervals", type=int, default=1000, help="for each line, at least")
    parser.add_argument("--tables", type=int, default=60, help="for each line, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the table of the docs")
    given = parser.parse_args()
    lines = [
        f"{given.questions} questions; nominal 95 %. Coverage in percent with its standard error "
        "over tables, and mean width in points.",
        "",
        "| design | models | tables | benchmark: card | plain | generalised: card | posterior | "
        "plain | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    spread = ["| design | models | tables | mean sd of models, questions, interaction | covered |"]
    spread.append("|---|---:|---:|---|---|")
    for name, design in DESIGNS.items():
        for n_models in given.models:
            n = max(given.tables, -(-given.intervals // n_models))
            rng, start = np.random.default_rng([given.seed, n_models]), time.process_time()
            found = [one_table(rng, n_models, given.questions, design) for _ in range(n)]
            seconds = (time.process_time() - start) / n
            rates = 100.0 * np.array([rows for rows, _ in found])  # (tables, claims, 2)
            (covered, width), error = rates.mean(axis=0).T, rates[..., 0].std(axis=0, ddof=1)
            every = zip(covered, error / np.sqrt(n), width, strict=True)
            cells = [f"{c:.1f} ± {e:.1f} ({w:.1f})" for c, e, w in every]
            lines.append(f"| {name} | {n_models} | {n} | {' | '.join(cells)} | {seconds:.2f} |")
            print(lines[-1], flush=True)
            sds = np.array([one for _, (one, _) in found]).mean(axis=0)
            inside = 100.0 * np.mean([one for _, (_, one) in found], axis=0)
            spread.append(
                f"| {name} | {n_models} | {n} | {', '.join(f'{one:.2f}' for one in sds)} | "
                f"{', '.join(f'{one:.0f}' for one in inside)} |"
            )
            print(spread[-1], flush=True)
            if given.write:
                OUT.write_text("\n".join([*lines, "", *spread]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
