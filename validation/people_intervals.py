"""Coverage and length of eight intervals for the mean score of few people.

``python -m validation.people_intervals --write`` rewrites ``docs/people_interval_tables.md``. The
people of each row answer very many questions, so that only people are sampled, and the true score
of each person is known. Takes two minutes of CPU.

All intervals are for the mean of n scores x in [0, 1]. With m the mean, s the standard error and t
the quantile of Student's t with n - 1 degrees of freedom:

* *t*: m ± t s;
* *library*: Wilson's interval, whose degrees of freedom are at most 1.2 times the effective number
  of people (`psychollm.reliability.means.crossed_mean`);
* *logit*: m ± t s on the logit scale;
* *Johnson*: t, with the centre moved by a sixth of the third moment over s² n;
* *Hall*: the cubic transformation of t that removes skewness;
* *bootstrap-t* and *bootstrap-t, logit*: quantiles of studentised resamples in place of t;
* *logit-normal*: a normal distribution of the logits of people's scores, averaged at the bounds of
  its mean.
"""

import argparse
import textwrap
from pathlib import Path

import numpy as np
from scipy.special import expit, logit, stdtrit

from psychollm.estimates.intervals import wilson
from psychollm.reliability.means.crossed_mean import crossed_mean

OUT = Path(__file__).parents[1] / "docs" / "people_interval_tables.md"
PEOPLE = (8, 15, 40)
RESAMPLES = 299
_nodes, _weights = np.polynomial.hermite_e.hermegauss(21)
_weights = _weights / _weights.sum()


def _two(low, high, share, spread):
    """Return a function that draws abilities of two groups of people."""

    def ability(rng, size):
        group = np.where(rng.random(size) < share, low, high)
        return group + spread * rng.standard_normal(size)

    return ability


# Abilities of people, in logits.
SHAPES = {
    "normal": lambda rng, size: 0.8 * rng.standard_normal(size),
    "normal, high": lambda rng, size: 3.0 + 0.8 * rng.standard_normal(size),
    "normal, low": lambda rng, size: -4.0 + 0.8 * rng.standard_normal(size),
    "skewed": lambda rng, size: 1.5 - rng.exponential(1.0, size),
    "skewed, high": lambda rng, size: 4.0 - rng.exponential(1.0, size),
    "skewed upwards, high": lambda rng, size: 2.0 + rng.exponential(1.0, size),
    "two equal groups": _two(-1.5, 1.5, 0.5, 0.3),
    "one in five low": _two(-1.5, 2.0, 0.2, 0.3),
    "one in ten low": _two(-2.0, 3.0, 0.1, 0.4),
}


def scores(ability):
    """Return expected scores over questions whose easiness has a standard deviation of 1.2."""
    return expit(ability[..., None] + 1.2 * _nodes) @ _weights


def intervals(x, rng):
    """Yield the name and the bounds of each interval for samples x (samples, people)."""
    n = x.shape[1]
    mean, spread = x.mean(axis=1), x.std(axis=1, ddof=1)
    se, t = spread / np.sqrt(n), stdtrit(n - 1, 0.975)
    centred = x - mean[:, None]
    third = (centred**3).mean(axis=1)
    yield "t", (mean - t * se, mean + t * se)
    yield "library", _library(x)
    on_logits = se / (mean * (1.0 - mean))
    yield "logit", tuple(expit(logit(mean) + sign * t * on_logits) for sign in (-1, 1))
    moved = mean + third / (6.0 * spread**2 * n)
    yield "Johnson", (moved - t * se, moved + t * se)
    a = third / (centred**2).mean(axis=1) ** 1.5 / np.sqrt(n)
    a = np.where(np.abs(a) < 1e-9, 1e-9, a)
    bounds = (3.0 / a * (np.cbrt(1.0 + a * (side - a / 6.0)) - 1.0) for side in (t, -t))
    yield "Hall", tuple(mean - one * se for one in bounds)
    again = np.take_along_axis(x[:, None], rng.integers(n, size=(len(x), RESAMPLES, n)), axis=2)
    means = again.mean(axis=2)
    errors = np.maximum(again.std(axis=2, ddof=1) / np.sqrt(n), 1e-9)
    low, high = np.quantile((means - mean[:, None]) / errors, [0.025, 0.975], axis=1)
    yield "bootstrap-t", tuple(np.clip(mean - one * se, 0.0, 1.0) for one in (high, low))
    held = np.clip(means, 1e-6, 1.0 - 1e-6)
    ratio = (logit(held) - logit(mean)[:, None]) * held * (1.0 - held) / errors
    low, high = np.quantile(ratio, [0.025, 0.975], axis=1)
    yield "bootstrap-t, logit", tuple(expit(logit(mean) - one * on_logits) for one in (high, low))
    logits = logit(np.clip(x, 0.003, 0.997))
    middle, sd = logits.mean(axis=1), logits.std(axis=1, ddof=1)
    ends = (middle + sign * t * sd / np.sqrt(n) for sign in (-1, 1))
    yield (
        "logit-normal",
        tuple(expit(one[:, None] + sd[:, None] * _nodes) @ _weights for one in ends),
    )


def _library(x):
    bounds = []
    for own in x:
        one = crossed_mean(own[:, None], fixed=True)
        rate = one.value * (1.0 - one.value)
        bounds.append(wilson(one.value * rate / one.variance, rate / one.variance, df=one.df))
    return tuple(np.array(bounds).T)


def lines(samples):
    """Yield the table as Markdown, line by line."""
    error = 100.0 * np.sqrt(0.0475 / samples)
    yield from textwrap.wrap(
        f"Coverage in percent, and median length, of 95 % intervals for the mean score of people "
        f"from {samples} samples per row (seed 1). The Monte Carlo standard error is {error:.1f} "
        "points for a coverage of 95 %.",
        99,
    )
    yield ""
    rng, headed = np.random.default_rng(1), False
    for name, ability in SHAPES.items():
        every = scores(ability(np.random.default_rng(9), 1_000_000))
        for n in PEOPLE:
            x = scores(ability(rng, (samples, n)))
            found = dict(intervals(x, rng))
            if not headed:
                yield "| people’s scores | mean | people | " + " | ".join(found) + " |"
                yield "|---|---:|---:|" + "---:|" * len(found)
                headed = True
            cells = [
                f"{100.0 * np.mean((low <= every.mean()) & (every.mean() <= high)):.1f} "
                f"({np.median(high - low):.2f})"
                for low, high in found.values()
            ]
            yield f"| {name} | {every.mean():.2f} | {n} | " + " | ".join(cells) + " |"


def main():
    """Simulate, print, and write with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    typed = parser.parse_args()
    written = []
    for line in lines(typed.samples):
        print(line, flush=True)
        written.append(line)
    if typed.write:
        OUT.write_text("\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
