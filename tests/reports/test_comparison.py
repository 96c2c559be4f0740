"""The page of a comparison."""

import numpy as np

from psychollm.studies.comparison.study import compare


def test_the_page_holds_figure_and_tables(tmp_path) -> None:
    right = np.random.default_rng(1).random((3, 200)) < [[0.8], [0.6], [0.58]]
    found = compare(right.astype(int), rng=1)
    page = found.report(tmp_path / "report.html", source="here it comes from")
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 1
    assert text.count("<table") == 2
    assert "here it comes from" in text
    assert "Mogstad" in text
