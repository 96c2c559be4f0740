"""The page is one file, well formed, and says what the study says."""

import re
from pathlib import Path

import pytest

import psychollm as psy
from psychollm._base.numbers import number, p_value, typeset, with_interval
from psychollm.reports import report_text, write_report
from psychollm.studies.shared_confidence.result import SharedConfidence
from tests.reports.reader import (
    assert_names_unique_and_found,
    assert_self_contained,
    decimals_of,
    read,
    without_figures,
)

MOST_BYTES = 2_000_000

CITED = (
    "bock",
    "bonett",
    "ferguson",
    "hamdan",
    "holm",
    "katsikatsou",
    "mantel",
    "moran",
    "pearson",
    "phipson",
    "wilson",
)


@pytest.fixture(scope="module")
def page(study_page: str) -> str:
    return study_page


@pytest.fixture(scope="module")
def awkward_page(awkward: SharedConfidence) -> str:
    return report_text(awkward)


@pytest.mark.parametrize("which", ["page", "awkward_page"])
def test_the_page_needs_nothing_from_elsewhere(which: str, request: pytest.FixtureRequest) -> None:
    assert_self_contained(request.getfixturevalue(which))


@pytest.mark.parametrize("which", ["page", "awkward_page"])
def test_names_inside_the_page_are_unique_and_found(
    which: str, request: pytest.FixtureRequest
) -> None:
    assert_names_unique_and_found(request.getfixturevalue(which))


def test_the_page_is_small(page: str) -> None:
    assert len(page.encode()) < MOST_BYTES


def test_the_verdict_stands_on_top(page: str, study: SharedConfidence) -> None:
    reader = read(page)
    below = reader.text.index("How many common factors?")
    for verdict in (study.verdict, study.dimensionality.verdict):
        assert reader.text.index(verdict[1:30]) < below


def test_simulated_data_say_so(page: str, awkward_page: str) -> None:
    assert '<p class="banner"' in page
    assert '<p class="banner"' not in awkward_page


def test_numbers_are_those_of_the_study(page: str, study: SharedConfidence) -> None:
    words = read(page).text.replace("\xa0", " ")
    between, pairs, private = study.between, study.pairwise, study.private_signal
    line = between.confidence_on_accuracy
    for value, interval, digits, signed in (
        (line.slope, line.slope_interval, 2, False),
        (pairs.pooled_difference, pairs.pooled_difference_interval, 3, True),
        (private.mean, private.mean_interval, 3, True),
    ):
        text = typeset(with_interval(value, interval, digits, signed=signed))
        assert text.replace("\xa0", " ") in words
    assert f"<b>{typeset(number(private.mean))}</b>" in page
    for i, label in enumerate(study.labels):
        assert str(label) in words
        assert number(float(study.confusion.accuracy.value[i])) in words
    assert p_value(between.spearman_p) in words
    plain = study.dimensionality.spectrum
    for k, (root, share) in enumerate(zip(plain.eigenvalues[:3], plain.shares[:3], strict=True)):
        assert f" {k + 1} {number(root)} {number(100 * share, 1)} " in words


DECIMALS = {
    **dict.fromkeys(("component", "n", "both yes", "questions", "questions now"), 0),
    **dict.fromkeys(("to detect the estimated effect", "to detect the smallest effect"), 0),
    "to show that it is negligible": 0,
    **dict.fromkeys(("proportion, %", "binary answers, %", "yes, %", "expected"), 1),
    **dict.fromkeys(("own − factor score at equal rate", "gain at equal rate"), 3),
    **dict.fromkeys(("p, shuffled", "p, one factor", "p, adjusted"), 3),
}


def test_every_column_has_its_decimals(page: str) -> None:
    shown = decimals_of(page)
    assert DECIMALS.keys() <= shown.keys()
    assert shown == {heading: {DECIMALS.get(heading, 2)} for heading in shown}


def test_figures_and_tables_are_all_there(page: str) -> None:
    assert page.count("<svg") == page.count("</svg>") == 12
    assert [int(n) for n in re.findall(r"<b>Figure (\d+)\.</b>", page)] == list(range(1, 13))
    assert sorted(re.findall(r'id="ref-(\w+)"', page)) == sorted(CITED)
    assert set(re.findall(r'href="#ref-(\w+)"', page)) == set(CITED)


def test_the_call_repeats_the_study(page: str, study: SharedConfidence) -> None:
    reader = read(page)
    assert f"rng={study.seed}" in reader.text
    code = re.search(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    assert code is not None
    compile(code[1].replace("&#39;", "'").replace("&lt;", "<"), "report", "exec")
    for version in study.versions.values():
        assert version in reader.text


def test_labels_are_escaped(awkward_page: str) -> None:
    assert "<always>" not in awkward_page
    assert "&lt;always&gt;" in awkward_page
    assert "a&b" not in awkward_page


def test_what_is_undefined_has_a_footnote(awkward_page: str) -> None:
    words = read(awkward_page).text
    assert "always says yes" in words
    assert "nan" not in without_figures(awkward_page).lower()
    assert "never wrong" in words


def test_flagged_models_are_named_with_reasons(
    awkward_page: str, awkward: SharedConfidence
) -> None:
    words = read(awkward_page).text
    assert "unusable but" in words
    for reasons in awkward.screen.reasons:
        for reason in reasons:
            assert " ".join(typeset(reason).split()) in words


def test_the_same_study_makes_the_same_page_under_any_user_settings(
    page: str, study: SharedConfidence, tmp_path: Path
) -> None:
    import matplotlib as mpl

    path = tmp_path / "new" / "page.html"
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30}):
        assert study.report(path) == path
        assert mpl.rcParams["font.size"] == 30
    assert path.read_text(encoding="utf-8") == page


@pytest.mark.usefixtures("undrawn")
def test_a_place_that_cannot_be_written_is_named(study: SharedConfidence, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(psy.errors.InputError, match="cannot be written there"):
        write_report(study, blocked / "page.html")


def test_other_results_have_no_report() -> None:
    with pytest.raises(psy.errors.OptionError, match="a int has no report"):
        write_report(3, "page.html")  # type: ignore[arg-type]
