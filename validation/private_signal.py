"""Error rates of the test of a private signal, with and without measurement error.

In the simulated studies, confidence follows one common factor and correctness partly follows it;
loadings and thresholds are estimated, as in `psychollm.shared_confidence`. "Exact" treats the
leave-one-out score of a question as the factor (`psychollm.calibration.individuation`),
"integrated" integrates the factor out (`psychollm.studies.private_signal`).

    python -m validation.private_signal --table docs/private_signal.md

Takes three quarters of an hour of CPU, extrapolated from one study of each cell.
"""

import argparse
import itertools
import platform
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import psychollm as psy
from psychollm.calibration.consensus.individuation import individuation
from psychollm.data.simulate_study import simulate_study
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.studies.shared_confidence.private_signal import PrivateSignal, private_signal

MODELS = (10, 19)
QUESTIONS = (500, 2000, 10_000)
LINKS = ("normal ogive", "guessing 1 in 4")
STUDIES = {500: 60, 2000: 60, 10_000: 20}
WEIGHTS = (0.4, 0.6)
WHO = 4
LEVEL = 0.05
SEED = 20261121

LAPSES = {
    "lapses 2 %": (0.02, 0.0),
    "lapses 4 %": (0.04, 0.0),
    "guessed yes 20 %": (0.0, 0.2),
}
LAPSE_STUDIES = {500: 40, 2000: 40}
LAPSE_TEXT = """
In the next table, some of the models' yes/no statements of confidence do not depend on the
question. "Lapses" are random answers; in "guessed yes" some "no" answers are changed to "yes" at
random. "Ignored" uses the loadings, thresholds and test of one normal factor. "Modelled" is the
method of `psychollm.shared_confidence`, with the asymptotes of `dimensionality` if answers show
lapses.
There are 19 models; the Monte Carlo error of power is up to {error:.2f} ({studies} studies).

| models | questions | answers | ignored | modelled | mean | power {low:.2f} | {high:.2f} \
| estimate |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""

TEXT = """# Operating characteristics of the test of a private signal

The tables give the false positive rate and power of the test for self-knowledge in simulated data,
at the nominal 5 % level. Even if a model's answer depends only on the common factor, it adds
information to a score with measurement error. A likelihood ratio that treats the leave-one-out
score of a question as exact (column "exact", `psychollm.calibration.individuation`) therefore
rejects too often, and more often with more questions. The test that integrates the factor
out ("integrated", `psychollm.studies.private_signal`) has the nominal false positive rate.

"Mean" is the test of the mean private correlation over models. Power is for one model with a
private correlation of {low:.3f} or {high:.3f}; the last column is the mean estimate of the larger
correlation. "Guessing" means that a model without the knowledge is right with probability one
quarter, which violates the link function that the test assumes.

± is the Monte Carlo standard error of the column "integrated", at most .065 for the power from 60
studies and .11 from 20. Loadings range from .60 to .95 and thresholds from -1.8 to 1.8; both are
estimated.

In this test, a second factor that several models share and that affects correctness counts as a
private signal. Use this test together with the verdict of `dimensionality`.

The tables were made by `validation/private_signal.py` with seed {seed}, psychollm {version},
NumPy {numpy} and Python {python}.

| models | questions | link | exact | integrated | mean | power {low:.2f} | {high:.2f} | estimate |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    models: int
    questions: int
    link: str

    def answers(self, seed: int, weight: float) -> tuple[psy.Responses, psy.Responses]:
        knowledge = {WHO: weight} if weight else {}
        made = simulate_study(
            n_models=self.models, n_questions=self.questions, self_knowledge=knowledge, rng=seed
        )
        if self.link == LINKS[0]:
            return made.confidence, made.correctness
        lucky = np.random.default_rng([SEED, seed]).random(made.correctness.codes.shape) < 0.25
        guessed = psy.Responses(
            made.correctness.codes | lucky,
            models=made.correctness.models,
            questions=made.correctness.questions,
        )
        return made.confidence, guessed


def true_correlation(weight: float, c: float = 0.7, r: float = 0.6) -> float:
    """Correlation of a model's own parts of confidence and correctness, the factor held fixed."""
    return float(weight**2 * np.sqrt(1 - c**2) / np.sqrt(1 - (c * r) ** 2))


def row(cell: Cell, studies: int) -> str:
    exact, allowed, mean = [], [], []
    power: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    estimates = []
    for seed in range(SEED, SEED + studies):
        said, right = cell.answers(seed, 0.0)
        fit = pairwise_likelihood(said)
        found = private_signal(said, right, loadings=fit.loadings, thresholds=fit.thresholds)
        allowed.append(found.p_value < LEVEL)
        mean.append(found.mean_p < LEVEL)
        scores = psy.question_scores(said).leave_one_out
        exact.append(individuation(said, right, scores, bootstrap=2, rng=0).p_value < LEVEL)
        for weight in WEIGHTS:
            said, right = cell.answers(seed, weight)
            fit = pairwise_likelihood(said)
            found = private_signal(said, right, loadings=fit.loadings, thresholds=fit.thresholds)
            power[weight].append(found.p_value[WHO] < LEVEL)
            if weight == WEIGHTS[-1]:
                estimates.append(found.correlation.value[WHO])
    rate = np.mean(allowed)
    error = np.sqrt(rate * (1 - rate) / np.size(allowed))
    parts = [
        f"{cell.models}",
        f"{cell.questions}",
        cell.link,
        f"{np.mean(exact):.3f}",
        f"{rate:.3f} ± {error:.3f}",
        f"{np.mean(mean):.2f}",
        *(f"{np.mean(power[weight]):.2f}" for weight in WEIGHTS),
        f"{np.mean(estimates):.3f}",
    ]
    return "| " + " | ".join(parts) + " |"


def lapse_row(questions: int, link: str, studies: int) -> str:
    coin, guess = LAPSES[link]

    def found(seed: int, weight: float, *, allowed: bool) -> PrivateSignal:
        said, right = Cell(MODELS[-1], questions, LINKS[0]).answers(seed, weight)
        rng = np.random.default_rng([SEED, seed, 1])
        shape = said.codes.shape
        codes = np.where(rng.random(shape) < coin, rng.random(shape) < 0.5, said.codes == 1)
        codes |= rng.random(shape) < guess
        lapsing = psy.Responses(codes.astype(int), models=said.models, questions=said.questions)
        result = psy.dimensionality(lapsing, n_null=39, rng=seed, n_jobs=1)
        curves = (result.one_factor if allowed else result.full_information).curves
        names = ("loadings", "thresholds", "lower", "upper")
        return private_signal(lapsing, right, **dict(zip(names, curves, strict=False)))

    left, allowed, mean = [], [], []
    power: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    estimates = []
    for seed in range(SEED, SEED + studies):
        left.append(found(seed, 0.0, allowed=False).p_value < LEVEL)
        one = found(seed, 0.0, allowed=True)
        allowed.append(one.p_value < LEVEL)
        mean.append(one.mean_p < LEVEL)
        for weight in WEIGHTS:
            one = found(seed, weight, allowed=True)
            power[weight].append(one.p_value[WHO] < LEVEL)
            if weight == WEIGHTS[-1]:
                estimates.append(one.correlation.value[WHO])
    rate = np.mean(allowed)
    parts = [
        f"{MODELS[-1]}",
        f"{questions}",
        link,
        f"{np.mean(left):.3f}",
        f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / np.size(allowed)):.3f}",
        f"{np.mean(mean):.2f}",
        *(f"{np.mean(power[weight]):.2f}" for weight in WEIGHTS),
        f"{np.mean(estimates):.3f}",
    ]
    return "| " + " | ".join(parts) + " |"


def lapse_lines(share: float) -> list[str]:
    low, high = map(true_correlation, WEIGHTS)
    studies = max(2, round(share * LAPSE_STUDIES[2000]))
    lines = [
        LAPSE_TEXT.format(low=low, high=high, studies=studies, error=0.5 / studies**0.5).rstrip(
            "\n"
        )
    ]
    for questions, link in itertools.product(LAPSE_STUDIES, LAPSES):
        lines.append(lapse_row(questions, link, studies))
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="of the studies per cell")
    parser.add_argument("--lapses", action="store_true", help="renew the last table alone")
    chosen = parser.parse_args()
    if chosen.lapses:
        before = chosen.table.read_text(encoding="utf-8").partition(LAPSE_TEXT[:40])[0]
        lines = [before.rstrip("\n"), *lapse_lines(chosen.share)]
        chosen.table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    low, high = map(true_correlation, WEIGHTS)
    lines = [
        TEXT.format(
            low=low,
            high=high,
            seed=SEED,
            version=psy.__version__,
            numpy=np.__version__,
            python=platform.python_version(),
        ).rstrip("\n")
    ]
    for models, questions, link in itertools.product(MODELS, QUESTIONS, LINKS):
        studies = max(2, round(chosen.share * STUDIES[questions]))
        lines.append(row(Cell(models, questions, link), studies))
        print(lines[-1], flush=True)
    lines += lapse_lines(chosen.share)
    chosen.table.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
