"""Coverage for votes, error rates for circles, and loss of predicted votes.

``python validation/votes_rates.py --write`` writes docs/votes_tables.md. Takes half an hour of
CPU. With ``--folds votes.csv [judgements.csv ...]`` it predicts votes by folds over pairs, with
``--length pairs.csv`` preferences of AlpacaEval by the lengths of both answers.

Strengths are normal with SD 1. Voters differ in side preference (SD 0.4), ties (SD 0.8) and
discrimination (SD 0.3 of the logarithm). Voter v of 40 votes in proportion to 1 / v, and one voter
always chooses the left. In studies with prompts, 30 prompts shift each model's strength (SD 0.5).
The seed of study s is 1000 + s.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy

OUT = Path(__file__).resolve().parents[1] / "docs" / "votes_tables.md"
STUDIES = {(8, 200): 400, (8, 2000): 300, (8, 20_000): 100, (60, 2000): 150, (60, 20_000): 40}
SIDES = np.array(["left", "tie", "right"])
CALL = {"left": "left", "right": "right", "winner": "winner", "voter": "worker"}


def simulate(rng, k, n, *, prompts=0, circle=0.0, same=False):
    """Return votes and true strengths."""
    strength = np.zeros(k) if same else rng.normal(size=k)
    left = rng.integers(0, k, n)
    right = (left + rng.integers(1, k, n)) % k
    active = 1.0 / np.arange(1, 41)
    voter = rng.choice(40, n, p=active / active.sum())
    side, tie, slope = rng.normal(size=(3, 40)) * [[0.4], [0.8], [0.3]]
    gap = strength[left] - strength[right]
    frame = pd.DataFrame({"left": left, "right": right, "worker": voter})
    if prompts:
        frame["prompt"] = rng.integers(0, prompts, n)
        shift = rng.normal(0.0, 0.5, (prompts, k))
        gap = gap + shift[frame["prompt"], left] - shift[frame["prompt"], right]
    if circle:
        for a, b in ((0, 1), (1, 2), (2, 0)):
            gap = gap + circle * (((left == a) & (right == b)) * 1.0)
            gap = gap - circle * (((left == b) & (right == a)) * 1.0)
    half = 0.5 * (np.exp(slope[voter]) * gap + 0.2 + side[voter])
    chance = np.stack([np.exp(half), np.exp(tie[voter]), np.exp(-half)])
    chance /= chance.sum(axis=0)
    won = np.minimum((rng.random(n) > chance.cumsum(axis=0)).sum(axis=0), 2)
    won[voter == 3] = 0
    return frame.assign(winner=SIDES[won]), strength


def holds(k, n, seed, prompts):
    """Return whether all differences and all ranks cover, and the coverage of strengths."""
    votes, truth = simulate(np.random.default_rng(seed), k, n, prompts=prompts)
    found = psy.bradley_terry(votes, **CALL, rng=1, n_draws=2000)
    part = found.component
    true = truth[np.array(found.labels)]
    i, j = np.triu_indices(true.size, 1)
    same = part[i] == part[j]
    gap, bounds = (true[i] - true[j])[same], found.differences.interval[same]
    above = (true[None] > true[:, None]) & (part[None] == part[:, None])
    rank = 1 + above.sum(axis=1)
    low, high = found.rank_interval.T
    centred = true - (np.bincount(part, true) / np.maximum(np.bincount(part), 1))[part]
    each = found.strengths.interval
    return (
        ((bounds[:, 0] <= gap) & (gap <= bounds[:, 1])).all(),
        ((low <= rank) & (rank <= high)).all(),
        ((each[:, 0] <= centred) & (centred <= each[:, 1])).mean(),
        np.median(np.diff(bounds, axis=1)),
    )


def coverage(share):
    """Yield a row for each size of study."""
    for prompts in (0, 30):
        for (k, n), studies in STUDIES.items():
            m = max(int(studies * share), 2)
            rows = np.array([holds(k, n, 1000 + s, prompts) for s in range(m)], dtype=float)
            mean = rows.mean(axis=0)
            yield [f"{k} models, {n:,} votes" + (", 30 prompts" if prompts else ""), m,
                   *(f"{100 * one:.1f}" for one in mean[:3]), f"{mean[3]:.2f}"]  # fmt: skip


def circles(share):
    """Yield how often cycles are claimed."""
    for label, size, options in (
        ("none, strengths differ", 0.0, {}),
        ("none, all equal", 0.0, {"same": True}),
        ("one circular trio, 0.8 logits", 0.8, {}),
    ):
        m = max(int(400 * share), 2)
        p = []
        for s in range(m):
            votes, _ = simulate(np.random.default_rng(1000 + s), 8, 4000, circle=size, **options)
            found = psy.bradley_terry(votes, **CALL, rng=1, n_draws=100)
            p.append(found.cycles(n_draws=500, rng=s).p_value)
        yield [label, m, f"{100 * np.mean(np.array(p) <= 0.05):.1f}"]


def settled(rng, shape, chosen, *, step, most=20_000):
    """Return the number of votes until the models are assigned to their true tiers."""
    truth = np.repeat([strength for _, strength in shape], [models for models, _ in shape])
    tiers = [set(np.flatnonzero(truth == strength).tolist()) for _, strength in shape]
    k = truth.size
    rows = []
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    ask = [pairs[one] for one in rng.permutation(len(pairs))] * (2 if k < 10 else 1)
    while len(rows) < most:
        for a, b in ask:
            a, b = (a, b) if rng.random() < 0.5 else (b, a)
            half = 0.5 * (truth[a] - truth[b])
            chance = np.exp([half, -0.5, -half])
            rows.append((a, b, SIDES[rng.choice(3, p=chance / chance.sum())]))
        found = psy.bradley_terry(rows, rng=1, n_draws=500)
        if [set(one) for one in found.tiers] == tiers:
            break
        if chosen:
            following = found.next_pairs(step)
            ask = list(zip(following.left, following.right, strict=True))
        else:
            ask = [pairs[one] for one in rng.integers(0, len(pairs), step)]
    return len(rows)


SHAPES = (  # (models, strength) of each tier, and votes between fits
    (((3, 1.0), (3, 0.0), (3, -1.0)), 9),
    (((3, 1.0), (3, 0.0), (3, -1.0)), 60),
    (((3, 1.5), (3, 0.0), (3, -0.6)), 9),
    (((2, 1.0), (4, 0.0), (6, -1.0)), 12),
    (((1, 0.8), (3, 0.0), (8, -1.2)), 12),
    (((6, 1.0), (6, 0.0), (6, -1.0)), 18),
)


def asking(share):
    """Yield the votes for three settled tiers, with random and with chosen pairs."""
    m = max(int(48 * share), 2)
    for shape, step in SHAPES:
        by_chance, chosen = (
            np.array([settled(np.random.default_rng(s), shape, one, step=step) for s in range(m)])
            for one in (False, True)
        )
        ratio = chosen.mean() / by_chance.mean()
        error = ratio * np.hypot(*(one.std(ddof=1) / one.mean() for one in (chosen, by_chance)))
        yield [", ".join(f"{models} at {strength:g}" for models, strength in shape), step, m,
               f"{by_chance.mean():.0f}", f"{chosen.mean():.0f}",
               f"{100 * ratio:.0f} ({100 * error / np.sqrt(m):.0f})"]  # fmt: skip


def folds(paths, n_folds=5):
    """Yield the log loss of votes on pairs that were held out, without and with judges."""
    votes = pd.read_csv(paths[0])
    judges = [
        pd.read_csv(path).assign(worker=f"judge {i}", kind=f"judge {i}")
        for i, path in enumerate(paths[1:])
    ]
    votes["kind"] = "people"
    sorted_ = np.sort(votes[["left", "right"]].to_numpy().astype(str), axis=1)
    pair = pd.factorize(pd.Series([" / ".join(one) for one in sorted_]))[0]
    fold = np.random.default_rng(1).permutation(pair.max() + 1)[pair] % n_folds
    place = votes["winner"].map({"left": 0, "tie": 1, "right": 2}).to_numpy()
    variants = {
        "rates of left, tie, right": None,
        "Davidson": {"left": "left", "right": "right", "winner": "winner"},
        "voters": CALL,
        "voters, unseen": CALL,
        "voters and judges": {**CALL, "kind": "kind"},
        "voters and judges, kinds not named": CALL,
    }
    for name, call in variants.items():
        loss = []
        for f in range(n_folds):
            train, held = votes[fold != f], votes[fold == f]
            if call is None:
                rates = train["winner"].value_counts(normalize=True)[SIDES].to_numpy()
                chance = np.tile(rates, (len(held), 1))
            else:
                if "judges" in name:
                    train = pd.concat([train, *judges])
                keep = [
                    "left",
                    "right",
                    "winner",
                    *(["worker", "kind"] if "voter" in call else []),
                ]
                found = psy.bradley_terry(train[keep], **call, rng=1, n_draws=100)
                who = held["worker"] if name != "voters, unseen" else None
                chance = found.predict(held["left"], held["right"], who)
            loss.append(-np.log(chance[np.arange(len(held)), place[fold == f]]))
        yield [name, len(votes), f"{np.concatenate(loss).mean():.4f}"]


def length(path, n_folds=5):
    """Yield the log loss of held-out preferences of a judge, without and with length."""
    votes, cases = pd.read_csv(path), {}
    judge = votes["judge"] == "weighted_alpaca_eval_gpt4_turbo"
    votes = votes[judge & (votes["model"] != votes["baseline"])].reset_index(drop=True)
    gap = votes["length_baseline"] - votes["length_model"]
    votes["tanh"] = np.tanh(gap / gap.std())
    votes["log"] = np.log(votes["length_baseline"] / votes["length_model"].clip(lower=1))
    for voter in (None, "instruction"):
        kind = "models and instructions" if voter else "models"
        for name, column in {"": None, ", tanh of length": "tanh", ", log length": "log"}.items():
            cases[kind + name] = voter, column
    fold = np.random.default_rng(1).integers(0, n_folds, len(votes))
    true = votes["preference"].to_numpy() - 1.0
    mean = np.array([true[fold != f].mean() for f in range(n_folds)])[fold]
    yield ["proportion of wins", len(votes), f"{_cross_entropy(true, mean):.4f}"]
    for name, (voter, column) in cases.items():
        chance = np.empty(len(votes))
        for f in range(n_folds):
            held = votes[fold == f]
            found = _preferred(votes[fold != f], voter, column, n_draws=100)
            who = held[voter] if voter else None
            known = held[[column]] if column else None
            three = found.predict(held["baseline"], held["model"], who, covariates=known)
            chance[fold == f] = three[:, 2] / (three[:, 0] + three[:, 2])
        yield [name, len(votes), f"{_cross_entropy(true, chance):.4f}"]
    _print_orders(*(_preferred(votes, "instruction", column) for column in (None, "log")))


def _preferred(votes, voter, column, **options):
    kept = ["baseline", "model", "preference", "instruction", *([column] if column else [])]
    sides = {"left": "baseline", "right": "model", "winner": "preference"}
    covariates = (column,) if column else ()
    options |= {"voter": voter, "prompt": "instruction", "covariates": covariates, "rng": 1}
    return psy.bradley_terry(votes[kept], **sides, **options)


def _cross_entropy(true, chance):
    return -(true * np.log(chance) + (1.0 - true) * np.log1p(-chance)).mean()


def _print_orders(without, with_length):
    """Print strengths and ranks of all models, without and with length."""
    tables = [one.to_frame().set_index("model") for one in (without, with_length)]
    columns = ["strength", "lower", "upper", "rank", "rank_lower", "rank_upper"]
    both = tables[0][columns].join(tables[1][columns], rsuffix=" with length")
    print(both.round(2).to_string())
    order = both[["rank", "rank with length"]].corr("kendall").iloc[0, 1]
    effect = with_length.covariates
    print(f"Kendall's tau of the orders: {order:.3f}; length: {effect.text(0, 3, signed=True)}")


def large():
    """Yield the CPU time and the peak memory of two million votes, read from a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply(_write_large, (path,))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, memory = pool.apply(_fit_large, (path,))
    yield ["200 models, 2,000,000 votes, 100,000 voters", 1, f"{seconds:.0f}", f"{memory:.2f} GB"]


def _write_large(path):
    rng = np.random.default_rng(1)
    n, k, m = 2_000_000, 200, 100_000
    strength = rng.normal(size=k)
    left = rng.integers(0, k, n)
    right = (left + rng.integers(1, k, n)) % k
    voter = rng.integers(0, m, n)
    half = 0.5 * (strength[left] - strength[right] + rng.normal(0.0, 0.4, m)[voter])
    chance = np.stack([np.exp(half), np.ones(n), np.exp(-half)])
    chance /= chance.sum(axis=0)
    won = np.minimum((rng.random(n) > chance.cumsum(axis=0)).sum(axis=0), 2)
    models = np.array([f"model {i}" for i in range(k)])
    voters = np.array([f"voter {i}" for i in range(m)])
    replies = [f"reply number {i} " * 5 for i in range(n)]
    frame = pd.DataFrame({"left": models[left], "right": models[right], "winner": SIDES[won],
                          "worker": voters[voter], "reply": replies})  # fmt: skip
    frame.to_parquet(path, index=False)


def _fit_large(path):
    start = time.process_time()
    psy.bradley_terry(path, **CALL, rng=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return time.process_time() - start, peak / 1e6


def markdown(header, rows):
    """Return a table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, one))} |" for one in lines)


def main():
    """Simulate, print, and write the tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the studies")
    parser.add_argument("--folds", nargs="+", type=Path, default=[], help="votes, judgements")
    parser.add_argument("--length", type=Path, help="pairs of AlpacaEval with lengths")
    parser.add_argument("--only", nargs="*", help="coverage circles asking folds length large")
    parser.add_argument("--write", action="store_true", help="write docs/votes_tables.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = {
        "coverage": (["study", "studies", "all differences, %", "all ranks, %",
                      "strengths, each, %", "median width"], lambda: coverage(options.share)),
        "circles": (["circles", "studies", "p ≤ .05, %"], lambda: circles(options.share)),
        "asking": (["models of each tier at logits", "votes between fits", "studies",
                    "random pairs, mean votes", "next_pairs, mean votes", "proportion, % (SE)"],
                   lambda: asking(options.share)),
        "folds": (["model", "votes", "log loss"], lambda: folds(options.folds)),
        "length": (["model", "preferences", "log loss"], lambda: length(options.length)),
        "large": (["votes", "runs", "CPU seconds", "peak memory"], large),
    }  # fmt: skip
    texts = []
    for name, (header, rows) in parts.items():
        needs_file = name in {"folds", "length"} and not getattr(options, name)
        if (options.only and name not in options.only) or needs_file:
            continue
        texts += [f"<!-- {name} -->", markdown(header, list(rows())), f"<!-- end of {name} -->"]
        print("\n\n".join(texts[-3:]), flush=True)
    if options.write:
        OUT.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
