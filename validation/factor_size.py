"""Logistic factors of tables of increasing size: time, memory and recovery.

``python -m validation.factor_size 100000`` fits two factors to 1,000 models and that many
questions, with one cell in ten filled, and prints a line. Each size runs in its own process, so
that its peak memory is measured separately. Takes 15 seconds of CPU for 100,000 questions.
"""

import argparse
import resource
import time

import numpy as np

from psychollm.data.cells import Cells
from psychollm.data.responses import Responses
from psychollm.irt.factors.fit import fit_factors

MODELS, STEP, FILLED, SCALE = 1_000, 1_000, 0.1, (1.2, 0.8)


def simulated(questions: int) -> tuple[Responses, np.ndarray, np.ndarray, np.ndarray]:
    """Return answers, drawn block by block, with scores, loadings and intercepts."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(MODELS, 2))
    loadings, intercepts = (
        rng.normal(size=(questions, 2)) * SCALE,
        0.3 + rng.normal(size=questions),
    )
    counts, columns, codes = [np.zeros(1, dtype=np.int64)], [], []
    for low in range(0, questions, STEP):
        logits = intercepts[low : low + STEP, None] + loadings[low : low + STEP] @ scores.T
        row, column = np.nonzero(rng.random(logits.shape) < FILLED)
        yes = rng.random(row.size) < 1.0 / (1.0 + np.exp(-logits[row, column]))
        counts.append(np.bincount(row, minlength=len(logits)))
        columns.append(column.astype(np.uint16))
        codes.append(yes.astype(np.uint8))
    start = np.cumsum(np.concatenate(counts))
    cells = Cells(start, np.concatenate(columns), np.concatenate(codes))
    made = Responses.of_cells(
        cells, models=tuple(range(MODELS)), questions=tuple(range(questions))
    )
    return made, scores, loadings, intercepts


def peak() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main(questions: int) -> None:
    """Fit, and print time and memory."""
    fit_factors(simulated(200)[0], 2)  # compile before timing
    source, scores, loadings, intercepts = simulated(questions)
    before, clock = peak(), time.process_time()
    fit = fit_factors(source, 2, n_jobs=2)
    seconds = time.process_time() - clock
    some = slice(0, 500)
    found = fit.intercepts[some] + fit.scores @ fit.loadings[some].T
    truth = intercepts[some] + scores @ loadings[some].T
    slope, r = np.polyfit(found.ravel(), truth.ravel(), 1)[0], np.corrcoef(found.flat, truth.flat)
    print(
        f"{fit.n_answers:,} answers: {seconds:.1f} s of processor time, "
        f"{fit.convergence.iterations} rounds, {peak() - before:.0f} MB beside the table; "
        f"true logits on estimated ones: slope {slope:.3f}, r {r[0, 1]:.3f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("questions", type=int)
    main(parser.parse_args().questions)
