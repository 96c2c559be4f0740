"""The page of an audit of questions, and its figure."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from psychollm.plots import plot_question_audit
from psychollm.studies.question_audit.study import QuestionAudit, question_audit
from tests.studies.question_audit.test_study import drawn


@pytest.fixture(scope="module")
def audit() -> QuestionAudit:
    """Two groups, with a column of keys that slipped in the second."""
    choices, key, _ = drawn(400, share=0.0, seed=5)
    labels = [f"{'ab'[i // 200]}/{i}" for i in range(400)]
    choices.index = key.index = labels
    slipped = key.copy()
    slipped.iloc[250:280] = key.iloc[249:279].to_numpy()
    return question_audit(choices, slipped, rng=1)


def test_the_page_names_the_worst_and_what_was_done(audit, tmp_path) -> None:
    texts = {"b/260": "x" * 1000}
    page = audit.report(tmp_path / "report.html", texts=texts, fdr=0.5, source="from here")
    text = page.read_text(encoding="utf-8")
    named = audit.flagged(0.5, fault="any")
    assert all(str(label) in text for label in named)
    assert text.count("<svg") == 1
    assert "from here" in text
    assert "Dawid" in text
    assert "x" * 400 + " ..." in text
    assert "x" * 401 not in text


def test_the_figure_shows_stretches_and_suspects(audit) -> None:
    ax = plot_question_audit(audit, ax=Figure().subplots())
    ((first, _),) = audit.stretches()
    assert [one.get_text() for one in ax.texts] == [audit.labels[first]]
    drawn_at = np.concatenate([line.get_xdata() for line in ax.lines])
    assert sorted(drawn_at) == np.flatnonzero(audit.p_flawed >= 0.05).tolist()
