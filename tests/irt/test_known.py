"""Items of known parameters: they score as the fit does that they were taken from."""

import numpy as np
import pandas as pd
import pytest

from psychollm import load
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.information import information
from psychollm.irt.known import known_items
from psychollm.irt.thresholds import thresholds


@pytest.mark.parametrize("model", ["2pl", "3pl", "4pl", "graded", "gpcm"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_they_score_as_the_fit(model, link, simulated):
    if (model, link) == ("gpcm", "probit"):
        with pytest.raises(OptionError, match="does not exist"):
            known_items([1.0], [[0.0, 1.0]], ordered="gpcm", link="probit")
        return
    answers = simulated(600, np.linspace(0.8, 1.6, 6), np.linspace(-1, 1, 6), 3)
    if model in ("graded", "gpcm"):
        answers = answers + simulated(600, np.linspace(0.8, 1.6, 6), np.linspace(1, -1, 6), 3)
    fit = fit_irt(answers, model=model, link=link)
    asymptotes = {"guessing": fit.guessing} if model in ("3pl", "4pl") else {}
    asymptotes |= {"upper": fit.upper} if model == "4pl" else {}
    intercept = fit.steps if answers.max() > 1 else fit.intercept
    ordered = "gpcm" if model == "gpcm" else "graded"
    items = known_items(fit.slope, intercept, **asymptotes, ordered=ordered, link=link)
    assert items.model == model
    np.testing.assert_allclose(items.difficulty, fit.difficulty, rtol=1e-10)
    for method in ("eap", "map", "wle"):
        ours, theirs = (ability(one, answers, method=method) for one in (items, fit))
        np.testing.assert_allclose(ours.ability, theirs.ability, atol=1e-7)
        np.testing.assert_allclose(ours.se, theirs.se, atol=1e-7)
    np.testing.assert_allclose(information(items).test, information(fit).test, rtol=1e-8)
    np.testing.assert_allclose(
        thresholds(items).threshold, thresholds(fit).threshold, rtol=1e-8, atol=1e-10
    )


def test_answers_align_by_label(tmp_path):
    items = known_items([1.0, 2.0, 0.5], [0.0, 1.0, -1.0], labels=["a", "b", "c"])
    table = pd.DataFrame([[1, 0, 1], [0, 1, 1]], columns=["c", "a", "b"], index=["x", "y"])
    one = ability(items, table)
    two = ability(items, table[["a", "b", "c"]])
    np.testing.assert_array_equal(one.ability, two.ability)
    assert one.labels == ("x", "y")
    items.save(tmp_path / "items.npz")
    np.testing.assert_array_equal(load(tmp_path / "items.npz").slope, items.slope)


def test_asymptotes_of_nothing_are_those_of_the_2pl():
    plain = known_items([1.0, 2.0], [0.0, 1.0])
    edged = known_items([1.0, 2.0], [0.0, 1.0], guessing=[0.0, 0.0], upper=[1.0, 1.0])
    answers = [[1, 0], [0, 1], [1, 1]]
    np.testing.assert_allclose(
        ability(edged, answers).ability, ability(plain, answers).ability, atol=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        (([1.0], [0.0, 1.0]), {}, ShapeError, "must have the shapes"),
        (([1.0, np.inf], [0.0, 1.0]), {"labels": ["a", "b"]}, OptionError, "'b'"),
        (([1.0, 1.0], [0.0, 1.0]), {"labels": ["a", "a"]}, LabelError, "'a'"),
        (([1.0], [0.0]), {"guessing": [0.5], "upper": [0.4]}, OptionError, "below upper"),
        (([1.0], [0.0]), {"guessing": [0.5, 0.1]}, ShapeError, "guessing"),
        (([1.0], [[0.0, 1.0]]), {"guessing": [0.5]}, OptionError, "are for binary items"),
        (([1.0], [0.0]), {"ordered": "nominal"}, OptionError, "ordered"),
    ],
)
def test_what_cannot_be_is_refused(arguments, options, error, match):
    with pytest.raises(error, match=match):
        known_items(*arguments, **options)
