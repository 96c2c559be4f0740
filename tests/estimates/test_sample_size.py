"""How many units decide: against SciPy, and by simulation of pilots and second studies."""

import numpy as np
import pytest
from scipy import stats

from psychollm.estimates import sample_size
from psychollm.estimates.layout import Criterion, needed
from psychollm.estimates.sample_size import about, chance, detectable, multiple, units_needed
from psychollm.estimates.verdict import SMALLEST
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reports.study import layout_of
from psychollm.studies import inference_boundary
from psychollm.studies.self_efficacy.exhibits import _models_needed


@pytest.mark.parametrize("df", [2, 5, 20, 300])
def test_the_chance_to_detect_is_that_of_the_noncentral_t(df):
    bound = stats.t.ppf(0.975, df)
    expected = stats.nct.sf(bound, df, 2.5) + stats.nct.cdf(-bound, df, 2.5)
    assert chance(2.5, df) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("pilot", [4, 9, 49])
def test_a_pilot_of_few_degrees_of_freedom_asks_for_more(pilot):
    """Julious and Owen: a quantile of the noncentral t, but for the wrong tail."""
    z = stats.norm.ppf(0.975)
    assert multiple(0.8, pilot=pilot) == pytest.approx(stats.nct.ppf(0.8, pilot, z), abs=1e-3)


def test_with_many_units_the_textbook_formulas_are_left():
    z = stats.norm.ppf([0.8, 0.9, 0.975])
    assert multiple(0.8) == pytest.approx(z[2] + z[0], abs=1e-5)
    assert multiple(0.8, absence=True) == pytest.approx(z[2] + z[1], abs=1e-9)
    assert units_needed(50, 1 / np.sqrt(50), 0.2) == 197  # Lehr's rule


@pytest.mark.parametrize("absence", [False, True])
@pytest.mark.parametrize("pilot", [6, 40])
def test_the_stated_number_decides_four_times_in_five(pilot, absence):
    """4,000 pilots; a share of .8 has a standard error of .006. Taken as exact, .75 or less."""
    rng, least, n = np.random.default_rng(1), 0.5, 4000
    se = np.sqrt(rng.chisquare(pilot - 1, n) / (pilot - 1) / pilot)

    def decided(units):
        df = units - 1.0
        found = (0.0 if absence else least) + rng.normal(size=n) / np.sqrt(units)
        half = stats.t.ppf(0.975, df) * np.sqrt(rng.chisquare(df) / df / units)
        return np.mean(np.abs(found) < least - half if absence else np.abs(found) > half)

    stated = units_needed(pilot, se, least, df=pilot - 1, absence=absence)
    assert decided(stated) == pytest.approx(0.8, abs=0.03)
    if pilot == 6:
        exact = np.maximum(units_needed(pilot, se, least, absence=absence), 2)
        assert decided(exact) < 0.72


def test_as_many_units_detect_what_is_detectable():
    se, df = np.array([0.1, 0.02]), np.array([9.0, 99.0])
    for absence in (False, True):
        effect = detectable(se, df, alpha=0.05, absence=absence)
        n = units_needed(df + 1, se, effect, df=df, absence=absence)
        np.testing.assert_allclose(n, df + 1, atol=1)


@pytest.mark.parametrize("absence", [False, True])
@pytest.mark.parametrize("df", [1, 2, 20, 250, np.inf])
@pytest.mark.parametrize("pilot", [1, 20, np.inf])
def test_the_detectable_ratio_has_the_power_that_was_asked_for(df, pilot, absence):
    for power in (0.5, 0.8, 0.95):
        for alpha in (0.05, 0.0003):
            options = {"alpha": alpha, "absence": absence, "pilot": pilot}
            assert chance(multiple(power, df, **options), df, **options) == pytest.approx(power)


def test_few_nodes_are_enough_where_they_are_used(monkeypatch):
    wanted = [(False, 20.0, 1e-9), (True, 200.0, 1e-5)]
    for absence, df, error in wanted:
        few = chance(3.0, df, absence=absence, pilot=df)
        monkeypatch.setitem(sample_size._SMOOTH, absence, np.inf)
        assert chance(3.0, df, absence=absence, pilot=df) == pytest.approx(few, abs=error)


def test_without_a_standard_error_or_an_effect_no_number_is_stated():
    n = units_needed(30, [0.1, 0.0, np.nan, 0.1], [0.0, 0.1, 0.1, np.nan])
    np.testing.assert_array_equal(n, [np.inf, np.nan, np.nan, np.nan])


def test_numbers_in_sentences_have_two_digits():
    assert about(23_443) == "about 23,000"


def _answers(n, rng):
    import pandas as pd

    return pd.DataFrame(
        {"model": "m", "type": np.repeat(["A", "C"], n), "item": range(2 * n), "run": 1,
         "response": "", "score": (rng.random(2 * n) < 0.6).astype(float)}
    )  # fmt: skip


def test_questions_of_two_types_are_not_counted_as_one():
    """30 of each: the page said 60 now, and the number of both types together as that of each."""
    study = inference_boundary(_answers(30, np.random.default_rng(1)), bootstrap=50, rng=1)
    (one,) = layout_of(study).wanted(study, SMALLEST)
    assert one.units == 30
    se = study.certainty_inversion.se[0]
    assert one.needed(0.05) == pytest.approx(30 * (2.82 * se / 0.05) ** 2, rel=0.02)
    text = needed([one], "questions of each type").exhibits[0].table()
    assert [cell.text for cell in text.rows[0]][4] == "30"


@pytest.mark.parametrize("absence", [False, True])
@pytest.mark.parametrize("rate", [0.5, 0.6, 0.85])
def test_the_number_for_two_rates_has_the_power_that_is_stated(rate, absence):
    """Wilson's intervals of 30 answers at .5 are 6 % shorter than 2 * 1.96 standard errors."""
    rng = np.random.default_rng(3)
    other = rate if absence else rate + 0.05
    kinds, weights = ["A"] * 30 + ["C"] * 30, {"C": 1.0, "A": -1.0}
    scores = np.concatenate([rng.random((150, 30)) < rate, rng.random((150, 30)) < other], axis=1)
    found = rate_contrast(scores.astype(float)[None], kinds, weights, bootstrap=2, rng=0)
    one = Criterion(what="", estimate=found, smallest=0.05, n=np.full(150, 30.0))
    n = one.needed(0.05, absence=absence)
    se = np.sqrt((rate * (1 - rate) + other * (1 - other)) / n)
    tail = stats.norm.cdf(0.05 / se - 1.96)
    power = np.maximum(0, 2 * tail - 1) if absence else tail
    assert 0.785 < power.mean() < 0.835


def test_both_numbers_stand_beside_each_other():
    study = inference_boundary(_answers(30, np.random.default_rng(1)), bootstrap=50, rng=1)
    (one,) = layout_of(study).wanted(study, SMALLEST)
    fewer, effect = one.needed(0.05, absence=True), one.needed(0.05)
    assert fewer / effect == pytest.approx((3.26 / 2.82) ** 2, rel=0.02)
    table = needed([one], "questions").exhibits[0].table()
    headings = [column.heading for column in table.columns]
    assert headings[-3:] == [
        "to show that it is negligible", "to detect the smallest effect",
        "to detect the estimated effect",
    ]  # fmt: skip


def test_models_for_a_rank_correlation():
    """Bonett and Wright, for an effect; for its absence both bounds of Fisher's z."""
    z = stats.norm.ppf([0.8, 0.9, 0.975])
    effect = 3 + (1 + 0.5 * 0.01) * ((z[2] + z[0]) / np.arctanh(0.1)) ** 2
    fewer = 3 + ((z[2] + z[1]) / np.arctanh(0.1)) ** 2
    assert _models_needed(0.1) == np.ceil(effect)
    assert _models_needed(0.1, absence=True) == np.ceil(fewer)
