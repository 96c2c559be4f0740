"""Accuracy of standard errors for ordered answers where this library and R differ.

Data sets are simulated and analysed with `confirmatory_factors`, `confirmatory_groups` and
`polyserial` of this library and with lavaan and polycor in R. The mean of each standard error is
compared with the standard deviation of the estimates over data sets, which it should equal.
Coverage is that of the estimate plus and minus 1.96 standard errors.

    python -m validation.ordered_errors --datasets 500 --table docs/ordered_errors.md

Needs R with the packages lavaan and polycor. Takes one minute without the part in R, extrapolated
from four data sets of each case.
"""

import argparse
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.correlation.by_group import polychoric_by_group
from psychollm.correlation.polychoric import polychoric
from psychollm.correlation.polyserial import polyserial
from psychollm.factor.confirmatory import confirmatory_factors
from psychollm.factor.invariance.fit import confirmatory_groups

SEED = 20261122
REACH = 1.959963984540054
FOUR = (0.5, 1.2, 1.8)


@dataclass(frozen=True)
class Items:
    """Items of one factor, cut at the same thresholds; two groups where the mean differs."""

    name: str
    cuts: tuple[float, ...]
    n: int
    loadings: tuple[float, ...] = (0.8, 0.8, 0.7, 0.7, 0.6, 0.6)
    mean: float | None = None  # mean of the second group's factor, whose variance is 1.5

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return answers (units, items) and the group of each unit (0 and 1)."""
        loadings = np.array(self.loadings)
        group = np.zeros(self.n, dtype=int)
        if self.mean is not None:
            group[self.n // 2 :] = 1
        factor = rng.normal(size=self.n)
        factor = np.where(group, (self.mean or 0.0) + np.sqrt(1.5) * factor, factor)
        noise = rng.normal(size=(self.n, loadings.size)) * np.sqrt(1.0 - loadings**2)
        return np.digitize(factor[:, None] * loadings + noise, self.cuts), group

    @property
    def truth(self) -> dict[str, float]:
        """The value of every parameter."""
        found = {f"x{i + 1}": size for i, size in enumerate(self.loadings)}
        return found if self.mean is None else found | {"mean": self.mean, "variance": 1.5}


@dataclass(frozen=True)
class Scores:
    """A normal score and an answer that correlate."""

    name: str
    rho: float
    cuts: tuple[float, ...]
    n: int


ITEMS = [
    Items("2 answers, n = 500", (0.5,), 500),
    Items("3 answers, n = 300", (-0.5, 0.5), 300),
    Items("4 answers, skewed, n = 500", FOUR, 500),
    Items("4 answers, skewed, n = 2,000", FOUR, 2000),
    Items("two groups, 4 answers, skewed, n = 2 x 300", FOUR, 600, mean=0.5),
]
SCORES = [
    Scores("rho = .3, 3 answers, n = 200", 0.3, (-0.5, 0.8), 200),
    Scores("rho = .6, 3 answers, n = 200", 0.6, (-0.5, 0.8), 200),
    Scores("rho = .8, 3 answers, n = 200", 0.8, (-0.5, 0.8), 200),
    Scores("rho = .8, 3 answers, n = 1,000", 0.8, (-0.5, 0.8), 1000),
]


def estimates_here(case: Items, answers: np.ndarray, group: np.ndarray) -> pd.DataFrame:
    """Return estimate and standard error of every parameter, by this library."""
    names = list(case.truth)
    model = {"F": range(len(case.loadings))}
    if case.mean is None:
        one = confirmatory_factors(polychoric(answers.T), model)
        estimate, se = one.loadings[:, 0], one.loading_errors[:, 0]
    else:
        parts = polychoric_by_group(answers.T, group)
        both = confirmatory_groups(parts, model, invariance="scalar")
        estimate = np.concatenate(
            [both.loadings[0, :, 0], both.factor_means[1], both.factor_covariance[1, 0]]
        )
        se = np.concatenate(
            [
                both.loading_errors[0, :, 0],
                both.factor_mean_errors[1],
                both.factor_covariance_errors[1, 0],
            ]
        )
    return pd.DataFrame({"parameter": names, "estimate": estimate, "se": se})


def simulate(datasets: int, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write the data for R, and return this library's estimates."""
    tables, scores, here, serial = [], [], [], []
    for c, case in enumerate(ITEMS):
        rng = np.random.default_rng([SEED, c])
        for d in range(datasets):
            answers, group = case.draw(rng)
            names = [f"x{i + 1}" for i in range(answers.shape[1])]
            table = pd.DataFrame(answers, columns=names)
            table.insert(0, "group", np.nan if case.mean is None else group)
            table.insert(0, "data_set", f"{c}_{d}")
            tables.append(table)
            found = estimates_here(case, answers, group)
            here.append(found.assign(data_set=f"{c}_{d}"))
    for c, case in enumerate(SCORES):
        rng = np.random.default_rng([SEED, 100 + c])
        for d in range(datasets):
            score = rng.normal(size=case.n)
            latent = case.rho * score + np.sqrt(1.0 - case.rho**2) * rng.normal(size=case.n)
            answer = np.digitize(latent, case.cuts)
            scores.append(pd.DataFrame({"data_set": f"{c}_{d}", "score": score, "answer": answer}))
            own = polyserial(score, answer[None])
            values = (own.matrix[0, 0], own.se[0, 0], own.se_fixed_thresholds[0, 0])
            serial.append((f"{c}_{d}", *values))
    pd.concat(tables).to_csv(folder / "dwls.csv", index=False)
    pd.concat(scores).to_csv(folder / "serial.csv", index=False)
    columns = ["data_set", "estimate", "se", "se_fixed"]
    return pd.concat(here), pd.DataFrame(serial, columns=columns)


def judged(frame: pd.DataFrame, truth: pd.Series, estimate: str, se: str) -> tuple[float, float]:
    """Return the mean standard error over the standard deviation of estimates, and coverage."""
    spread = frame.groupby("parameter")[estimate].std()
    inside = (frame[estimate] - truth).abs() <= REACH * frame[se]
    return float((frame.groupby("parameter")[se].mean() / spread).mean()), float(inside.mean())


def item_rows(here: pd.DataFrame, there: pd.DataFrame) -> list[str]:
    """Return a row of the table for each case and kind of parameter."""
    lines = []
    both = here.merge(there, on=["data_set", "parameter"], suffixes=("", "_r"))
    index = both["data_set"].str.split("_").str[0].astype(int)
    for c, case in enumerate(ITEMS):
        part = both[index == c]
        kinds = {"loadings": part["parameter"].str.startswith("x")}
        kinds |= {name: part["parameter"] == name for name in case.truth if name[0] != "x"}
        for kind, chosen in kinds.items():
            rows = part[chosen]
            truth = rows["parameter"].map(case.truth)
            ours, held = judged(rows, truth, "estimate", "se")
            lavaan, lavaan_held = judged(rows, truth, "estimate_r", "se_r")
            apart = (rows["se"] / rows["se_r"] - 1.0).abs()
            moved = (rows["estimate"] - rows["estimate_r"]).abs().max()
            lines.append(
                f"| {case.name} | {kind} | {rows['data_set'].nunique()} | {ours:.3f} | "
                f"{lavaan:.3f} | {100 * held:.1f} | {100 * lavaan_held:.1f} | "
                f"{100 * apart.quantile(0.99):.0f} % | {moved:.3f} |"
            )
    return lines


def score_rows(here: pd.DataFrame, there: pd.DataFrame) -> list[str]:
    """Return a row of the table for each case."""
    lines = []
    both = here.merge(there, on="data_set", suffixes=("", "_r")).assign(parameter="rho")
    index = both["data_set"].str.split("_").str[0].astype(int)
    for c, case in enumerate(SCORES):
        rows = both[index == c]
        truth = pd.Series(case.rho, index=rows.index)
        pairs = [
            ("estimate", "se"),
            ("estimate", "se_fixed"),
            ("estimate_r", "se_r"),
            ("estimate_ml", "se_ml"),
        ]
        found = [judged(rows, truth, *pair) for pair in pairs]
        cells = [f"{ratio:.3f} ({100 * held:.1f})" for ratio, held in found]
        low, high = 100 * (rows["se"] / rows["se_ml"] - 1.0).quantile([0.01, 0.99])
        cells.append(f"{low:+.0f} to {high:+.0f} %")
        lines.append(f"| {case.name} | {len(rows)} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=500)
    parser.add_argument("--table", type=Path, help="write the tables here as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here, serial = simulate(options.datasets, folder)
        script = Path(__file__).with_suffix(".R")
        subprocess.run(["Rscript", str(script), name], check=True)
        there = pd.read_csv(folder / "dwls_R.csv")
        serial_there = pd.read_csv(folder / "serial_R.csv")
    lines = [
        "SE/SD is the mean standard error divided by the standard deviation of the estimates over",
        "data sets (ideally 1). Coverage, in per cent, is for estimate ± 1.96 standard errors.",
        '"SE difference" is the 99th percentile of the difference of the two standard errors,',
        '"difference of estimates" the largest difference of the estimates. The last column of',
        "the second table gives the 1st to 99th percentile of the difference.",
        "",
        "| items | parameters | data sets | SE/SD here | SE/SD lavaan | coverage here "
        "| coverage lavaan | SE difference | difference of estimates |",
        "| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *item_rows(here, there),
        "",
        "The same ratios for polyserial correlations, with coverage in parentheses:",
        "",
        "| score and answer | data sets | here | here, thresholds, mean and deviation known "
        "| polycor, two steps | polycor, maximum likelihood | SE here against polycor's, ML |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *score_rows(serial, serial_there),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.table:
        options.table.write_text(text)


if __name__ == "__main__":
    main()
