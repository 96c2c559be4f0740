"""LLMFAO: a crowd's ranking of 59 models, and whether two GPTs would have done."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.reliability import cohen_kappa, mean_score
from validation.ledger.claim import Claim, beyond, shown

TITLE = "A crowd and two judges"
SOURCE = "LLMFAO, Ustalov (2023), dustalov.github.io/llmfao; 70 % of the crowd's pairs are used"
_CODES = {"left": -1, "tie": 0, "right": 1}


def claims(data: Path) -> Iterator[Claim]:
    """Rank models by won pairs; set each judge, and one worker, beside the other workers."""
    votes = pd.read_csv(data / "llmfao_votes.csv.gz")
    votes["way"] = votes["winner"].map(_CODES)
    mean = votes.groupby(["id", "prompt", "left", "right"])["way"].mean().reset_index()
    sides = [
        pd.DataFrame(
            {"model": mean[side], "id": mean["id"], "won": 0.5 + 0.5 * sign * mean["way"]}
        )
        for side, sign in (("left", -1), ("right", 1))
    ]
    won = pd.concat(sides).pivot_table(index="model", columns="id", values="won")
    prompt = mean.set_index("id").loc[list(won.columns), "prompt"].to_numpy()
    share = mean_score(won, clusters=prompt, rng=0)
    best = int(np.argmax(share.value))
    place = list(share.labels).index("GPT 4")
    others = [row for row in range(len(share.labels)) if row != place]
    rivals = sum(
        share.difference(share.labels[place], share.labels[row]).interval[0] <= 0.0
        for row in others
    )
    yield Claim(
        headline="The crowd puts GPT-4 first",
        published="rank 1 of 59",
        found=f"rank {1 + int((share.value > share.value[place]).sum())}, wins "
        f"{shown(share.value[place], share.interval[place])} of its pairs",
        outcome="reproduced"
        if best == place and not rivals
        else "inconclusive"
        if rivals
        else "not reproduced",
        verdict=f"{share.labels[best]} has the largest proportion of wins; {rivals} of "
        f"{len(others)} others are not significantly worse than GPT-4 if prompts are resampled. "
        "Thirteen prompts are too few to rank most models.",
    )
    rng = np.random.default_rng(0)
    shuffled = votes.iloc[rng.permutation(len(votes))]
    one = shuffled.groupby("id").head(1).set_index("id")
    rest = shuffled.drop(shuffled.groupby("id").head(1).index)
    crowd = np.sign(rest.groupby("id")["way"].mean())
    raters = {"another worker": one["way"]}
    for name in ("gpt3", "gpt4"):
        judged = pd.read_csv(data / f"llmfao_{name}_judgements.csv.gz")
        raters[name] = by_pair(judged, votes)
    table = pd.concat({"crowd": crowd, **raters}, axis=1).dropna()
    clusters = one.loc[table.index, "prompt"].to_numpy()
    theirs = table.drop(columns="crowd").T
    kappa = cohen_kappa(
        theirs.to_numpy(), np.tile(table["crowd"], (len(theirs), 1)), clusters=clusters, rng=0
    )
    human, *judges = range(len(theirs))
    for judge, label in zip(judges, ("GPT-3.5", "GPT-4"), strict=True):
        ahead = kappa.difference(human, judge)
        yield Claim(
            headline=f"Workers judge better than {label} (the author's impression)",
            published="worse than people",
            found=f"kappa with the crowd {shown(kappa.value[judge], kappa.interval[judge])}",
            held_out=f"another worker's kappa {shown(kappa.value[human], kappa.interval[human])}, "
            f"larger by {shown(ahead.value, ahead.interval)}",
            outcome=beyond(ahead.interval),
            verdict=f"All raters are compared with the same other workers on {len(table)} pairs "
            "(left, tie or right). Agreement with the crowd is not correctness.",
        )


def by_pair(judged: pd.DataFrame, votes: pd.DataFrame) -> pd.Series:
    """Return a judge's verdicts by the crowd's pairs, turned round where sides differ."""
    keys = ["prompt", "left", "right"]
    pairs = votes.drop_duplicates("id")[["id", *keys]]
    judged = judged.assign(way=judged["winner"].map(_CODES))
    turned = judged.rename(columns={"left": "right", "right": "left"}).assign(way=-judged["way"])
    both = pd.concat([judged, turned])[[*keys, "way"]].drop_duplicates(keys)
    return pairs.merge(both, on=keys).set_index("id")["way"]
