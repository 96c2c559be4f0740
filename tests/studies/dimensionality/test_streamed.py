"""How many signals models share, of answers that are read once."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import ShapeError, SparseError
from psychollm.studies import shared_signals
from psychollm.studies.dimensionality.study import dimensionality

pytest.importorskip("pyarrow")


def simulated(loadings, n=3000, k=8, seed=0):
    """Answers of models that load on as many factors as there are rows of loadings."""
    rng = np.random.default_rng(seed)
    weights = np.resize(np.asarray(loadings, dtype=float).T, (k, len(loadings)))
    rest = np.sqrt(1.0 - (weights**2).sum(axis=1))[:, None]
    latent = weights @ rng.normal(size=(len(loadings), n)) + rest * rng.normal(size=(k, n))
    return (latent > rng.normal(0.0, 0.5, (k, 1))).astype(float)


def scanned(values):
    k, n = values.shape
    rows = {"model": np.repeat(np.arange(k), n), "question": np.tile(np.arange(n), k)}
    return psy.data.scan(pd.DataFrame({**rows, "value": values.ravel()}))


@pytest.mark.parametrize(
    ("loadings", "n_factors"), [([[0.0]], 0), ([[0.6]], 1), ([[0.6, 0.6], [0.5, -0.5]], 2)]
)
def test_none_one_and_two_are_told_apart(loadings, n_factors):
    # At this level one in a hundred tables of one factor would be judged to have two.
    found = shared_signals(scanned(simulated(loadings)), n_null=99, alpha=0.01, rng=1)
    assert found.n_factors == n_factors


def test_tests_are_those_of_the_table_in_memory():
    values = simulated([[0.6]], n=600)
    ours = shared_signals(scanned(values), n_null=39, rng=1, n_jobs=2)
    table = shared_signals(psy.Responses(values), n_null=39, rng=1)
    for name in ("shared_test", "one_factor_test", "second_share"):
        assert np.array_equal(getattr(ours, name).draws, getattr(table, name).draws), name
    assert ours.verdict == table.verdict
    full = dimensionality(psy.Responses(values), n_null=39, rng=1)
    assert ours.one_factor_test.observed == full.one_factor_test.observed
    assert np.array_equal(ours.loadings, full.pairwise.loadings)
    assert ours.evidence.shared_interval == pytest.approx(full.evidence.shared_interval, abs=1e-6)


def test_a_model_that_says_one_thing_is_named():
    values = simulated([[0.6]], n=400)
    values[3] = 1.0
    found = shared_signals(scanned(values), n_null=19, rng=1)
    assert found.reasons[3] == "always gave the same answer"
    assert np.isnan(found.loadings[3])
    assert "excluded: 3, always gave the same answer" in found.findings().text()
    assert found.to_frame()["reason"].tolist().count("") == 7
    assert repr(found).startswith("SharedSignals of 8 models: ")


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(ShapeError, match="at least 4 models"):
        shared_signals(scanned(simulated([[0.6]], n=50, k=3)), n_null=5)
    scan = scanned(simulated([[0.6]], n=50))
    for table in (scan, scan.sparse()):
        with pytest.raises(SparseError, match=r"use shared_signals\(responses\)"):
            dimensionality(table)
