"""Where the climb begins: principal components of the answers, or signs of item-rest covariances.

Neither needs a table of items by items where respondents are fewer.
"""

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.answers import Patterns
from psychollm.irt.families import Link
from psychollm.irt.multidimensional.problem import Place
from psychollm.irt.multidimensional.scale import constant_of

LATENT = 1.3  # how much larger correlations of latent responses are than those of answers
LARGEST_COMMUNALITY = 0.75
START_CORRELATION = 0.2
ATTENUATION = 2.9  # D^2 by which an intercept grows with the slopes


def exploratory_start(patterns: Patterns, dimensions: int, link: Link) -> Place:
    """Return slopes from principal components, with what noise adds to them taken off."""
    scores, rates = _standard_scores(patterns)
    items = scores.shape[1]
    small = scores.T @ scores if items <= scores.shape[0] else scores @ scores.T
    values, vectors = np.linalg.eigh(small)
    values, vectors = values[::-1][:dimensions], vectors[:, ::-1][:, :dimensions]
    if items > scores.shape[0]:
        vectors = scores.T @ vectors / np.sqrt(np.maximum(values, 1e-12))
    noise = max(items - values.sum(), 0.0) / max(items - dimensions, 1)
    loadings = vectors * np.sqrt(np.maximum(values - noise, 0.1 * values)) * LATENT
    shared = (loadings**2).sum(axis=1, keepdims=True)
    loadings *= np.sqrt(np.minimum(1.0, LARGEST_COMMUNALITY / np.maximum(shared, 1e-12)))
    shared = np.minimum(shared, LARGEST_COMMUNALITY)
    slopes = constant_of(link) * loadings / np.sqrt(1.0 - shared)
    if dimensions == 1 and slopes.sum() < 0.0:
        slopes = -slopes
    return Place(_with_intercepts(slopes, rates, link), np.eye(dimensions))


def confirmatory_start(
    patterns: Patterns, free: BoolArray, link: Link, *, correlated: bool
) -> Place:
    """Return slopes of one where an item loads, signed by its covariance with the others there."""
    scores, rates = _standard_scores(patterns)
    slopes = np.zeros(free.shape)
    for k in range(free.shape[1]):
        here = np.flatnonzero(free[:, k])
        part = scores[:, here]
        rest = part.sum(axis=1)
        signs = np.where(part.T @ rest - (part**2).sum(axis=0) >= 0.0, 1.0, -1.0)
        slopes[here, k] = signs * constant_of(link) / 1.7
    correlation = np.full((free.shape[1],) * 2, START_CORRELATION if correlated else 0.0)
    np.fill_diagonal(correlation, 1.0)
    return Place(_with_intercepts(slopes, rates, link), correlation)


def _standard_scores(patterns: Patterns) -> tuple[FloatArray, FloatArray]:
    """Return standardised answers (U, J) times root frequency over root n, and shares of yes."""
    answered, frequency = patterns.codes >= 0, patterns.frequency
    weight = frequency @ answered
    rates = (frequency @ (patterns.codes == 1) + 0.5) / (weight + 1.0)
    centred = np.where(answered, (patterns.codes == 1) - rates, 0.0)
    scores = centred / np.sqrt(rates * (1.0 - rates))
    return scores * np.sqrt(frequency / frequency.sum())[:, None], rates


def _with_intercepts(slopes: FloatArray, rates: FloatArray, link: Link) -> FloatArray:
    """Return slopes and intercepts (J, m + 1)."""
    scale = constant_of(link) / 1.7
    logits = np.log(rates / (1.0 - rates)) * scale
    growth = np.sqrt(1.0 + (slopes**2).sum(axis=1) / (ATTENUATION * scale**2))
    return np.column_stack([slopes, logits * growth])
