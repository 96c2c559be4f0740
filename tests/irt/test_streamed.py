"""Fits that read cells range by range, beside the same fits of dense tables."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import (
    CodeError,
    ConvergenceWarning,
    InputError,
    MissingPackageError,
    OptionError,
)
from psychollm.estimates.reasons import Reason
from psychollm.irt.priors import Priors
from psychollm.irt.streamed import fit as streamed_fit


def table(n, items, filled, seed=3, slope=None):
    """A long table of a 2PL, cells filled at random."""
    rng = np.random.default_rng(seed)
    a = rng.lognormal(0.0, 0.3, items) if slope is None else np.full(items, slope)
    z = a * rng.normal(size=(n, 1)) + rng.normal(0.0, 1.0, items)
    model, question = np.nonzero(rng.random((n, items)) < filled)
    value = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z)))[model, question].astype(int)
    return {"model": model, "question": question, "value": value}


def both(long):
    """The same answers by their cells and as a dense table."""
    import pandas as pd

    frame = pd.DataFrame(long)
    sparse = psy.Responses.from_long(frame, sparse=True)
    return sparse, psy.Responses.from_long(frame, sparse=False)


def test_few_nodes_do_for_long_tests(monkeypatch):
    # Errors of quadrature of all items would add up in the scale: left to it they are 3e-5.
    sparse, _ = both(table(200, 2_000, 1.0))
    few = psy.fit_irt(sparse, priors=None)
    monkeypatch.setattr(streamed_fit, "NODES", ((0, 15),))
    many = psy.fit_irt(sparse, priors=None)
    assert (few.n_nodes, many.n_nodes) == (5, 15)
    assert few.convergence.converged
    np.testing.assert_allclose(few.parameters, many.parameters, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("n", "items", "filled", "model"),
    [(700, 60, 0.6, "2pl"), (600, 40, 1.0, "rasch"), (600, 40, 0.9, "1pl")],
)
def test_the_optimum_is_that_of_a_dense_table(n, items, filled, model):
    sparse, dense = both(table(n, items, filled))
    found = psy.fit_irt(sparse, model=model, priors=None)
    expected = psy.fit_irt(dense, model=model, priors=None)
    assert found.convergence.converged
    assert found.gradient < 1e-9  # as small as a dense fit leaves it
    np.testing.assert_allclose(found.parameters, expected.parameters, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-9)
    np.testing.assert_allclose(found.posterior_sd, expected.posterior_sd, rtol=1e-6)
    assert found.labels == expected.labels
    assert found.reasons == expected.reasons
    # Errors leave out how errors of abilities bind items to one another.
    np.testing.assert_allclose(found.se_intercept, expected.se_intercept, rtol=0.04)
    if model == "2pl":
        np.testing.assert_allclose(found.se_slope, expected.se_slope, rtol=0.03)
    else:
        np.testing.assert_allclose(found.se_ability_sd, expected.se_ability_sd, rtol=0.1)


@pytest.mark.parametrize("model", ["2pl", "rasch"])
def test_items_with_a_population(model):
    sparse, dense = both(table(80, 120, 0.8))
    found, expected = (psy.fit_irt(one, model=model) for one in (sparse, dense))
    errors = np.sqrt(np.einsum("jpp->jp", expected.covariance))
    errors[errors == 0.0] = 1.0
    # Rounds end where none changes items by 1.5e-3 standard errors.
    assert np.nanmax(np.abs(found.parameters - expected.parameters) / errors) < 5e-3
    np.testing.assert_allclose(found.se_intercept, expected.se_intercept, rtol=0.01)
    assert str(found.priors)[:25] == str(expected.priors)[:25]
    assert found.scale == "respondents"


def test_questions_as_respondents():
    sparse, dense = both(table(12, 900, 0.7))
    found, expected = (
        psy.fit_irt(one, respondents="questions", priors=None) for one in (sparse, dense)
    )
    np.testing.assert_allclose(found.parameters, expected.parameters, rtol=1e-5, atol=1e-6)
    assert found.respondent_labels == dense.questions


def test_fixed_priors():
    sparse, dense = both(table(300, 20, 0.9))
    priors = Priors(slope=(1.0, 0.5), intercept=(0.0, 2.0))
    found, expected = (psy.fit_irt(one, priors=priors) for one in (sparse, dense))
    np.testing.assert_allclose(found.parameters, expected.parameters, rtol=1e-5, atol=1e-6)


def test_few_answers_to_an_item_estimate_its_population():
    """A thousand respondents tell little of an item that sixty of them answered."""
    sparse, dense = both(table(1_000, 30, 0.06))
    for one in (sparse, dense):
        fit = psy.fit_irt(one)
        assert fit.scale == "respondents"
        assert np.isfinite(fit.slope).all()


def test_items_without_two_answers():
    long = table(600, 15, 0.9)
    long["value"] = np.where(long["question"] == 3, 1, long["value"])
    sparse, _ = both(long)
    fit = psy.fit_irt(sparse, priors=None)
    assert fit.reasons[fit.labels.index(3)] is Reason.CONSTANT_ITEM
    assert np.isnan(fit.slope[fit.labels.index(3)])
    prior = psy.fit_irt(sparse, priors=Priors(slope=(1.0, 0.5), intercept=(0.0, 2.0)))
    assert prior.reasons[prior.labels.index(3)] is Reason.PRIOR_ALONE
    assert np.isfinite(prior.slope).all()


def test_reversed_items_keep_their_sign():
    long = table(800, 30, 0.9)
    turned = np.isin(long["question"], [2, 9])
    long["value"] = np.where(turned, 1 - long["value"], long["value"])
    sparse, _ = both(long)
    fit = psy.fit_irt(sparse, priors=None)
    negative = {label for label, slope in zip(fit.labels, fit.slope, strict=True) if slope < 0}
    assert negative == {2, 9}


def test_abilities():
    sparse, dense = both(table(400, 50, 0.7))
    for priors in (None, "auto"):
        fit = psy.fit_irt(dense, priors=priors)
        found, expected = psy.ability(fit, sparse), psy.ability(fit, dense)
        np.testing.assert_allclose(found.ability, expected.ability, atol=1e-6)
        np.testing.assert_allclose(found.se, expected.se, rtol=1e-5)
        assert found.labels == expected.labels


def test_abilities_of_other_respondents_and_fewer_items():
    import pandas as pd

    _, dense = both(table(500, 30, 0.8))
    fit = psy.fit_irt(dense, priors=None)
    long = pd.DataFrame(table(40, 30, 0.8, seed=9))
    fewer = psy.Responses.from_long(long[long["question"] > 9], sparse=True)
    found = psy.ability(fit, fewer)
    values = long.set_index(["model", "question"])["value"].unstack()  # noqa: PD010
    values = values.reindex(columns=list(fit.labels))
    values[[label for label in fit.labels if label <= 9]] = np.nan
    expected = psy.ability(fit, values.loc[list(fewer.models)])
    np.testing.assert_allclose(found.ability, expected.ability, atol=1e-6)


@pytest.mark.parametrize("jobs", [2, 5])
@pytest.mark.parametrize("priors", [None, "auto"])
def test_to_the_last_bit_for_any_number_of_workers(jobs, priors, monkeypatch):
    monkeypatch.setattr("psychollm.irt.streamed.posterior.LEAST_CELLS", 500)
    sparse, _ = both(table(120, 300, 0.5))
    one, several = fitted(sparse, priors, 1), fitted(sparse, priors, jobs)
    assert np.array_equal(one.parameters, several.parameters, equal_nan=True)
    assert np.array_equal(one.covariance, several.covariance, equal_nan=True)


def fitted(sparse, priors, jobs):
    with pytest.warns(ConvergenceWarning, match="max_iterations=6"):
        return psy.fit_irt(sparse, priors=priors, n_jobs=jobs, max_iterations=6)


@pytest.mark.parametrize("priors", [None, "auto"])
def test_a_fit_goes_on_from_its_checkpoint(tmp_path, priors):
    sparse, _ = both(table(150, 200, 0.7))
    place = tmp_path / "fit.npz"
    with pytest.warns(ConvergenceWarning, match="max_iterations=3"):
        psy.fit_irt(sparse, priors=priors, max_iterations=3, checkpoint=place)
    whole = psy.fit_irt(sparse, priors=priors)
    rest = psy.fit_irt(sparse, priors=priors, checkpoint=place)
    assert rest.convergence.iterations == whole.convergence.iterations
    np.testing.assert_allclose(rest.parameters, whole.parameters, rtol=1e-7, atol=1e-9)
    again = psy.fit_irt(sparse, priors=priors, checkpoint=place)  # from the last cycle
    np.testing.assert_allclose(again.parameters, whole.parameters, rtol=1e-7, atol=1e-9)


KILLED = """
import numpy as np, psychollm as psy, sys
from tests.irt.test_streamed import both, table
sparse, _ = both(table(300, 2000, .5))
print("begins", flush=True)
psy.fit_irt(sparse, priors=None, checkpoint=sys.argv[1])
"""


def test_killed_and_resumed(tmp_path):
    """A kill leaves the last cycle, never half of one."""
    place = tmp_path / "fit.npz"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(place)], stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    until = time.monotonic() + 120.0
    while not place.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert place.exists()
    sparse, _ = both(table(300, 2_000, 0.5))
    whole = psy.fit_irt(sparse, priors=None)
    rest = psy.fit_irt(sparse, priors=None, checkpoint=place)
    np.testing.assert_allclose(rest.parameters, whole.parameters, rtol=1e-6, atol=1e-8)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    place = tmp_path / "fit.npz"
    sparse, _ = both(table(100, 30, 0.9))
    other, _ = both(table(100, 30, 0.9, seed=4))
    psy.fit_irt(sparse, checkpoint=place)
    with pytest.raises(InputError, match="left by another fit"):
        psy.fit_irt(other, checkpoint=place)
    with pytest.raises(InputError, match="left by another fit"):
        psy.fit_irt(sparse, model="rasch", checkpoint=place)
    place.write_text("nothing of the kind")
    with pytest.raises(InputError, match="no checkpoint"):
        psy.fit_irt(sparse, checkpoint=place)


def test_what_needs_a_dense_table_says_so():
    sparse, dense = both(table(100, 20, 0.9))
    for options in ({"model": "3pl"}, {"link": "probit"}, {"standard_errors": "sandwich"}):
        with pytest.raises(OptionError, match="dense"):
            psy.fit_irt(sparse, **options)
    with pytest.raises(OptionError, match="'eap'"):
        psy.ability(psy.fit_irt(dense), sparse, method="wle")


def test_graded_answers_are_refused():
    long = table(50, 10, 0.9)
    long["value"] = long["value"] + 1
    sparse, _ = both(long)
    with pytest.raises(CodeError, match="code 2"):
        psy.fit_irt(sparse)


def test_dense_tables_are_not_read_on_a_device():
    with pytest.raises(OptionError, match=r"device='cpu' .* responses.sparse\(\)"):
        psy.fit_irt([[0, 1], [1, 0], [1, 1]], device="cpu")


def test_a_device_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    sparse, _ = both(table(50, 10, 0.9))
    with pytest.raises(
        MissingPackageError, match=r'needs torch: pip install "psychollm\[steering\]"'
    ):
        psy.fit_irt(sparse, device="cpu")
