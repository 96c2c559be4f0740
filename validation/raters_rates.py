"""Coverage of intervals for raters, and prediction of ratings: docs/raters.md.

``python -m validation.raters_rates --write [RATINGS.csv.gz]`` rewrites ``docs/raters_tables.md``.
Severities of simulated raters have an SD of 1, discriminations a median of 1.5 and an SD of .3 on
the logarithm. "Two qualities": half of the raters also rate a second quality of the things;
"skewed": the things have an exponential distribution. With the ratings of DICES-350 (350
conversations, 82 raters, complete; columns conversation, rater_position, unsafe;
github.com/dmg-illc/JUDGE-BENCH, CC BY 4.0), parameters of raters from half of the conversations
predict mean ratings of the other half. Takes fifteen minutes.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.studies.rater_severity.study import rater_severity
from validation.attempts_rates import covers, markdown

OUT = Path(__file__).parents[1] / "docs" / "raters_tables.md"
MANY = 20_000  # things whose mean rating is the true value
QUALITIES = """\
With two qualities, estimated logits are smaller than the simulated ones, since the quality that
raters do not share counts as noise. Intervals of differences on the rating scale remain valid;
intervals of severities and discriminations may be wrong. Report differences."""
HALVES = """\
### Prediction from half of the conversations

DICES-350: 82 people judged 350 conversations as unsafe or not. From a rater's ratings of some
conversations in one half, we predict how far its mean rating of the other half is from the mean
rating by the average rater (root mean square error):"""
KS = {"no, yes": 2, "no, unsure, yes": 3, "1 to 5": 5}


@dataclass(frozen=True)
class Case:
    """Raters and things, and how they depart from the model."""

    name: str
    raters: int
    things: int
    tables: int
    ratings: str = "no, yes"
    per_thing: int = 0  # number of raters of each thing; 0: all
    second: float = 0.0  # logits of another quality, for every second rater
    skewed: bool = False
    drift: float | None = None  # SD of the change over time
    groups: int = 0
    extra: float = 0.0  # SD of what raters add for groups
    alike: bool = False  # discrimination is the same


CASES = (
    Case("5 raters, 40 things", 5, 40, 400),
    Case("5 raters, 40 things, unsure", 5, 40, 200, "no, unsure, yes"),
    Case("5 raters, 40 things, 1 to 5", 5, 40, 200, "1 to 5"),
    Case("5 raters, 40 things, equal discrimination", 5, 40, 200, alike=True),
    Case("20 raters, 200 things, 3 raters each", 20, 200, 60, per_thing=3),
    Case("82 raters, 350 things", 82, 350, 12),
    Case("82 raters, 350 things, unsure", 82, 350, 8, "no, unsure, yes"),
    Case("5 raters, 40 things, skewed", 5, 40, 200, skewed=True),
    Case("5 raters, 40 things, two qualities", 5, 40, 200, second=1.0),
    Case("82 raters, 350 things, two qualities", 82, 350, 6, second=1.0),
)
MORE = (
    Case("8 raters, 150 things, drift", 8, 150, 100, drift=0.5),
    Case("8 raters, 150 things, no drift", 8, 150, 100, drift=0.0),
    Case("8 raters, 150 things, 4 groups", 8, 150, 100, groups=4, extra=0.5),
    Case("8 raters, 150 things, 4 groups, no interaction", 8, 150, 100, groups=4),
)


@dataclass
class Truth:
    """Raters and ratings of one table."""

    frame: pd.DataFrame
    severity: np.ndarray
    discrimination: np.ndarray
    mean: np.ndarray
    drift: np.ndarray | None = None
    extra: np.ndarray | None = None


def drawn(case: Case, rng: np.random.Generator) -> Truth:
    """Return ratings of raters and things that are drawn."""
    n, k = case.raters, KS[case.ratings]
    a = np.full(n, 1.5) if case.alike else 1.5 * np.exp(0.3 * rng.standard_normal(n))
    s, m = rng.standard_normal(n), rng.standard_normal(n) - 1.0
    steps = np.arange(k) - (k - 1) / 2.0
    if k == 3:
        steps = steps / 2.0
    if k == 5:
        a, m = a / 2.0, m + 1.5
    own = np.where(np.arange(n) % 2, case.second, 0.0)
    change = None if case.drift is None else case.drift * rng.standard_normal(n)
    extra = case.extra * rng.standard_normal((n, max(case.groups, 1)))
    level = 0.5 * rng.standard_normal(case.groups) if case.groups else np.zeros(1)

    def rate(size: int) -> tuple[np.ndarray, ...]:
        x = rng.exponential(size=size) - 1.0 if case.skewed else rng.standard_normal(size)
        group = rng.integers(max(case.groups, 1), size=size)
        when = rng.random((size, n)) - 0.5
        z = a * (x + level[group])[:, None] - s - extra[:, group].T
        z = z + own * rng.standard_normal((size, 1))
        if change is not None:
            z = z - change * when
        eta = z[:, :, None] * steps + (m[:, None] * (1 - np.linspace(-1, 1, k) ** 2))[None]
        return (eta + rng.gumbel(size=eta.shape)).argmax(axis=-1), group, when, eta

    rated, group, when, _ = rate(case.things)
    values = np.arange(1.0, 6.0) if k == 5 else np.linspace(0.0, 1.0, k)
    mean = values[rate(MANY)[0]].mean(axis=0)
    thing, rater = np.nonzero(np.ones((case.things, n)))
    if case.per_thing:
        chosen = rng.random((case.things, n)).argsort(axis=1)[:, : case.per_thing]
        thing, rater = np.repeat(np.arange(case.things), case.per_thing), chosen.ravel()
    frame = pd.DataFrame(
        {
            "thing": thing,
            "rater": rater,
            "rating": np.array(["no", "unsure", "yes"])[rated[thing, rater]]
            if k == 3
            else rated[thing, rater] + (k == 5),
            "time": when[thing, rater],
            "group": group[thing],
        }
    )
    share = np.bincount(group, minlength=level.size) / group.size
    return Truth(frame, s - a * (share @ level) + extra @ share, a, mean, change, extra)


def studied(case: Case, truth: Truth):
    """Return the study of the ratings."""
    more = {}
    if case.drift is not None:
        more["time"] = "time"
    if case.groups:
        more["group"] = "group"
    return rater_severity(
        truth.frame, rng=1, n_draws=1000, categories=[1, 2, 3, 4, 5] if "5" in case.ratings[-1:]
        else None, **more,
    )  # fmt: skip


def centred(values, order):
    """Return values minus their mean, in the order of the labels."""
    values = np.asarray(values)[order]
    return values - values.mean(axis=0)


def simulated(cases, seed):
    """Return rows of coverage for each case."""
    rows = []
    for case in cases:
        hits = {name: [] for name in ("difference", "rate", "severity", "slope", "at once", "raw")}
        hits |= {"drift": [], "group": []}
        began = time.perf_counter()
        spent = 0.0
        for table in range(case.tables):
            truth = drawn(case, np.random.default_rng([seed, table]))
            began = time.perf_counter()
            found = studied(case, truth)
            spent += time.perf_counter() - began
            order = list(found.labels)
            gap = centred(truth.mean, order)
            hits["difference"].append(covers(found.difference.interval, gap))
            hits["rate"].append(covers(found.rate.interval, truth.mean[order]))
            hits["severity"].append(
                covers(found.severity.interval, centred(truth.severity, order))
            )
            hits["slope"].append(
                covers(found.discrimination.interval, truth.discrimination[order])
            )
            hits["at once"].append(covers(found.at_once, gap).all())
            raw = found.raw - found.raw.mean()
            hits["raw"].append(
                [np.mean((found.difference.value - gap) ** 2), np.mean((raw - gap) ** 2)]
            )
            if found.drift is not None:
                hits["drift"].append(covers(found.drift.interval, truth.drift[order]))
            if found.interaction is not None:
                share = truth.frame.drop_duplicates("thing")["group"].value_counts(normalize=True)
                groups = list(dict.fromkeys(truth.frame["group"]))
                own = truth.extra[np.ix_(order, groups)]
                own = own - own @ share[groups].to_numpy()[:, None]
                own = (own - own.mean(axis=0)).ravel()
                hits["group"].append(covers(found.interaction.interval, own))
        errors = np.sqrt(np.mean(hits.pop("raw"), axis=0))
        cover = [
            f"{100 * np.mean(np.concatenate([np.atleast_1d(h) for h in held])):.1f}"
            if held
            else ""
            for held in hits.values()
        ]
        rows.append(
            [
                case.name,
                *cover,
                f"{errors[0]:.4f}",
                f"{errors[1]:.4f}",
                f"{spent / case.tables:.2f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    return rows


def halves(frame, rng, n_splits, given):
    """Return errors of predictions from half of the things for the other half."""
    things = frame["conversation"].unique()
    value = frame["unsafe"].map({"No": 0.0, "Unsure": 0.5, "Yes": 1.0})
    table = frame.assign(value=value).pivot_table(
        index="conversation", columns="rater_position", values="value"
    )
    errors = {"this model": [], "raw rates": []}
    for _ in range(n_splits):
        first = rng.permutation(things)[: things.size // 2]
        known = frame.loc[frame["conversation"].isin(first)]
        if given:
            known = known.sample(frac=1.0, random_state=rng.integers(1 << 31))
            known = known.groupby("rater_position").head(given)
        truth = table.loc[~table.index.isin(first)].mean()
        found = rater_severity(
            known, thing="conversation", rater="rater_position", rating="unsafe", rng=1
        )
        said = pd.Series(found.rate.value, found.labels)
        raw = pd.Series(found.raw, found.labels)
        for name, one in (("this model", said), ("raw rates", raw)):
            both = truth.loc[one.index]
            gap = (one - one.mean()) - (both - both.mean())
            errors[name].append(float(np.sqrt(np.mean(gap**2))))
    one, other = (float(np.mean(errors[name])) for name in errors)
    return [one, other, 100.0 * (1.0 - one / other)]


def main():
    """Simulate, print, and write the page of tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ratings", nargs="?", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of the tables of each case")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()

    def of(cases):
        return [
            Case(**{**vars(case), "tables": max(int(case.tables * options.share), 2)})
            for case in cases
        ]

    head = ["difference", "mean rating", "severity", "discrimination", "all at once"]
    last = ["error of the difference", "of raw means", "seconds"]
    one = [[row[0], *row[1:6], *row[8:]] for row in simulated(of(CASES), 1)]
    two = [
        [row[0], row[1], row[3], row[6] or "–", row[7] or "–"] for row in simulated(of(MORE), 2)
    ]
    parts = [
        markdown(["raters and things", *head, *last], one, 1),
        QUALITIES,
        "### Time and groups",
        markdown(["raters and things", "difference", "severity", "drift", "interaction"], two, 1),
    ]
    if options.ratings is not None:
        frame = pd.read_csv(options.ratings)
        rng = np.random.default_rng(1)
        rows = [
            [name, *halves(frame, rng, options.splits, given)]
            for name, given in (("all 175", 0), ("50 each", 50), ("20 each", 20), ("10 each", 10))
        ]
        columns = ["conversations of the first half", "this model", "raw means", "less error, %"]
        parts += [HALVES, markdown(columns, rows, 3)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if options.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
