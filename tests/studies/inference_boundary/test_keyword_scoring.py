"""Undefined words by keyword beside the strict score, and the number of failed answers."""

import numpy as np
import pandas as pd
import pytest

from psychollm.estimates.resampling import Resampling
from psychollm.instruments.rule_world import RuleWorld
from psychollm.studies.inference_boundary.keyword_scoring import keyword_scoring
from psychollm.studies.inference_boundary.study import inference_boundary

RESAMPLING = Resampling(n=200, level=0.95, rng=1)
# Of each model a reply of each kind, by turns: what is named passes strictly, doubt by keyword.
SAID = {
    "names": ("The rules do not define it.\nAnswer: {word}",),
    "hedges": ("It is unclear.\nAnswer: 3", "Answer: 3"),
    "declines": ("That cannot be said.",),
}


def table(form: str = "open", *, n: int = 24) -> pd.DataFrame:
    world = RuleWorld(n=n, seed=1, types=("A", "B", "C"), lexical_form=form, n_repeats=2)
    frames = []
    for model, replies in SAID.items():
        texts = {}
        for number, prompt in enumerate(world.prompts()):
            about = prompt.about
            if "claims" in about:
                chosen = "gap" if model == "names" else "confabulated"
                (letter,) = (one for one, claim in about["claims"].items() if claim == chosen)
                texts[prompt.key] = f"Answer: {letter}"
            elif about["type"] == "B":
                text = replies[number % len(replies)]
                texts[prompt.key] = text.format(word=about["undefined"])
            else:
                texts[prompt.key] = f"Answer: {about['correct']}"
        said = {one.key: world.read(one, texts[one.key]) for one in world.prompts()}
        frames.append(world.score(said).to_frame(model))
    return pd.concat(frames, ignore_index=True)


def test_hedging_passes_by_keyword_alone() -> None:
    loose, difference = keyword_scoring(table(), "B", RESAMPLING)
    assert loose is not None
    assert difference is not None
    assert loose.labels == difference.labels == tuple(SAID)
    np.testing.assert_allclose(loose.value, [1.0, 0.5, 1.0])
    np.testing.assert_allclose(difference.value, [0.0, 0.5, 1.0])
    lower, upper = difference.interval.T
    assert (lower <= difference.value).all()
    assert (difference.value <= upper).all()
    assert lower[2] > 0.0
    assert (upper - lower > 0.0).all()  # where all answers agree, too


def test_two_scores_of_one_answer_are_a_pair() -> None:
    """Of an interval that takes them for independent, the one of pairs is the narrower."""
    rng = np.random.default_rng(3)
    strict = (rng.random(60) < 0.5).astype(float)
    keyword = np.maximum(strict, rng.random(60) < 0.1)
    one = pd.DataFrame(
        {"model": "m", "type": "B", "item": range(60), "run": 1, "response": "",
         "score": strict, "keyword": keyword}
    )  # fmt: skip
    _, difference = keyword_scoring(one, "B", RESAMPLING)
    assert difference is not None
    assert difference.value[0] == pytest.approx(float((keyword - strict).mean()))
    width = float(np.ptp(difference.interval[0]))
    apart = 2 * 1.96 * np.sqrt((strict.var() + keyword.var()) / 60)
    assert 0.05 < width < 0.7 * apart


@pytest.mark.parametrize("without", [table("choice"), table().drop(columns="keyword")])
def test_where_no_score_differs_there_is_nothing_to_compare(without: pd.DataFrame) -> None:
    assert keyword_scoring(without, "B", RESAMPLING) == (None, None)
    study = inference_boundary(without, bootstrap=50, rng=1)
    assert study.keyword is None
    assert "keyword" not in {one.key for one in study.findings().items}


def test_what_could_not_be_read_is_no_difference() -> None:
    own = table("choice")
    own.loc[0, ["score", "keyword"]] = np.nan
    assert keyword_scoring(own, "B", RESAMPLING) == (None, None)


def test_the_study_sets_both_scores_side_by_side() -> None:
    study = inference_boundary(table(), bootstrap=50, rng=1)
    (found,) = (one for one in study.findings().items if one.key == "keyword")
    assert found.rows[1].startswith("hedges: 50.0 % by keyword, 0.0 % strict; difference +0.50 ")
    assert {"keyword", "keyword_minus_strict"} <= study.tables().keys()
    (drawn, listed) = found.exhibits
    assert drawn.options["names"] == ["strict", "by keyword"]
    assert [one.heading for one in listed.table().columns] == [
        "model", "strict", "by keyword", "by keyword minus strict",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["open", "choice"])
def test_the_number_of_failed_answers_is_beside_the_shares(form: str) -> None:
    study = inference_boundary(table(form), bootstrap=50, rng=1)
    (found,) = (one for one in study.findings().items if one.key == "failures")
    assert found.rows[0].startswith(
        "type B: 0 (names) to 16 (hedges) failed answers; classification of all 32 failures: "
    )
    kinds = "type C: 0 (names) to 16 (hedges) failed answers; classification of all 32 failures: "
    assert found.rows[1] == f"{kinds}100 % confabulated"
    failures = study.tables()["failures"]
    assert list(failures.columns[:2]) == ["model", "type"]
    own = failures[(failures["type"] == "B") & (failures["model"] == "hedges")]
    assert own["count"].sum() == 16
    drawn = [one for one in found.exhibits if hasattr(one, "plot")]
    assert [one.options["kind"] for one in drawn] == ["B", "C"]
    words = (
        "the answer invents a meaning" if form == "choice" else "Hedged: the reply states a number"
    )
    assert words in drawn[0].caption
    listed = [one for one in found.exhibits if not hasattr(one, "plot") and not one.folded]
    assert [one.heading for one in listed[0].table().columns][:2] == ["model", "failed answers"]


def test_each_bar_has_the_number_of_answers_that_it_parts() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from psychollm.plots import plot_failures

    study = inference_boundary(table(), bootstrap=50, rng=1)
    ax = plot_failures(study, kind="B", ax=figure.subplots())
    assert [one.get_text() for one in ax.texts] == ["none failed", "16", "16"]
