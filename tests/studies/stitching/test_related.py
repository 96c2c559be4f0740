"""Residuals of similar benchmarks are correlated, and known residuals improve predictions."""

import numpy as np
import pytest

import psychollm as psy
from psychollm.studies.stitching.folds import HeldOut, number_of_abilities
from psychollm.studies.stitching.foretelling import Foreteller
from psychollm.studies.stitching.related import carried


def blocks(rng: np.random.Generator, models: int = 90) -> np.ndarray:
    """Return scores in two kinds of benchmarks with common residuals."""
    able, hard = rng.normal(size=(models, 1)), np.linspace(-1, 1, 10)
    common = rng.normal(size=(models, 2))[:, np.arange(10) % 2]
    residual = 0.35 * (0.8 * common + 0.6 * rng.normal(size=(models, 10)))
    return 1.0 / (1.0 + np.exp(-(able - hard + residual)))


def test_similar_benchmarks_have_correlated_residuals() -> None:
    scores = blocks(np.random.default_rng(1))
    found = psy.stitch_benchmarks(scores, n_abilities=1, rng=1)
    related = Foreteller(found.scale, found.data).related
    same = np.equal.outer(np.arange(10) % 2, np.arange(10) % 2) & ~np.eye(10, dtype=bool)
    assert related[same].mean() > 0.3
    assert related[~same & ~np.eye(10, dtype=bool)].max() < 0.2
    np.testing.assert_allclose(np.diagonal(related), 1.0)
    assert np.linalg.eigvalsh(related).min() > 0.0


def test_known_residuals_improve_the_prediction_of_new_models() -> None:
    rng = np.random.default_rng(2)
    scores, new = blocks(rng), blocks(rng, 60)
    found = psy.stitch_benchmarks(scores, n_abilities=1, rng=1)
    errors = np.empty((2, len(new), 7))
    for row, truth in enumerate(new):
        known = dict(enumerate(truth[:3]))
        told = found.predict("new", given=known)
        errors[0, row] = told["value"].to_numpy()[3:] - truth[3:]
        teller = Foreteller(found.scale, found.data)
        teller.related = np.eye(10)
        plain = teller.foretold(
            teller.updated(teller.outside(np.nan), np.arange(3), truth[:3]), level=0.9,
            rng=np.random.default_rng(1),
        )  # fmt: skip
        errors[1, row] = plain.value[3:] - truth[3:]
    with_residuals, without = np.sqrt((errors**2).mean(axis=(1, 2)))
    assert with_residuals < 0.95 * without


def test_residuals_are_carried_as_in_the_conditional_normal_distribution() -> None:
    rng = np.random.default_rng(3)
    related = np.corrcoef(rng.normal(size=(4, 12)))
    given, of = np.array([0, 2]), np.array([1, 3, 2])
    residual = rng.normal(size=(5, 2))
    mean = carried(related, given, of, residual)
    precision = np.linalg.inv(related[np.ix_([0, 2, 1, 3], [0, 2, 1, 3])])
    within = np.linalg.inv(precision[2:, 2:])
    np.testing.assert_allclose(mean[:, :2], -residual @ (within @ precision[2:, :2]).T)
    # A known benchmark is predicted from the ability only.
    assert (mean[:, 2] == 0.0).all()


@pytest.mark.parametrize(("error", "many"), [(0.099, 1), (0.05, 2)])
def test_a_second_ability_must_clearly_improve_predictions(error: float, many: int) -> None:
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(2, 400))
    one, two = (
        HeldOut(np.zeros(400), sd * draws, np.zeros((400, 2)))
        for sd, draws in zip((0.1, error), noise, strict=True)
    )
    assert number_of_abilities([one, two]) == many
