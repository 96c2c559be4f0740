"""Models whose yes goes with wrong answers: Fisher's exact test per model, adjusted by Holm."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, logsumexp

from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.coerce import check_binary
from psychollm.data.responses import Responses, ResponsesLike, as_responses


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """Whether each model's yes goes with wrong answers."""

    auroc: FloatArray  # (models,)
    p_value: FloatArray  # (models,) adjusted by Holm, NaN where not tested
    untested: tuple[str, ...]  # (models,) why not


def inversion(said: Responses, correctness: ResponsesLike | None) -> Inversion:
    """Test whether each model's yes goes with wrong answers."""
    k = said.n_models
    if correctness is None:
        nothing = np.full(k, np.nan)
        return Inversion(nothing, nothing.copy(), ("no correctness was given",) * k)
    right = as_responses(correctness, argument="correctness", like=said)
    check_binary(right, argument="correctness")
    both = ~(said.missing | right.missing)
    yes, correct = (said.codes == 1) & both, (right.codes == 1) & both
    n, n_yes, n_correct = both.sum(axis=1), yes.sum(axis=1), correct.sum(axis=1)
    hits = (yes & correct).sum(axis=1)
    untested = tuple(map(_why_untested, n, n_yes, n_correct))
    tested = np.array([not reason for reason in untested])
    p, auroc = np.full(k, np.nan), np.full(k, np.nan)
    for i in np.flatnonzero(tested):
        p[i] = fisher_lower(hits[i], n[i], n_yes[i], n_correct[i])
    hit_rate = np.divide(hits, n_correct, out=auroc.copy(), where=tested)
    false_rate = np.divide(n_yes - hits, n - n_correct, out=auroc.copy(), where=tested)
    return Inversion(0.5 * (1.0 + hit_rate - false_rate), adjust_p_values(p), untested)


def _why_untested(n: int, n_yes: int, n_correct: int) -> str:
    if n == 0:
        return "no question has both an answer and a correctness"
    if n_yes in {0, n}:
        return "always says yes" if n_yes else "always says no"
    if n_correct in {0, n}:
        return "always correct" if n_correct else "never correct"
    return ""


def fisher_lower(hits: int, n: int, n_yes: int, n_correct: int) -> float:
    """Return P(H <= hits) of a hypergeometric count: Fisher's exact test, lower tail."""
    h = np.arange(max(0, n_yes + n_correct - n), hits + 1)
    terms = (
        _log_choose(n_correct, h)
        + _log_choose(n - n_correct, n_yes - h)
        - _log_choose(n, np.array(n_yes))
    )
    return float(min(1.0, np.exp(logsumexp(terms))))


def _log_choose(n: int, k: IntArray) -> FloatArray:
    return np.asarray(-np.log1p(n) - betaln(n - k + 1.0, k + 1.0), dtype=np.float64)
