"""Coverage of the intervals of ``benchmark_agreement``, and error rates of its verdicts.

Abilities of models in two benchmarks are bivariate normal (SD 0.7), bivariate t with five degrees
of freedom, or skewed (lognormal with skewness 2.3, joined by a normal copula). Answers follow a
logistic curve with standard normal difficulties and lognormal slopes. The true correlation is
computed from the log odds of expected scores over 20,000 models and 4,000 questions.

The baselines are Spearman's correlation of the observed scores, and this correlation divided by
the root of the product of both reliabilities. Their intervals are Fisher's with standard error
1.06 / sqrt(K - 3), and the true value is the rank correlation of true scores.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m validation.benchmark_agreement_rates

Takes about five minutes. The tables are written to docs/benchmark_agreement_tables.md.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from scipy.stats import rankdata

import psychollm as psy
from psychollm.data.labels import Table
from psychollm.estimates.verdict import SMALLEST, Outcome, outcome
from psychollm.studies.benchmark_agreement.sides import agreement_of, side_of, spread_of

PAGE = Path(__file__).parents[1] / "docs" / "benchmark_agreement_tables.md"
SPREAD, LEVEL = 0.7, 0.95
EASY, GUESSING = 1.5, 0.25


@dataclass(frozen=True)
class Case:
    """A population, and the size of the sample."""

    models: int
    rho: float
    shape: str = "normal"
    questions: int = 200
    easy: bool = False  # the second benchmark, with guessing
    clusters: int = 0  # questions in each
    shared: int = 0  # questions in both
    pairs: bool = False  # whether reversed pairs are tested, too


def abilities(rng, n: int, rho: float, shape: str) -> np.ndarray:
    """Return abilities in both benchmarks (models, 2)."""
    z = rng.multivariate_normal([0.0, 0.0], [[1.0, rho], [rho, 1.0]], n, method="eigh")
    if shape == "heavy tails":
        z *= np.sqrt(3.0 / rng.chisquare(5.0, n))[:, None]
    if shape == "skewed":
        s = 0.6
        z = (np.exp(s * z) - np.exp(s**2 / 2)) / np.sqrt(np.exp(2 * s**2) - np.exp(s**2))
    return SPREAD * z


def questions(rng, n: int, easy: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Return slopes, difficulties and the floor of a benchmark."""
    return np.exp(rng.normal(0.0, 0.3, n)), rng.normal(size=n) - EASY * easy, GUESSING * easy


def chances(ability: np.ndarray, of: tuple[np.ndarray, np.ndarray, float]) -> np.ndarray:
    """Return the probability of a right answer of each model to each question."""
    slope, difficulty, floor = of
    return floor + (1.0 - floor) * expit(slope * (ability[:, None] - difficulty))


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Return the rank correlation."""
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def truth(case: Case) -> tuple[float, float]:
    """Return correlation and rank correlation of true scores."""
    if case.rho in (0.0, 1.0):
        return case.rho, case.rho
    rng = np.random.default_rng(12)
    able = abilities(rng, 20_000, case.rho, case.shape)
    grid = np.linspace(able.min(), able.max(), 400)
    scores = [
        np.interp(able[:, side], grid, logit(chances(grid, questions(rng, 4_000, easy)).mean(1)))
        for side, easy in enumerate((False, case.easy))
    ]
    return float(np.corrcoef(scores)[0, 1]), spearman(*scores)


def tables(rng, case: Case) -> tuple[list[np.ndarray], np.ndarray]:
    """Return binary scores in both benchmarks, and the abilities."""
    able = abilities(rng, case.models, case.rho, case.shape)
    both = []
    for side, easy in enumerate((False, case.easy)):
        p = chances(able[:, side], questions(rng, case.questions, easy))
        if case.clusters:  # a model does well or badly on a whole passage
            n = -(-case.questions // case.clusters)
            own = np.repeat(rng.normal(0.0, 0.8, (case.models, n)), case.clusters, axis=1)
            p = expit(logit(p) + own[:, : case.questions])
        both.append((rng.random(p.shape) < p).astype(float))
    if case.shared:
        both[1][:, : case.shared] = both[0][:, : case.shared]
    return both, able


def sides_of(case: Case, both: list[np.ndarray]) -> list:
    """Return both benchmarks in the form that is compared."""
    models = tuple(range(case.models))
    sides = []
    for place, values in enumerate(both):
        labels = [(place * (k >= case.shared), k) for k in range(case.questions)]
        clusters = None
        if case.clusters:
            clusters = {label: (place, k // case.clusters) for k, label in enumerate(labels)}
        sides.append(side_of(Table(values, models, tuple(labels)), clusters, place))
    return sides


def fisher(value: float, n: int) -> np.ndarray:
    """Return Fisher's interval of a rank correlation."""
    z = np.arctanh(np.clip(value, -0.999999, 0.999999))
    return np.tanh(z + 1.96 * 1.06 / np.sqrt(n - 3.0) * np.array([-1.0, 1.0]))


def measured(case: Case, n_tables: int) -> dict[str, float]:
    """Return the rates of a case."""
    rho, ranks = truth(case)
    kept: dict[str, list[float]] = {}
    for seed in range(n_tables):
        rng = np.random.default_rng([seed, case.models, round(100 * case.rho), case.questions])
        both, able = tables(rng, case)
        sides = sides_of(case, both)
        spreads = [spread_of(side) for side in sides]
        found, _ = agreement_of(sides, LEVEL)
        undefined = found is None or max(p for _, p in spreads) > 1.0 - LEVEL
        kept.setdefault("undefined", []).append(undefined)
        if undefined:
            continue
        low, high = found.interval
        opposite = np.arccos(found.interval[::-1]) / np.pi
        said = outcome(opposite, smallest=SMALLEST.share, enough=True)
        raw = spearman(sides[0].value, sides[1].value)
        ceiling = np.sqrt(spreads[0][0] * spreads[1][0])
        bounds = fisher(raw, case.models)
        now = {
            "covers": low - 1e-4 <= rho <= high + 1e-4,
            "width": high - low,
            "error": found.value - rho,
            "differently": said.shown,
            "alike": said is Outcome.SMALL,
            "raw covers": bounds[0] <= ranks <= bounds[1],
            "raw error": raw - ranks,
            "divided covers": bounds[0] / ceiling <= ranks <= bounds[1] / ceiling,
            "divided error": min(raw / ceiling, 1.0) - ranks,
        }
        if case.pairs:
            study = psy.benchmark_agreement(*both, n_draws=1000, rng=seed)
            first, second = study.first_differences.first, study.first_differences.second
            order = np.sign(able[list(first)] - able[list(second)])
            now["pairs"] = bool((study.reversed & (order[:, 0] == order[:, 1])).any())
        for name, value in now.items():
            kept.setdefault(name, []).append(value)
    rates = {name: float(np.mean(values)) for name, values in kept.items()}
    errors = {one: kept[one] for one in kept if one.endswith("error")}
    return rates | {
        f"{one} rms": float(np.sqrt(np.mean(np.square(e)))) for one, e in errors.items()
    }


NORMAL = [Case(k, rho) for k in (5, 10, 20, 40) for rho in (0.0, 0.5, 0.9, 1.0)]
SHAPES = [
    Case(k, rho, shape)
    for shape in ("skewed", "heavy tails")
    for k in (10, 40)
    for rho in (0.5, 0.9, 1.0)
]
OTHERS = {
    "50 questions": [Case(10, 0.5, questions=50), Case(10, 1.0, questions=50)],
    "second benchmark easy, with guessing": [
        Case(k, 1.0, questions=1000, easy=True) for k in (10, 40)
    ],
    "clusters of 5 questions": [Case(10, 0.5, clusters=5), Case(10, 1.0, clusters=5)],
    "half of the questions shared": [Case(10, 1.0, shared=100)],
    "reversed pairs": [Case(10, 0.5, pairs=True), Case(10, 1.0, pairs=True)],
}
HEADS = (
    "| case, models, correlation | interval covers, % | mean width | undefined, % | "
    "says differently, % | says alike, % | RMSE | RMSE of Spearman | covers | "
    "RMSE divided by reliability | covers |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def row(name: str, case: Case, n_tables: int) -> str:
    """Return a line of the table."""
    found = measured(case, n_tables)
    percents = [f"{100 * found[one]:.1f}" for one in ("undefined", "differently", "alike")]
    line = [
        f"{name}, {case.models} models, {case.rho:g}", f"{100 * found['covers']:.1f}",
        f"{found['width']:.2f}", *percents, f"{found['error rms']:.3f}",
        f"{found['raw error rms']:.3f}", f"{100 * found['raw covers']:.1f}",
        f"{found['divided error rms']:.3f}", f"{100 * found['divided covers']:.1f}",
    ]  # fmt: skip
    text = f"| {' | '.join(line)} |"
    print(text, found.get("pairs", ""), flush=True)
    if case.pairs:
        PAIRS.append(f"| {case.models} | {case.rho:g} | {100 * found['pairs']:.1f} |")
    return text


PAIRS: list[str] = []


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200, help="tables of each case")
    n = parser.parse_args().tables
    lines = [f"<!-- python -m validation.benchmark_agreement_rates --tables {n} -->", ""]
    lines += ["## Normal abilities, 200 questions in each benchmark", "", HEADS]
    lines += [row("normal", case, n) for case in NORMAL]
    lines += ["", "## Other abilities", "", HEADS]
    lines += [row(case.shape, case, n) for case in SHAPES]
    lines += ["", "## Other benchmarks", "", HEADS]
    lines += [row(name, case, n) for name, cases in OTHERS.items() for case in cases]
    lines += ["", "## Pairs wrongly listed as reversed", ""]
    lines += ["| models | correlation | tables with any, % |", "|---|---|---|", *PAIRS]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
