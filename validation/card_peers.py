"""The crossed logistic model compared with NumPyro: posterior and time.

``python -m validation.card_peers --peer PYTHON`` passes the same tables to an interpreter that has
numpyro and jax (PyPI). The model is that of HiBayES's crossed GLMM, non-centred, with half-normal
priors of scale 2 and a flat mean, and four chains run one after another. ``--write`` rewrites
``docs/card_peers_tables.md``. Takes six minutes. Without ``--peer`` only psychollm is timed.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OUT = Path(__file__).parents[1] / "docs" / "card_peers_tables.md"
# Numbers of models, questions and answers to each; SD of the interaction; domains, families.
SIZES = (
    (10, 200, 1, 0.0, 0, 0),
    (20, 500, 1, 0.0, 0, 0),
    (10, 200, 4, 0.8, 0, 0),
    (24, 400, 1, 0.0, 8, 6),
    (60, 1000, 1, 0.0, 0, 0),
)


def table(n_models, n_questions, n_answers, interaction, n_domains, n_families):
    """Return right answers of each model to each question."""
    rng = np.random.default_rng(0)
    level = 0.3 + 0.8 * rng.standard_normal(n_models)
    ease = 1.2 * rng.standard_normal(n_questions)
    logit = level[:, None] + ease + interaction * rng.standard_normal((n_models, n_questions))
    if n_domains:
        domain, family = np.arange(n_questions) % n_domains, np.arange(n_models) % n_families
        logit += 0.5 * rng.standard_normal(n_families)[family][:, None]
        logit += 0.5 * rng.standard_normal(n_domains)[domain]
        logit += 0.4 * rng.standard_normal((n_models, n_domains))[:, domain]
    chance = 1.0 / (1.0 + np.exp(-logit))
    return (rng.random((n_models, n_questions, n_answers)) < chance[..., None]).astype(float)


def groups(n_models, n_questions, n_domains, n_families):
    """Return the domain of each question and the family of each model, or nothing."""
    if not n_domains:
        return {}
    every = np.arange(n_questions) % n_domains, np.arange(n_models) % n_families
    return dict(zip(("domains", "families"), every, strict=True))


def psychollm(scores, named, repeats=3):
    """Return means and standard deviations of levels and of standard deviations, and seconds."""
    from psychollm.reliability.components.crossed_logistic import crossed_logistic

    crossed_logistic(scores[:, :50], rng=1)  # kernels are compiled once on a machine
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        fit = crossed_logistic(scores, **named, n_draws=4000, rng=1)
        seconds.append(time.process_time() - start)
    sd = np.sqrt(fit.components.draws)
    values = np.concatenate([fit.models.value, sd.mean(axis=0)])
    return values, np.concatenate([fit.models.se, sd.std(axis=0)]), min(seconds)


def numpyro(scores, n_domains, n_families, warmup, draws, chains):
    """Return the same from NUTS, with effective sizes."""
    import jax
    import jax.numpy as jnp
    import numpyro as pyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size
    from numpyro.infer import MCMC, NUTS

    n_models, n_questions, n_answers = scores.shape
    hits = jnp.asarray(scores.sum(axis=2))
    domain, family = (
        np.arange(n_questions) % max(n_domains, 1),
        np.arange(n_models) % max(n_families, 1),
    )
    sds = ["models", "questions"]
    if n_domains:
        sds = ["families", "models", "domains", "between", "questions"]
    if n_answers > 1:
        sds.append("cells")

    def effects(name, *shape):
        """Draw effects with a standard deviation of their own."""
        sd = pyro.sample(name, dist.HalfNormal(2.0))
        return sd * pyro.sample(f"{name} z", dist.Normal().expand(shape).to_event(len(shape)))

    def model():
        level = pyro.sample("mean", dist.Normal(0.0, 100.0)) + effects("models", n_models)
        if n_domains:
            level = level + effects("families", n_families)[family]
        eta = level[:, None] + effects("questions", n_questions)
        if n_domains:
            between = effects("between", n_models, n_domains)
            eta = eta + effects("domains", n_domains)[domain] + between[:, domain]
        pyro.deterministic("level", level)
        if n_answers > 1:
            eta = eta + effects("cells", n_models, n_questions)
        pyro.sample("hits", dist.Binomial(n_answers, logits=eta).to_event(2), obs=hits)

    start = time.process_time()
    sampler = MCMC(
        NUTS(model), num_warmup=warmup, num_samples=draws, num_chains=chains,
        chain_method="sequential", progress_bar=False,
    )  # fmt: skip
    sampler.run(jax.random.PRNGKey(1))
    found = sampler.get_samples(group_by_chain=True)
    seconds = time.process_time() - start
    parts = [np.asarray(found["level"]), *(np.asarray(found[one])[..., None] for one in sds)]
    every = np.concatenate(parts, axis=2)
    flat = every.reshape(-1, every.shape[2])
    size = np.array([effective_sample_size(every[:, :, i]) for i in range(every.shape[2])])
    return flat.mean(axis=0), flat.std(axis=0), size, seconds


def compared(name, ours, theirs):
    """Return a line of the table: seconds, and differences in Monte Carlo errors."""
    mean, sd, seconds = ours
    their_mean, their_sd, size, their_seconds = theirs
    off = (mean - their_mean) / (their_sd / np.sqrt(size))
    ratio = sd / their_sd - 1.0
    return (
        f"| {name} | {seconds:.2f} | {their_seconds:.0f} | {size.min():.0f} | "
        f"{their_seconds / seconds:.0f} | {their_seconds * 1000.0 / size.min() / seconds:.0f} | "
        f"{np.sqrt((off**2).mean()):.2f} | {np.abs((mean - their_mean) / their_sd).max():.3f} | "
        f"{100 * np.abs(ratio).max():.1f} % |"
    )


def main():
    """Run both, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="an interpreter with numpyro and jax")
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(len(SIZES))))
    parser.add_argument("--as-peer", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write the table of the docs")
    given = parser.parse_args()
    if given.as_peer:
        source, out, *sizes = given.as_peer
        sizes = map(int, sizes)
        found = numpyro(np.load(source), *sizes, given.warmup, given.draws, given.chains)
        np.savez(out, *found)
        return
    lines = [
        "| models x questions x answers | psychollm, CPU s | NumPyro, CPU s | its least effective "
        "size | ratio | at 1,000 effective draws | difference of means, Monte Carlo errors "
        "| largest difference, posterior SD | largest difference of posterior SDs |",
        "|---|" + "---:|" * 8,
    ]
    for place in given.sizes:
        size = SIZES[place]
        scores = table(*size)
        ours = psychollm(scores, groups(*size[:2], *size[4:]))
        name = " x ".join(f"{one:,}" for one in size[:3])
        if size[4]:
            name += f", {size[4]} domains, {size[5]} families"
        if given.peer is None:
            print(f"{name}: {ours[2]:.2f} s")
            continue
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "table.npy", Path(folder) / "out.npz"
            np.save(source, scores)
            options = [f"--{one}={getattr(given, one)}" for one in ("warmup", "draws", "chains")]
            asked = [given.peer, __file__, *options, "--as-peer", source, out, *size[4:]]
            subprocess.run([str(one) for one in asked], check=True)
            with np.load(out) as file:
                theirs = [file[key] for key in file.files]
        lines.append(compared(name, ours, theirs))
        print(lines[-1], flush=True, file=sys.stderr)
        if given.write:
            OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
