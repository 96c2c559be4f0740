"""Layer 5: matching, its null and a control, and the gate, at typical sizes of data."""

import numpy as np

from psychollm.data.responses import Responses
from psychollm.studies import SteeredAnswers, difficulty, fit_gate, steering_match
from psychollm.studies.steering_match.grid import count, grid_of, profiles_of
from psychollm.studies.steering_match.reconstruction import held_out_answers, random_halves


class Matching:
    """20 targets, 500 questions, 41 strengths; one control direction."""

    timeout = 600

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        score = rng.normal(size=500)
        tau = np.linspace(-1.5, 1.5, 20)[:, None]
        self.targets = Responses(
            (0.75 * score + 0.66 * rng.normal(size=(20, 500)) > tau).astype(int)
        )
        strengths = np.linspace(-1.0, 1.0, 41)
        odds = score + rng.normal(size=500) + strengths[:, None] * rng.normal(5.0, 1.0, 500)
        self.steered = SteeredAnswers.from_array(odds, strengths=strengths, scale="log_odds")
        self.control = SteeredAnswers.from_array(
            odds[:, rng.permutation(500)], strengths=strengths, scale="log_odds"
        )
        self.grid, self.profiles = grid_of(self.steered, steps=5), profiles_of(self.targets)
        self.halves = random_halves(500, 5, rng)

    def time_counts(self) -> None:
        count(self.grid, self.profiles)

    def time_held_out(self) -> None:
        held_out_answers(self.grid, self.profiles, self.halves, ties="middle")

    def time_study(self) -> None:
        steering_match(
            self.steered,
            self.targets,
            controls={"random": self.control},
            n_null=99,
            bootstrap=200,
            rng=0,
        )


class Text:
    """480 questions of eight templates."""

    timeout = 600

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        kind = rng.integers(8, size=480)
        names = [f"word{n}" for n in range(60)]
        self.texts = [f"Template {k} asks of {rng.choice(names)} what it is?" for k in kind]
        self.scores = 0.3 * kind + rng.normal(size=480)
        self.correct = (rng.random(480) < 1.0 / (1.0 + np.exp(-self.scores))).astype(float)

    def time_difficulty(self) -> None:
        difficulty(self.texts, self.scores, bootstrap=500, rng=0)

    def time_gate(self) -> None:
        fit_gate(self.texts, self.correct, risk=0.2, bootstrap=500, rng=0)
