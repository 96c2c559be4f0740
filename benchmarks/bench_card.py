"""Crossed logistic models and evaluation cards: time, and accuracy of the fits."""

from typing import ClassVar

import numpy as np

import psychollm as psy

SHAPES = {
    "10 x 200": (10, 200, 1, 0, 0),
    "10 x 200 x 4": (10, 200, 4, 0, 0),
    "60 x 1000": (60, 1000, 1, 0, 0),
    "24 x 400, 8 domains, 6 families": (24, 400, 1, 8, 6),
}


def scores(n_models: int, n_questions: int, n_answers: int, n_domains: int, n_families: int):
    """Return right answers from a crossed model, and what belongs together."""
    rng = np.random.default_rng(1)
    logit = 0.3 + 0.8 * rng.normal(size=(n_models, 1)) + 1.2 * rng.normal(size=n_questions)
    groups = {}
    if n_answers > 1:
        logit = logit + 0.8 * rng.normal(size=logit.shape)
    if n_domains:
        domains, families = np.arange(n_questions) % n_domains, np.arange(n_models) % n_families
        logit = logit + 0.5 * rng.normal(size=(n_families, n_domains))[families][:, domains]
        groups = {"domains": domains, "families": families}
    chance = 1.0 / (1.0 + np.exp(-logit))
    return (rng.random((*logit.shape, n_answers)) < chance[..., None]).astype(float), groups


class Fit:
    """The mixed model alone."""

    params: ClassVar = list(SHAPES)
    param_names: ClassVar = ["shape"]
    timeout = 120

    def setup(self, shape: str) -> None:
        self.scores, self.groups = scores(*SHAPES[shape])
        psy.crossed_logistic(self.scores[:4, :30], rng=1)  # compiles

    def time_crossed_logistic(self, shape: str) -> None:
        psy.crossed_logistic(self.scores, **self.groups, rng=1)

    def time_laplace_throughout(self, shape: str) -> None:
        """Most programs for crossed effects do this; see `track_relative_error_of_laplace`."""
        psy.crossed_logistic(self.scores, **self.groups, integration="laplace", rng=1)


class Card:
    """The whole card of a typical table."""

    timeout = 120

    def setup(self) -> None:
        self.scores, self.groups = scores(20, 500, 1, 0, 0)
        psy.evaluation_card(self.scores[:4, :50], rng=1)  # compiles

    def time_evaluation_card(self) -> None:
        psy.evaluation_card(self.scores, rng=1)


class Laplace:
    """Largest relative error of standard deviations when Laplace's method is used throughout."""

    params: ClassVar = list(SHAPES)[:2]
    param_names: ClassVar = ["shape"]
    timeout = 120

    def track_relative_error_of_laplace(self, shape: str) -> float:
        """The error exceeds .1 with an interaction."""
        values, groups = scores(*SHAPES[shape])
        near, right = (
            psy.crossed_logistic(values, **groups, integration=how, n_draws=100, rng=1).components
            for how in ("laplace", "quadrature")
        )
        return float(np.abs(np.sqrt(near.value / right.value) - 1.0).max())
