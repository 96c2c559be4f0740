"""The many-facet model of raters compared with NumPyro and lme4: severities and time.

``python -m validation.raters_peers --peer PYTHON`` passes the same ratings to an interpreter that
has numpyro and jax (PyPI), and to R with lme4 (Debian's r-cran-lme4) if ``Rscript`` is installed.
HiBayES is not on PyPI, and mirt and TAM are not among Debian's packages; NumPyro therefore samples
the model by NUTS, as HiBayES does, with severities and log discriminations that are normal over
raters. lme4 fits crossed random effects of raters and things, with equal discriminations. CPU
times exclude the import of packages. ``--write`` rewrites ``docs/raters_peers_tables.md``. Takes
five minutes.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

OUT = Path(__file__).parents[1] / "docs" / "raters_peers_tables.md"
SIZES = ((5, 40), (20, 200), (82, 350))  # raters and things
LME4 = """
suppressMessages(library(lme4))
files <- commandArgs(trailingOnly = TRUE)
rated <- read.csv(files[1])
start <- proc.time()
fit <- glmer(rating ~ (1 | rater) + (1 | thing), data = rated, family = binomial)
seconds <- sum((proc.time() - start)[1:2])
shift <- ranef(fit)$rater
out <- data.frame(rater = as.integer(rownames(shift)), severity = -shift[, 1], seconds = seconds)
write.csv(out, files[2], row.names = FALSE)
"""


def drawn(n_raters, n_things):
    """Return simulated ratings and the true severities."""
    from validation.raters_rates import Case
    from validation.raters_rates import drawn as ratings

    truth = ratings(Case("", n_raters, n_things, 1), np.random.default_rng([3, n_raters]))
    return truth.frame[["thing", "rater", "rating"]], truth.severity


def psychollm(frame, repeats=3):
    """Return severities, discriminations, standard errors of severities, and CPU seconds."""
    from psychollm.studies.rater_severity.study import rater_severity

    rater_severity(frame, rng=1)  # kernels are compiled once on a machine
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        found = rater_severity(frame, rng=1)
        seconds.append(time.process_time() - start)
    order = np.argsort(found.labels)
    parts = (found.severity.value, found.discrimination.value, found.severity.se)
    return (*(part[order] for part in parts), min(seconds))


def numpyro(frame, warmup, draws):
    """Return posterior means, SDs and effective sizes of severities, and CPU seconds."""
    import jax
    import jax.numpy as jnp
    import numpyro as pyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size
    from numpyro.infer import MCMC, NUTS

    thing, rater, rating = (jnp.asarray(frame[name].to_numpy()) for name in frame)
    n_things, n_raters = int(thing.max()) + 1, int(rater.max()) + 1

    def over_raters(name, mean, mean_sd, scale):
        """Draw a normal parameter of each rater."""
        centre = pyro.sample(f"{name} mean", dist.Normal(mean, mean_sd))
        sd = pyro.sample(f"{name} sd", dist.HalfNormal(scale))
        z = pyro.sample(f"{name} z", dist.Normal().expand([n_raters]).to_event(1))
        return pyro.deterministic(name, centre + sd * z)

    def model():
        severity = over_raters("severity", 0.0, 10.0, 2.0)
        slope = jnp.exp(over_raters("log slope", 0.0, 1.0, 1.0))
        quality = pyro.sample("quality", dist.Normal().expand([n_things]).to_event(1))
        eta = slope[rater] * quality[thing] - severity[rater]
        pyro.sample("rating", dist.Bernoulli(logits=eta).to_event(1), obs=rating)

    start = time.process_time()
    sampler = MCMC(NUTS(model), num_warmup=warmup, num_samples=draws, progress_bar=False)
    sampler.run(jax.random.PRNGKey(1))
    found = sampler.get_samples()
    severity = np.asarray(found["severity"], dtype=np.float64)
    seconds = time.process_time() - start
    # Severities of psychollm are relative to the mean rater, too.
    severity = severity - severity.mean(axis=1, keepdims=True)
    size = min(effective_sample_size(severity[None, :, k]) for k in range(n_raters))
    slope = np.exp(np.asarray(found["log slope"], dtype=np.float64)).mean(axis=0)
    return severity.mean(axis=0), slope, severity.std(axis=0), seconds, size


def lme4(frame, folder):
    """Return severities of lme4, and CPU seconds."""
    source, out = folder / "ratings.csv", folder / "severity.csv"
    frame.to_csv(source, index=False)
    subprocess.run(["Rscript", "-e", LME4, str(source), str(out)], check=True)
    found = pd.read_csv(out).sort_values("rater")
    return found["severity"].to_numpy(), float(found["seconds"].iloc[0])


def error(severity, truth):
    """Return the root mean square error of severities relative to the mean rater."""
    gap = (severity - severity.mean()) - (truth - truth.mean())
    return float(np.sqrt(np.mean(gap**2)))


def rows_of(n_raters, n_things, given):
    """Return the lines of one table of ratings: each program, compared with psychollm."""
    frame, truth = drawn(n_raters, n_things)
    own, slope, se, seconds = psychollm(frame)
    name = f"{n_raters} raters, {n_things} things"
    lines = [f"| {name} | psychollm | {seconds:.2f} | | | | | {error(own, truth):.3f} |"]
    with tempfile.TemporaryDirectory() as folder:
        if given.peer:
            source, out = Path(folder) / "table.csv", Path(folder) / "out.npz"
            frame.to_csv(source, index=False)
            options = [f"--warmup={given.warmup}", f"--draws={given.draws}"]
            asked = [given.peer, __file__, *options, "--as-peer", source, out]
            subprocess.run([str(one) for one in asked], check=True)
            with np.load(out) as file:
                mean, their_slope, sd, their_seconds, size = (file[key] for key in file.files)
            centred = own - own.mean()
            lines.append(
                f"| {name} | NumPyro ({size:.0f} effective draws) | {their_seconds:.0f} | "
                f"{their_seconds / seconds:.0f} | {np.corrcoef(own, mean)[0, 1]:.5f} | "
                f"{np.abs((centred - mean) / sd).max():.2f}, SD ratio {np.median(se / sd):.2f} | "
                f"{np.corrcoef(slope, their_slope)[0, 1]:.4f} | {error(mean, truth):.3f} |"
            )
        if shutil.which("Rscript"):
            theirs, their_seconds = lme4(frame, Path(folder))
            lines.append(
                f"| {name} | lme4 | {their_seconds:.2f} | {their_seconds / seconds:.1f} | "
                f"{np.corrcoef(own, theirs)[0, 1]:.5f} | | | {error(theirs, truth):.3f} |"
            )
    return lines


def main():
    """Run all programs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="an interpreter with numpyro and jax")
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--as-peer", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write the table of the docs")
    given = parser.parse_args()
    if given.as_peer:
        source, out = given.as_peer
        np.savez(out, *numpyro(pd.read_csv(source), given.warmup, given.draws))
        return
    lines = [
        "| ratings | program | CPU s | ratio | correlation of severities | largest difference in "
        "posterior SDs | correlation of discriminations | error of severities |",
        "|---|---|" + "---:|" * 6,
    ]
    for size in SIZES:
        lines += rows_of(*size, given)
        print(*lines[-3:], sep="\n", flush=True, file=sys.stderr)
    if given.write:
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
