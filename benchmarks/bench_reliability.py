"""Reliability: scales, agreement, variance components and comparisons of many models.

The tracked numbers are the largest deviations from values of R and of published tables; they must
stay within the tolerance that is stored with these values.
"""

import csv
import json
from pathlib import Path
from typing import ClassVar

import numpy as np

from psychollm import compare
from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.components.generalizability import generalizability
from psychollm.reliability.components.intraclass import intraclass
from psychollm.reliability.contrasts.mixed_model import mixed_model
from psychollm.reliability.means.answer_variance import answer_variance
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.score_differences import score_differences
from psychollm.reliability.omegas.omega import omega
from psychollm.reliability.omegas.omega_categorical import omega_categorical
from psychollm.reliability.raters.agreement import agreement, krippendorff_alpha
from psychollm.reliability.scales.consistency import consistency
from psychollm.reliability.scales.guttman import guttman

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "metacognition"


def scale(respondents: int, items: int, *, seed: int = 1) -> np.ndarray:
    """Normal scores (respondents, items) of a general factor and three group factors."""
    rng = np.random.default_rng(seed)
    group = rng.standard_normal((respondents, 3))[:, np.arange(items) % 3]
    noise = rng.standard_normal((respondents, items))
    return 0.6 * rng.standard_normal((respondents, 1)) + 0.4 * group + 0.7 * noise


def runs(count: int, models: int, questions: int, *, seed: int = 1) -> np.ndarray:
    """Answers of 0 and 1 (runs, models, questions); a model's runs mostly agree."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.5, 0.3, size=(models, questions))
    return (rng.uniform(size=(count, models, questions)) < chance) * 1


def expected(case: str) -> list[dict]:
    """Return the blocks of reference values of a case."""
    return json.loads((GOLDEN / f"{case}.expected.json").read_text())["blocks"]


def cells(case: str) -> list[list[str]]:
    """Return the rows of the case's table, without its head."""
    with (GOLDEN / f"{case}.csv").open(newline="") as file:
        return list(csv.reader(file))[1:]


class Scales:
    """A scale of twelve items: coefficients with their intervals."""

    params = (50, 1_000)
    param_names = ("respondents",)
    timeout = 120

    def setup(self, respondents: int) -> None:
        self.scores = scale(respondents, 12)
        self.yes = (self.scores > 0.0) * 1
        omega(self.scores, bootstrap=0)
        omega_categorical(self.yes, bootstrap=0)
        guttman(self.scores, bootstrap=0)

    def time_consistency_two_thousand_resamples(self, respondents: int) -> None:
        consistency(self.scores, rng=1)

    def time_omega_jackknife(self, respondents: int) -> None:
        omega(self.scores, bootstrap=0)

    def time_omega_categorical_jackknife(self, respondents: int) -> None:
        omega_categorical(self.yes, bootstrap=0)

    def time_guttman_jackknife(self, respondents: int) -> None:
        guttman(self.scores, bootstrap=0)


class Agreement:
    """20 models answer 1,000 questions in five runs; 2,000 resamples."""

    timeout = 120

    def setup(self) -> None:
        self.answers = runs(5, 20, 1_000)
        agreement(self.answers[:, :2, :50], bootstrap=2, rng=1)

    def time_all_coefficients(self) -> None:
        agreement(self.answers, rng=1, bootstrap=Bootstrap(n_jobs=2))

    def time_interval_alpha(self) -> None:
        krippendorff_alpha(self.answers, metric="interval", rng=1, bootstrap=Bootstrap(n_jobs=2))


class Designs:
    """Variance components and conditions."""

    timeout = 120

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        self.complete = rng.normal(size=(20, 1, 1)) + rng.normal(size=(20, 500, 3))
        self.holes = np.where(
            rng.uniform(size=(20, 100, 3)) < 0.05, np.nan, self.complete[:, :100]
        )
        self.model, self.condition = np.repeat(np.arange(20), 60), np.tile(np.arange(3), 400)
        self.scores = rng.normal(size=20)[self.model] + rng.normal(size=1_200)
        self.raters = rng.normal(size=(1_000, 1)) + rng.normal(size=(1_000, 5))

    def time_generalizability(self) -> None:
        generalizability(self.complete, rng=1)

    def time_generalizability_by_likelihood_with_missing_scores(self) -> None:
        generalizability(self.holes, rng=1)

    def time_mixed_model(self) -> None:
        mixed_model(self.scores, self.condition, self.model, rng=1)

    def time_intraclass(self) -> None:
        intraclass(self.raters)

    def time_answer_variance(self) -> None:
        answer_variance(self.complete, rng=1)


class Comparisons:
    """20 models on 5,000 questions in clusters of five: all 190 pairs."""

    timeout = 120

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        self.clusters = np.arange(5_000) // 5
        easy = rng.standard_normal(1_000)[self.clusters]
        self.scores = (rng.standard_normal((20, 5_000)) < easy + 0.3) * 1.0
        self.mean = mean_score(self.scores, clusters=self.clusters, rng=1)

    def time_mean_score(self) -> None:
        mean_score(self.scores, clusters=self.clusters, rng=1)

    def time_score_differences(self) -> None:
        score_differences(self.scores, clusters=self.clusters)

    def time_compare_all_by_the_largest_statistic(self) -> None:
        compare_all(self.mean, adjustment="max_t")


class Leaderboard:
    """All pairs of many models, with complete scores and with a fifth of them missing."""

    params: ClassVar = [(100, 2_000), (300, 3_000)], ["complete", "gaps"]
    param_names: ClassVar = ["models and questions", "scores"]
    timeout = 300

    def setup(self, shape: tuple[int, int], kind: str) -> None:
        rng = np.random.default_rng(3)
        self.scores = (rng.random(shape) < rng.uniform(0.2, 0.9, (shape[0], 1))) * 1.0
        if kind == "gaps":
            self.scores[rng.random(shape) < 0.2] = np.nan

    def time_compare(self, shape: tuple[int, int], kind: str) -> None:
        compare(self.scores, rng=1)

    def peakmem_compare(self, shape: tuple[int, int], kind: str) -> None:
        compare(self.scores, rng=1)


class Accuracy:
    """Largest deviations from R, lme4, the krippendorff package and published tables."""

    def track_intraclass(self) -> float:
        table = np.array(cells("shroutfleiss1979"), dtype=np.float64)
        frame = intraclass(table).to_frame()
        found = frame[["value", "lower", "upper"]].to_numpy()
        rows = expected("shroutfleiss1979")[0]["values"]
        known = np.array([[row["ICC"], row["lo"], row["hi"]] for row in rows])
        return float(np.abs(found - known).max())

    def track_krippendorff_alpha(self) -> float:
        coders = [
            [float(cell) if cell else np.nan for cell in row] for row in cells("krippendorff2011")
        ]
        known = expected("krippendorff2011")[0]["values"]
        table = np.array(coders).T  # questions x runs
        return max(
            abs(float(krippendorff_alpha(table, metric=name, bootstrap=2, rng=0).value[0]) - value)
            for name, value in known.items()
        )

    def track_variance_components(self) -> float:
        rows = cells("gtheory_a")
        places = [sorted({row[column] for row in rows}) for column in range(3)]
        scores = np.full([len(place) for place in places], np.nan)
        for *labels, score in rows:
            at = tuple(place.index(label) for place, label in zip(places, labels, strict=True))
            scores[at] = float(score)
        known = expected("gtheory_a")[0]["values"]["anova_ems"]
        found = generalizability(scores, bootstrap=2, rng=0).components.value
        order = ("p", "i", "r", "pi", "pr", "ir", "pir_e")
        return float(np.abs(found - [known[name] for name in order]).max())

    def track_coefficients_of_a_scale(self) -> float:
        table = np.array([row[-10:] for row in cells("gses_a") if "none" in row], dtype=np.float64)
        known = expected("gses_a")[0]["values"]["none"]
        found = consistency(table, bootstrap=0)
        lambdas = guttman(table, bootstrap=0).value
        gaps = [found.alpha.value[0] - known["raw_alpha"]]
        gaps += [found.standardised.value[0] - known["std_alpha"]]
        gaps += [lambdas[i] - known["guttman"][f"l{i + 1}"] for i in (0, 1, 2, 4, 5)]
        return float(np.abs(gaps).max())

    for track in (
        track_intraclass,
        track_krippendorff_alpha,
        track_variance_components,
        track_coefficients_of_a_scale,
    ):
        track.unit = "deviation"  # type: ignore[attr-defined]
    del track
