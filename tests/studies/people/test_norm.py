"""Models beside people of whom a published norm is known."""

import numpy as np
import pytest
from scipy import stats

from psychollm.studies.people.norm import HumanNorm
from psychollm.studies.self_efficacy.study import self_efficacy
from tests.studies.self_efficacy.test_study import QUICK, made_up, total


@pytest.mark.parametrize("n", [5, 400])
def test_models_on_average_are_a_welch_test_of_two_groups(n: int) -> None:
    frame, norm = made_up(), HumanNorm(mean=29.0, sd=5.0, n=n, source="made up")
    study = self_efficacy(frame, people=norm, **QUICK)
    own = frame.assign(total=total(frame)).groupby(["condition", "model"])["total"].mean()
    for name, part in study.people.parts.items():
        values = own[name.removeprefix("total, ")].to_numpy()
        test = stats.ttest_ind_from_stats(
            values.mean(), values.std(ddof=1), 6, 29.0, 5.0, n, equal_var=False
        )
        se = np.hypot(stats.sem(values), 5.0 / np.sqrt(n))
        found = part.average
        assert found.value[0] / found.se[0] == pytest.approx(test.statistic)
        assert found.se[0] == pytest.approx(se)
        low, _ = found.interval[0]
        df = (se**4) / (stats.sem(values) ** 4 / 5 + (25.0 / n) ** 2 / (n - 1))
        assert (values.mean() - 29.0 - low) / se == pytest.approx(stats.t.ppf(0.975, df))
        assert part.place.value == pytest.approx(stats.norm.cdf(part.score.value, 29.0, 5.0))
    assert "SD 5.00 (made up)" in " ".join(study.summary().split())


def test_a_norm_without_n_is_exact() -> None:
    study = self_efficacy(made_up(), people=HumanNorm(mean=29.0, sd=5.0), **QUICK)
    averages = [part.average.se[0] for part in study.people.parts.values()]
    assert averages == pytest.approx(study.means.se)
    assert "people score 29.0, SD 5.00" in study.people.summary()
