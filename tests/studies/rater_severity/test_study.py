"""Severity and discrimination of raters: the likelihood, recovery, departures, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import log_softmax

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.irt.likelihood import Grid
from psychollm.kernels.quadrature import normal_grid
from psychollm.studies.rater_severity.likelihood import (
    KAPPA,
    Facets,
    Layout,
    curves,
    e_step,
    missing_information,
    thing_scores,
)

SEVERITY = np.array([-1.5, -0.5, 0.0, 0.5, 1.5])


def rated(rng, things=150, severity=SEVERITY, slope=1.6, k=2, middle=0.0):
    """Return ratings of things, from 0 to k - 1."""
    z = slope * rng.standard_normal((things, 1)) - severity
    steps = (np.arange(k) - (k - 1) / 2) / (2.0 if k == 3 else 1.0)
    eta = z[:, :, None] * steps + middle * (1 - np.linspace(-1, 1, k) ** 2)
    return (eta + rng.gumbel(size=eta.shape)).argmax(axis=-1)


@pytest.fixture(scope="module")
def table():
    """Five raters of known severity."""
    return rated(np.random.default_rng(1))


@pytest.fixture(scope="module")
def found(table):
    return psy.rater_severity(table, rng=1)


@pytest.fixture(scope="module")
def small():
    """Every kind of parameter with four ratings, at some place."""
    rng = np.random.default_rng(3)
    things, raters, k = 12, 3, 4
    thing, rater = (one.ravel() for one in np.indices((things, raters)))
    group, when = thing % 2, rng.random(thing.size) - 0.5
    facets = Facets(
        thing=thing,
        cell=np.arange(thing.size),
        rating=rng.integers(k, size=thing.size),
        rater=rater,
        time=when,
        group=group,
        covariates=(group - 0.5)[:, None],
        n_things=things,
        n_raters=raters,
        n_groups=2,
        steps=np.arange(k) - 1.5,
        tied=False,
    )
    layout = Layout.of(facets)
    at = rng.normal(0.0, 0.4, layout.size)
    at[layout.block("slope")] += 1.2
    return facets, layout, at


def passed(facets, layout, at, grid):
    from scipy.sparse import csr_matrix

    n = facets.rater.size * facets.n_ratings
    column = facets.cell * facets.n_ratings + facets.rating
    sums = csr_matrix((np.ones(column.size), (facets.thing, column)), shape=(facets.n_things, n))
    made = curves(facets, layout, at, grid.nodes)
    return made, e_step(facets, layout, made, grid, sums)


def slow_likelihood(facets, layout, at):
    """Return the log-likelihood by adaptive integration of the equations, thing by thing."""
    k = facets.n_ratings
    place = np.linspace(-1, 1, k)
    basis = np.linalg.qr(np.vander(place, k, increasing=True))[0][:, 3] * np.sqrt(k)
    a = KAPPA * np.sinh(at[layout.block("slope")])
    total = 0.0
    for thing in range(facets.n_things):
        rows = np.flatnonzero(facets.thing == thing)

        def density(x, rows=rows):
            value = -0.5 * x * x - 0.5 * np.log(2 * np.pi)
            for row in rows:
                i, g = facets.rater[row], facets.group[row]
                mean = float(facets.covariates[row] @ at[layout.means])
                z = a[i] * (mean + x) - at[layout.block("severity")][i]
                z -= at[layout.block("drift")][i] * facets.time[row]
                z -= at[layout.block(f"group {g}")][i]
                eta = z * facets.steps + at[layout.block("middle")][i] * (1 - place**2)
                eta = eta + at[layout.shared_steps][0] * basis
                value += log_softmax(eta)[facets.rating[row]]
            return np.exp(value)

        total += np.log(quad(density, -9, 9, epsabs=1e-13, epsrel=1e-11, limit=200)[0])
    return total


def test_the_likelihood_is_that_of_the_equations(small):
    state = passed(*small, Grid(*normal_grid(201)))[1]
    assert state.log_likelihood == pytest.approx(slow_likelihood(*small), rel=1e-10)


def test_gradient_and_information_are_its_derivatives(small):
    facets, layout, at = small
    grid = Grid(*normal_grid(161))
    made, state = passed(facets, layout, at, grid)
    observed = state.complete - missing_information(facets, made, state, grid.nodes)
    scores = np.asarray(
        thing_scores(facets, made, state.posterior, grid.nodes).sum(axis=0)
    ).ravel()
    np.testing.assert_allclose(scores, state.gradient, atol=1e-10)
    for place in range(layout.size):
        step = np.zeros(layout.size)
        step[place] = 1e-5
        above, below = (passed(facets, layout, at + s * step, grid)[1] for s in (1, -1))
        slope = (above.log_likelihood - below.log_likelihood) / 2e-5
        assert slope == pytest.approx(state.gradient[place], abs=1e-6)
        curve = (below.gradient - above.gradient) / 2e-5
        np.testing.assert_allclose(curve, observed[place], atol=2e-4)


def test_with_one_slope_it_is_the_rasch_model_of_fit_irt(table):
    """Severities are minus the intercepts of a 1PL fit to the same table."""
    tied = psy.rater_severity(table, discrimination=False, rng=1)
    fit = psy.fit_irt(table, model="1pl", priors=None)
    easiness = -fit.to_frame()["intercept"].to_numpy()
    # Here raters are drawn from a population: all are moved towards its mean, by 4 %.
    shrunk = tied.severity.value / (easiness - easiness.mean())
    np.testing.assert_allclose(shrunk, 0.96, atol=0.025)
    assert tied.discrimination.value[0] == pytest.approx(fit.to_frame()["slope"][0], abs=0.05)


def test_the_harsh_are_found_and_intervals_hold(found):
    low, high = found.severity.interval.T
    assert ((low < SEVERITY) & (high > SEVERITY)).all()
    assert found.order == [4, 3, 2, 1, 0]
    assert found.difference.value.sum() == pytest.approx(0.0, abs=1e-12)
    assert found.adjusted[[0, 4]].max() < 0.05
    assert found.verdict.startswith("4 is the harshest rater and 0 the most lenient. ")


def test_draws_give_paired_differences(found):
    gap = found.severity.difference(4, 0)
    assert gap.interval[0] < 3.0 < gap.interval[1]
    assert gap.value == pytest.approx(found.severity.value[4] - found.severity.value[0])


def test_raw_means_mislead_where_raters_saw_other_things():
    """Two equal raters, of whom one was given what the first rater had rated low."""
    rng = np.random.default_rng(5)
    quality = rng.standard_normal((400, 1))
    table = (rng.random((400, 4)) < 1 / (1 + np.exp(-2.5 * quality))).astype(float)
    table[table[:, 0] == 1, 2] = np.nan
    table[table[:, 0] == 0, 3] = np.nan
    found = psy.rater_severity(table, rng=1)
    assert found.raw[3] - found.raw[2] > 0.4
    low, high = found.difference.difference(3, 2).interval
    assert low < 0 < high < 0.25


def test_a_rater_who_guesses_has_no_discrimination_and_an_inverted_one_a_negative():
    rng = np.random.default_rng(2)
    table = rated(rng, 300, np.zeros(7))
    table[:, 5] = rng.integers(2, size=300)
    table[:, 6] = 1 - table[:, 6]
    found = psy.rater_severity(table, rng=1)
    low, high = found.discrimination.interval.T
    assert low[5] < 0.15 < high[5] + 0.15
    assert high[5] < 0.6 < low[:5].min()
    assert high[6] < 0
    assert found.reliability_without[6] < found.reliability


def test_three_way_ratings_have_unsure_between():
    table = rated(np.random.default_rng(4), 200, SEVERITY, k=3, middle=-0.5)
    words = np.array(["No", "Unsure", "Yes"])[table]
    found = psy.rater_severity(words, rng=1)
    numbers = psy.rater_severity(table - 1, unsure=0, rng=1)
    assert found.categories == ("No", "Unsure", "Yes")
    assert found.unsure
    np.testing.assert_allclose(found.severity.value, numbers.severity.value)
    np.testing.assert_allclose(found.middle.value, (table == 1).mean(axis=0), atol=0.05)
    assert "Which raters say Unsure?" in found.summary()


def test_ordinal_ratings_keep_their_scale():
    table = rated(np.random.default_rng(6), 200, SEVERITY, slope=0.9, k=5, middle=1.0) + 1
    found = psy.rater_severity(table, rng=1)
    np.testing.assert_allclose(found.rate.value, table.mean(axis=0), atol=0.15)
    assert found.middle.name == "middle"
    low, high = found.severity.interval.T
    assert ((low < SEVERITY) & (high > SEVERITY)).all()


def test_drift_of_one_rater_is_found_and_the_others_have_none():
    rng = np.random.default_rng(11)
    quality, when = rng.standard_normal(400), rng.random((400, 5))
    drift = np.array([0.0, 0.0, 0.0, 0.0, 2.5])
    table = rng.random((400, 5)) < 1 / (1 + np.exp(drift * (when - 0.5) - 1.6 * quality[:, None]))
    thing, rater = np.indices(table.shape)
    frame = pd.DataFrame(
        {
            "item": thing.ravel(),
            "judge": np.array(list("abcde"))[rater.ravel()],
            "score": table.ravel(),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(30 * when.ravel(), unit="D"),
        }
    )
    found = psy.rater_severity(frame, time="day", rng=1)
    low, high = found.drift.interval.T
    assert low[4] > 0.5
    assert high[4] > 2.5 * 0.9
    assert (low[:4] < 0).all()
    assert found.drift_of_all
    by_thing = psy.rater_severity(table.astype(int), time=when[:, 0], rng=1)
    assert not by_thing.drift_of_all
    assert by_thing.drift.value.sum() == pytest.approx(0.0, abs=1e-9)


def test_a_judge_that_favours_its_own_family_is_found():
    rng = np.random.default_rng(9)
    family = np.repeat(["gpt", "claude", "llama"], 120)
    quality = rng.standard_normal(360) + (family == "llama") * -0.7
    favour = np.zeros((360, 4))
    favour[family == "gpt", 0] = 1.6
    table = rng.random((360, 4)) < 1 / (1 + np.exp(-favour - 1.6 * quality[:, None]))
    found = psy.rater_severity(table.astype(int), group=family, rng=1)
    frame = found.interaction.to_frame()
    assert found.interaction.labels[int(np.argmin(found.interaction.value))] == (0, "gpt")
    assert found.interaction.interval[found.interaction.place((0, "gpt")), 1] < -0.3
    assert len(frame) == 12
    assert "0 with gpt" in found.summary()


def test_a_rater_whose_ratings_are_all_alike_is_flagged_and_finite(table):
    alike = table.copy()
    alike[:, 4] = 0
    found = psy.rater_severity(alike, rng=1)
    assert found.severity.flags[4] is Reason.ALIKE_RATINGS
    assert np.isfinite(found.severity.interval).all()
    assert found.order[0] == 4


def test_raters_without_a_thing_in_common_are_flagged():
    rng = np.random.default_rng(1)
    table = rated(rng, 60, np.zeros(5)).astype(float)
    table[:40, 3:] = np.nan
    table[40:, :3] = np.nan
    found = psy.rater_severity(table, rng=1)
    assert found.severity.flags[3:] == (Reason.UNCONNECTED,) * 2
    assert found.severity.flags[0] is Reason.NONE


def test_two_raters_share_a_discrimination(table):
    found = psy.rater_severity(table[:, :2], rng=1)
    assert found.tied
    assert np.ptp(found.discrimination.value) == 0.0


def test_alpha_is_that_of_the_package(found, table):
    alone = psy.reliability.krippendorff_alpha(table, metric="interval", rng=1)
    assert found.agreement.value[0] == pytest.approx(alone.value[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.astype(bool),
        lambda table: pd.DataFrame(table).astype("Int64"),
        lambda table: pd.DataFrame(table).replace({0: "no", 1: "YES"}),
        lambda table: pd.DataFrame(table).replace({0: "wrong", 1: "correct"}).astype("category"),
        lambda table: pd.DataFrame(table).rename_axis(index="thing").reset_index()
        .melt("thing", var_name="rater", value_name="rating").astype({"rater": "category"}),
    ],
)  # fmt: skip
def test_any_form_of_the_table_gives_the_same(found, table, change):
    other = psy.rater_severity(change(table), rng=1)
    np.testing.assert_allclose(other.severity.value, found.severity.value, atol=1e-9)


def test_gaps_and_empty_things_are_left_out(table):
    gaps = np.vstack([table, np.full((3, 5), np.nan)])
    np.testing.assert_allclose(
        psy.rater_severity(gaps, rng=1).severity.value,
        psy.rater_severity(table, rng=1).severity.value,
    )


LONG = pd.DataFrame({"thing": [0, 1, 2, 3, 4, 5] * 2, "rater": list("a" * 6 + "b" * 6),
                     "rating": [0, 1] * 6})  # fmt: skip


@pytest.mark.parametrize(
    ("ratings", "options", "error", "text"),
    [
        (LONG, {"rater": "who"}, LabelError, "no column 'who'"),
        (pd.concat([LONG, LONG]), {}, LabelError, "more than one rating: aggregate them"),
        (LONG.assign(rating=1), {}, CodeError, "only the rating 1"),
        (LONG.assign(rating=np.arange(12)), {}, CodeError, "12 different ratings"),
        (LONG.assign(rating=["ok", "meh"] * 6), {}, OptionError, "pass categories="),
        (LONG.assign(rating=np.inf), {}, CodeError, "infinity"),
        (LONG.assign(rater="a", thing=range(12)), {}, ShapeError, "has one rater, 'a'"),
        (LONG[LONG.thing < 3], {}, ShapeError, "3 things"),
        (LONG.assign(rater=[None, *"bcdefghijkl"]), {}, LabelError, "row 1 has no rater"),
        (LONG.assign(rating=np.nan), {}, ShapeError, "has no ratings"),
        (LONG, {"unsure": 7}, OptionError, "unsure=7"),
        (LONG.assign(day=1), {"time": "day"}, OptionError, "only the value"),
        (LONG.assign(day="soon"), {"time": "day"}, CodeError, "numbers or dates"),
        (LONG.assign(day="01/06/2023"), {"time": "day"}, CodeError, "is the day or the month"),
        (LONG.assign(of="x"), {"group": "of"}, OptionError, "one group"),
        (LONG.assign(of=range(12)), {"group": "of"}, LabelError, "has groups 0 and 6"),
        (np.eye(6, dtype=int), {"thing": "item"}, ShapeError, "long table"),
        (np.eye(6, dtype=int), {"time": "day"}, OptionError, "is a column name"),
        (np.full((6, 3), np.nan), {}, ShapeError, "every cell is missing"),
        (LONG, {"level": 1.0}, OptionError, "level"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(ratings, options, error, text):
    with pytest.raises(error, match=text):
        psy.rater_severity(ratings, **options)
