"""Simulation of shared confidence (Moran & Whiting, 2026): one factor, no self-knowledge."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from psychollm.instruments.prompt import Prompt
from psychollm.kits.respondents import Respondents, Truth, Turns, shown, wrong

LOADING, ACCURACY = 0.85, 0.55
YES = (0.15, 0.9)  # yes rates of the first and last model
NEAR = 0.04  # tolerance of the mean loading, which has no interval


class Simulated(Respondents):
    """Models whose confidence depends on a question's ease, which is the same for all models."""

    INSTRUMENTS = frozenset({"self_prediction"})

    def answer(self, prompt: Prompt, model: int, turns: Turns, rng: np.random.Generator) -> str:
        """Return a prediction or answer that depends on the common factor and on noise."""
        shared = self.ease(prompt.item)
        if prompt.about["part"] == "predict":
            latent = LOADING * shared + np.sqrt(1 - LOADING**2) * rng.normal()
            return "Answer: Yes" if latent > ndtri(1 - self.yes[model]) else "Answer: No"
        right = str(prompt.about["reference"][0])
        latent = 0.6 * shared + 0.8 * rng.normal()
        return right if latent > ndtri(1 - ACCURACY) else wrong(right)

    @property
    def yes(self) -> Any:
        """Rate of yes answers of each model."""
        return np.linspace(*YES, len(self.models))

    def ease(self, item: str) -> float:
        """Draw the ease of a question for all models from a standard normal distribution."""
        return float(self.rng("ease", item).normal())

    def truths(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Truth]:
        """Yield the truths: one factor, mean loading, no residual correlations, and yes rates."""
        study = found["self_prediction"]
        rows = study["models"]
        p = study["dimensionality"]["one_factor_p"]
        yield shown("one factor suffices (p > .05)", p > 0.05)
        loading = float(np.mean([row["loading"] for row in rows]))
        yield Truth("mean loading", LOADING, loading, loading - NEAR, loading + NEAR)
        none = all(not row["private_p_adjusted"] < 0.05 for row in rows)
        yield shown("no private signal is significant (adjusted p > .05)", none)
        items = dict.fromkeys(one.item for one in self.prompts)
        shared, noise = np.array([*map(self.ease, items)]), np.sqrt(1 - LOADING**2)
        for row in rows:
            # The true rate is conditional on the ease of these questions, so only noise varies.
            rate = self.yes[self.models.index(row["model"])]
            chance = ndtr((LOADING * shared - ndtri(1 - rate)) / noise)
            reach = 1.96 * float(np.sqrt((chance * (1 - chance)).sum())) / chance.size
            said = row["yes_rate"]
            true = float(chance.mean())
            yield Truth(f"yes rate, {row['model']}", true, said, said - reach, said + reach)
