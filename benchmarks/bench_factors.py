"""Logistic factors of a sparse table: time, memory and accuracy."""

import numpy as np

from psychollm.data.cells import sorted_cells
from psychollm.data.responses import Responses
from psychollm.irt.factors.fit import Gaps, fit_factors

Drawn = tuple[Responses, np.ndarray]


def sparse(models: int, questions: int, filled: float, k: int) -> Drawn:
    """Draw answers; also return the logits of the first questions."""
    rng = np.random.default_rng(1)
    scores, loadings = rng.normal(size=(models, k)), rng.normal(size=(questions, k))
    logits = scores @ (loadings * 0.8 ** np.arange(k)).T + rng.normal(size=questions)
    rows, columns = np.nonzero(rng.random((questions, models)) < filled)
    chance = 1.0 / (1.0 + np.exp(-logits[columns, rows]))
    codes = (rng.random(rows.size) < chance).astype(np.uint8)
    cells = sorted_cells(rows, columns, codes, (questions, models))
    made = Responses.of_cells(
        cells, models=tuple(range(models)), questions=tuple(range(questions))
    )
    return made, logits[:, :500]


class Fits:
    """Aims on one idle core: 1 s, 3 s."""

    params = ([(500, 5_000), (1_000, 20_000)], ["ignored", "modelled"])
    param_names = ("size", "gaps")
    timeout = 300

    def setup(self, size: tuple[int, int], gaps: Gaps) -> None:
        self.answers, self.logits = sparse(*size, 0.1, 2)
        fit_factors(sparse(50, 100, 0.3, 2)[0], 2, gaps=gaps)

    def time_fit(self, size: tuple[int, int], gaps: Gaps) -> None:
        fit_factors(self.answers, 2, gaps=gaps)

    def peakmem_fit(self, size: tuple[int, int], gaps: Gaps) -> None:
        fit_factors(self.answers, 2, gaps=gaps)

    def track_logit_rmse(self, size: tuple[int, int], gaps: Gaps) -> float:
        fit = fit_factors(self.answers, 2, gaps=gaps)
        found = fit.intercepts[:500] + fit.scores @ fit.loadings[:500].T
        return float(np.sqrt(np.mean((found - self.logits) ** 2)))

    track_logit_rmse.unit = "logit"  # type: ignore[attr-defined]
