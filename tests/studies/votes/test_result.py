"""What votes show, in words."""

import psychollm as psy
from psychollm.estimates.reasons import Reason


def test_sets_without_a_common_vote_are_ranked_apart():
    rows = [("a", "b", "left"), ("b", "a", "left"), ("a", "b", "left")] * 9
    rows += [("c", "d", "left"), ("d", "c", "left")] * 5
    found = psy.bradley_terry(rows, rng=1)
    assert found.component.tolist() == [1, 1, 2, 2]
    assert found.rank_interval.max() == 2
    assert found.differences.flags.count(Reason.NOT_CONNECTED) == 4
    assert "2 sets" in found.verdict


def test_the_comment_has_a_row_for_each_model():
    won, lost = (
        [("a", "b", "left"), ("b", "a", "right")],
        [("b", "a", "left"), ("a", "b", "right")],
    )
    found = psy.bradley_terry(won * 30 + lost * 5, rng=1)
    rows = found.comment().splitlines()
    assert [row.split(" | ")[0] for row in rows if row.startswith("| ")][1:] == ["| a", "| b"]
    assert "significantly stronger than every other model" in found.verdict
