"""Ladders of invariance: differences, nesting, levels."""

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.correlation.by_group import polychoric_by_group
from psychollm.factor.invariance.fit import confirmatory_groups
from psychollm.factor.invariance.ladder import fit_difference, measurement_invariance
from tests.factor.invariance.tables import LAVAAN, MODEL, simulated


@pytest.mark.parametrize("row", LAVAAN["differences"], ids=lambda row: row["smaller"])
def test_golden_difference(fits, row):
    found = fit_difference(fits[row["larger"]], fits[row["smaller"]])
    assert found.chi_square == pytest.approx(row["chisq"], rel=1e-4)
    assert found.df == row["df"]
    assert found.p_value == pytest.approx(row["p"], rel=1e-3, abs=1e-9)


def test_yes_no_items_and_questions_as_items():
    data, group = simulated(500, 4, cuts=(0.1,))
    ladder = measurement_invariance(polychoric_by_group(data, group), MODEL)
    assert ladder.levels == ("configural", "scalar", "strict")
    assert [step.df for step in ladder.differences] == [3, 5]
    turned = measurement_invariance(
        polychoric_by_group(data.T, group, of="questions"), {"F": list("vwxyz")}
    )
    assert turned.fits[1].fit.chi_square == pytest.approx(ladder.fits[1].fit.chi_square)


def test_nesting_is_checked():
    data, group = simulated(300, 6)
    free, equal = (
        confirmatory_groups(polychoric_by_group(data, group), MODEL, invariance=kind)
        for kind in ("configural", "scalar")
    )
    with pytest.raises(InputError, match="fewer parameters"):
        fit_difference(equal, free)
    other = confirmatory_groups(
        polychoric_by_group(data, np.roll(group, 7)), MODEL, invariance="scalar"
    )
    with pytest.raises(InputError, match="different data"):
        fit_difference(free, other)
    same = fit_difference(equal, equal)
    assert same.df == 0
    assert np.isnan(same.p_value)


def test_bad_levels():
    data, group = simulated(100, 8)
    for levels in ((), ("scalar", "metric"), ("scalar", "scalar")):
        with pytest.raises(OptionError, match="in this order"):
            measurement_invariance(polychoric_by_group(data, group), MODEL, levels=levels)


def test_fits_of_one_group_are_no_models_of_groups():
    from psychollm.correlation.polychoric import polychoric
    from psychollm.factor.confirmatory import confirmatory_factors

    rng = np.random.default_rng(0)
    answers = polychoric(np.digitize(rng.normal(size=300) + rng.normal(size=(4, 300)), [0]))
    fit = confirmatory_factors(answers, {"f": range(4)})
    with pytest.raises(InputError, match="larger is a ConfirmatoryFactors.*confirmatory_groups"):
        fit_difference(fit, fit)
