"""Data of the tests of item response theory."""

import json

import numpy as np
import pytest


def expanded(folder, name):
    """Return answers (respondents, items) of a golden data set."""
    file = {"lsat6": "lsat6_patterns", "lsat7": "lsat7_patterns", "bin12": "synth_bin12"}
    table = np.loadtxt(
        folder / "psychometrics" / f"{file.get(name, name)}.csv", delimiter=",", skiprows=1
    ).astype(int)
    if "lsat" in name:
        return np.repeat(table[:, :-1], table[:, -1], axis=0)
    return table


def rows(folder, file, prefix):
    """Return rows of a golden file by the beginning of their id."""
    table = json.loads((folder / "psychometrics" / f"{file}.json").read_text())
    return {row["id"]: row for row in table["rows"] if row["id"].startswith(prefix)}


@pytest.fixture(scope="session")
def data_of(golden):
    """Answers by the name of the data set."""
    return lambda name: expanded(golden, name)


@pytest.fixture(scope="session")
def truth(golden):
    """Exact optima by id."""
    return rows(golden, "irt_truth", "truth")


@pytest.fixture(scope="session")
def mirt(golden):
    """What mirt prints, by id."""
    return rows(golden, "irt_r", "mirt")


def simulate(n, slopes, intercepts, seed, guessing=0.0, link="logit"):
    """Answers of n respondents with abilities N(0, 1)."""
    from scipy.special import expit, ndtr

    rng = np.random.default_rng(seed)
    ability = rng.normal(size=n)
    z = np.outer(ability, slopes) + intercepts
    curve = expit(z) if link == "logit" else ndtr(z)
    return (rng.random(z.shape) < guessing + (1 - guessing) * curve).astype(int)


@pytest.fixture(scope="session")
def simulated():
    """The simulator."""
    return simulate
