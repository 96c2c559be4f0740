"""Models of several groups: what lavaan prints, derivatives, properties, bad input."""

import numpy as np
import pytest

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.correlation.by_group import polychoric_by_group
from psychollm.factor.invariance.fit import confirmatory_groups, sample_of
from psychollm.factor.invariance.model import (
    LEVELS,
    Shape,
    layout_of,
    stacked_derivatives,
    stacked_moments,
)
from tests.factor.invariance.tables import LAVAAN, MODEL, simulated


@pytest.mark.parametrize("key", list(LAVAAN["fits"]))
def test_golden_parameters(fits, key):
    row, found = LAVAAN["fits"][key], fits[key]
    standard = found.standardised_loadings.sum(axis=2)
    np.testing.assert_allclose(standard, row["std_loading"], atol=1e-4)
    cuts = found.thresholds * found.scales[:, :, None]
    np.testing.assert_allclose(cuts.reshape(len(cuts), -1), row["std_threshold"], atol=1e-4)
    np.testing.assert_allclose(found.factor_means, row["factor_mean"], atol=2e-4)
    np.testing.assert_allclose(found.factor_mean_errors, row["factor_mean_se"], atol=2e-4)
    for g, entries in enumerate(row["factor_cov"]):
        for entry in entries:
            at = (g, found.factors.index(entry["a"]), found.factors.index(entry["b"]))
            assert found.factor_covariance[at] == pytest.approx(entry["est"], abs=3e-4)
            assert found.factor_covariance_errors[at] == pytest.approx(entry["se"], abs=2e-4)


@pytest.mark.parametrize("key", list(LAVAAN["fits"]))
def test_golden_fit(fits, key):
    expected, found = LAVAAN["fits"][key]["fit"], fits[key]
    assert found.gradient < 1e-10
    for fit, ending in ((found.standard_fit, ""), (found.fit, ".scaled")):
        assert fit.chi_square == pytest.approx(expected["chisq" + ending], rel=1e-5)
        assert fit.df == expected["df"]
        assert fit.cfi == pytest.approx(expected["cfi" + ending], abs=1e-5)
        assert fit.tli == pytest.approx(expected["tli" + ending], abs=1e-5)
        assert fit.rmsea == pytest.approx(expected["rmsea" + ending], abs=1e-5)
        low, high = expected["rmsea.ci.lower" + ending], expected["rmsea.ci.upper" + ending]
        np.testing.assert_allclose(fit.rmsea_interval, [low, high], atol=1e-5)
        named = "baseline.chisq" + ending
        assert fit.baseline_chi_square == pytest.approx(expected[named], rel=1e-5)
        assert fit.baseline_df == expected["baseline.df"]
        assert fit.srmr == pytest.approx(expected["crmr_nomean"], abs=1e-5)
    assert found.standard_fit.p_value == pytest.approx(expected["pvalue"], abs=1e-5)
    assert found.fit.p_value == pytest.approx(expected["pvalue.scaled"], abs=1e-5)
    assert found.scaling == pytest.approx(expected["chisq.scaling.factor"], rel=1e-4)


@pytest.mark.parametrize("level", LEVELS)
def test_derivatives(level):
    free = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 1]], dtype=bool)
    own = np.array([0, 1, 0, 0, 0, 0], dtype=bool)
    layout = layout_of(Shape.of(free, np.array([3, 2, 1, 3, 2, 2])), 3, level, own)
    x = 0.4 + 0.4 * np.random.default_rng(0).random(layout.n_free)
    steps = 1e-6 * np.eye(layout.n_free)
    slopes = [
        (stacked_moments(layout, x + h) - stacked_moments(layout, x - h)) / 2e-6 for h in steps
    ]
    np.testing.assert_allclose(stacked_derivatives(layout, x), np.transpose(slopes), atol=1e-8)


def test_minimum_by_another_way():
    from scipy.optimize import minimize

    data, group = simulated()
    found = confirmatory_groups(polychoric_by_group(data, group), MODEL, invariance="scalar")
    sample, _ = sample_of(polychoric_by_group(data, group), MODEL)
    w = np.concatenate([600 / 1200 / np.diag(g) for g in sample.gamma])

    def misfit(x):  # loadings, thresholds, then mean, variance and scales of the second group
        L, tau, mean, var, scale = x[:5], x[5:15].reshape(5, 2), x[15], x[16], x[17:]
        rows = []
        for m, v, s in ((0.0, 1.0, np.ones(5)), (mean, var, scale)):
            cuts = s[:, None] * (tau - (L * m)[:, None])
            R = v * np.outer(s * L, s * L)
            rows += [cuts.ravel(), R[np.tril_indices(5, -1)]]
        return 0.5 * np.sum(w * (sample.observed.ravel() - np.concatenate(rows)) ** 2)

    x = np.concatenate(
        [
            found.loadings[0, :, 0],
            found.thresholds[0].ravel(),
            found.factor_means[1],
            found.factor_covariance[1].ravel(),
            found.scales[1],
        ]
    )
    assert misfit(x) == pytest.approx(found.objective, abs=1e-14)
    other = minimize(misfit, x + 0.02, method="BFGS", options={"gtol": 1e-9})
    assert other.fun >= found.objective - 1e-12
    assert other.fun == pytest.approx(found.objective, rel=1e-3)


def test_configural_is_each_group_alone():
    from psychollm.correlation.polychoric import polychoric
    from psychollm.factor.confirmatory import confirmatory_factors

    data, group = simulated(400, 1)
    both = confirmatory_groups(polychoric_by_group(data, group), MODEL)
    total = 0.0
    for g, name in enumerate("ab"):
        alone = confirmatory_factors(polychoric(data.loc[:, group == name]), MODEL)
        np.testing.assert_allclose(both.loadings[g], alone.loadings, atol=1e-8)
        np.testing.assert_allclose(both.loading_errors[g], alone.loading_errors, atol=1e-8)
        total += alone.standard_fit.chi_square
    assert both.standard_fit.chi_square == pytest.approx(total, rel=1e-9)


def test_order_of_units_does_not_matter():
    data, group = simulated(300, 5)
    order = np.random.default_rng(0).permutation(600)
    order = np.concatenate([[0], order[order != 0]])  # the reference stays the first
    one = confirmatory_groups(polychoric_by_group(data, group), MODEL, invariance="strict")
    turned = polychoric_by_group(data.iloc[:, order], group[order])
    two = confirmatory_groups(turned, MODEL, invariance="strict")
    assert one.fit.chi_square == pytest.approx(two.fit.chi_square, rel=1e-9)
    np.testing.assert_allclose(one.residual_variances[0], one.residual_variances[1], atol=1e-12)


def broken(change):
    data, group = simulated(100, 7)
    if change == "constant":
        data.loc["w", group == "b"] = 1
    elif change == "merged":
        data.loc["w", group == "b"] = np.minimum(data.loc["w", group == "b"], 1)
    elif change == "absent":
        data = data.astype(float)
        data.loc["w", group == "b"] = np.nan
    return data, group


@pytest.mark.parametrize(
    ("change", "groups", "model", "options", "error", "message"),
    [
        ("constant", None, MODEL, {}, CodeError, "'w' have only one answer in group 'b'"),
        ("merged", None, MODEL, {}, CodeError, "'w' has answers .* but .* merge"),
        ("absent", None, MODEL, {}, ShapeError, "items without answers in group 'b': 'w'"),
        ("", ["a"] * 200, MODEL, {}, LabelError, "one label only"),
        ("", ["a"] * 9, MODEL, {}, ShapeError, "holds 9 labels"),
        ("", "a" * 200, MODEL, {}, ShapeError, "is one string"),
        ("", [["a"]] * 200, MODEL, {}, LabelError, "hashable"),
        ("", [None] + ["a"] * 199, MODEL, {}, LabelError, "question 0 has no label"),
        ("", ["c"] * 3 + ["a"] * 197, MODEL, {}, ShapeError, "'c' have fewer than 10"),
        ("", None, {"F": "vwq"}, {}, LabelError, "names 'q'"),
        ("", None, {}, {}, OptionError, "must map names"),
        ("", None, {"F": []}, {}, OptionError, "have no variables"),
        ("", None, {"F": "vw"}, {"invariance": "configural"}, ShapeError, "do not determine"),
        ("", None, MODEL, {"free": ["q"]}, LabelError, "free names 'q'"),
        ("", None, MODEL, {"free": "vwxyz"}, ShapeError, "two that are not free"),
        ("", None, MODEL, {"invariance": "weak"}, OptionError, "invariance='weak'"),
    ],
)
def test_bad_input(change, groups, model, options, error, message):
    data, own = broken(change)
    with pytest.raises(error, match=message):
        confirmatory_groups(
            polychoric_by_group(data, own if groups is None else groups),
            model,
            **{"invariance": "scalar"} | options,
        )
