"""`confirmatory_factors`: what lavaan prints, twins, modification indices, bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.correlation.polychoric import polychoric
from psychollm.factor.confirmatory import confirmatory_factors
from tests.oracles import factor_analysis_slow as slow

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "golden" / "psychometrics"
ESTIMATORS = {"WLSMV": "dwls", "DWLS": "dwls", "ULSMV": "uls", "WLS": "wls"}
CHANGES = json.loads((GOLDEN / "lavaan_modification.json").read_text())["models"]
SHIPPED = json.loads((GOLDEN / "lavaan_cfa.json").read_text())["rows"]
ROWS = list(SHIPPED)
if (SHARED / "lavaan_cfa.json").is_file():
    names = {row["id"] for row in SHIPPED}
    held = json.loads((SHARED / "lavaan_cfa.json").read_text())["rows"]
    ROWS += [row for row in held if row["id"] not in names]


def table(row):
    name = row["id"].split("_")[0]
    if name.startswith("lsat"):
        frame = pd.read_csv(GOLDEN / f"{name}_patterns.csv")
        data = np.repeat(frame.iloc[:, :5].to_numpy(), frame.iloc[:, 5], axis=0)
        return pd.DataFrame(data, columns=row["items"]).T
    if name == "ability":
        frame = pd.read_csv(SHARED / "data" / "ability.csv").dropna()
        frame.columns = [column.replace(".", "_") for column in frame.columns]
        return frame.T
    return pd.read_csv(GOLDEN / "synth_bin12.csv").T


def model_of(row):
    model = {}
    for item, factor in zip(row["items"], row["factor"], strict=True):
        model.setdefault(factor, []).append(item)
    return model


def fitted(row):
    robust = row["estimator"].endswith("MV")
    correlation = polychoric(table(row))
    found = confirmatory_factors(
        correlation,
        model_of(row),
        estimator=ESTIMATORS[row["estimator"]],
        test="scaled_shifted" if robust else "standard",
        errors="robust" if robust else "standard",
    )
    return correlation, found


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS])
def test_golden_lavaan(row):
    correlation, found = fitted(row)
    place = [found.labels.index(item) for item in row["items"]]
    np.testing.assert_allclose(found.loadings.sum(1)[place], row["std_loading"], atol=2e-6)
    np.testing.assert_allclose(found.loading_errors.sum(1)[place], row["std_se"], rtol=1e-5)
    assert found.gradient <= 1e-10
    assert found.n == row["n"]
    if row["factor_cor"]:
        assert found.factor_correlation[0, 1] == pytest.approx(row["factor_cor"], abs=2e-6)
    at = [correlation.labels.index(item) for item in row["items"]]
    np.testing.assert_allclose(correlation.matrix[np.ix_(at, at)], row["sample_rho"], atol=1e-6)
    if row["estimator"] == "WLS":
        return  # its thresholds are fitted jointly, and differ from those of the margins
    np.testing.assert_allclose(correlation.thresholds[at, 0], row["threshold"], atol=1e-8)
    k = len(at)
    errors = np.sqrt(np.diag(correlation.covariance(thresholds=True))[:k])[at]
    bessel = np.sqrt(row["n"] / (row["n"] - 1))
    np.testing.assert_allclose(errors * bessel, row["threshold_se"], rtol=1e-5)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS])
def test_golden_fit(row):
    _, found = fitted(row)
    checks = [(found.standard_fit, "")]
    if row["estimator"].endswith("MV"):
        checks.append((found.fit, ".scaled"))
        factor = row["fit"]["chisq.scaling.factor"]
        assert found.scaling == pytest.approx(factor, rel=1e-5)
    for fit, ending in checks:
        expected = {
            key.removesuffix(ending): value
            for key, value in row["fit"].items()
            if key.endswith(ending)
        }
        assert fit.chi_square == pytest.approx(expected["chisq"], rel=1e-5)
        assert fit.df == expected["df"]
        if expected["pvalue"] is not None:  # lavaan has none for uncorrected ULS
            assert fit.p_value == pytest.approx(expected["pvalue"], abs=1e-6)
        assert fit.baseline_chi_square == pytest.approx(expected["baseline.chisq"], rel=1e-5)
        assert fit.baseline_df == expected["baseline.df"]
        assert fit.cfi == pytest.approx(expected["cfi"], abs=1e-6)
        assert fit.tli == pytest.approx(expected["tli"], abs=1e-6)
        assert fit.rmsea == pytest.approx(expected["rmsea"], abs=1e-6)
        low, high = expected["rmsea.ci.lower"], expected["rmsea.ci.upper"]
        np.testing.assert_allclose(fit.rmsea_interval, [low, high], atol=1e-5)
        assert fit.close_fit_p_value == pytest.approx(expected["rmsea.pvalue"], abs=1e-5)
        assert fit.srmr == pytest.approx(row["fit"]["crmr_nomean"], abs=1e-6)


BIN12 = [f"B{i:02d}" for i in range(1, 13)]
HALVES = {"F": BIN12[:6], "G": BIN12[6:]}


def test_golden_correlated_residuals():
    correlation = polychoric(pd.read_csv(GOLDEN / "synth_bin12.csv").T)
    pairs = [("B01", "B02"), ("B08", "B03")]
    found = confirmatory_factors(correlation, HALVES, residual_pairs=pairs)
    assert found.residual_pairs == (("B01", "B02"), ("B03", "B08"))
    row = CHANGES["correlated"]
    loadings = [entry for entry in row["est"] if entry["op"] == "=~"]
    mine = found.loadings.sum(axis=1)
    np.testing.assert_allclose(mine, [entry["est"] for entry in loadings], atol=1e-5)
    apart = [entry for entry in row["est"] if entry["op"] == "~~" and entry["lhs"] != entry["rhs"]]
    apart = [entry for entry in apart if entry["lhs"] not in ("F", "G")]
    np.testing.assert_allclose(
        found.residual_covariances, [entry["est"] for entry in apart], atol=1e-5
    )
    np.testing.assert_allclose(
        found.residual_covariance_errors, [entry["se"] for entry in apart], rtol=1e-4
    )
    assert found.standard_fit.chi_square == pytest.approx(row["fit"]["chisq"], rel=1e-5)
    assert found.fit.chi_square == pytest.approx(row["fit"]["chisq.scaled"], rel=1e-5)
    assert found.fit.df == row["fit"]["df"]
    frame = found.to_frame()
    assert frame["kind"].tolist().count("residual") == 2
    free = found.modification_indices()
    named = set(zip(free.first, free.second, strict=True))
    assert not {("B02", "B01"), ("B08", "B03")} & named
    for bad in [("B01", "B01")], [("B01", "Q")], [("B01", "B02"), ("B02", "B01")]:
        with pytest.raises(LabelError, match="residual_pairs"):
            confirmatory_factors(correlation, HALVES, residual_pairs=bad)


def two_factors(n=1500, seed=0, cross=0.0):
    rng = np.random.default_rng(seed)
    factors = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], n).T
    L = np.kron(np.eye(2), np.full((4, 1), 0.7))
    L[0, 1] = cross
    rest = np.sqrt(1 - np.sum((L @ [[1, 0.4], [0.4, 1]]) * L, axis=1))
    latent = L @ factors + rest[:, None] * rng.normal(size=(8, n))
    return pd.DataFrame(np.digitize(latent, [-0.6, 0.4]), index=list("abcdefgh"))


MODEL = {"F": "abcd", "G": "efgh"}


def test_twin():
    data = polychoric(two_factors())
    found = confirmatory_factors(data, MODEL)
    W = np.zeros((8, 8))
    lower = np.tril_indices(8, -1)
    W[lower] = 1 / (1500 * np.diag(data.covariance()))
    W = W + W.T

    def misfit(x):
        L = np.zeros((8, 2))
        L[:4, 0], L[4:, 1] = x[:4, 0], x[4:8, 0]
        root = np.linalg.cholesky([[1, x[8, 0]], [x[8, 0], 1]]) if abs(x[8, 0]) < 1 else np.eye(2)
        return slow.weighted(data.matrix, W, L @ root)

    start = np.concatenate([found.loadings.sum(1), [found.factor_correlation[0, 1]]])[:, None]
    assert found.objective == pytest.approx(misfit(start), abs=1e-12)
    assert slow.search(misfit, start + 0.03) >= found.objective - 1e-12
    D = found._derivatives
    first, second = slow.robust_traces(D, np.diag(found._weights), found._gamma)
    a = np.sqrt(19 / second)
    T = 2 * 1499 * found.objective
    assert found.fit.chi_square == pytest.approx(a * T + 19 - a * first)
    bentler = confirmatory_factors(data, MODEL, test="satorra_bentler")
    assert bentler.fit.chi_square == pytest.approx(T * 19 / first)
    adjusted = confirmatory_factors(data, MODEL, test="mean_variance")
    assert adjusted.fit.df == pytest.approx(first**2 / second)


def test_order_and_turning_of_variables_do_not_matter():
    data = two_factors(600, 3)
    found = confirmatory_factors(polychoric(data), MODEL)
    order = list("hbdfcage")
    other = confirmatory_factors(polychoric(data.loc[order]), MODEL)
    place = [other.labels.index(label) for label in found.labels]
    np.testing.assert_allclose(other.loadings[place], found.loadings, atol=1e-8)
    assert other.fit.chi_square == pytest.approx(found.fit.chi_square, rel=1e-8)
    turned = data.copy()
    turned.loc[["a", "e"]] = 2 - turned.loc[["a", "e"]]
    again = confirmatory_factors(polychoric(turned), MODEL)
    np.testing.assert_allclose(np.abs(again.loadings), np.abs(found.loadings), atol=1e-8)
    assert again.loadings[0, 0] < 0


@pytest.mark.parametrize(
    ("data", "model", "options", "error", "message"),
    [
        (np.eye(4), {"F": range(4)}, {}, OptionError, "covariance of the correlations"),
        (np.eye(4), {"F": range(4)}, {"covariance": np.eye(6)}, OptionError, "pass n"),
        (np.eye(4), {"F": [0, 9]}, {}, LabelError, "names 9, which the matrix lacks"),
        (np.eye(4), {"F": []}, {}, OptionError, "'F' of the model have no variables"),
        (np.eye(4), {}, {}, OptionError, "must map names"),
        (np.eye(4), {"F": range(4)}, {"estimator": "ml"}, OptionError, "estimator='ml'"),
        (
            np.full((3, 3), 0.5) + 0.5 * np.eye(3),
            {"F": [0, 1]},
            {"covariance": np.eye(3), "n": 50},
            ShapeError,
            "'F' have fewer than three variables",
        ),
        (
            np.full((4, 4), 0.5) + 0.5 * np.eye(4),
            {"F": range(4)},
            {"covariance": np.ones((6, 6)), "n": 50, "estimator": "wls"},
            InputError,
            "singular",
        ),
        (
            np.eye(4),
            {"F": range(4)},
            {"covariance": np.zeros((6, 6)), "n": 50},
            InputError,
            "positive diagonal",
        ),
    ],
)
def test_bad_input(data, model, options, error, message):
    with pytest.raises(error, match=message):
        confirmatory_factors(data, model, **options)
