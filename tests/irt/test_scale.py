"""Slopes on the scale of factor analysis and back."""

import json

import numpy as np

from psychollm.irt.multidimensional import (
    item_slopes,
)
from psychollm.irt.multidimensional.scale import constant_of, standardised


def golden_rows(folder):
    return json.loads((folder / "irt_fa.json").read_text())["rows"]


def check_conversion(row):
    found = item_slopes(row["loadings"], row["tau"])
    np.testing.assert_allclose(found.slopes[:, 0], row["discrimination"], rtol=1e-12)
    np.testing.assert_allclose(-found.intercepts, row["difficulty"], rtol=1e-12)
    table = np.column_stack([row["discrimination"], -np.array(row["difficulty"])])
    loadings, thresholds = standardised(table, np.eye(1), "probit")
    np.testing.assert_allclose(loadings[:, 0], row["loadings"], rtol=1e-12)
    np.testing.assert_allclose(thresholds, row["tau"], rtol=1e-12)


def test_golden_conversion(golden):
    for row in golden_rows(golden / "psychometrics"):
        check_conversion(row)


def test_golden_conversion_of_shared_data(shared):
    for row in golden_rows(shared / "golden" / "psychometrics"):
        check_conversion(row)


def test_conversion_with_correlated_factors():
    L, phi = np.array([[0.6, 0.2], [0.0, 0.7]]), np.array([[1.0, 0.3], [0.3, 1.0]])
    for link in ("logit", "probit"):
        found = item_slopes(L, [0.5, -0.2], factor_correlation=phi, link=link)
        table = np.column_stack([found.slopes, found.intercepts])
        loadings, thresholds = standardised(table, phi, link)
        np.testing.assert_allclose(loadings, L, atol=1e-14)
        np.testing.assert_allclose(thresholds, [0.5, -0.2], atol=1e-14)


def test_constant_of_the_logit():
    assert constant_of("logit") == 1.7


def test_loadings_of_slopes():
    loadings, thresholds = standardised(np.array([[0.75, 0.5]]), np.eye(1), "probit")
    assert loadings.round(12).tolist() == [[0.6]]
    assert thresholds.round(12).tolist() == [-0.4]
