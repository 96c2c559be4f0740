"""Tables of ordered answers: ranks, margins, cuts."""

import numpy as np

from psychollm.correlation.ordered_tables import (
    ordered_codes,
    padded_cuts,
    row_cuts,
    row_margins,
)
from psychollm.data.responses import Responses


def test_codes_are_ranks_within_their_row():
    codes, answers = ordered_codes(Responses.from_array([[1, 3, None], [0, 1, 0]]), "models")
    assert codes.tolist() == [[0, 1, -1], [0, 1, 0]]
    assert codes.dtype == np.int8
    assert answers == ((1, 3), (0, 1))


def test_margins_and_cuts():
    assert row_margins(np.array([[0, 1, 1, -1]]), np.empty(0), 2).tolist() == [[1.0, 2.0]]
    assert row_cuts(np.array([[1.0, 1.0]])).tolist() == [[-np.inf, 0.0, np.inf]]
    padded = padded_cuts(np.array([[0.5, np.nan]]))
    assert padded.tolist() == [[-np.inf, 0.5, np.inf, np.inf]]
