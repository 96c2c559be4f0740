"""Helpers that estimates are made of, tried by what they return."""

import numpy as np

from psychollm.estimates.clustered import few, satterthwaite
from psychollm.estimates.estimate import paired_contrast, proportion
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.verdict import Outcome, Verdicts, counted, names_of, verdicts


def test_p_value_of_paired_draws() -> None:
    draws = np.stack([np.arange(1.0, 100.0), np.zeros(99)], axis=1)
    found = paired_contrast("x", ("a", "b"), (50.0, 0.0), draws, df=np.inf, level=0.9)
    assert found.p_value == 0.02


def test_long_lists_of_names_are_cut() -> None:
    assert names_of(list("abcdef")) == "a, b, c and 3 more"


def test_degrees_of_freedom_of_clusters() -> None:
    shares = np.array([[0.25, 0.25, 0.25, 0.25], [0.1, 0.1, 0.1, 0.7]])
    assert satterthwaite(shares).round(2).tolist() == [3.0, 1.59]
    assert few(np.array([2.0, 20.0, np.nan])).tolist() == [True, False, False]


def test_p_value_counts_the_data_among_the_draws() -> None:
    assert float(monte_carlo_p_value(3.0, np.arange(4.0))) == 0.4


def test_verdicts_in_words() -> None:
    hits, n = np.array([50.0, 2.0]), np.array([1000.0, 4.0])
    rate = proportion("rate", hits, n, level=0.95, labels=("a", "b"))
    assert [str(one) for one in verdicts(rate, smallest=0.1).outcomes] == [
        "negligible",
        "inconclusive",
    ]
    found = Verdicts(("a", "b", "c"), (Outcome.ABOVE, Outcome.OPEN, Outcome.BELOW))
    words = {Outcome.ABOVE: ("rises", "rise"), Outcome.BELOW: ("falls", "fall")}
    assert counted(found, words) == (
        "1 of 3 models rises, and 1 (c) falls; the result for the other model is inconclusive"
    )
