"""Kuder-Richardson formulas: golden cases, their order, graded answers."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.scales.kuder_richardson import kr20, kr21
from tests.reliability.golden_cases import blocks_of, check_block


@pytest.mark.parametrize("case", ["dich_a", "dich_b"])
def test_right_and_wrong_answers(golden, case):
    by_r, by_pingouin = blocks_of(golden, case)
    frame = pd.read_csv(golden / "metacognition" / f"{case}.csv")
    known = by_r["values"]
    found, items = check_block(frame, known, by_r["tol"])
    twenty = kr20(frame, bootstrap=0)
    assert twenty.value[0] == pytest.approx(known["kr20_popvar"], abs=by_r["tol"])
    assert twenty.value[0] == found.alpha.value[0]
    assert kr21(frame, bootstrap=0).value[0] == pytest.approx(known["kr21"], abs=by_r["tol"])
    assert items.item_total == pytest.approx(known["item_total_pb"], abs=by_r["tol"])
    assert items.item_rest.value == pytest.approx(known["rest_pb"], abs=by_r["tol"])
    known, tolerance = by_pingouin["values"], by_pingouin["tol"]
    assert found.alpha.value[0] == pytest.approx(known["alpha"], abs=1e-12)
    assert found.alpha.interval[0].tolist() == pytest.approx(known["ci_feldt"], abs=tolerance)


def test_kuder_richardson_21_is_below_20():
    answers = (np.random.default_rng(3).random((30, 6)) < np.linspace(0.2, 0.9, 6)).astype(int)
    assert kr21(answers, bootstrap=0).value[0] <= kr20(answers, bootstrap=0).value[0]
    equally_hard = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0]])
    assert kr21(equally_hard).value[0] == pytest.approx(kr20(equally_hard).value[0], abs=1e-12)
    undefined = kr21([[1, 0], [0, 1], [1, 0]], bootstrap=0)
    assert np.isnan(undefined.value[0])
    assert undefined.flags == (Reason.NO_VARIANCE,)


def test_graded_answers_are_no_right_and_wrong():
    for function in (kr20, kr21):
        with pytest.raises(CodeError, match="row 1, item 0 holds 2"):
            function([[1, 0], [2, 1]])
