"""Results of models of groups: score tests of equalities."""

import pytest
from scipy.stats import ncx2

from psychollm.correlation.by_group import polychoric_by_group
from psychollm.estimates.verdict import Outcome, SmallestEffects
from psychollm.factor.invariance.fit import confirmatory_groups
from psychollm.factor.invariance.ladder import fit_difference, measurement_invariance
from tests.factor.invariance.tables import LAVAAN, MODEL, simulated


@pytest.mark.parametrize("key", list(LAVAAN["scores"]))
def test_golden_score_tests(fits, key):
    frame = fits[key].score_tests(of="parameters").to_frame()
    groups = fits[key].groups
    for row in LAVAAN["scores"][key]:
        loading = row["op"] == "=~"
        item = row["rhs"] if loading else row["lhs"]
        detail = row["lhs"] if loading else int(row["rhs"][1:])
        kind = "loading" if loading else "threshold"
        which = (frame["item"] == item) & (frame["detail"] == detail) & (frame["kind"] == kind)
        one = frame[which & (frame["group"] == groups[row["group"] - 1])]
        # lavaan counts n, not n - 1, of each group here
        assert one["index"].item() == pytest.approx(row["X2"], rel=5e-3, abs=2e-3)


def test_the_broken_item_is_found_and_freed():
    data, group = simulated(800, 2, shift=0.4)
    ladder = measurement_invariance(polychoric_by_group(data, group), MODEL)
    assert ladder.levels == ("configural", "metric", "scalar", "strict")
    assert ladder.holds == "metric"
    tests = ladder.fits[2].score_tests()
    assert tests.item[0] == "x"
    assert tests.adjusted[0] < 1e-3 < tests.adjusted[1]
    single = ladder.fits[2].score_tests(of="parameters", adjustment="bh")
    assert (single.kind[0], single.item[0], single.group[0]) == ("intercept", "x", "b")
    assert single.change[0] == pytest.approx(-0.4, abs=0.12)
    partial = measurement_invariance(polychoric_by_group(data, group), MODEL, free=["x"])
    assert partial.holds == "strict"
    assert partial.fits[-1].free == ("x",)
    assert partial.fits[-1].factor_means[1, 0] == pytest.approx(0.3, abs=0.15)
    frame = partial.to_frame()
    assert list(frame["invariance"]) == list(ladder.levels)
    assert "No step is rejected" in partial.summary()
    assert "The scalar model is rejected" in repr(ladder)
    whole = partial.fits[-1].to_frame()
    assert set(whole["status"]) == {"fixed", "shared", "own"}
    assert "Factor means of 'b'" in repr(partial.fits[-1])
    assert len(partial.differences[0].to_frame()) == 1
    assert ladder.broken == "scalar"
    assert partial.broken is None


def test_steps_that_are_not_rejected_do_not_hold_for_that():
    """Of sixty units nothing is rejected and nothing shown; of six thousand all is shown."""
    few = measurement_invariance(polychoric_by_group(*simulated(60, 2, shift=0.0)), MODEL)
    assert all(step.p_value > few.alpha for step in few.differences)
    assert few.outcomes() == (Outcome.OPEN,) * 3
    assert (few.holds, few.broken) == (None, None)
    assert "invariance is inconclusive" in few.summary()
    many = measurement_invariance(polychoric_by_group(*simulated(3000, 2, shift=0.0)), MODEL)
    assert many.outcomes() == (Outcome.SMALL,) * 3
    assert many.holds == "strict"
    strict = SmallestEffects(rmsea=0.001)
    assert many.outcomes(smallest=strict)[1] is Outcome.OPEN
    assert "inconclusive" in many.summary(smallest=strict)


def test_the_rmsea_of_a_difference_is_that_of_its_statistic():
    groups = polychoric_by_group(*simulated(800, 2, shift=0.4))
    free, equal = (
        confirmatory_groups(groups, MODEL, invariance=level) for level in ("metric", "scalar")
    )
    found = fit_difference(free, equal)
    per_group = (float(free.n.sum()) - 2.0) / 2.0
    cost = (found.chi_square - found.df) / (found.df * per_group)
    assert found.rmsea_d == pytest.approx(cost**0.5, rel=1e-12)
    low, high = found.rmsea_d_interval**2 * found.df * per_group
    assert ncx2.cdf(found.chi_square, found.df, [low, high]) == pytest.approx([0.95, 0.05])


def test_score_test_foretells_the_difference():
    data, group = simulated(2000, 3, shift=0.15)
    equal = confirmatory_groups(polychoric_by_group(data, group), MODEL, invariance="scalar")
    freed = confirmatory_groups(
        polychoric_by_group(data, group), MODEL, invariance="scalar", free=["x"]
    )
    tests = equal.score_tests()
    difference = fit_difference(freed, equal)
    assert tests.item[0] == "x"
    assert tests.df[0] == difference.df
    assert tests.statistic[0] == pytest.approx(difference.chi_square, rel=0.25)
    assert "item x: chi-square" in repr(tests)
