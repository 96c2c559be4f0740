"""A battery of 524 questions and 20 models: who withdraws the wrong answers?"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.calibration import confidence_information, confusion, meta_d
from validation.ledger.claim import Claim, beyond, correlation, inside, resampled, shown

TITLE = "Keeping and withdrawing answers"
SOURCE = "Cacioli (2026), arXiv:2604.15702 (battery) and 2603.25112 (M-ratio)"
_HALVES = 20


def claims(data: Path) -> Iterator[Claim]:
    """Relate accuracy and withdrawals; find out what repeats from half to half."""
    right, keep = (
        pd.read_csv(data / f"cacioli_battery20_{one}.csv.gz", index_col="model")
        for one in ("correct", "keep")
    )
    track = right.columns.str.split("_").str[0]
    shared = track != "T6"  # asked before answering, otherwise
    table = confusion(keep.loc[:, shared], right.loc[:, shared])
    delta, accuracy = table.youden.value, right.mean(axis=1).loc[list(table.labels)].to_numpy()
    ranks = _ranks(accuracy, delta)
    order = resampled("rho", lambda w: correlation(*ranks, w), len(delta))
    rng = np.random.default_rng(0)
    apart = []
    for _ in range(_HALVES):
        half = rng.permutation(right.shape[1]) % 2 == 0
        other = confusion(keep.loc[:, ~half & shared], right.loc[:, ~half & shared]).youden.value
        apart.append(correlation(*_ranks(right.loc[:, half].mean(axis=1).to_numpy(), other)))
    yield Claim(
        headline="Ranks of accuracy and of withdraw delta are largely inverted",
        published="inverted",
        found=f"rank correlation {shown(order.value[0], order.interval[0])}, 20 models resampled",
        held_out=f"{np.mean(apart):.2f} with accuracy and delta from different halves",
        outcome=beyond(order.interval[0], above=False),
        verdict="Withdraw delta is Youden's index for keeping answers. The delta of the most "
        "accurate models depends on a handful of wrong answers.",
    )
    one, two = (
        confusion(keep.loc[:, part], right.loc[:, part]).youden.value
        for part in (track.isin(["T1", "T2", "T4"]), track.isin(["T3", "T5"]))
    )
    known = np.isfinite(one) & np.isfinite(two)
    same = resampled("r", lambda w: correlation(one[known], two[known], w), int(known.sum()))
    yield Claim(
        headline="Split-half correlation of withdraw delta (T1, T2, T4 with T3, T5, T6)",
        published="r .51",
        found=f"r {shown(same.value[0], same.interval[0])}, without T6",
        outcome=inside(0.51, same.interval[0]),
        verdict="With twenty models the correlation is imprecise. Here delta is computed over all "
        "questions, not averaged over tasks.",
    )
    yield _ratio_and_information(right.loc[:, shared], keep.loc[:, shared])


def _ratio_and_information(right: pd.DataFrame, keep: pd.DataFrame) -> Claim:
    """Ask what M-ratio and meta-information go with, and whether halves agree on them."""
    ratio, bits = _both(right, keep)
    kept = keep.mean(axis=1).to_numpy()
    with_keeping = []
    for measure in (ratio, bits):
        x, y = _ranks(measure, kept)
        with_keeping.append(resampled("rho", lambda w, x=x, y=y: correlation(x, y, w), len(x)))
    rng = np.random.default_rng(1)
    repeats = []
    for _ in range(_HALVES):
        half = rng.permutation(right.shape[1]) % 2 == 0
        one, two = (_both(right.loc[:, part], keep.loc[:, part]) for part in (half, ~half))
        repeats.append([correlation(*_ranks(x, y)) for x, y in zip(one, two, strict=True)])
    of_ratio, of_bits = np.mean(repeats, axis=0)
    top = int(np.nanargmax(ratio))
    m, i = with_keeping
    return Claim(
        headline="M-ratio measures metacognition (its author replaced it by meta-information)",
        published="withdrawn",
        found="rank correlation with the proportion of answers kept "
        f"{shown(m.value[0], m.interval[0])}, for meta-information "
        f"{shown(i.value[0], i.interval[0])}",
        held_out=f"rank correlation between halves of the questions {of_ratio:.2f}, for "
        f"meta-information {of_bits:.2f}",
        outcome=beyond(m.interval[0]),
        verdict="The reason for replacing M-ratio is reproduced: it increases with the proportion "
        f"of answers kept. The model with the highest M-ratio, {ratio[top]:.2f}, keeps "
        f"{100 * kept[top]:.1f} % of its answers. Meta-information does not increase with "
        "this proportion, but is no more reliable, because so few wrong answers carry little "
        "information.",
    )


def _both(right: pd.DataFrame, keep: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return M-ratio and meta-information of each model."""
    # Questions have no two classes of stimuli: labels are dealt, as whoever computes d' must.
    label = np.random.default_rng(2).integers(0, 2, right.shape[1])
    stimulus = np.broadcast_to(label, right.shape)
    response = np.where(right == 1, stimulus, 1 - stimulus)
    rating = 1 + keep.to_numpy()
    found = meta_d(stimulus, response, rating, n_ratings=2, padding=True, bootstrap=0)
    told = confidence_information(keep, right, bootstrap=0)
    return found.m_ratio.value, told.bits.value


def _ranks(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks of two variables where both are known."""
    known = np.isfinite(x) & np.isfinite(y)
    return tuple(pd.Series(one[known]).rank().to_numpy() for one in (x, y))  # type: ignore[return-value]
