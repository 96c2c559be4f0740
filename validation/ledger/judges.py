"""Judges on TriviaQA, and on the crowd's pairs: may a model take the place of people?"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from psychollm.reliability import cohen_kappa
from validation.ledger.claim import Claim, beyond, correlation, resampled, shown
from validation.ledger.llmfao import by_pair

TITLE = "Judges in the place of people"
SOURCE = (
    "Thakur and others (2024), arXiv:2406.12624, five of nine exam takers are used; Zheng and "
    "others (2023), arXiv:2306.05685, tested here on the pairs of LLMFAO"
)
_BEST = ("GPT-4", "Llama3-70B")
_SIMPLE = ("JudgeLM", "Contains")


def claims(data: Path) -> Iterator[Claim]:
    """Set each judge's scores, agreement and ranks beside those of people."""
    table = pd.read_csv(data / "triviaqa_judges.csv.gz")
    names = [*_BEST, *_SIMPLE, "HumanJudgement"]
    table = table.dropna(subset=names)
    cube = table.pivot_table(index="item", columns="model", values=names).dropna()
    scores = {name: cube[name].to_numpy() for name in names}
    people, n, models = scores["HumanJudgement"], len(cube), len(cube["GPT-4"].columns)
    for judge in _BEST:
        gap = resampled("gap", lambda w, of=judge: _gap(scores[of], people, w), n)
        yield Claim(
            headline=f"Scores by {judge} are within 5 points of people's",
            published="up to 5 points",
            found=f"at most {shown(100 * gap.value[0], 100 * gap.interval[0], 1)} points",
            outcome=beyond(gap.interval[0], 0.05, above=False),
            verdict=f"This is the largest of {models} gaps, on {n} questions that all judges "
            "rated. Questions are resampled; their noise inflates the largest gap.",
        )
    stacked = {name: one.T.ravel() for name, one in scores.items()}
    items = np.tile(np.arange(n), models)
    theirs = np.stack([stacked[name] for name in _BEST])
    kappa = cohen_kappa(theirs, np.tile(stacked["HumanJudgement"], (2, 1)), clusters=items, rng=0)
    for row, judge in enumerate(_BEST):
        yield Claim(
            headline=f"{judge} has excellent alignment with people (first version of the paper)",
            published="excellent",
            found=f"kappa {shown(kappa.value[row], kappa.interval[row])}",
            outcome=beyond(kappa.interval[row], 0.8),
            verdict="A kappa above .80 counts as excellent (Landis and Koch, 1977). It is "
            "computed over all answers, with questions as units.",
        )
    for judge in _SIMPLE:
        ahead = resampled("ahead", lambda w, of=judge: _order(scores[of], people, w)
                          - _order(scores["GPT-4"], people, w), n)  # fmt: skip
        own = _order(scores[judge], people, np.ones(n))
        yield Claim(
            headline=f"{judge} ranks exam takers better than GPT-4 (first version of the paper)",
            published="better",
            found=f"rank correlation {own:.2f}, minus GPT-4's "
            f"{shown(ahead.value[0], ahead.interval[0])}",
            outcome=beyond(ahead.interval[0]),
            verdict=f"With {models} exam takers, a rank correlation has few possible values.",
        )
    yield from _pairs(data)


def _gap(judge: np.ndarray, people: np.ndarray, weights: np.ndarray) -> float:
    return float(np.abs(np.average(judge - people, axis=0, weights=weights)).max())


def _order(judge: np.ndarray, people: np.ndarray, weights: np.ndarray) -> float:
    means = (np.average(one, axis=0, weights=weights) for one in (judge, people))
    return correlation(*map(rankdata, means))


def _pairs(data: Path) -> Iterator[Claim]:
    """Compare GPT-4 and GPT-3.5 with the crowd where neither says tie."""
    votes = pd.read_csv(data / "llmfao_votes.csv.gz")
    votes["way"] = votes["winner"].map({"left": -1, "tie": 0, "right": 1})
    rng = np.random.default_rng(0)
    shuffled = votes.iloc[rng.permutation(len(votes))]
    one = shuffled.groupby("id").head(1).set_index("id")
    rest = shuffled.drop(shuffled.groupby("id").head(1).index)
    crowd = np.sign(rest.groupby("id")["way"].mean())
    agreed = {}
    judged = pd.read_csv(data / "llmfao_gpt4_judgements.csv.gz")
    for name, own in (("GPT-4", by_pair(judged, votes)), ("a worker", one["way"])):
        both = pd.concat({"own": own, "crowd": crowd}, axis=1).dropna()
        both = both[(both["own"] != 0) & (both["crowd"] != 0)]
        same = (both["own"] == both["crowd"]).to_numpy(dtype=float)
        prompt = one.loc[both.index, "prompt"].to_numpy()
        agreed[name] = len(both), resampled(
            "agreement", lambda w, same=same: float(np.average(same, weights=w)), len(both),
            clusters=prompt,
        )  # fmt: skip
    n, gpt = agreed["GPT-4"]
    _, worker = agreed["a worker"]
    yield Claim(
        headline="GPT-4 agrees with people on more than 80 % of pairs without ties, as people do",
        published="over 80 %",
        found=f"{shown(100 * gpt.value[0], 100 * gpt.interval[0], 0)} %",
        held_out=f"a worker agrees with the others: "
        f"{shown(100 * worker.value[0], 100 * worker.interval[0], 0)} %",
        outcome=beyond(gpt.interval[0], 0.8),
        verdict=f"The interval treats the 13 prompts of the {n} pairs as units. The crowd's "
        "prompts and models differ from those of MT-Bench, and many models are close.",
    )
    judged = pd.read_csv(data / "llmfao_gpt3_judgements.csv.gz")
    decided = judged[judged["winner"] != "tie"]
    left = (decided["winner"] == "left").to_numpy(dtype=float)
    share = resampled(
        "left", lambda w: float(np.average(left, weights=w)), len(left),
        clusters=decided["prompt"].to_numpy(),
    )  # fmt: skip
    yield Claim(
        headline="GPT-3.5 favours the answer that it reads first",
        published="winner changes with the order: first 50.0 %, second 1.2 % of pairs",
        found=f"{shown(100 * share.value[0], 100 * share.interval[0], 0)} % of {len(left)}",
        outcome=beyond(share.interval[0], 0.5),
        verdict="Published (Table 2) is for pairs judged in both orders: 46.2 % do not change, so "
        "the first answer wins about 75 % of decisions. Here each pair has one order, and the "
        "proportion is that of pairs without a tie that the left answer wins.",
    )
