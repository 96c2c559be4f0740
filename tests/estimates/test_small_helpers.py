"""Helpers that estimates are made of, tried by what they return."""

import numpy as np

from psychollm.estimates.clustered import few, satterthwaite
from psychollm.estimates.difference import paired_contrast
from psychollm.estimates.findings import estimate_rows, sentence
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.proportions import (
    normal_multiplier,
    paired_difference_se,
    proportion,
    proportion_se,
)
from psychollm.estimates.reasons import Reason, first_reason, untestable
from psychollm.estimates.resampling import (
    Resampling,
    bootstrap_draws,
    bootstrap_estimate,
    question_counts,
    resample,
)
from psychollm.estimates.verdict import Outcome, Verdicts, counted, names_of, verdicts


def test_p_value_of_paired_draws() -> None:
    draws = np.stack([np.arange(1.0, 100.0), np.zeros(99)], axis=1)
    found = paired_contrast("x", ("a", "b"), (50.0, 0.0), draws, df=np.inf, level=0.9)
    assert found.p_value == 0.02


def test_errors_of_proportions() -> None:
    assert round(normal_multiplier(0.95), 4) == 1.96
    assert float(proportion_se(50, 100)) == 0.05
    assert round(float(paired_difference_se(10, 4, 50)), 4) == 0.0729


def test_reasons() -> None:
    cases = (np.array([True, False]), Reason.NO_YES)
    assert first_reason(cases) == (Reason.NO_YES, Reason.NONE)
    assert Reason.NO_YES == "never says yes"
    assert untestable(np.array([1.0, 1.0]), np.array([1.0, 0.0])) is Reason.NO_NO
    assert Reason.NO_NO == "always says yes"


def test_resampled_questions() -> None:
    assert question_counts(np.array([[1, 2]], dtype=np.uint64), 5).sum() == 5.0


def test_interval_of_draws() -> None:
    found = bootstrap_estimate(
        "x",
        np.array([50.0]),
        np.arange(101.0)[:, None],
        n=np.ones(1),
        flags=(Reason.NONE,),
        level=0.9,
        labels=("m",),
    )
    np.testing.assert_allclose(found.interval, [[5.0, 95.0]], rtol=1e-12)


def test_long_lists_of_names_are_cut() -> None:
    assert names_of(list("abcdef")) == "a, b, c, d and 2 more"


def test_degrees_of_freedom_of_clusters() -> None:
    shares = np.array([[0.25, 0.25, 0.25, 0.25], [0.1, 0.1, 0.1, 0.7]])
    assert satterthwaite(shares).round(2).tolist() == [3.0, 1.59]
    assert few(np.array([2.0, 20.0, np.nan])).tolist() == [True, False, False]


def test_lines_of_findings() -> None:
    rate = proportion("rate", [1.0], [4.0], level=0.95, labels=("a",))
    assert estimate_rows(rate, signed=False) == ("a: 0.25 [0.05, 0.70]",)
    assert sentence("one factor") == "One factor."


def test_p_value_counts_the_data_among_the_draws() -> None:
    assert float(monte_carlo_p_value(3.0, np.arange(4.0))) == 0.4


def test_resampled_statistics() -> None:
    draws = bootstrap_draws(lambda counts: counts @ np.arange(4.0) / 4, 4, Resampling(3, rng=0))
    assert draws.shape == (3,)
    found = resample(
        lambda counts: (counts @ np.arange(4.0) / counts.sum(axis=1))[:, None], 4, Resampling(0)
    )
    assert found.value.tolist() == [1.5]
    assert found.left_out[:, 0].round(8).tolist() == [2.0, 1.66666667, 1.33333333, 1.0]
    assert found.draws is None


def test_verdicts_in_words() -> None:
    hits, n = np.array([50.0, 2.0]), np.array([1000.0, 4.0])
    rate = proportion("rate", hits, n, level=0.95, labels=("a", "b"))
    assert [str(one) for one in verdicts(rate, smallest=0.1).outcomes] == [
        "smaller than what matters",
        "too few to say",
    ]
    found = Verdicts(("a", "b", "c"), (Outcome.ABOVE, Outcome.OPEN, Outcome.BELOW))
    words = {Outcome.ABOVE: ("rises", "rise"), Outcome.BELOW: ("falls", "fall")}
    assert counted(found, words) == (
        "1 of 3 models rises, 1 falls (c); for 1 there are too few answers to say"
    )
