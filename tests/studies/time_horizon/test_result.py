"""What time horizons show: the table, the page."""

import numpy as np
import pytest

import psychollm as psy
from tests.studies.time_horizon.horizons import drawn


@pytest.fixture(scope="module")
def agents():
    """Eight agents, 120 tasks, and their horizons."""
    solved, minutes, horizon = drawn(np.random.default_rng(4))
    return solved, minutes, horizon, psy.time_horizon(solved, minutes, rng=1)


def test_the_frame_has_the_columns_that_programs_read(agents):
    frame = agents[3].to_frame()
    assert [*frame] == ["model", "share", "definition", "minutes", "lower", "upper", "flag"]
    assert set(frame["definition"]) == {"all tasks", "typical task"}
    assert len(frame) == 8 * 2 * 2
    assert frame["minutes"].between(frame["lower"], frame["upper"]).all()


def test_an_undefined_horizon_is_not_called_the_longest():
    minutes = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0])
    partly = [1, 1, 0, 1, 0, 0, 0, 0]
    solved = np.array([[1] * 8, partly, [0] * 8])
    found = psy.time_horizon(solved, minutes, share=(0.5,), rng=1)
    assert np.isnan(found.all_tasks[0].value[[0, 2]]).all()
    assert found.findings().verdict.startswith("1 has the longest 50 % horizon: ")
    assert found.findings().verdict.endswith(" The horizon of 0 and 2 is undefined.")
    none = psy.time_horizon(solved[[0, 2]], minutes, share=(0.5,), rng=1)
    assert none.findings().verdict == "No 50 % horizon over all tasks can be estimated."


def test_the_page_shows_both_definitions(agents, tmp_path):
    path = tmp_path / "page.html"
    psy.time_horizon(*agents[:2], dates=[f"{2018 + m}-01-01" for m in range(8)]).report(path)
    page = path.read_text(encoding="utf-8")
    assert "How long are the tasks that models can solve?" in page
    assert "typical task" in page
    assert "Horizons by release date" in page
