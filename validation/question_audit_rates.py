"""Discoveries and false discoveries of the audit of questions.

The three parts each write a table of docs/question_audit_tables.md:

* judged by experts: questions of MMLU-Redux with the choices of 14 models. The audit does not use
  the labels. Two of its constants, the proportions of misconception items and of other detectable
  faults, are estimated for each fold of subjects from the labels of the other folds (log loss of
  sound, wrong key and other fault); results with the constants in the code are also shown.
  Baselines are the proportion of models that miss the question, the proportion at the same other
  option, and Dawid and Skene with three classes of difficulty.
* keys corrupted at random: in MMLU-Redux (choices), MMLU-Pro and LiveBench (binary scores). A
  model that was right is wrong on a question whose key is corrupted; one that erred is right with
  a probability drawn for the question, beta with parameters .25 and .25 (k - 2) for k = 10
  options, and never where answers are open (LiveBench). Real faults of MMLU-Pro and LiveBench
  count as false discoveries there, so that these rates are upper bounds.
* other signals in the table: false positives of `question_screen` on simulated sound questions.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m validation.question_audit_rates --data DIR

Takes about ten minutes. Standard errors are of a bootstrap over questions.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import rankdata

import psychollm as psy
from psychollm.studies.question_audit.answers import answers_of, groups_of
from psychollm.studies.question_audit.evidence import concentration, likelihoods
from psychollm.studies.question_audit.mixture import CONSTANTS, fitted, posterior
from psychollm.studies.question_audit.study import likeliest

TABLE = Path(__file__).parents[1] / "docs" / "question_audit_tables.md"
STATED = (0.1, 0.2, 0.3, 0.5)
TRAPS, VISIBLE = (0.004, 0.007, 0.01, 0.014, 0.02), (0.1, 0.2, 0.35, 0.5)
N_FOLDS, N_BOOT = 10, 500
FIRST = 100
OPEN = 1000  # options of an open question


class Redux:
    """The judged questions."""

    def __init__(self, data: Path) -> None:
        frame = pd.read_csv(data / "mmlu_redux_options.csv.gz").set_index("question")
        self.key, self.label = frame.pop("key"), frame.pop("label").to_numpy()
        self.subject = frame.pop("subject").to_numpy()
        self.choices = frame
        self.wrong = self.label == "wrong_groundtruth"
        self.flawed = ~np.isin(self.label, ["ok", "expert"])  # "expert" is undecided


def auroc(score: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve."""
    n, ranks = positive.sum(), rankdata(score)
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def precision(score: np.ndarray, positive: np.ndarray, k: int = FIRST) -> float:
    """Return the proportion of positives among the first k, with ties in random order."""
    cut = np.sort(score)[-k]
    above, tied = score > cut, score == cut
    return float((positive[above].sum() + (k - above.sum()) * positive[tied].mean()) / k)


def dawid_skene(answers, n_classes: int = 3) -> np.ndarray:
    """Return how unlikely the key is the right option, by EM with classes of difficulty."""
    codes, n = answers.codes, answers.n_options
    votes = np.stack([codes == o for o in range(n)], axis=2).astype(float)
    counts = votes.sum(axis=1)
    truth = counts / counts.sum(axis=1, keepdims=True)
    top = counts.max(axis=1) / counts.sum(axis=1)
    classes = np.stack([top > 0.9, (top <= 0.9) & (top > 0.6), top <= 0.6], axis=1).astype(float)
    classes = 0.8 * classes[:, :n_classes] + 0.2 / n_classes
    joint = truth[:, :, None] * classes[:, None, :]
    for _ in range(50):
        share = joint.sum(axis=(0, 1)) / len(codes)
        right = np.einsum("qot,qmo->mt", joint, votes)
        total = np.einsum("qot,qm->mt", joint, votes.sum(axis=2))
        p = (right + 1.0) / (total + 2.0)
        hit, miss = np.log(p), np.log((1.0 - p) / (n - 1))
        logs = np.einsum("qmo,mt->qot", votes, hit - miss)
        logs += (votes.sum(axis=2) @ miss)[:, None, :] + np.log(share)
        joint = np.exp(logs - logsumexp(logs, axis=(1, 2), keepdims=True))
    return 1.0 - joint.sum(axis=2)[np.arange(len(codes)), answers.key]


def crossfitted(redux: Redux, answers, member) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Return probabilities of sound, wrong key and other fault, constants from other subjects."""
    picked = answers.picked(np.ones(len(answers.models)))
    _, spread = fitted(picked, member)
    logs = likelihoods(picked, spread, concentration(picked))
    truth = np.where(redux.wrong, 1, np.where(redux.flawed, 2, 0))
    tried = {}
    for trap in TRAPS:
        for visible in VISIBLE:
            kinds = posterior(logs, member, replace(CONSTANTS, trap=trap, visible=visible)).kinds
            tried[trap, visible] = np.stack(
                [kinds[:, 0], kinds[:, 1], kinds[:, 2:].sum(axis=1)], axis=1
            )
    fold = np.random.default_rng(1).permutation(member.max() + 1)[member] % N_FOLDS
    out, chosen = np.zeros((len(member), 3)), []
    for one in range(N_FOLDS):
        train = np.flatnonzero(fold != one)
        best = min(tried, key=lambda c: -np.log(tried[c][train, truth[train]]).sum())
        chosen.append(best)
        out[fold == one] = tried[best][fold == one]
    return out, chosen


def with_se(statistic, *columns: np.ndarray) -> str:
    """Return a statistic with its bootstrap standard error over questions."""
    rng, n = np.random.default_rng(1), len(columns[0])
    draws = []
    for _ in range(N_BOOT):
        rows = rng.integers(n, size=n)
        draws.append(statistic(*(column[rows] for column in columns)))
    return f"{statistic(*columns):.3f} ({np.std(draws):.3f})"


def shares_false(chance: np.ndarray, positive: np.ndarray) -> list[str]:
    """Return the false discovery proportion and number of discoveries at each nominal level."""
    cells = []
    for stated in STATED:
        places = likeliest(chance, stated)
        cells.append(f"{1 - positive[places].mean():.2f} of {len(places)}" if len(places) else "-")
    return cells


def judged(redux: Redux) -> Iterator[str]:
    """Yield the tables of questions judged by experts."""
    answers = answers_of(redux.choices, redux.key, None)
    member, _ = groups_of(None, answers.questions)
    out, chosen = crossfitted(redux, answers, member)
    audit = psy.question_audit(redux.choices, redux.key, rng=1)
    order = np.random.default_rng(2).permutation(len(redux.key))
    shuffled = psy.question_audit(redux.choices.iloc[order], redux.key, rng=1)
    back = np.argsort(order)
    alone = psy.question_audit(redux.choices, redux.key, groups=["all"] * len(redux.key), rng=1)
    families = psy.question_audit(
        redux.choices, redux.key, families=[c.split("_")[0] for c in redux.choices], rng=1
    )
    right = pd.DataFrame(answers.right.T, columns=answers.questions)
    binary = psy.question_audit(right, n_options=4, rng=1)
    counts = np.stack([(answers.codes == o).sum(axis=1) for o in range(4)], axis=1).astype(float)
    n = counts.sum(axis=1)
    others = counts.copy()
    others[np.arange(len(n)), answers.key] = 0.0
    missed = others.sum(axis=1) / n
    skene = dawid_skene(answers)
    scores = {
        "share of models that miss it": (missed, missed),
        "share at the same other option": (others.max(axis=1) / n,) * 2,
        "Dawid and Skene, three classes": (skene, skene),
        "audit, constants by folds over subjects": (out[:, 1], 1.0 - out[:, 0]),
        "audit": (audit.p_wrong_key, audit.p_flawed),
        "audit, families of models": (families.p_wrong_key, families.p_flawed),
        "audit, one group": (alone.p_wrong_key, alone.p_flawed),
        "audit, rows in random order": (shuffled.p_wrong_key[back], shuffled.p_flawed[back]),
        "audit of right and wrong alone": (binary.p_wrong_key, binary.p_flawed),
    }
    yield (
        "| ranked by | AUROC of wrong keys | first 100 by probability of a wrong key: any fault "
        "| of these wrong keys | first 100 by probability of any fault: any fault |\n"
        "|---|---|---|---|---|"
    )
    for name, (key, any_) in scores.items():
        yield (
            f"| {name} | {with_se(auroc, key, redux.wrong)} "
            f"| {with_se(precision, key, redux.flawed)} | {precision(key, redux.wrong):.2f} "
            f"| {with_se(precision, any_, redux.flawed)} |"
        )
    visible = redux.wrong & (missed > 0)
    order = np.where(visible, 2.0, missed)
    yield (
        f"\n{int((~visible & redux.wrong).sum())} of {redux.wrong.sum()} wrong keys are chosen by "
        f"all models. If all others were ranked first and these tied with the questions that no "
        f"model misses, the AUROC would be {auroc(order, redux.wrong):.3f}."
    )
    yield f"Constants chosen in the folds (trap, visible): {sorted(set(chosen))}."
    yield ("\n| discoveries | by | .1 stated | .2 | .3 | .5 |\n|---|---|---|---|---|---|")
    for name in list(scores)[3:]:
        key, any_ = scores[name]
        yield f"| wrong keys | {name} | {' | '.join(shares_false(key, redux.wrong))} |"
        yield f"| any fault | {name} | {' | '.join(shares_false(any_, redux.flawed))} |"
    sure = skene
    yield f"| wrong keys | Dawid and Skene | {' | '.join(shares_false(sure, redux.wrong))} |"
    yield (
        "\n| stated probability | questions | mean probability | wrong keys | | questions "
        "| mean probability "
        "| any fault |\n|---|---|---|---|---|---|---|---|"
    )
    edges = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0]
    for low, high in pairwise(edges):
        cells = []
        for chance, truth in ((audit.p_wrong_key, redux.wrong), (audit.p_flawed, redux.flawed)):
            own = (chance > low) & (chance <= high)
            cells.append(
                f"{own.sum():,} | {chance[own].mean():.3f} | {truth[own].mean():.3f}"
                if own.any()
                else "0 | - | -"
            )
        yield f"| {low:g} to {high:g} | {cells[0]} | | {cells[1]} |"


def right_and_wrong(data: Path) -> dict[str, tuple[np.ndarray, list[str] | None, int]]:
    """Return tables of binary scores (models x questions), groups, and numbers of options."""
    pro = pd.read_csv(data / "mmlu_pro_correct.csv.gz").set_index("model").to_numpy(float)
    live = pd.read_parquet(data / "livebench_scores.parquet")
    table = live.pivot_table(
        index=["category", "question"], columns="model", values="score", sort=False
    )
    scores = table.to_numpy(float).T
    return {
        "MMLU-Pro": (pro, None, 10),
        "LiveBench": (
            np.where(np.isnan(scores), np.nan, scores > 0.5),
            table.index.get_level_values(0).tolist(),
            OPEN,
        ),
    }


def put_wrong(right: np.ndarray, flips: np.ndarray, n_options: int, rng) -> np.ndarray:
    """Return binary scores (models, questions) after some keys are corrupted."""
    others = 0.25 * (n_options - 2)
    share = rng.beta(0.25, others, size=flips.sum()) if n_options < OPEN else np.zeros(flips.sum())
    own = right[:, flips]
    by_luck = (rng.random(own.shape) < share) & (own == 0.0)
    out = right.copy()
    out[:, flips] = np.where(np.isnan(own), np.nan, by_luck)
    return out


def corrupted(redux: Redux, data: Path, n_times: int) -> Iterator[str]:
    """Yield the table of keys corrupted at random."""
    yield (
        "| table | corrupted keys | discoveries | AUROC | share of models that miss it: AUROC "
        "| .1 stated | .2 | .3 | .5 |\n|---|---|---|---|---|---|---|---|---|"
    )
    options = sorted(set(redux.key))
    for share in (0.02, 0.05, 0.10):
        runs = []
        for run in range(n_times):
            rng = np.random.default_rng([run, int(100 * share)])
            flips = rng.random(len(redux.key)) < share
            place = redux.key.map(options.index).to_numpy().copy()
            place[flips] = (place[flips] + rng.integers(1, 4, size=flips.sum())) % 4
            key = pd.Series([options[k] for k in place], redux.key.index)
            audit = psy.question_audit(redux.choices, key, rng=run)
            missed = (redux.choices.to_numpy() != key.to_numpy()[:, None]).mean(axis=1)
            runs.append((audit, flips, redux.wrong | flips, redux.flawed | flips, missed))
        yield from _rows("MMLU-Redux, choices", share, runs)
    for name, (right, groups, n_options) in right_and_wrong(data).items():
        for share in (0.0, 0.05, 0.10):
            runs = []
            for run in range(n_times if name == "LiveBench" else min(n_times, 2)):
                rng = np.random.default_rng([run, int(100 * share)])
                flips = rng.random(right.shape[1]) < share
                table = put_wrong(right, flips, n_options, rng)
                audit = psy.question_audit(table, groups=groups, n_options=n_options, rng=run)
                runs.append((audit, flips, flips, flips, 1.0 - np.nanmean(table, axis=0)))
                if not share:
                    break
            yield from _rows(f"{name}, right and wrong", share, runs)


def _rows(name: str, share: float, runs: list) -> Iterator[str]:
    """Yield a line for wrong keys and one for any fault, pooled over runs."""
    for fault in ("wrong_key", "any"):
        cells = []
        for stated in STATED:
            false = n = 0
            for audit, _, wrong, flawed, _ in runs:
                places = likeliest(audit._chance(fault), stated)
                truth = wrong if fault == "wrong_key" else flawed
                false, n = false + int((~truth[places]).sum()), n + len(places)
            cells.append(f"{false / n:.2f} of {n / len(runs):.0f}" if n else "none flagged")
        own = other = "-"
        if share:
            own = f"{np.mean([auroc(a._chance(fault), flips) for a, flips, *_ in runs]):.3f}"
            other = f"{np.mean([auroc(missed, flips) for _, flips, _, _, missed in runs]):.3f}"
        kind = "wrong keys" if fault == "wrong_key" else "any fault"
        yield f"| {name} | {share:.0%} | {kind} | {own} | {other} | {' | '.join(cells)} |"


def screened(n_times: int) -> Iterator[str]:
    """Yield false positives of `question_screen` on sound questions, and its power."""
    yield (
        "| models | any question flagged as negatively discriminating, % "
        "| any pair flagged as duplicates, % | duplicates detected, % "
        "| memorised questions detected, % |\n|---|---|---|---|---|"
    )
    for n in (15, 30, 60):
        against, redundant, found, gamed = 0, 0, 0.0, 0.0
        for run in range(n_times):
            rng = np.random.default_rng([run, n])
            ability, ease = 1.5 * rng.normal(size=(n, 1)), 1.5 * rng.normal(size=200)
            right = (rng.logistic(size=(n, 200)) < ability + ease).astype(int)
            screen = psy.question_screen(right)
            against += bool(screen.against.any())
            redundant += bool(len(screen.pairs))
            # Add copies of ten questions, answered alike except by one model in ten, and ten
            # questions that half of the weaker models have memorised.
            copies = right[:, :10].copy()
            other = rng.random(copies.shape) < 0.1
            copies[other] = 1 - copies[other]
            known = right[:, 10:20].copy()
            weak = np.argsort(ability[:, 0])[: n // 2]
            known[weak] = np.where(rng.random((len(weak), 10)) < 0.8, 1, known[weak])
            known[np.argsort(ability[:, 0])[n // 2 :]] = right[
                np.argsort(ability[:, 0])[n // 2 :]
            ][:, 10:20]
            changed = psy.question_screen(np.hstack([right[:, :10], known, right[:, 20:], copies]))
            pairs = {tuple(sorted(pair)) for pair in changed.pairs.tolist()}
            found += sum((k, 200 + k) in pairs for k in range(10)) / 10
            gamed += changed.against[10:20].mean()
        cells = (100 * value / n_times for value in (against, redundant, found, gamed))
        yield f"| {n} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--times", type=int, default=5, help="tables of each kind")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    redux = Redux(options.data)
    parts = {
        "Judged by experts": judged(redux),
        "Randomly corrupted keys": corrupted(redux, options.data, options.times),
        "Duplicates and gamed questions": screened(20 * options.times),
    }
    blocks = []
    for title, lines in parts.items():
        block = [f"## {title}\n"]
        for line in lines:
            print(line, flush=True)
            block.append(line)
        blocks.append("\n".join(block))
    if not options.no_write:
        TABLE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
