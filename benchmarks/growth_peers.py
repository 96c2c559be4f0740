"""Other programs that do what a job of `benchmarks.growth` does, or a part of it.

Each function takes the tables of the job. A function raises ModuleNotFoundError if its program is
not installed. Those that call R return the seconds that R measured, without the start of R.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

R_SCRIPT = Path(__file__).with_suffix(".R")


def in_r(task: str, table: np.ndarray, repeats: int = 0) -> float:
    """Return the processor's seconds of a task of the R script on a table."""
    program = shutil.which("Rscript")
    if program is None:
        message = "Rscript is not on the path"
        raise ModuleNotFoundError(message)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        table.astype(np.float64).tofile(path)
        shape = [str(length) for length in table.shape]
        done = subprocess.run(
            [program, str(R_SCRIPT), task, str(repeats), str(path), *shape],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode == -signal.SIGXCPU:
        os.kill(os.getpid(), signal.SIGXCPU)  # the limit is that of the measurement
    if "there is no package called" in done.stderr:
        raise ModuleNotFoundError(done.stderr)
    if "cannot allocate" in done.stderr:
        raise MemoryError
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout.splitlines()[-1])


def pair_counts(path: str) -> np.ndarray:
    """Return the joint yes counts of all pairs of models of a long table."""
    import polars as pl

    wide = pl.read_parquet(path).pivot(on="model", index="question", values="value")
    answers = wide.drop("question").to_numpy().astype(np.float32)
    return answers.T @ answers


def parallel_analysis(answers: np.ndarray, *_: np.ndarray) -> float:
    """Compare eigenvalues of tetrachoric correlations of models with those of resampled tables."""
    return in_r("parallel_analysis", answers.T, 499)


def paired_tests(scores: np.ndarray) -> np.ndarray:
    """Return adjusted p-values of paired t tests of all pairs of models."""
    from scipy.stats import ttest_rel
    from statsmodels.stats.multitest import multipletests

    p = [ttest_rel(a, b).pvalue for a, b in combinations(scores.astype(np.float64), 2)]
    return np.asarray(multipletests(np.nan_to_num(p, nan=1.0), method="holm")[1])


def item_statistics(choices: np.ndarray, key: np.ndarray) -> float:
    """Score choices by the key, and compute statistics of items and options."""
    return in_r("item_statistics", np.vstack([key, choices.T]))


def prediction(answers: np.ndarray) -> np.ndarray:
    """Return the probabilities of a 2PL fitted once."""
    from validation.prediction_peers import mirt_2pl

    return np.asarray(mirt_2pl(answers))


def brier_and_auroc(confidence: np.ndarray, right: np.ndarray) -> list[object]:
    """Return percentile intervals of Brier score and AUROC of each model."""
    from scipy.stats import bootstrap
    from sklearn.metrics import brier_score_loss, roc_auc_score

    return [
        bootstrap(
            (correct, stated), metric, n_resamples=2000, paired=True, vectorized=False,
            method="percentile", rng=1,
        )
        for stated, correct in zip(confidence, right, strict=True)
        for metric in (brier_score_loss, roc_auc_score)
    ]  # fmt: skip


def two_parameter(answers: np.ndarray) -> object:
    """Fit the 2PL to the questions with different answers."""
    from validation.irt_peers import mirt

    varied = answers.min(axis=0) < answers.max(axis=0)
    return mirt(points=21, tolerance=1e-4, errors=False)(answers[:, varied].astype(np.int64))


def omega(scores: np.ndarray) -> float:
    """Compute omega of a table of rows and items, and of 500 resamples of the rows."""
    return in_r("omega", scores, 500)
