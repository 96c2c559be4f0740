"""Labels go by labels, what has none by position; what could be meant either way is refused."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm._base.record import plain_data
from psychollm.calibration import auroc, brier
from psychollm.data.responses import Responses, as_responses
from psychollm.irt import item_screen, person_fit
from psychollm.reliability import alpha, kruskal_wallis

xr = pytest.importorskip("xarray")
QUESTIONS = ["d", "a", "c", "b"]


@pytest.fixture
def answers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(200, 1)) + np.linspace(-1, 1, 5)
    yes = rng.random(latent.shape) < 1 / (1 + np.exp(-1.5 * latent))
    return pd.DataFrame(yes.astype(int), columns=list("abcde"))


@pytest.mark.parametrize("statistic", [psy.ability, person_fit, item_screen])
def test_answers_to_a_fit_go_by_the_labels_of_its_items(statistic, answers):
    fit = psy.fit_irt(answers, model="rasch")
    as_fitted, turned = statistic(fit, answers), statistic(fit, answers[list("cebda")])
    np.testing.assert_array_equal(as_fitted.to_frame(), turned.to_frame())
    np.testing.assert_array_equal(statistic(fit, answers.to_numpy()).to_frame(), turned.to_frame())


def test_other_items_than_those_of_the_fit_are_named(answers):
    fit = psy.fit_irt(answers, model="rasch")
    with pytest.raises(LabelError, match="only the first has 'e'; only the second has 'z'"):
        psy.ability(fit, answers.rename(columns={"e": "z"}))
    with pytest.raises(ShapeError, match="4 items"):
        psy.ability(fit, answers.to_numpy()[:, :4])


@pytest.mark.parametrize("name", ["clusters", "weights"])
@pytest.mark.parametrize("metric", [brier, auroc])
def test_a_series_goes_by_its_index(metric, name):
    confidence = pd.DataFrame([[0.9, 0.2, 0.7, 0.4]], columns=QUESTIONS)
    correct = pd.DataFrame([[1, 0, 0, 1]], columns=QUESTIONS)
    values = pd.Series([1, 1, 2, 5], index=QUESTIONS)
    plain = metric(confidence, correct, rng=0, bootstrap=50, **{name: values.to_numpy()})
    turned = metric(
        confidence,
        correct[sorted(QUESTIONS)],
        rng=0,
        bootstrap=50,
        **{name: values.sort_index()},
    )
    assert plain.to_dict() == turned.to_dict()
    with pytest.raises(LabelError, match=f"the table and {name} do not hold the same questions"):
        metric(confidence, correct, **{name: values.rename({"a": "z"})})


def test_a_shuffled_column_beside_unnamed_questions_is_refused():
    shuffled = pd.Series(["x", "y", "x"], index=[2, 0, 1])
    with pytest.raises(LabelError, match=r"clusters has the labels 2, 0, 1.*to_numpy"):
        brier([0.5, 0.2, 0.9], [1, 0, 1], clusters=shuffled)
    frame = pd.DataFrame(
        {"c": [0.5, 0.2, 0.9], "y": [1, 0, 1], "t": ["x", "y", "x"]}, index=[2, 0, 1]
    )
    by_label = brier(frame["c"], frame["y"].sort_index(), clusters=frame["t"], rng=0)
    by_place = brier(*frame[["c", "y"]].to_numpy().T, clusters=frame["t"].to_numpy(), rng=0)
    assert by_label.value == by_place.value
    assert by_label.se == by_place.se


def test_an_array_beside_labels_goes_by_position():
    named = pd.DataFrame([[1, 0, 1]], index=["m"], columns=list("abc"))
    found = brier(named, np.array([[1, 1, 1]]), bootstrap=20, rng=0)
    assert found.labels == ("m",)
    assert found.value == pytest.approx(1 / 3)


def test_labels_of_rows_go_by_rows():
    scores = pd.DataFrame([[1, 2], [2, 3], [4, 4], [5, 4]], index=list("abcd"))
    who = pd.Series(["x", "y", "z", "w"], index=list("abcd"))
    assert alpha(scores, respondents=who[::-1], bootstrap=20, rng=0).to_dict() == (
        alpha(scores, respondents=who, bootstrap=20, rng=0).to_dict()
    )
    totals = pd.Series([1.0, 2, 3, 4, 5, 6], index=list("uvwxyz"))
    groups = pd.Series(list("aaabbb"), index=list("uvwxyz"))
    plain = kruskal_wallis(totals, groups, rng=0, bootstrap=20)
    assert plain.to_dict() == kruskal_wallis(totals, groups[::-1], rng=0, bootstrap=20).to_dict()


@pytest.mark.parametrize("dims", [("question", "model"), ("item", "llm"), ("questions", "m")])
def test_names_of_dimensions_are_obeyed(dims):
    array = xr.DataArray([[1, 0], [1, 1], [0, 0]], dims=dims, coords={dims[1]: ["a", "b"]})
    assert as_responses(array).models == ("a", "b")


@pytest.mark.parametrize("dims", [("x", "y"), ("model", "models"), ("item", "question")])
def test_names_of_dimensions_that_say_nothing_are_refused(dims):
    with pytest.raises(LabelError, match=f"{dims[0]!r} and {dims[1]!r}.*rename"):
        as_responses(xr.DataArray([[1, 0], [1, 1]], dims=dims))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: as_responses({"a": [1, 0]}), ShapeError, "is a dict: .*DataFrame"),
        (lambda: as_responses([["1", "0"]]), InputError, "looks like a number.*astype"),
        (lambda: psy.factor_analysis(as_responses([[1, 0], [0, 1]]), 1), InputError, "correlate"),
        (
            lambda: psy.reliability.cohen_kappa([1, 2, 1], [1, 2, 2], bootstrap=0, interval="bca"),
            OptionError,
            "at least 2",
        ),
    ],
)
def test_messages_name_the_remedy(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_half_a_character_is_no_label() -> None:
    with pytest.raises(LabelError, match=r"model label 'a\\ud800' has a lone surrogate"):
        Responses([[1, 0], [0, 1]], models=["a\ud800", "b"])


def test_long_doubles_are_numbers(tmp_path) -> None:
    long = np.array([0.5, 1.5], dtype=np.longdouble)
    for table in (
        Responses([[1, 0], [0, 1]], models=long, questions=long),
        Responses([[1, 0], [0, 1]], models=list(long), questions=tuple(long)),
        Responses(pd.DataFrame([[1, 0], [0, 1]], index=long, columns=long)),
    ):
        assert table.models == table.questions == (0.5, 1.5)
        assert {type(one) for one in table.models} == {float}
        assert table.to_dict()["models"] == [0.5, 1.5]
        table.save(tmp_path / "table.psy")
    assert plain_data({"a": long[0], "b": np.longdouble("nan")}) == {"a": 0.5, "b": None}
