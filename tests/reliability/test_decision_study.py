"""Decision studies: golden cases, slow twin, exact intervals, coverage."""

import numpy as np
import pytest

from psychollm.reliability.components.decision_study import decision_study
from psychollm.reliability.components.generalizability import generalizability
from tests.oracles import generalizability_slow as slow
from tests.reliability.golden_cases import runs_case, study_of

CASES = ["gtheory_a", "gtheory_b"]


@pytest.mark.parametrize("case", CASES)
def test_golden_decision_studies(golden, case):
    scores, block = runs_case(golden, case)
    study = study_of(scores)
    for wanted in block["values"]["dstudy_from_ems_truncated0"]:
        found = decision_study(study, n_items=wanted["n_items"], n_runs=wanted["n_runs"])
        for name, estimate in {
            "Erho2": found.generalizability,
            "Phi": found.dependability,
            "rel_error_var": found.relative_error,
            "abs_error_var": found.absolute_error,
        }.items():
            assert estimate.value[0] == pytest.approx(wanted[name], abs=block["tol"]), name


def test_decision_study_of_the_slow_twin():
    scores = np.random.default_rng(4).normal(size=(6, 5, 3)) + np.arange(6)[:, None, None]
    study = study_of(scores)
    found = decision_study(study, n_items=[1, 7], n_runs=[2, 4])
    for place, (n_items, n_runs) in enumerate(found.generalizability.labels):
        wanted = slow.decision(study.components.value, n_items, n_runs)
        values = [
            found.generalizability.value[place],
            found.dependability.value[place],
            found.relative_error.value[place],
            found.absolute_error.value[place],
        ]
        np.testing.assert_allclose(values, wanted, rtol=1e-12)


def test_two_facets_give_alpha_and_its_exact_interval():
    """E rho^2 of models x items is alpha; 1 - alpha is a ratio of mean squares (Feldt)."""
    from scipy import stats

    rng = np.random.default_rng(5)
    scores = rng.normal(size=(30, 1)) + rng.normal(size=(30, 8))
    found = decision_study(study_of(scores, bootstrap=200_000)).generalizability
    variances = scores.var(axis=0, ddof=1).sum() / scores.sum(axis=1).var(ddof=1)
    alpha = 8 / 7 * (1 - variances)
    assert found.value[0] == pytest.approx(alpha, rel=1e-12)
    # Degrees of freedom of the residual fall a little below 203: its scores are tested for that.
    feldt = 1 - (1 - alpha) * stats.f.ppf([0.975, 0.025], 29, 203)
    np.testing.assert_allclose(found.interval[0], feldt, atol=0.005)


def test_fixed_items_belong_to_what_is_measured():
    scores = np.random.default_rng(6).normal(size=(8, 6, 3)) + np.arange(8.0)[:, None, None]
    study = study_of(scores)
    p, _, r, pi, pr, ir, e = np.maximum(study.components.value, 0)
    found = decision_study(study, fixed="item")
    assert found.universe_variance.value[0] == pytest.approx(p + pi / 6)
    assert found.relative_error.value[0] == pytest.approx(pr / 3 + e / 18)
    assert found.absolute_error.value[0] == pytest.approx(pr / 3 + e / 18 + r / 3 + ir / 18)
    same_runs = decision_study(study, fixed="run")
    assert same_runs.universe_variance.value[0] == pytest.approx(p + pr / 3)
    more = decision_study(study, n_items=[6, 12, 24])
    assert (np.diff(more.generalizability.value) > 0).all()
    assert more.to_frame().shape == (3, 11)
    assert more.summary().splitlines()[2].startswith("24 items in 3 runs: differences between")


@pytest.mark.parametrize("binary", [False, True])
def test_coverage_of_reliability(binary):
    """400 data sets: 0.925 to 0.98 are about 2.5 standard errors about 0.95."""
    rng = np.random.default_rng(7)
    parts = np.array([0.5, 0.5, 0.8])  # models, items, residual of the latent score
    hits = 0
    true = 0.25 / (0.25 + 0.64 / 40)
    if binary:
        large = _scores(np.random.default_rng(8), parts, (1500, 1500)) > 0
        p, _, e = slow_components_of_large(large.astype(float))
        true = p / (p + e / 40)
    for _ in range(400):
        scores = _scores(rng, parts, (20, 40))
        scores = (scores > 0).astype(float) if binary else scores
        found = decision_study(generalizability(scores, bootstrap=400, rng=rng))
        low, high = found.generalizability.interval[0]
        hits += low <= true <= high
    assert 0.925 <= hits / 400 <= 0.98


def _scores(rng, parts, shape):
    model, item = rng.normal(size=(shape[0], 1)), rng.normal(size=(1, shape[1]))
    return parts[0] * model + parts[1] * item + parts[2] * rng.normal(size=shape)


def slow_components_of_large(scores):
    """Mean squares of a large table without loops over cells."""
    n, k = scores.shape
    rows, columns, mean = scores.mean(1), scores.mean(0), scores.mean()
    residual = scores - rows[:, None] - columns + mean
    squares = [k * rows.var(ddof=1), n * columns.var(ddof=1)]
    squares.append((residual**2).sum() / ((n - 1) * (k - 1)))
    return np.linalg.solve(slow.expected_mean_squares((n, k)), squares)
