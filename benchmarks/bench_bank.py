"""Item banks: time to build, draw and estimate, and width of intervals."""

from typing import ClassVar

import numpy as np

import psychollm as psy


def answers(n: int, j: int, seed: int) -> np.ndarray:
    """Answers by a logistic model with two abilities."""
    rng = np.random.default_rng(seed)
    slopes = np.stack([np.exp(0.4 * rng.normal(size=j)), 0.5 * rng.normal(size=j)])
    logits = rng.normal(size=(n, 2)) @ slopes + rng.normal(0.3, 1.5, size=j)
    return (rng.random((n, j)) < 1.0 / (1.0 + np.exp(-logits))).astype(float)


class Build:
    """Build a bank from a table."""

    params: ClassVar = ["62 x 1136", "320 x 735"]
    param_names: ClassVar = ["shape"]
    timeout = 120

    def setup(self, shape: str) -> None:
        n, j = map(int, shape.split(" x "))
        self.answers = answers(n, j, 1)
        psy.item_bank(self.answers[:10, :40], rng=1)  # compiles

    def time_item_bank(self, shape: str) -> None:
        psy.item_bank(self.answers, rng=1)


class Ask:
    """A session on a bank of 12,000 questions."""

    timeout = 300

    def setup_cache(self) -> tuple:
        held = answers(25, 12_000, 2)
        return psy.item_bank(held[:-1], rng=1), held[-1]

    def setup(self, made: tuple) -> None:
        bank, self.row = made
        self.session = bank.session(rng=1)
        for question in self.session.next(100):
            self.session.record(question, self.row[question])

    def time_block(self, made: tuple) -> None:
        self.session._draw(50)

    def time_estimate(self, made: tuple) -> None:
        self.session.estimate()


class Width:
    """Width of intervals from 100 of 1,000 questions."""

    def setup(self) -> None:
        self.answers = answers(60, 1000, 3)

    def track_relative_width(self) -> float:
        """Half-width relative to that of simple random samples."""
        bank = psy.item_bank(self.answers[:40], rng=1)
        held_out = psy.Responses(self.answers[40:].astype(int), models=range(40, 60))
        found = psy.replay(bank, held_out, sizes=[100], n_repeats=3, rng=1)
        return float(found.relative_width[0])


class Watches:
    """365 looks at 500 questions."""

    timeout = 120

    def setup(self) -> None:
        self.bank = psy.item_bank(answers(20, 500, 1), rng=1)
        rng = np.random.default_rng(2)
        self.looks = [dict(enumerate(row)) for row in rng.integers(0, 2, (365, 500)).tolist()]

    def time_year(self) -> None:
        watch = self.bank.watch(0)
        for answered in self.looks:
            watch.update(answered)
