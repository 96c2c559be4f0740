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
    ShapeError,
)
from psychollm.estimates.reasons import Reason
from psychollm.irt.priors import Priors
from psychollm.irt.streamed import fit as streamed_fit
from psychollm.irt.streamed import posterior


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


@pytest.mark.parametrize("priors", [None, "auto"])
@pytest.mark.parametrize("values", [np.ones((10, 20)), np.where(np.eye(12), 1.0, np.nan)])
def test_a_table_in_which_nothing_varies(values, priors):
    for answers in (psy.Responses(values), psy.Responses(values).sparse()):
        with pytest.raises(ShapeError, match="no item varies"):
            psy.fit_irt(answers, priors=priors)


def test_dense_abilities_of_a_fit_with_a_constant_item():
    values = np.random.default_rng(0).integers(0, 2, (40, 15)).astype(float)
    values[:, 0] = 1.0
    dense = psy.Responses(values)
    fit = psy.fit_irt(dense.sparse())
    assert np.array_equal(fit.has_answer, psy.fit_irt(dense).has_answer)
    expected = psy.ability(fit, dense.sparse())
    np.testing.assert_allclose(psy.ability(fit, dense).ability, expected.ability, atol=1e-6)


def drawn(n, items, filled, seed, perfect=()):
    """A table of few respondents, some of whom were right throughout."""
    rng = np.random.default_rng(seed)
    gap = rng.normal(size=(n, 1)) - rng.normal(size=items)
    z = rng.lognormal(0.0, 0.3, items) * gap
    values = (rng.random((n, items)) < 1.0 / (1.0 + np.exp(-z))).astype(float)
    values[list(perfect)] = 1.0
    values[rng.random((n, items)) > filled] = np.nan
    return psy.Responses(values)


EDGES = {
    "a perfect one of three": (np.array([[1] * 12, [1, 0] * 6, [0, 0, 1] * 4]), "rasch"),
    "coins": (np.random.default_rng(0).random((10, 30)) < 0.5, "2pl"),
    "few items": (drawn(40, 9, 0.8, 109), "2pl"),
    "a perfect one of twenty": (drawn(20, 600, 1.0, 3, [0]), "rasch"),
    "a perfect one, few answers": (drawn(15, 700, 0.2, 3, [0]), "rasch"),
}


@pytest.mark.parametrize("name", EDGES)
def test_skewed_posteriors(name):
    """The search of peaks had no end there, or few nodes were off the optimum by 1e-3."""
    values, model = EDGES[name]
    dense = psy.Responses(values)
    found, expected = (
        psy.fit_irt(one, model=model, priors=None) for one in (dense.sparse(), dense)
    )
    assert found.convergence.converged
    errors = np.sqrt(np.einsum("jpp->jp", expected.covariance))
    errors[errors == 0.0] = 1.0
    assert np.nanmax(np.abs(found.parameters - expected.parameters) / errors) < 1e-5
    sparse, plain = (psy.ability(expected, one) for one in (dense.sparse(), dense))
    np.testing.assert_allclose(sparse.ability, plain.ability, atol=2e-6)
    np.testing.assert_allclose(sparse.se, plain.se, atol=5e-6)


@pytest.mark.filterwarnings("ignore::psychollm._base.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2, 50, 1.0, 105, [0]), {}),
        ((20, 60, 0.5, 100), {}),
        ((60, 3, 1.0, 0), {"respondents": "questions"}),
        ((15, 700, 0.2, 3), {"priors": None}),  # three answers to an item
    ],
)
def test_fits_of_small_tables_end(shape, options):
    fit = psy.fit_irt(drawn(*shape).sparse(), max_iterations=60, **options)
    assert fit.log_likelihood < 0.0


def test_more_nodes_for_a_skewed_respondent():
    long, skewed = np.full(1_000, 800), np.full(1_000, 400)
    skewed[7] = 799
    counts = posterior.NODES
    assert posterior.enough_nodes(long, long // 2, counts) == 9
    assert posterior.enough_nodes(long, skewed, counts) == posterior.SKEWED
    assert posterior.enough_nodes(long[:100], skewed[:100], counts) == posterior.FINEST
    skewed[7], long[7] = 1, 3  # few answers of one respondent are not worth it
    assert posterior.enough_nodes(long, skewed, counts) == 9


def test_no_error_of_a_deviation_of_0():
    answers = psy.Responses((np.random.default_rng(4).random((3, 40)) < 0.5).astype(float))
    fit = psy.fit_irt(answers.sparse(), model="rasch", priors=None)
    assert fit.convergence.converged
    assert fit.ability_sd < 1e-6
    assert np.isnan(fit.se_ability_sd)


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
sparse, _ = both(table(200, 1000, .5))
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
    sparse, _ = both(table(200, 1_000, 0.5))
    whole = psy.fit_irt(sparse, priors=None)
    rest = psy.fit_irt(sparse, priors=None, checkpoint=place)
    np.testing.assert_allclose(rest.parameters, whole.parameters, rtol=1e-6, atol=1e-8)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    place = tmp_path / "fit.npz"
    sparse, _ = both(table(100, 30, 0.9))
    other, _ = both(table(100, 30, 0.9, seed=4))
    psy.fit_irt(sparse, checkpoint=place)
    with pytest.raises(InputError, match="belongs to another fit"):
        psy.fit_irt(other, checkpoint=place)
    with pytest.raises(InputError, match="belongs to another fit"):
        psy.fit_irt(sparse, model="rasch", checkpoint=place)
    place.write_text("nothing of the kind")
    with pytest.raises(InputError, match="not a checkpoint"):
        psy.fit_irt(sparse, checkpoint=place)


def test_a_checkpoint_of_answers_with_the_same_margins_is_refused(tmp_path):
    values = np.random.default_rng(2).integers(0, 2, (40, 30)).astype(float)
    values[:2, :2] = np.eye(2)
    swapped = values.copy()
    swapped[:2, :2] = 1.0 - np.eye(2)
    place = tmp_path / "fit.npz"
    psy.fit_irt(psy.Responses(values).sparse(), checkpoint=place)
    named = psy.Responses(values, questions=[f"other {j}" for j in range(30)])
    for other in (psy.Responses(swapped), named):
        with pytest.raises(InputError, match="belongs to another fit"):
            psy.fit_irt(other.sparse(), checkpoint=place)
    for jobs in (1, 3):
        psy.fit_irt(psy.Responses(values).sparse(), checkpoint=place, n_jobs=jobs)


def test_what_is_no_checkpoint_is_refused_before_answers_are_read(tmp_path, monkeypatch):
    sparse, dense = both(table(40, 20, 0.9))
    whole = tmp_path / "fit.npz"
    psy.fit_irt(sparse, checkpoint=whole)
    content = whole.read_bytes()
    bad = {"cut.npz": content[: len(content) // 2], "empty.npz": b""}
    for name, left in bad.items():
        (tmp_path / name).write_bytes(left)
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    told = np.load(whole)["of"]
    np.savez(tmp_path / "told.npz", of=told)
    with pytest.raises(InputError, match="belongs to another fit"):
        psy.fit_irt(sparse, checkpoint=tmp_path / "told.npz")
    monkeypatch.setattr(streamed_fit, "read_margins", None)
    for name in (*bad, "array.npy", "other.npz", ""):
        with pytest.raises(InputError, match="not a checkpoint of a fit"):
            psy.fit_irt(sparse, checkpoint=tmp_path / name)
    for place in (5, tmp_path / "nowhere" / "fit.npz", whole / "fit.npz", "/proc/fit.npz"):
        with pytest.raises(InputError, match="cannot be written"):
            psy.fit_irt(sparse, checkpoint=place)
    with pytest.raises(OptionError, match=r"checkpoint=.* responses.sparse\(\)"):
        psy.fit_irt(dense, checkpoint=whole)


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
    sparse, _ = both(long | {"question": [f"q{j}" for j in long["question"]]})
    plain, _ = both(table(50, 10, 0.9) | {"question": [f"q{j}" for j in long["question"]]})
    fit = psy.fit_irt(plain)
    for call in (psy.fit_irt, lambda answers: psy.ability(fit, answers)):
        with pytest.raises(CodeError, match="'q0' has code 2.*threshold="):
            call(sparse)


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
