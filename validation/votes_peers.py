"""Bradley-Terry models without voters: time and agreement with choix, evalica and arena-rank.

``python -m validation.votes_peers --peer PYTHON`` passes the same simulated votes to the Python
of another environment, which has choix, evalica and arena-rank (PyPI), and compares what they can
do: strengths without ties (choix), strengths with ties as half wins (evalica), and such strengths
with pointwise intervals (arena-rank). psychollm also estimates simultaneous intervals of ranks and
tiers in the same call. ``--write`` writes docs/votes_peers_tables.md. Takes two minutes. choix is
left out for two million votes, where it takes too long.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

OUT = Path(__file__).parents[1] / "docs" / "votes_peers_tables.md"
SIZES = ((50, 20_000), (200, 200_000), (200, 2_000_000))
PEERS = ("choix", "evalica", "arena-rank")
SIDES = np.array(["model_a", "tie", "model_b"])


def votes(n_models, n):
    """Return votes on models of normal strengths; a fifth of votes between equals are ties."""
    rng = np.random.default_rng(1)
    strength = rng.normal(size=n_models)
    a = rng.integers(0, n_models, n)
    b = (a + rng.integers(1, n_models, n)) % n_models
    half = 0.5 * (strength[a] - strength[b])
    chance = np.stack([np.exp(half), np.full(n, 0.5), np.exp(-half)])
    won = (rng.random(n) > (chance / chance.sum(axis=0)).cumsum(axis=0)).sum(axis=0)
    name = np.array([f"m{one:03d}" for one in range(n_models)])
    winner = SIDES[np.minimum(won, 2)]
    return pd.DataFrame({"model_a": name[a], "model_b": name[b], "winner": winner})


def ours(frame, peer):
    """Return the strengths of psychollm with the peer's treatment of ties."""
    import psychollm as psy

    if peer == "choix":
        frame = frame[frame["winner"] != "tie"]
    else:
        winner = frame["winner"].map({"model_a": 1.0, "tie": 0.5, "model_b": 0.0})
        # A tie as one half win and one half defeat: two rows of half the weight.
        frame = pd.concat([frame.assign(won=np.ceil(winner)), frame.assign(won=np.floor(winner))])
        frame = frame.assign(winner=frame["won"], weight=0.5).drop(columns="won")
    weights = "weight" if "weight" in frame else None
    found = psy.bradley_terry(frame, weights=weights, side=False, prior=np.inf, rng=1)
    return found.to_frame().set_index("model")["strength"].sort_index()


def theirs(frame, peer):
    """Return the strengths of another program, on the logit scale."""
    codes, names = pd.factorize(np.concatenate([frame["model_a"], frame["model_b"]]), sort=True)
    a, b = np.split(codes, 2)
    if peer == "choix":
        import choix

        won = (frame["winner"] == "model_a").to_numpy()
        is_tie = (frame["winner"] == "tie").to_numpy()
        pairs = np.stack([np.where(won, a, b), np.where(won, b, a)], axis=1)[~is_tie]
        value = choix.ilsr_pairwise(len(names), [tuple(one) for one in pairs.tolist()])
    elif peer == "evalica":
        from evalica import Winner, bradley_terry

        word = {"model_a": Winner.X, "tie": Winner.Draw, "model_b": Winner.Y}
        winner = frame["winner"].map(word).tolist()
        found = bradley_terry(frame["model_a"], frame["model_b"], winner, tolerance=1e-10)
        value = np.log(found.scores.reindex(names).to_numpy())
    else:
        from arena_rank.models.bradley_terry import BradleyTerry
        from arena_rank.utils.data_utils import PairDataset

        data = PairDataset.from_pandas(frame)
        model = BradleyTerry(len(names))
        model.compute_ratings_and_cis(data)
        rating = pd.Series(np.asarray(model.params["ratings"]), data.competitors)
        value = rating.reindex(names).to_numpy()
    return pd.Series(value - value.mean(), names)


def timed(fit, frame, peer):
    """Return strengths and CPU seconds of the second call, without compilation."""
    fit(frame.head(5_000), peer)
    start = time.process_time()
    value = fit(frame, peer)
    return value, time.process_time() - start


def main():
    """Run all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="interpreter with choix, evalica and arena-rank")
    parser.add_argument("--one", nargs=2, metavar=("VOTES", "PEER"), help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write docs/votes_peers_tables.md")
    options = parser.parse_args()
    if options.one:
        path, peer = options.one
        value, seconds = timed(theirs, pd.read_csv(path), peer)
        print(json.dumps({"seconds": seconds, **value}))
        return
    lines = [
        "| models | votes | program | its CPU s | psychollm, CPU s | ratio | largest difference |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for n_models, n in SIZES:
        frame = votes(n_models, n)
        for peer in PEERS:
            if peer == "choix" and n > 200_000:
                continue
            value, seconds = timed(ours, frame, peer)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "votes.csv"
                frame.to_csv(path, index=False)
                script = [options.peer, __file__, "--one", str(path), peer]
                found = subprocess.run(script, check=True, capture_output=True, text=True)
            other = pd.Series(json.loads(found.stdout.splitlines()[-1]))
            apart = (value - other.drop("seconds")).abs().max()
            lines.append(
                f"| {n_models} | {n:,} | {peer} | {other['seconds']:.2f} | {seconds:.2f} | "
                f"{other['seconds'] / seconds:.2f} | {apart:.1e} |"
            )
            print(lines[-1], flush=True)
    if options.write:
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
