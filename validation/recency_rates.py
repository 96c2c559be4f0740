"""False positive rate and power of ``recency_break``: docs/recency.md.

``python -m validation.recency_rates --write [LIVECODEBENCH.csv.gz]`` rewrites
``docs/recency_tables.md``. Models of different ability and slope answer questions whose difficulty
rises by one logit from the first date to the last; a third of the variance of a model's log odds
over questions is specific to it. The last cut-off is in the middle. In lineages, three models
share half of their specific variance. A lineage that has seen the earlier questions answers them
with odds that are e or e squared times as large. With the scores of LiveCodeBench (columns
question_id, model, date, model_cutoff, pass@1; 16 models, 349 problems;
github.com/LiveCodeBench/livecodebench.github.io, no licence: read, not copied), dates are
permuted, and the lineage with the cut-off of 2023-07-30 is tested. Takes ten minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from psychollm.studies.recency_break.study import recency_break
from validation.attempts_rates import markdown

OUT = Path(__file__).parents[1] / "docs" / "recency_tables.md"
DESIGNS = ((5, 100, 1), (8, 100, 1), (16, 350, 1), (15, 350, 3))  # models, questions, in a lineage
SEEN = (0.0, 1.0, 2.0)


def simulated(rng, models, questions, kin, seen, runs=1):
    """Return scores (models, questions), days and lineages; the first lineage has seen half."""
    lineage = np.arange(models) // kin
    day = np.sort(rng.integers(0, 300, questions))
    ability = rng.normal(0.0, 1.0, models)
    slope = np.exp(rng.normal(0.0, 0.25, models))
    hard = rng.normal(0.0, 1.5, questions) + day / 300.0
    own = rng.normal(size=(lineage.max() + 1, questions))[lineage]
    if kin > 1:
        own = (own + rng.normal(size=(models, questions))) / np.sqrt(2.0)
    odds = ability[:, None] + slope[:, None] * (own - hard)
    odds[lineage == 0] += seen * (day <= 150)
    return rng.binomial(runs, expit(odds)) / runs, day, lineage


def dated(day):
    """Return days as dates."""
    return pd.Timestamp("2024-01-01") + pd.to_timedelta(day, unit="D")


def rates(rng, n_tables, n_null):
    """Return rows: proportion of tables with an alarm, by exposure of the first lineage."""
    rows = []
    for models, questions, kin in DESIGNS:
        for searched in (False, True):
            cells = []
            for seen in SEEN:
                right, wrong, covers = [], [], []
                for _ in range(n_tables):
                    scores, day, lineage = simulated(rng, models, questions, kin, seen)
                    found = recency_break(
                        scores, published=dated(day), families=lineage, n_null=n_null, rng=rng,
                        cutoff=None if searched else "2024-05-30",
                    )  # fmt: skip
                    right.append(0 in found.alarms)
                    wrong.append(bool(set(found.alarms) - {0}))
                    bounds = found.by_lineage.change.interval
                    covers.append(((bounds[:, 0] <= 0.0) & (bounds[:, 1] >= 0.0)).mean())
                if seen == 0.0:
                    cells.append(100 * np.mean(np.array(right) | np.array(wrong)))
                    cells.append("–" if searched else 100 * np.mean(covers))
                else:
                    cells += [100 * np.mean(right), 100 * np.mean(wrong)]
            name = f"{models}, {questions}, {kin}, {'searched' if searched else 'known'}"
            rows.append([name, *cells])
            print(rows[-1], flush=True)
    return rows


def real(frame, rng, n_tables, n_null):
    """Return rows on LiveCodeBench: results, and proportion of permuted tables with an alarm."""
    table = frame.pivot_table(index="model", columns="question_id", values="pass@1")
    day = frame.groupby("question_id")["date"].first().reindex(table.columns)
    cut = frame.groupby("model")["model_cutoff"].first().reindex(table.index)
    own = cut == cut.max()  # one base model and the models derived from it
    lineage = pd.Series(np.where(own, "last cut-off", table.index), index=table.index)
    rows = []
    for name, given in (("known", cut), ("searched", None)):
        found = recency_break(table, published=day, cutoff=given, families=lineage, rng=1)
        place = found.lineages.index("last cut-off")
        lead = float(np.nanmin(found.by_model.z))
        alarms = []
        for _ in range(n_tables):
            moved = pd.Series(rng.permutation(day.to_numpy()), index=day.index)
            cutoff = "2023-07-30" if given is not None else None
            again = recency_break(
                table, published=moved, cutoff=cutoff, families=lineage, n_null=n_null, rng=rng
            )
            alarms.append(bool(again.alarms))
        rows.append(
            [name, lead, float(found.by_lineage.z[place]), float(found.adjusted[place]),
             100 * float(np.mean(alarms))]
        )  # fmt: skip
        print(rows[-1], found.alarms, flush=True)
    return rows


def main():
    """Simulate, print, and write the page of tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", nargs="?", type=Path)
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--null", type=int, default=199)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--picture", type=Path, help="where a figure of simulated models goes")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    if options.picture:
        scores, day, _ = simulated(np.random.default_rng(2), 12, 400, 1, 2.0)
        scores = pd.DataFrame(scores, index=[f"model {one}" for one in "ABCDEFGHIJKL"])
        found = recency_break(scores, published=dated(day), cutoff="2024-05-30", rng=1)
        found.plot().figure.savefig(options.picture, dpi=110, bbox_inches="tight")
        return
    head = ["models, questions, in a lineage, date",
            "no contamination: any alarm", "intervals cover 0",
            "odds times 2.7: detected", "odds times 2.7: other alarm",
            "odds times 7.4: detected", "odds times 7.4: other alarm"]  # fmt: skip
    parts = [
        "### Simulated models",
        markdown(head, rates(rng, options.tables, options.null), 1),
    ]
    if options.scores is not None:
        rows = real(pd.read_csv(options.scores), rng, options.tables, options.null)
        head = ["date", "z of the model", "z of the lineage", "adjusted p",
                "dates permuted: alarms, %"]  # fmt: skip
        parts += ["### LiveCodeBench", markdown(head, rows, 3)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if options.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
