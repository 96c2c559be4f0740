"""What follow-ups, factors, feedback and difficulty do to self-efficacy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm.studies.self_efficacy.study import self_efficacy
from tests.studies.self_efficacy.test_study import ITEMS, QUICK, made_up, total


def test_follow_ups() -> None:
    first = made_up(n_models=4)
    parts = [first.assign(phrasing="")]
    change = {"neutral": 0, "sceptical": -1, "too_modest": 1}
    for phrasing, by in change.items():
        again = first.assign(phrasing=phrasing)
        again["i1"] = np.clip(again["i1"] + by, 1, 4)
        parts.append(again)
    frame = pd.concat(parts, ignore_index=True)
    study = self_efficacy(frame, **QUICK)
    found = study.revision
    assert found.change.labels == ("neutral", "sceptical", "too_modest")
    for place, by in enumerate(change.values()):
        moved = np.clip(first["i1"] + by, 1, 4) - first["i1"]
        assert found.change.value[place] == pytest.approx(moved.mean())
        assert found.up.value[place] == pytest.approx((moved > 0).mean())
        assert found.down.value[place] == pytest.approx((moved < 0).mean())
        assert found.unchanged.value[place] == pytest.approx((moved == 0).mean())
    pull = found.change.difference("too_modest", "sceptical")
    assert pull.value == pytest.approx(found.change.value[2] - found.change.value[1])
    assert pull.interval[0] > 0
    # They are no part of the first ratings.
    assert study.means.value == pytest.approx(self_efficacy(first, **QUICK).means.value)
    lost = frame.copy()
    lost.loc[lost["phrasing"] == "sceptical", ITEMS] = np.nan
    gone = self_efficacy(lost, **QUICK).revision
    assert np.isnan(gone.change.value[1])
    assert np.isnan(gone.down.value[1])
    assert gone.change.value[0] == found.change.value[0]
    assert gone.missing.value == pytest.approx([0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("factor", "plain", "other"),
    [
        ("mode", "all_at_once", "one_by_one"),
        ("placement", "task_first", "isolated"),
        ("persona", "plain", "novice"),
    ],
)
def test_factors_are_compared_within_models(factor, plain, other) -> None:
    first = made_up()
    second = first.assign(**{factor: other, "i2": np.clip(first["i2"] - 1, 1, 4)})
    frame = pd.concat([second, first.assign(**{factor: plain})], ignore_index=True)
    study = self_efficacy(frame, **QUICK)
    found = study.effects[factor]
    per_model = (second["i2"] - first["i2"]).groupby(first["model"]).mean()
    assert found.baseline == plain
    assert found.contrasts.labels == (other,)
    assert found.contrasts.value[0] == pytest.approx(per_model.mean())
    if per_model.std() > 0:
        assert found.contrasts.se[0] == pytest.approx(stats.sem(per_model))
    assert found.mixed.contrasts.value[0] == pytest.approx(per_model.mean(), abs=1e-6)
    assert found.mixed.f_df == (1, pytest.approx(5))
    whole = frame.assign(total=total(frame)).groupby(["model", factor])["total"].mean()
    wanted = stats.kruskal(whole.xs(plain, level=factor), whole.xs(other, level=factor))
    assert found.ranks.statistic == pytest.approx(wanted.statistic)
    assert study.means.value == pytest.approx(self_efficacy(first, **QUICK).means.value)
    assert f"Effect of {factor} on totals (compared with {plain}):" in study.summary()


def test_personas_may_change_performance_too() -> None:
    first = made_up()
    frame = pd.concat([first.assign(persona="plain"), first.assign(persona="novice")])
    tasks = frame[["model", "condition", "persona"]].drop_duplicates()
    tasks = tasks.assign(correct=np.where(tasks["persona"] == "plain", 0.75, 0.5))
    study = self_efficacy(frame, performance=tasks, **QUICK)
    assert study.effects["persona"].accuracy.value == pytest.approx([-0.25])
    # What other personas do is no part of the main link.
    assert (study.performance["none"].other == 0.75).all()


def test_feedback_moves_ratings_towards_or_away_from_the_truth() -> None:
    rows = []
    for model, before in zip("abcd", (4, 3, 3, 2), strict=True):
        rating = {"": before, "true": 2, "too_low": 1}
        for feedback, given in rating.items():
            rows.append(
                {"model": model, "condition": "social", "feedback": feedback, "n_tasks": 6,
                 "correct": np.nan if feedback == "" else 2} | dict.fromkeys(ITEMS, given)
            )  # fmt: skip
    study = self_efficacy(pd.DataFrame(rows), **QUICK)
    true = 2 / 6
    gap = {rating: abs((rating - 1) / 3 - true) for rating in (1, 2, 3, 4)}
    before = np.array([gap[one] for one in (4, 3, 3, 2)])
    assert study.feedback.labels == ("true", "too_low")
    assert study.feedback.value == pytest.approx(
        [(before - gap[2]).mean(), (before - gap[1]).mean()]
    )
    assert study.effects["feedback"].baseline == "none"
    assert study.effects["feedback"].contrasts.value == pytest.approx([-10.0, -20.0])
    assert study.means.value == pytest.approx([30.0])  # without feedback


def test_difficulty() -> None:
    rows, done = [], []
    for model, fall in zip("abc", (0, 1, 1), strict=True):
        for level in (1, 2, 3):
            rows.append(
                {"model": model, "condition": "social", "level": level}
                | dict.fromkeys(ITEMS, 4 - fall * (level - 1))
            )
            done += [
                {"model": model, "condition": "social", "level": level, "correct": correct}
                for correct in {1: (1, 1), 2: (1, 0), 3: (0, 0)}[level]
            ]
    study = self_efficacy(pd.DataFrame(rows), performance=pd.DataFrame(done), **QUICK)
    found = study.difficulty
    assert found.efficacy.labels == (1, 2, 3)
    assert found.efficacy.value == pytest.approx([1, 7 / 9, 5 / 9])
    assert found.performance.value == pytest.approx([1, 0.5, 0])
    assert found.slopes.value == pytest.approx([-2 / 9, -0.5])
    assert found.slopes.difference("efficacy", "performance").value == pytest.approx(0.5 - 2 / 9)
    assert self_efficacy(pd.DataFrame(rows), **QUICK).difficulty is None
    assert self_efficacy(made_up(), **QUICK).difficulty is None
