"""What several attempts show, in words and tables."""

import pytest

import psychollm as psy
from psychollm.estimates.verdict import Outcome
from tests.studies.attempts.tables import COUNTS, counts


@pytest.fixture(scope="module")
def found():
    """One agent that nearly always works, and one that works now and then."""
    return psy.attempts(
        counts([[5] * 18 + [4] * 2, [1] * 12 + [3] * 8], 5), **COUNTS, k=(1, 3), rng=1
    )


def test_the_verdict_says_who_is_best_and_whether_it_is_shown(found):
    verdict = found.findings().verdict
    assert verdict.startswith("m0 has the highest pass^3, 0.940")
    assert verdict.endswith("It is significantly better than the other.")
    assert found.outcomes(3).outcomes == (Outcome.ABOVE,)


def test_every_table_has_its_rows(found):
    tables = found.tables()
    assert [*tables] == ["models", "pairs", "shares"]
    assert len(tables["models"]) == 8
    assert set(tables["shares"]["component"]) == {"question", "attempt", "model:question", "model"}


def test_one_model_has_no_differences():
    alone = psy.attempts(counts([[1, 2, 3] * 5], 3), **COUNTS, k=2, rng=1)
    assert alone.differences == {}
    assert alone.summary().startswith("1 model, 15 questions, 3 attempts per question.")


def test_few_clusters_show_no_difference():
    table = counts([[5] * 20, [0] * 19 + [1]], 5)
    plain = psy.attempts(table, **COUNTS, k=1, rng=1)
    few = psy.attempts(table, **COUNTS, k=1, clusters=[0] * 17 + [1, 2, 3], rng=1)
    assert plain.outcomes(1).outcomes == (Outcome.ABOVE,)
    assert few.outcomes(1).outcomes == (Outcome.OPEN,)
