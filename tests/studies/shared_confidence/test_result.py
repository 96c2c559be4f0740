"""What a study of shared confidence says, draws and reports."""

import json
from dataclasses import replace

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.studies.shared_confidence.page import LAYOUT
from psychollm.studies.shared_confidence.study import shared_confidence
from tests.studies.shared_confidence.conftest import FAST, small


def test_summary_fits_a_screen_and_says_that_the_data_are_simulated(result):
    text = result.summary()
    assert "SIMULATED" in text.splitlines()[0]
    assert len(text.splitlines()) <= 21  # and three of the command
    assert max(map(len, text.splitlines())) < 100
    assert "nan" not in text
    for model in ("sim-06", "sim-13"):
        assert model in text
    # Some pointwise intervals exclude zero although the adjusted test of their model does not.
    rows = [line for line in text.splitlines() if line.startswith("sim-")]
    clear = [line.split()[0] for line in rows if "[+" in line or ", -" in line]
    significant = [line.split()[0] for line in rows if line.endswith("< .001")]
    assert sorted(significant) == ["sim-06", "sim-13"]
    assert len(clear) > len(significant)
    assert "p, adjusted" in text
    assert text.endswith("Intervals are pointwise; p-values are adjusted for 19 models.")


def test_verdict_names_who_knows_more(result):
    assert result.verdict == (
        "Confidence is explained by one common factor; a second factor cannot be excluded. "
        "sim-06 and sim-13 also predict their own correctness beyond the common factor."
    )
    wide = SmallestEffects(second_share=0.05)
    assert (
        result.summary(smallest=wide)
        .splitlines()[1]
        .startswith("Verdict. Confidence is explained by one common factor. ")
    )
    said, right = small(seed=2)
    nothing = shared_confidence(said, right, rng=0, **FAST)
    assert "For all 6 models it is unclear whether" in nothing.verdict
    assert "none" not in nothing.verdict
    # In a table as large as this, what is not there is shown to be small.
    large = SmallestEffects(correlation=0.9)
    assert (
        "only negligibly (correlation below 0.9)"
        in nothing.findings(smallest=large)["own"].statement
    )


def test_tables(result):
    frame = result.to_frame()
    assert len(frame) == 19
    assert frame["model"].is_unique
    loadings = result.loadings_frame()
    np.testing.assert_allclose(loadings["loading"], result.loadings)
    assert result.verdict in repr(result)
    assert json.dumps(result.to_dict())


def test_plot_and_report(once, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    assert once.plot(figure="f_beta").axes
    with pytest.raises(OptionError, match="overview"):
        once.plot(figure="pie")
    pyplot.close("all")
    page = once.report(tmp_path / "report.html", source="# two tables")
    assert "SIMULATED" in page.read_text(encoding="utf-8")


def test_a_verdict_names_the_cut_that_it_depends_on(result):
    cut = replace(result, coding={"confidence": "stated confidence > 90", "correctness": "binary"})
    assert cut.verdict == f"When a stated confidence > 90 counts as yes, c{result.verdict[1:]}"
    told = " ".join(cut.findings().text().split())
    assert "Verdict. When a stated confidence > 90 counts as yes, confidence is explained" in told
    assert "), when a stated confidence > 90 counts as yes; psychollm" in told
    assert "counts as" not in result.verdict
    coding = {"confidence": "stated confidence > model balanced", "correctness": "score > 0.5"}
    assert replace(result, coding=coding).verdict.startswith(
        "When a stated confidence > each model's balanced cut counts as yes and a score > 0.5 "
        "counts"
    )


def test_a_mean_that_is_undefined_says_so_without_its_p_value(once) -> None:
    nothing = replace(
        once.private_signal, mean=np.nan, mean_interval=np.full(2, np.nan), mean_p=np.nan
    )
    facts = LAYOUT.facts(replace(once, private_signal=nothing), SMALLEST)
    (fact,) = (one for one in facts if one.name.startswith("Confidence and correctness beyond"))
    assert fact.value == "undefined"
    assert not fact.detail.startswith(",")
    assert "undefined" not in fact.detail
