r"""Predict human labels from the verdicts of one judge or of the best combination of judges.

Each judge has one weight for all models, estimated by ridge regression of the labels on the
judges' verdicts, which are centred over each model's answers. Weights are cross-fitted: labelled
questions are split into folds, and an answer is predicted from labels of other folds only. For any
weights, predictions have mean zero over a model's answers. The difference estimator, which also
tunes a weight for each model (`psychollm.studies.judged_scores.correction`), thus remains
unbiased.

References
----------
Zrnic, T., & Candès, E. J. (2024). Cross-prediction-powered inference. Proceedings of the National
Academy of Sciences, 121, e2322083121. https://doi.org/10.1073/pnas.2322083121
"""

import numpy as np

from psychollm._base.replicate import one_blas_thread
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.folds import dealt

_FOLDS = 10
_PRIOR = 4.0  # number of labels to which the prior of equal weights corresponds


def centred(verdicts: FloatArray, answers: BoolArray) -> FloatArray:
    """Return verdicts centred over a model's answers, 0 if missing."""
    # Shapes: verdicts (..., models, questions); answers (models, questions).
    known = np.isfinite(verdicts) & answers
    counts = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    mean = np.where(known, verdicts, 0.0).sum(axis=-1, keepdims=True) / counts
    return np.where(known, verdicts - mean, 0.0)


def combined(
    verdicts: FloatArray,
    people: FloatArray,
    answers: BoolArray,
    clusters: IntArray | None,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return the prediction of each answer (models, questions), and the weights of the judges."""
    # Shapes: verdicts (judges, models, questions); people, answers (models, questions).
    x = centred(verdicts, answers)
    if len(verdicts) == 1:
        return x[0], np.ones(1)
    known = np.isfinite(people)
    rows, columns = np.nonzero(known)
    features = x[:, rows, columns].T
    counts = np.maximum(known.sum(axis=1), 1)
    labels = (people - (np.where(known, people, 0.0).sum(axis=1) / counts)[:, None])[rows, columns]
    units = columns if clusters is None else clusters[columns]
    n_folds = min(_FOLDS, np.unique(units).size)
    if n_folds < 2:
        return x.mean(axis=0), np.full(len(verdicts), 1.0 / len(verdicts))
    fold = dealt(units, n_folds, rng)
    with one_blas_thread():
        each = [_ridge(features[fold != one], labels[fold != one]) for one in range(n_folds)]
        weights = np.mean(each, axis=0)
        predicted = np.tensordot(weights, x, axes=1)
        for one, own in enumerate(each):
            inside = fold == one
            predicted[rows[inside], columns[inside]] = features[inside] @ own
    return predicted, weights


def _ridge(features: FloatArray, labels: FloatArray) -> FloatArray:
    """Return ridge weights, shrunk towards equal weights."""
    judges = features.shape[1]
    squares = features.T @ features
    scale = np.trace(squares) / max(len(features), 1) / judges
    if scale <= 0.0:
        return np.full(judges, 1.0 / judges)
    penalty = _PRIOR * scale * np.eye(judges)
    equal = np.full(judges, 1.0 / judges)
    return np.asarray(np.linalg.solve(squares + penalty, features.T @ labels + penalty @ equal))
