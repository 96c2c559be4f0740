"""What ratings and tasks come to: totals, floors, statements disowned and what is missing."""

import numpy as np

from psychollm.instruments.reading import Outcome
from psychollm.instruments.self_efficacy import Scale, SelfEfficacy


def lines(ratings):
    return "\n".join(f"{number}. {rating}" for number, rating in enumerate(ratings, 1))


def test_reversed_items_are_turned_round_in_scores_only() -> None:
    scale = Scale(name="two", items=("I cope.", "I fail."), reversed=(2,))
    asks = SelfEfficacy(
        scale=scale, conditions=("none",), n_repeats=1, followups=(), shuffle=False
    )
    found = asks.score([asks.read(asks.prompts()[0], "1. 4\n2. 1")])
    assert found.ratings.tolist() == [[4, 1]]
    assert found.scores.tolist() == [[4, 4]]
    assert found.totals.tolist() == [8]
    assert found.at_highest.tolist() == [0.5]  # of what was said
    assert found.to_frame("m")["i2"].tolist() == [4]


def test_missing_is_never_a_rating() -> None:
    asks = SelfEfficacy(conditions=("none",), n_repeats=3, followups=())
    one, two, _ = asks.prompts()
    found = asks.score({one.key: asks.read(one, lines([3] * 9)), two.key: None})
    assert np.isnan(found.totals).all()
    assert found.means[0] == 3.0
    assert np.isnan(found.means[1:]).all()
    assert np.isnan(found.at_lowest[1:]).all()
    assert found.outcomes[2] == (Outcome.FAILED,) * 10
    assert sorted(found.outcomes[0])[-1] is Outcome.UNREADABLE
    assert np.isnan(found.disowning[1:]).all()
    assert not found.floor.any()


def test_floor_ceiling_and_disowning() -> None:
    asks = SelfEfficacy(conditions=("none",), n_repeats=3, followups=())
    said = [
        lines([1] * 10) + "\nAs an AI, I don't have goals.",
        lines([4] * 10),
        lines([4] * 5 + [1] * 5),
    ]
    found = asks.score([asks.read(*pair) for pair in zip(asks.prompts(), said, strict=True)])
    assert found.floor.tolist() == [True, False, False]
    assert found.ceiling.tolist() == [False, True, False]
    assert found.at_lowest.tolist() == [1.0, 0.0, 0.5]
    assert found.disowning.tolist() == [1.0, 0.0, 0.0]
    text = found.summary()
    assert (
        "1 with the lowest possible total; 1 with the highest possible total; 1 rejecting" in text
    )


def test_tasks_refused_are_not_passed_and_tasks_unread_are_missing() -> None:
    asks = SelfEfficacy(conditions=("social",), n_repeats=1, followups=())
    tasks = [one for one in asks.prompts() if one.about["stage"] == "task"]
    said = ["I cannot help with that.", "A and B", "Answer: C"]
    found = asks.score(
        {one.key: asks.read(one, text) for one, text in zip(tasks, said, strict=False)}
    )
    correct = [one.correct for one in found.tasks]
    assert correct[0] == 0.0
    assert np.isnan(correct[1])
    assert correct[2] == 1.0
    assert np.isnan(correct[3:]).all()
    frame = found.tasks_frame("m")
    assert frame["outcome"].tolist()[0] == "refused"
    assert len(frame) == 6
