"""The model of the items against what made the answers."""

import numpy as np
from scipy.special import expit

from psychollm.bank.item_model import item_model

N, J = 400, 60
DOMAIN = np.repeat([0, 1], J // 2)


def _answers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    # Items of the second domain are easier and tell less.
    items = np.where(DOMAIN[:, None] == 0, [-1.0, 1.8], [1.0, 0.8])
    items = items + rng.normal(size=(J, 2)) * [0.6, 0.2]
    theta = rng.normal(size=N)
    right = rng.random((N, J)) < expit(items[:, 0] + theta[:, None] * items[:, 1])
    return right.astype(float), items, theta


def test_item_model_recovers_items_and_abilities() -> None:
    scores, items, theta = _answers()
    scores[np.random.default_rng(2).random(scores.shape) < 0.2] = np.nan
    model, found = item_model(scores, 1, DOMAIN)
    sign = np.sign(model.items[0, 1])
    errors = model.items - items * [1.0, sign]
    # Slopes at the mode of approximate posteriors are a little too flat.
    assert np.sqrt((errors**2).mean(axis=0)).max() < 0.3
    assert errors.mean(axis=0)[0] < 0.05
    assert np.corrcoef(model.items[:, 1] * sign, items[:, 1])[0, 1] > 0.95
    assert np.corrcoef(found[:, 0] * sign, theta)[0, 1] > 0.95


def test_an_item_without_answers_is_one_of_its_domain() -> None:
    scores, items, _ = _answers()
    scores[:, [0, -1]] = np.nan
    model, _ = item_model(scores, 1, DOMAIN)
    sign = np.sign(model.items[1, 1])
    for item, domain in ((0, 0), (-1, 1)):
        expected = items[domain == DOMAIN, 0].mean()
        np.testing.assert_allclose(model.items[item, 0], expected, atol=0.35)
    assert model.items[0, 1] * sign > model.items[-1, 1] * sign
    # Where nothing is said of domains, it is one of all.
    model, _ = item_model(scores, 1, np.zeros(J, dtype=np.int64))
    np.testing.assert_allclose(model.items[0, 0], model.items[-1, 0])
