r"""Published and simple designs for selecting and scoring questions, for comparison.

Published designs are implemented as described by their authors. *anchors* (Vivek and others 2024;
Polo and others 2024) uses the question nearest to each k-means centre of the items, weighted by
the size of its cluster. *p_irt* predicts the scores on all other questions by the 2PL, with item
parameters treated as known. *gp_irt* averages the estimates of *anchors* and *p_irt*, with weights
that depend on the error of *p_irt* for models of the bank (Polo and others 2024).

References
----------
Polo, F. M., Weber, L., Choshen, L., Sun, Y., Xu, G., & Yurochkin, M. (2024). tinyBenchmarks:
evaluating LLMs with fewer examples. ICML. arXiv:2402.14992.

Vivek, R., Ethayarajh, K., Yang, D., & Kiela, D. (2024). Anchor points: benchmarking models with
much fewer examples. EACL. arXiv:2309.08638.
"""

import warnings
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, stdtrit

from psychollm._base.types import FloatArray, IntArray
from psychollm.bank.design import systematic
from psychollm.bank.item_bank import ItemBank
from psychollm.bank.item_model import ItemModel, item_model
from psychollm.bank.session import Session
from psychollm.estimates.intervals import normal_multiplier

Design = Literal[
    "bank", "random", "stratified", "assisted", "information", "anchors", "p_irt", "gp_irt"
]
_STRATA = 10  # number of difficulty strata if there are no domains
_CLUSTERINGS = 3  # number of repetitions of k-means; the best one is used
_AT_ONCE = 10  # number of questions per block of a session


class Guess(NamedTuple):
    """Score of one model, estimated by one design."""

    value: float
    low: float  # NaN if no interval is defined for the design
    high: float
    asked: int


def _around(value: float, half_width: float, asked: int) -> Guess:
    low, high = np.clip([value - half_width, value + half_width], 0.0, 1.0)
    return Guess(float(value), float(low), float(high), asked)


# arguments: bank, true scores (J,), number of questions, level, generator
Play: TypeAlias = Callable[[ItemBank, FloatArray, int, float, np.random.Generator], Guess]


def finished(session: Session, truth: FloatArray) -> Guess:
    """Answer all questions of a session and return its estimate."""
    place = {question: j for j, question in enumerate(session.bank.questions)}
    while not session.done:
        for question in session.next(_AT_ONCE):
            session.record(question, truth[place[question]])
    low, high = session.interval
    return Guess(session.value, float(low), float(high), len(session.asked))


def _bank(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    return finished(bank.session(size=n, level=level, rng=rng), truth)


def _information(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    return finished(bank.session(size=n, select="information", level=level, rng=rng), truth)


def _random(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    y = truth[rng.choice(truth.size, n, replace=False)]
    se = np.sqrt(y.var(ddof=1) * (1.0 / n - 1.0 / truth.size))
    return _around(float(y.mean()), float(stdtrit(n - 1, 0.5 + level / 2.0) * se), n)


def _assisted(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    asked = rng.choice(truth.size, n, replace=False)
    answers = {bank.questions[j]: truth[j] for j in asked}
    score = bank.full_score(answers, drawn="random", level=level)
    low, high = score.interval[0]
    return Guess(float(score.value[0]), float(low), float(high), n)


def _stratified(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    stratum = strata(bank)
    even = np.full(truth.size, n / truth.size)
    asked = systematic(even, np.argsort(stratum + rng.random(truth.size), kind="stable"), rng)
    y, of = truth[asked], stratum[asked]
    value, variance = 0.0, 0.0
    whole = np.bincount(stratum, minlength=stratum.max() + 1)
    everything = y.var(ddof=1)
    for h in np.unique(of):
        own = y[of == h]
        spread = own.var(ddof=1) if own.size > 1 else everything
        share = own.size / n
        value += share * own.mean()
        variance += share**2 * spread * (1.0 / own.size - 1.0 / whole[h])
    return _around(
        value, float(stdtrit(n - 1, 0.5 + level / 2.0) * np.sqrt(max(variance, 0.0))), n
    )


def strata(bank: ItemBank) -> IntArray:
    """Return each question's stratum: its domain or, without domains, its difficulty decile."""
    if bank.domains is not None:
        names = {name: k for k, name in enumerate(bank.domain_names)}
        return np.array([names[domain] for domain in bank.domains])
    ranks = np.argsort(np.argsort(bank.intercepts, kind="stable"), kind="stable")
    return np.asarray(ranks * _STRATA // ranks.size)


def _anchors(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    asked, weight = anchors(bank.drawing.items, n, rng)
    return _around(float(weight @ truth[asked]), np.nan, asked.size)


def anchors(items: ItemModel, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return the item nearest to each cluster's centre, and each cluster's proportion of items."""
    from scipy.cluster.vq import kmeans2

    features = items.items / items.items.std(axis=0).clip(1e-9)
    best = (np.inf, np.zeros(0), np.zeros(0))
    for _ in range(_CLUSTERINGS):
        with warnings.catch_warnings():  # k-means warns of empty clusters; these have no anchor
            warnings.simplefilter("ignore", UserWarning)
            start = features[rng.choice(len(features), n, replace=False)]
            centres, cluster = kmeans2(features, start, minit="matrix")
        loss = float(((features - centres[cluster]) ** 2).sum())
        if loss < best[0]:
            best = loss, centres, cluster
    _, centres, cluster = best
    asked, weight = [], []
    for c in np.unique(cluster):
        own = np.flatnonzero(cluster == c)
        asked.append(own[((features[own] - centres[c]) ** 2).sum(axis=1).argmin()])
        weight.append(own.size / features.shape[0])
    return np.array(asked), np.array(weight)


def _p_irt(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    asked = rng.choice(truth.size, n, replace=False)
    return _plug_in(_two_parameters(bank), truth, asked, level)


def _two_parameters(bank: ItemBank) -> ItemModel:
    """Return the 2PL fitted to the bank, with item parameters treated as known."""
    model = bank.drawing.items
    if model.n_dimensions != 1:
        model, _ = item_model(bank.scores, 1, np.zeros(len(bank.questions), dtype=np.int64))
    return ItemModel(model.items, np.zeros_like(model.covariance))


def _plug_in(model: ItemModel, truth: FloatArray, asked: IntArray, level: float) -> Guess:
    scores = np.full(truth.size, np.nan)
    scores[asked] = truth[asked]
    theta, spread = model.posterior(scores)
    p = expit(model.items[:, 0] + model.items[:, 1:] @ theta)
    rest = np.isnan(scores)
    value = float(np.where(rest, p, scores).mean())
    slope = (p * (1.0 - p) * model.items[:, 1])[rest].sum() / truth.size
    noise = (p * (1.0 - p))[rest].sum() / truth.size**2
    se = np.sqrt(slope**2 * spread[0, 0] + noise)
    return _around(value, float(normal_multiplier(level) * se), asked.size)


def _gp_irt(
    bank: ItemBank, truth: FloatArray, n: int, level: float, rng: np.random.Generator
) -> Guess:
    asked, weight = anchors(bank.drawing.items, n, rng)
    model = _two_parameters(bank)
    own = [
        (_plug_in(model, row, asked, level).value - row.mean()) ** 2
        for row in bank.scores
        if np.isfinite(row).all()
    ]
    bias = float(np.mean(own)) if own else 0.0
    noise = float(np.var(truth[asked])) / n
    share = bias / (bias + noise) if bias + noise > 0.0 else 0.0
    guess = _plug_in(model, truth, asked, level).value
    return _around(
        share * float(weight @ truth[asked]) + (1.0 - share) * guess, np.nan, asked.size
    )


DESIGNS: dict[Design, Play] = {
    "bank": _bank,
    "random": _random,
    "stratified": _stratified,
    "assisted": _assisted,
    "information": _information,
    "anchors": _anchors,
    "p_irt": _p_irt,
    "gp_irt": _gp_irt,
}
