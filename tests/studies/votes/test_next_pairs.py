"""Which pairs to ask next."""

import psychollm as psy
from tests.studies.votes.tables import drawn


def test_next_pairs_are_pairs_of_models():
    found = psy.bradley_terry(drawn().drop(columns="worker"), n_draws=100, rng=1)
    frame = found.next_pairs(5).to_frame()
    assert len(frame) == 5
    assert (frame["left"] != frame["right"]).all()
