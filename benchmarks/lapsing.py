"""Simulate answers of models that lapse and guess, with one or more factors."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri


@dataclass(frozen=True)
class Cell:
    """Parameters of the simulated answers of a cell."""

    name: str
    models: int
    questions: int
    kind: str = "one"
    rates: str = "10-90"
    lapses: float = 0.0  # proportion of answers replaced by a coin toss
    guesses: float = 0.0  # proportion of wrong answers that a guess makes right
    tables: float = 1.0  # proportion of the requested number

    @property
    def key(self) -> str:
        return "_".join(
            map(
                str,
                (self.kind, self.models, self.questions, self.rates, self.lapses, self.guesses),
            )
        )


def simulate(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return answers (models, questions), loadings, and the true rate of lapses (models,)."""
    k, n = cell.models, cell.questions
    low, high = {"10-90": (0.1, 0.9), "1-99": (0.01, 0.99)}[cell.rates]
    tau, loading = -ndtri(np.linspace(low, high, k)), np.full(k, 0.9)
    if cell.kind.startswith(("weak", "wide")):
        loading = rng.uniform(0.5, 0.85, k)
        tau = rng.uniform(-1.5, 0.3 if cell.kind.startswith("weak") else 1.5, k)
    if cell.kind.startswith("test"):
        loading, tau = np.full(k, 0.7), np.linspace(-1.2, 1.2, k)
    if cell.kind == "varied":
        loading = rng.permutation(np.linspace(0.5, 0.95, k))
    score, other = rng.standard_normal((2, n))
    if cell.kind == "heavy":
        score = rng.standard_t(5, size=n) / np.sqrt(5.0 / 3.0)
    if cell.kind.endswith("skewed"):
        score = (rng.gamma(2.0, size=n) - 2.0) / np.sqrt(2.0)
    second = np.zeros(k)
    kind, _, size = cell.kind.rpartition(" ")
    if kind == "second":
        second = np.sqrt(float(size)) * np.where(np.arange(k) % 2 == 0, 1.0, -1.0)
    elif cell.kind == "private":
        second[np.linspace(2, k - 3, 4).round().astype(int)] = 0.4
    elif cell.kind == "ext":
        far = tau / np.abs(tau).max()
        loading = 0.9 - 0.1 * far**2
        second = np.sign(tau) * np.sqrt(np.clip(0.81 - loading**2, 0.0, None))
    loading = np.minimum(loading, np.sqrt(0.97 - second**2))
    read = np.tile(score, (k, 1))
    if kind.endswith(("halves", "levels")):
        r = float(size)
        far_half = np.arange(k) % 2 == 1 if kind.endswith("halves") else np.arange(k) >= k // 2
        read[far_half] = r * score + np.sqrt(1.0 - r * r) * other
    latent = loading[:, None] * read + second[:, None] * other
    noise = rng.standard_normal((k, n))
    if cell.kind == "logistic":
        noise = rng.logistic(size=(k, n)) * np.sqrt(3.0) / np.pi
    latent += np.sqrt(1.0 - loading**2 - second**2)[:, None] * noise
    yes = latent > tau[:, None]
    lapses = np.full(k, cell.lapses)
    if cell.kind == "alone":
        lapses[np.arange(k) != k // 3] = 0.0
    if cell.kind == "uneven":
        lapses = np.minimum(cell.lapses * np.exp(0.8 * rng.standard_normal(k)), 0.3)
    coin = 0.0 if cell.kind == "refusals" else 0.5  # proportion of yes among lapses
    yes = np.where(rng.random((k, n)) < lapses[:, None], rng.random((k, n)) < coin, yes)
    yes |= rng.random((k, n)) < cell.guesses
    lower = coin * lapses + cell.guesses * (1.0 - coin * lapses)
    upper = (1.0 - coin) * lapses * (1.0 - cell.guesses)
    if cell.kind == "missing":
        return np.where(rng.random((k, n)) < 0.3, np.nan, yes), loading, lower + upper
    return yes.astype(np.uint8), loading, lower + upper
