"""Readings by torch, on the processor, against the compiled ones."""

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import OptionError
from psychollm.irt.streamed import on_device
from psychollm.irt.streamed.on_device import OnDevice
from psychollm.irt.streamed.readings import COMPILED, Task
from tests.irt.test_streamed import table

pytest.importorskip("torch", reason="device= needs torch")

N, J, K, S = 60, 90, 3, 2
RANGES = [(0, 40), (40, 41), (41, J)]


def made(long):
    """A sparse table, without pyarrow, which reads long ones."""
    values = np.full((long["model"].max() + 1, long["question"].max() + 1), np.nan)
    values[long["model"], long["question"]] = long["value"]
    return psy.Responses(values).sparse()


@pytest.fixture(scope="module")
def cells():
    rng = np.random.default_rng(8)
    values = np.where(rng.random((N, J)) < 0.5, rng.integers(0, 2, (N, J)), np.nan)
    values[:, 5] = np.nan  # nobody answered
    values[:, 6] = np.where(np.isnan(values[:, 6]), np.nan, 1.0)  # steps lead to the bounds
    return psy.Responses(values).sparse().by_question


@pytest.fixture(scope="module")
def known():
    """Points with two rows that are no items, and what is known of respondents."""
    rng = np.random.default_rng(9)
    points = np.stack([rng.normal(1.0, 0.5, (S, J)), rng.normal(0.0, 2.0, (S, J))], axis=2)
    points[:, [0, 50]] = np.nan
    nodes = rng.normal(size=(N, 1)) + np.array([-0.6, 0.0, 0.6])
    weights = rng.dirichlet(np.ones(K), N)
    rows = np.column_stack([nodes, weights, (nodes * weights).sum(axis=1)])
    return points, nodes, rows


def readings(reader, cells, known):
    points, nodes, rows = known
    prior = np.array([[1.0, 0.0], [0.1, 0.0], [8.0, 12.0]])
    many, one = (Task.of(RANGES, where) for where in (points, points[:1]))
    at = {"table": cells, "rows": rows}
    return (
        reader.likelihood(many, table=cells, nodes=nodes),
        reader.scores(many, **at, curved=True),
        reader.scores(many, **at, curved=False)[..., :2],
        reader.targets(one, **at, prior=prior),
        reader.missing(one, **at),
    )


@pytest.mark.parametrize("piece", [on_device.PIECE, 900])
def test_readings_are_those_of_the_kernels(cells, known, piece, monkeypatch):
    monkeypatch.setattr(on_device, "PIECE", piece)
    expected = readings(COMPILED, cells, known)
    assert np.nanmax(np.abs(expected[3][:, 6])) == 12.0  # an item went all the way
    for mine, theirs in zip(readings(OnDevice("cpu"), cells, known), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("n", "items", "model", "priors"),
    [(700, 60, "2pl", None), (600, 40, "1pl", None), (80, 120, "2pl", "auto")],
)
def test_the_fit_is_that_of_the_kernels(n, items, model, priors):
    sparse = made(table(n, items, 0.6))
    found = psy.fit_irt(sparse, model=model, priors=priors, device="cpu")
    expected = psy.fit_irt(sparse, model=model, priors=priors)
    assert found.convergence.converged
    np.testing.assert_allclose(found.parameters, expected.parameters, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-10)


def test_in_threads_to_the_last_bit(monkeypatch):
    monkeypatch.setattr("psychollm.irt.streamed.posterior.LEAST_CELLS", 500)
    sparse = made(table(600, 40, 0.5))
    one, two = (psy.fit_irt(sparse, priors=None, device="cpu", n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.parameters, two.parameters)


@pytest.mark.parametrize("device", ["cuda:99", "meta", "nowhere"])
def test_a_device_that_is_not_there(device):
    sparse = made(table(50, 10, 0.9))
    with pytest.raises(OptionError, match=rf"device='{device}' .*: use None, or one of cpu"):
        psy.fit_irt(sparse, device=device)
