"""Crossed logistic models against lme4, dense matrices and fine grids."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.kernels.logistic_questions import question_integrals
from psychollm.reliability.components import logistic_posterior
from psychollm.reliability.components.crossed_logistic import crossed_logistic
from psychollm.reliability.components.logistic_blocks import Design, Mode, State, find_mode
from psychollm.reliability.components.logistic_cells import CellTable, Counted
from psychollm.reliability.components.logistic_effects import averaged, parts_of_variance
from psychollm.reliability.components.logistic_posterior import first_guess
from psychollm.reliability.means.repeated_scores import RepeatedScores
from psychollm.studies.evaluation_card.study import evaluation_card
from tests.oracles.logistic_questions_slow import (
    cells,
    laplace,
    log_binomial,
    over_ease,
    question,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "crossed_logistic"
LME4 = json.loads((GOLDEN / "lme4.json").read_text(encoding="utf-8"))


def drawn(seed, models, questions, answers=1, interaction=0.0, sds=(0.8, 1.2)):
    """Return scores from a crossed model."""
    rng = np.random.default_rng(seed)
    level = 0.4 + sds[0] * rng.normal(size=models)
    ease = sds[1] * rng.normal(size=questions)
    own = interaction * rng.normal(size=(models, questions))
    chance = 1.0 / (1.0 + np.exp(-(level[:, None] + ease + own)))
    return (rng.random((models, questions, answers)) < chance[..., None]).astype(float)


def counted(scores):
    """Return the counts of a table as one domain, with the table of an interaction."""
    hits, n = scores.sum(axis=2), np.full(scores.shape[:2], float(scores.shape[2]))
    n[0, :3] = hits[0, :3] = 0.0  # not answered
    kinds, rows = np.unique(np.stack([hits.ravel(), n.ravel()]), axis=1, return_inverse=True)
    every = hits, n, rows.reshape(hits.shape)
    hits, n, rows = (np.ascontiguousarray(one.T) for one in every)
    return Counted(hits, n, rows, "quadrature"), kinds


# Where all answers are alike and sd is large, the integrand is half of a normal density.
@pytest.mark.parametrize(
    ("answers", "interaction", "sd"),
    [
        (1, 0.0, 1.3),
        (4, 0.0, 1.3),
        (4, 0.9, 1.3),
        (1, 0.0, 6.0),
        (4, 0.0, 12.0),
        (4, 0.9, 4.0),
        (2, 15.0, 8.0),
    ],
)
def test_integrals_of_questions(answers: int, interaction: float, sd: float) -> None:
    scores = drawn(1, 6, 7, answers, interaction, (0.8, max(sd, 1.2)))
    scores[:, 5], scores[:, 6] = 0.0, 1.0
    one, kinds = counted(scores)
    level = np.linspace(-1.0, 1.5, 6)
    table = CellTable.of(interaction, kinds)
    z, value, score, weight = np.full(7, 3.0), np.empty(7), np.zeros(6), np.zeros(6)
    columns = np.empty((7_000, 6))
    counts, grid = (one.hits, one.n, one.kind), (table.values, -table.reach, table.step)
    question_integrals(level, counts, grid, sd, z, 0, (value, score, weight, columns))

    # Cells of all models at their level and a step to either side, for all that is compared.
    known = [
        np.stack([cells(level + step, k, n, sd, interaction) for step in (0.0, 1e-3, -1e-3)])
        for k, n in zip(one.hits, one.n, strict=True)
    ]

    def slow(places):
        """Return the likelihoods of all questions, each model at one of its three levels."""
        return np.array([over_ease(each[places, np.arange(6)]) for each in known])

    at, up = np.zeros(6, dtype=int), np.eye(6, dtype=int)
    np.testing.assert_allclose(value, slow(at), atol=3e-6)
    ahead, behind = (np.array([slow(place * row) for row in up]) for place in (1, 2))
    np.testing.assert_allclose(score, (ahead - behind).sum(axis=1) / 2e-3, atol=3e-5)
    found = one.at(level, sd, interaction, table, z.copy())
    second = (ahead - 2.0 * slow(at) + behind).sum(axis=1) / 1e-6
    np.testing.assert_allclose(np.diagonal(found.information), -second, atol=2e-3)
    both = slow(up[1] + up[4]) - ahead[1] - ahead[4] + slow(at)
    assert found.information[1, 4] == pytest.approx(-both.sum() / 1e-6, abs=2e-3)
    # From the same starting values, with rows for one question only, they are added one by one.
    first, total, weights = 0, np.zeros((6, 6)), np.zeros(6)
    columns = np.empty((int(12.0 * np.hypot(1.0, max(sd * np.sqrt(6.0), sd / 0.8))) + 3, 6))
    while first < 7:
        out = value, score, weights, columns
        first, rows = question_integrals(level, counts, grid, sd, z, first, out)
        total += columns[:rows].T @ columns[:rows]
    np.testing.assert_allclose(np.diag(weights) - total, found.information, atol=1e-9)


@pytest.mark.parametrize(("n", "sd"), [(1, 0.8), (20, 0.8), (100, 2.0)])
def test_tables_hold_where_answers_are_unlikely(n: int, sd: float) -> None:
    kinds = np.array([[0, n // 2, n], [n, n, n]], dtype=float)
    table = CellTable.of(sd, kinds)
    found = table.values
    eta = (-table.reach + table.step * np.arange(found.shape[1]))[::50]
    w = np.linspace(-60.0, 60.0, 12_001)
    for k, own in zip(kinds[0], found, strict=True):
        log = log_binomial(eta[:, None] + sd * w, k, float(n)) - 0.5 * w**2
        top = log.max(axis=1)
        right = top + np.log(np.exp(log - top[:, None]).sum(axis=1) * 0.01 / np.sqrt(2 * np.pi))
        np.testing.assert_allclose(own[::50, 0], right, atol=1e-7)
    step = (found[:, 2:, 0] - found[:, :-2, 0]) / (2.0 * table.step)
    np.testing.assert_allclose(found[:, 1:-1, 1], step, atol=2e-3 * n * sd**2)


def test_average_of_inverse_logits() -> None:
    level, spread = np.linspace(-4.0, 4.0, 9)[None].repeat(3, axis=0), np.array([0.1, 1.0, 2.0])
    z = np.linspace(-9.0, 9.0, 4001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    right = 1.0 / (1.0 + np.exp(-(level[..., None] + spread[:, None, None] * z))) @ weight
    np.testing.assert_allclose(averaged(level, spread[:, None]), right, atol=3e-4)
    np.testing.assert_allclose(averaged(np.array([900.0]), spread[:1]), 1.0)


def test_first_guess_is_near() -> None:
    """Moments of a large table: the climb begins within a third of the truth."""
    rng = np.random.default_rng(7)
    sds = {"family": 0.6, "model": 0.7, "domain": 0.5, "model:domain": 0.4, "question": 1.1}
    families, domains = np.arange(120) % 30, np.arange(800) % 40
    level = 0.6 * rng.normal(size=30)[families] + 0.7 * rng.normal(size=120)
    ease = 0.5 * rng.normal(size=40)[domains] + 1.1 * rng.normal(size=800)
    logit = 0.3 + level[:, None] + ease + 0.4 * rng.normal(size=(120, 40))[:, domains]
    logit = logit + 0.8 * rng.normal(size=logit.shape)
    hits = rng.binomial(3, 1.0 / (1.0 + np.exp(-logit))).astype(float)
    design = Design.of(
        hits, np.full(hits.shape, 3.0), domains, families, integration="quadrature",
        interaction=True,
    )  # fmt: skip
    assert first_guess(design) == pytest.approx([*sds.values(), 0.8], rel=0.33)


@pytest.mark.parametrize("groups", [False, True])
def test_blocks_are_the_dense_algebra(groups: bool) -> None:
    rng = np.random.default_rng(4)
    scores = drawn(2, 5, 12, 3, 0.7)
    hits, n = scores.sum(axis=2), np.full((5, 12), 3.0)
    domains, families = np.arange(12) % 3, np.array([0, 0, 1, 1, 0])
    there = groups or None
    design = Design.of(
        hits, n, there and domains, there and families, integration="laplace",
        interaction=True,
    )  # fmt: skip
    free = rng.uniform(0.4, 1.3, len(design.active))
    sd = design.deviations(free)
    mode = find_mode(design, sd, State.at_start(design))
    model, item = (one.ravel() for one in np.indices((5, 12)))
    labels = [families[model], model, domains[item], 3 * model + domains[item], item]
    labels.append(np.arange(60))
    effects = [np.eye(int(one.max()) + 1)[one] for one in labels]
    right, x = laplace(hits, n, effects, sd)
    assert mode.converged
    assert mode.log_likelihood == pytest.approx(right, abs=1e-7)
    assert mode.state.mean == pytest.approx(x[0], abs=1e-6)


@pytest.mark.parametrize("name", ["single", "repeated", "domains"])
def test_lme4(name: str) -> None:
    frame = pd.read_csv(GOLDEN / f"{name}.csv")
    domains = frame.drop_duplicates("question")["domain"] if name == "domains" else None
    found = crossed_logistic(
        RepeatedScores.from_long(frame),
        domains=None if domains is None else domains.to_numpy(),
        integration="laplace",
        estimation="ml",
        rng=1,
    )
    right = LME4[name]
    # lme4 stops a little before its maximum: ours is as high or higher.
    assert found.log_likelihood == pytest.approx(right["log_likelihood"], abs=3e-5)
    assert found.log_likelihood > right["log_likelihood"] - 2e-6
    assert found.intercept == pytest.approx(right["mean"], abs=5e-4)
    own = dict(zip(found.components.labels, np.sqrt(found.components.value), strict=True))
    assert own == pytest.approx(right["sd"], abs=2e-3)


def test_quadrature_finds_what_laplace_loses() -> None:
    """Mean sds of questions and interaction over tables: near the truth, and too small."""
    sds = {"quadrature": [], "laplace": []}
    for seed in range(5):
        scores = drawn(seed, 6, 80, 3, 0.8)
        for how, found in sds.items():
            fit = crossed_logistic(scores, integration=how, n_draws=100, rng=1)
            found.append(np.sqrt(fit.components.value[1:]))
    right, less = (np.mean(sds[how], axis=0) for how in ("quadrature", "laplace"))
    assert right == pytest.approx([1.2, 0.8], abs=0.15)
    assert less[0] < 0.98 * right[0]
    assert less[1] < 0.85 * right[1]


def test_shares_add_up_and_reliability_is_that_of_new_questions() -> None:
    found = crossed_logistic(drawn(3, 12, 200, 3, 0.8), rng=1)
    assert found.share.labels == ("model", "question", "model:question", "answer")
    assert found.share.value.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.share.draws.sum(axis=1), 1.0)
    # Two halves of the questions agree as the reliability of a half says.
    halves = drawn(3, 12, 200, 3, 0.8).mean(axis=2).reshape(12, 2, 100).mean(axis=2)
    split = np.corrcoef(halves.T)[0, 1]
    assert 2.0 * split / (1.0 + split) == pytest.approx(found.reliability.value[0], abs=0.03)


def test_parts_of_variance_are_those_of_drawn_chances() -> None:
    design = Design.of(
        np.ones((2, 2)), np.full((2, 2), 2.0), None, None, integration="laplace",
        interaction=True,
    )  # fmt: skip
    parts = parts_of_variance(design, np.array([0.6]), np.array([[0.9, 1.3, 0.7]]))[0]
    rng = np.random.default_rng(1)
    a, b, c = 0.9 * rng.normal(size=(700, 1)), 1.3 * rng.normal(size=1300), 0.7
    chance = 1.0 / (1.0 + np.exp(-(0.6 + a + b + c * rng.normal(size=(700, 1300)))))
    mean = chance.mean()
    drawn_parts = (chance.mean(axis=1).var(), chance.mean(axis=0).var())
    assert parts[[1, 4]] == pytest.approx(drawn_parts, rel=0.1)
    assert parts[6] == pytest.approx((chance * (1.0 - chance)).mean(), rel=0.02)
    assert parts.sum() == pytest.approx(mean * (1.0 - mean), rel=0.02)


def test_generalised_accuracy_of_families_and_domains() -> None:
    scores = drawn(5, 8, 120)
    families, domains = list("aabbccdd"), np.repeat(["x", "y", "z"], 40)
    found = crossed_logistic(scores, families=families, domains=domains, rng=1)
    assert found.families is not None
    assert found.families.labels == ("a", "b", "c", "d")
    assert found.domains is not None
    assert found.domains.labels == ("x", "y", "z")
    np.testing.assert_allclose(found.generalised.value, scores.mean(axis=(1, 2)), atol=0.03)
    order = np.random.default_rng(1).permutation(120)
    again = crossed_logistic(scores[:, order], families=families, domains=domains[order], rng=1)
    np.testing.assert_allclose(again.components.value, found.components.value, atol=2e-3)
    np.testing.assert_allclose(again.questions.value, found.questions.value[order], atol=2e-3)


def test_a_component_of_nothing_is_at_its_bound() -> None:
    rng = np.random.default_rng(0)
    found = crossed_logistic((rng.random((6, 80)) < 0.6).astype(int), rng=1)
    at_zero = found.components.value == 0.0
    assert at_zero.any()
    assert {found.components.flags[row] for row in np.flatnonzero(at_zero)} == {Reason.AT_BOUND}
    assert (found.components.interval[:, 1] > 0.0).all()


def test_no_group_counts_as_none() -> None:
    scores = drawn(6, 5, 40)
    plain = crossed_logistic(scores, rng=1)
    alone = crossed_logistic(scores, families=range(5), domains=["d"] * 40, rng=1)
    assert alone.components.labels == plain.components.labels
    assert alone.families is None
    assert "Reliability of mean scores" in plain.summary()


def test_refusals() -> None:
    with pytest.raises(CodeError, match=r"scores holds 0\.5"):
        crossed_logistic([[0.5, 1, 0], [1, 0, 1]])
    with pytest.raises(ShapeError, match="a crossed model needs two"):
        crossed_logistic([[1, 0, 1]])
    with pytest.raises(OptionError, match="prior_scale=0"):
        crossed_logistic([[1, 0, 1], [0, 0, 1]], prior_scale=0)
    with pytest.raises(LabelError, match="domains: question 2 has no label"):
        crossed_logistic([[1, 0, 1], [0, 0, 1]], domains=["a", "b", None])


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[Mode]:
    """Return what is filled with the modes that fits look for."""
    found: list[Mode] = []

    def kept(*arguments: Any) -> Mode:
        found.append(find_mode(*arguments))
        return found[-1]

    monkeypatch.setattr(logistic_posterior, "find_mode", kept)
    return found


def test_answers_nearly_alike_have_a_model(modes: list[Mode]) -> None:
    """One model under 22 instructions: half of the questions fail for all."""
    scores = psy.load_example("smollm2").correctness
    found = crossed_logistic(scores, rng=1)
    assert len(modes) < 300
    assert all(mode.converged for mode in modes)
    # The integrals by sums over a fine grid: the likelihood is highest at the components.
    hits = np.asarray(scores.codes, dtype=float)
    sd = np.sqrt(found.components.value)
    assert sd == pytest.approx([0.93, 5.41], abs=0.02)
    assert not any(found.components.flags)
    levels = found.models.value
    kept = [question(levels, one, np.ones(22), sd[1]) for one in hits.T]
    for factor in (0.7, 1.4):
        off = [question(levels, one, np.ones(22), factor * sd[1]) for one in hits.T]
        assert sum(off) < sum(kept) - 2.0


@pytest.mark.parametrize(
    "scores",
    [
        [[1, 1, 0, 1, 1], [0, 1, 0, 0, 1]],
        np.tile([1, 0, 0, 1, 1, 0], (5, 1)),  # models are alike
        np.tile([[1], [0], [0], [1], [1]], 30),  # questions are alike
        np.tril(np.ones((8, 8))),  # a perfect scale
        np.repeat(drawn(3, 6, 60, 1, 0.8), 2, axis=2),  # asked again, all answer the same
    ],
)
def test_no_finite_maximum_is_said(scores: object, modes: list[Mode]) -> None:
    found = crossed_logistic(scores, rng=1)
    assert len(modes) < 300
    assert all(mode.converged for mode in modes)
    endless = np.isnan(found.components.value)
    assert endless.any()
    flags = np.array(found.components.flags)
    assert set(flags[endless]) == {Reason.UNBOUNDED}
    assert np.isfinite(found.components.interval).all()
    assert set(found.share.flags) == {Reason.UNBOUNDED} == set(found.reliability.flags)
    assert found.share.value.sum() == pytest.approx(1.0)


def test_answers_that_hardly_change_when_asked_again(modes: list[Mode]) -> None:
    scores = np.repeat(drawn(3, 6, 200, 1, 0.8), 2, axis=2)
    other = np.random.default_rng(1).random(scores.shape) < 0.02
    found = crossed_logistic(np.where(other, 1.0 - scores, scores), rng=1)
    assert len(modes) < 300
    assert all(mode.converged for mode in modes)
    assert found.components.value[-1] > 100.0  # model:question


@pytest.mark.filterwarnings("ignore:the crossed logistic model did not converge")  # ridges
def test_tiny_tables_have_wide_intervals() -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        shape = rng.integers(2, 5), rng.integers(2, 7), rng.integers(1, 3)
        scores = rng.integers(0, 2, shape).astype(float)
        scores[0, 0], scores[1, 1] = 0.0, 1.0
        found = crossed_logistic(scores, n_draws=200, rng=1)
        low, high = found.generalised.interval.T
        assert (high - low > 0.2).all()
        assert ((low <= found.generalised.value) & (found.generalised.value <= high)).all()
        assert np.isfinite(found.components.interval).all()


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ([[1, 1, 1], [1, 1, 1]], "every answer is correct: add models"),
        ([[0, 0, 0], [0, np.nan, 0]], "every answer is wrong: add models"),
        ([[0.5, 0.2, 1], [1, 0, 1]], r"scores holds 0\.5: a logistic model needs 0 and 1"),
        ([[1, 0, 1], [np.nan] * 3], "answers of 1 of 2 models"),
    ],
)
def test_the_card_gives_the_one_reason(scores: object, why: str) -> None:
    with pytest.raises((CodeError, ShapeError), match=why):
        crossed_logistic(scores, rng=1)
    card = evaluation_card(scores, rng=1)
    assert card.mixed is None
    assert re.search(why, card.unmodelled)
    assert f"No mixed model was fitted: {card.unmodelled}." in card.gaps
    assert card.unmodelled[1:] in card.findings()["variance"].statement
