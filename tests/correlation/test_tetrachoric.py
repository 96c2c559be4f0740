"""`tetrachoric` on tables: golden matrices, invariances, errors, certificates, empty cells."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import (
    CodeError,
    InputError,
    LabelError,
    MissingPackageError,
    OptionError,
    ShapeError,
)
from psychollm.correlation.tetrachoric import PairStatus, tetrachoric
from psychollm.data.pair_counts import PairCounts
from psychollm.data.responses import Responses
from tests.oracles import tetrachoric_slow as slow


def patterns(path):
    frame = pd.read_csv(path)
    items = frame.drop(columns="freq")
    return items.loc[items.index.repeat(frame["freq"])].reset_index(drop=True)


def load(golden, name):
    folder = golden / "psychometrics"
    if name.startswith("lsat"):
        return patterns(folder / f"{name}_patterns.csv")
    return pd.read_csv(folder / f"{name}.csv")


def simulated(k=6, n=400, seed=0, spread=1.0, missing=0.0):
    rng = np.random.default_rng(seed)
    loading = rng.uniform(0.5, 0.9, (k, 1))
    x = loading * rng.normal(size=n) + np.sqrt(1 - loading**2) * rng.normal(size=(k, n))
    values = (x > rng.uniform(-spread, spread, (k, 1))).astype(float)
    values[rng.random((k, n)) < missing] = np.nan
    return Responses(values)


@pytest.mark.parametrize("name", ["synth_bin12", "lsat6", "lsat7"])
def test_psych_and_lavaan_print_the_same_within_their_own_accuracy(golden, name):
    rows = json.loads((golden / "psychometrics" / "raw_matrices.json").read_text())["rows"]
    data = load(golden, name).T
    ours = tetrachoric(data, empty_cells="none", missing="global")
    seen = 0
    for row in rows:
        if row["data"] != name or "rho" not in row:
            continue
        if row["fun"] == "psych::tetrachoric" and row["smooth"] is False:
            theirs, tolerance = np.array(row["rho"]), 5e-5
        elif row["fun"].startswith("lavaan::lavCor") and "se_rho" not in row:
            theirs, tolerance = np.array(row["rho"]), 1e-6
        else:
            continue
        np.testing.assert_allclose(ours.matrix, theirs, atol=tolerance)
        seen += 1
    assert seen >= 1


@pytest.mark.parametrize("name", ["synth_bin12", "lsat6", "lsat7"])
def test_standard_errors_are_lavaans(golden, name):
    rows = json.loads((golden / "psychometrics" / "raw_matrices.json").read_text())["rows"]
    (row,) = (r for r in rows if r["data"] == name and "se_rho" in r)
    frame = load(golden, name)
    ours = tetrachoric(frame.T)
    where = {label: i for i, label in enumerate(ours.labels)}
    n = len(frame)
    for pair, theirs in zip(row["pairs"], row["se_rho"], strict=True):
        i, j = (where[label] for label in pair.split())
        assert ours.se[i, j] * np.sqrt(n / (n - 1)) == pytest.approx(theirs, rel=1e-4)


def test_golden_pairs_from_the_raw_data(golden):
    frame = load(golden, "synth_llm40x15")
    pairs = pd.read_csv(golden / "psychometrics" / "tetrachoric_raw_pairs.csv")
    pairs = pairs[pairs["data"] == "synth_llm40x15"]
    ours = tetrachoric(frame.T, empty_cells="keep_margins")
    where = {label: i for i, label in enumerate(ours.labels)}
    for row in pairs.itertuples():
        truth = row.rho_pairwise if np.isnan(row.rho_keepmargin_half) else row.rho_keepmargin_half
        assert ours.matrix[where[row.item_i], where[row.item_j]] == pytest.approx(truth, abs=1e-12)


def test_a_device_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r'pip install "psychollm\[steering\]"'):
        tetrachoric(simulated(), device="cpu")


def test_certificate():
    correlation = tetrachoric(simulated())
    assert np.all(correlation.status == PairStatus.INTERIOR)
    assert np.abs(correlation.residual).max() < 1e-15
    assert correlation.iterations.max() < 10
    assert not correlation.matrix.flags.writeable


@pytest.mark.parametrize("missing", [0.0, 0.3])
@given(seed=st.integers(0, 10_000))
def test_invariances(missing, seed):
    responses = simulated(k=4, n=120, seed=1, missing=missing)
    rng = np.random.default_rng(seed)
    matrix = tetrachoric(responses).matrix
    order = rng.permutation(4)
    rows = responses.select(models=[responses.models[i] for i in order])
    np.testing.assert_allclose(tetrachoric(rows).matrix, matrix[np.ix_(order, order)], atol=1e-13)
    columns = [responses.questions[q] for q in rng.permutation(120)]
    shuffled = tetrachoric(responses.select(questions=columns)).matrix
    assert np.array_equal(shuffled, matrix)
    flipped = tetrachoric(responses.flip([responses.models[2]])).matrix
    sign = np.array([1, 1, -1, 1])
    np.testing.assert_allclose(flipped, matrix * np.outer(sign, sign), atol=1e-12)


def test_missing_rules_differ_only_with_missing_answers():
    whole, holes = simulated(), simulated(missing=0.3)
    for data, same in ((whole, True), (holes, False)):
        pairwise = tetrachoric(data, missing="pairwise").matrix
        overall = tetrachoric(data, missing="global").matrix
        assert np.allclose(pairwise, overall, atol=1e-12) == same
        assert np.abs(pairwise - overall).max() < 0.1


def test_equal_weights_change_nothing_and_zero_weights_drop_questions():
    responses = simulated()
    plain = tetrachoric(responses)
    np.testing.assert_allclose(
        tetrachoric(responses, weights=np.full(400, 7.0)).matrix, plain.matrix, atol=1e-13
    )
    kept = responses.select(questions=responses.questions[:300])
    weighted = tetrachoric(responses, weights=np.repeat([1.0, 0.0], [300, 100]))
    np.testing.assert_allclose(weighted.matrix, tetrachoric(kept).matrix, atol=1e-12)
    # Kish: the standard errors are those of the 300 questions that count, not of 400.
    np.testing.assert_allclose(weighted.se, tetrachoric(kept).se, rtol=1e-9)


def test_standard_error_against_numerical_delta_method():
    table = tetrachoric(simulated(k=2, n=300))
    expected = slow.standard_error(*table.thresholds, table.matrix[0, 1], 300)
    assert table.se[0, 1] == pytest.approx(expected, rel=1e-4)
    assert table.se_fixed_thresholds[0, 1] <= table.se[0, 1]


@pytest.mark.parametrize("missing", ["pairwise", "global"])
def test_standard_errors_match_the_spread_of_estimates(missing):
    """300 samples: the ratio of SDs has standard error 1/sqrt(600) = 4 %; five of them allowed."""
    tables = [
        tetrachoric(simulated_pair(seed, missing=0.3), missing=missing) for seed in range(300)
    ]
    estimates = np.array([t.matrix[0, 1] for t in tables])
    claimed = np.sqrt(np.mean([t.se[0, 1] ** 2 for t in tables]))
    assert claimed == pytest.approx(estimates.std(ddof=1), rel=0.2)


def simulated_pair(seed, missing):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=500)
    x = 0.8 * f + 0.6 * rng.normal(size=(2, 500))
    values = (x > np.array([[0.8], [-0.5]])).astype(float)
    values[rng.random((2, 500)) < missing] = np.nan
    return Responses(values)


def test_constant_model_is_undefined_not_a_number():
    correlation = tetrachoric([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 1, 1]])
    assert np.isnan(correlation.matrix[0]).all()
    assert (correlation.status[0] == PairStatus.UNDEFINED).all()
    assert np.isinf(correlation.thresholds[0])
    assert "undefined 2" in repr(correlation)


def test_pair_without_common_questions_is_undefined():
    nan = np.nan
    correlation = tetrachoric([[1, 0, 1, 0, nan, nan], [nan] * 4 + [1, 0], [1, 0, 0, 1, 0, 1]])
    assert correlation.status[0, 1] == PairStatus.UNDEFINED
    assert correlation.n[0, 1] == 0
    assert np.isnan(correlation.matrix[0, 1])


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.empty((0, 0)), InputError, "empty|no models"),
        ([[1, 0, 1]], ShapeError, "one model only"),
        ([[0, 2, 1], [1, 0, 1]], CodeError, "code 2"),
        ([[0.5, 1], [1, 0]], CodeError, "0.5"),
        ([[np.inf, 1], [1, 0]], CodeError, "inf"),
        ([["yes", "no"], ["no", "yes"]], CodeError, "yes"),
    ],
)
def test_bad_input(data, error, message):
    with pytest.raises(error, match=message):
        tetrachoric(data)


def test_duplicated_labels():
    with pytest.raises(LabelError, match="'a'"):
        tetrachoric(pd.DataFrame([[1, 0], [0, 1]], index=["a", "a"]))


def test_one_question():
    correlation = tetrachoric([[1], [0]])
    assert np.isnan(correlation.matrix).all()


def test_one_question_correlated_over_questions():
    with pytest.raises(ShapeError, match="one question only"):
        tetrachoric([[1], [0]], of="questions")


@pytest.mark.parametrize(
    ("option", "value"), [("empty_cells", "half"), ("missing", "drop"), ("of", "rows")]
)
def test_unknown_options_name_the_known_ones(option, value):
    with pytest.raises(OptionError, match=f"{option}='{value}' is not an option"):
        tetrachoric([[1, 0], [0, 1]], **{option: value})


def test_weights_with_counts_are_refused():
    with pytest.raises(OptionError, match="PairCounts.count"):
        tetrachoric(PairCounts.count([[1, 0], [0, 1]]), weights=[1, 1])


def test_a_million_questions():
    rng = np.random.default_rng(0)
    f = rng.normal(size=1_000_000)
    values = (0.6 * f + 0.8 * rng.normal(size=(3, f.size)) > 0.3).astype(np.int8)
    matrix = tetrachoric(Responses(values)).matrix
    # Five standard errors of about 0.0015.
    np.testing.assert_allclose(matrix[np.tril_indices(3, -1)], 0.36, atol=0.008)


def test_frame_and_selection():
    correlation = tetrachoric(simulated())
    frame = correlation.to_frame()
    assert len(frame) == 15
    assert frame["status"].eq("interior").all()
    chosen = correlation.select([correlation.labels[3], correlation.labels[1]])
    assert chosen.matrix[0, 1] == correlation.matrix[3, 1]
    with pytest.raises(OptionError, match="nobody"):
        correlation.select(["nobody"])


def test_empty_cells_and_sensitivity():
    correlation = tetrachoric([[1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0], [1, 0] * 4])
    assert correlation.status[0, 1] == PairStatus.ADJUSTED
    report = correlation.sensitivity()
    assert report.n_empty == 1
    assert report.spread[0, 1] > 0
    assert report.spread[0, 2] == 0
    assert report.to_frame().loc[0, "none"] == 1.0
    bound = tetrachoric(correlation.counts, empty_cells="none")
    assert bound.status[0, 1] == PairStatus.AT_BOUND
    assert np.isnan(bound.se[0, 1])
