"""Every study has a page: whole, self-contained, with its figures, tables and what is missing."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

import psychollm as psy
from psychollm._base.errors import OptionError
from psychollm.data import SampledAnswers
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import wilson
from psychollm.estimates.layout import Criterion, needed, span
from psychollm.estimates.reasons import Reason
from psychollm.instruments import Revision
from psychollm.reports import report_text, write_report
from psychollm.reports.sections import section
from psychollm.reports.study import layout_of
from psychollm.studies import (
    SteeredAnswers,
    abstention_skill,
    difficulty,
    metacognitive_skill,
    revision_skill,
    steering_match,
)
from psychollm.studies.inference_boundary.monitoring_link import rank_link
from tests.reports.reader import (
    assert_names_unique_and_found,
    assert_self_contained,
    read,
    without_figures,
)


@cache
def _boundary():
    rng, frames = np.random.default_rng(0), []
    rates = {"calm": (0.9, 0.8, 0.7), "inverted": (0.4, 0.7, 0.95), "<bold>": (0.9, 0.2, 0.3)}
    fails = {"A": "refusal", "B": "invented", "C": "confabulated"}
    for (model, passing), skin in ((one, two) for one in rates.items() for two in ("x", "y")):
        for kind, rate in zip("ABC", passing, strict=True):
            for world in range(20):
                for run in (1, 2):
                    ok = rng.random() < rate
                    frames.append(
                        (model, kind, f"{skin}{kind}{world}", run, "gap" if ok else fails[kind],
                         float(ok), skin, f"{kind}{world}")
                    )  # fmt: skip
    names = ["model", "type", "item", "run", "response", "score", "skin", "structure"]
    table = pd.DataFrame(frames, columns=names)
    return psy.inference_boundary(table, thinking=[("inverted", "calm")], bootstrap=50, rng=1)


@cache
def _efficacy():
    rng, rows, tasks, stance = np.random.default_rng(1), [], [], {}
    for m in range(5):
        stance[f"m{m}"] = float(m)
        for condition in ("none", "social"):
            for repeat in (1, 2):
                ratings = np.clip(np.rint(2 + 0.3 * m + rng.normal(0, 0.6, 4)), 1, 4)
                items = {f"i{i + 1}": rating for i, rating in enumerate(ratings)}
                row = {"model": f"m{m}", "condition": condition, "repeat": repeat, **items}
                rows += [{**row, "phrasing": ""}, {**row, "phrasing": "neutral"}]
        tasks += [
            {"model": f"m{m}", "condition": "social", "correct": n % 4 < m} for n in range(4)
        ]
    return psy.self_efficacy(
        pd.DataFrame(rows),
        performance=pd.DataFrame(tasks),
        measures={"assertion": stance},
        bootstrap=50,
        rng=1,
    )


@cache
def _semantic():
    rng = np.random.default_rng(2)
    chance = rng.beta(1, 1, 60)
    arms = [
        [["g" if u < p**power / (p**power + (1 - p) ** power) else "w" for u in rng.random(8)]
         for p in chance]
        for power in (1, 4)
    ]  # fmt: skip
    samples = SampledAnswers.from_array(arms, gold=["g"] * 60, models=["base", "tuned"])
    return psy.semantic_calibration(samples, bootstrap=50, n_null=49, rng=1)


@cache
def _skill():
    rng, rows = np.random.default_rng(3), []
    for model in ("a", "b"):
        for item in range(24):
            for arm in ("own", "led"):
                for category in ("self_awareness", "evaluation"):
                    code = int(rng.integers(3))
                    known = {
                        "model": model, "item": f"q{item}", "arm": arm, "category": category,
                        "structure": "well" if item % 2 else "ill", "correct": float(item % 3 > 0),
                        "tokens": 100, "spans": code, "verified": 2, "repeated": 1,
                    }  # fmt: skip
                    rows.append({**known, "coder": "judge", "code": code})
                    rows.append({**known, "coder": "rules", "code": min(2, code + item % 2)})
    return metacognitive_skill(
        pd.DataFrame(rows), coder="judge", baseline="own", structures=("well", "ill"),
        bootstrap=50, rng=1,
    )  # fmt: skip


@cache
def _abstention():
    rows = [
        {"model": model, "item": f"q{n}", "pair": f"p{n // 2}", "should_abstain": n % 2,
         "abstained": float((n * factor) % 5 < (4 if n % 2 else 1)), "correct": 1.0,
         "scenario": "stale" if n // 2 % 2 else "false premise"}
        for model, factor in (("a", 1), ("b", 3))
        for n in range(40)
    ]  # fmt: skip
    return abstention_skill(pd.DataFrame(rows), bootstrap=50, rng=1)


@cache
def _revision():
    asked = Revision(
        questions=[{"question": f"{n} + 2?", "answer": str(n + 2)} for n in range(12)]
    )
    scores = {
        model: asked.score(
            [asked.read(one, str(k % shift + 2)) for k, one in enumerate(asked.prompts())]
        )
        for model, shift in (("a", 12), ("b", 7))
    }
    return revision_skill(scores)


@cache
def _steering():
    rng = np.random.default_rng(4)
    ease, strengths = rng.normal(size=90), np.linspace(-2, 2, 9)
    steered = SteeredAnswers.from_array(
        ease + strengths[:, None], strengths=strengths, scale="log_odds"
    )
    targets = (ease + rng.normal(size=(5, 90)) > np.linspace(-1, 1, 5)[:, None]).astype(int)
    return steering_match(steered, targets, n_null=39, bootstrap=20, rng=0)


@cache
def _difficulty():
    texts = [f"What is {'7' * (1 + n % 9)} + 1?" for n in range(60)]
    return difficulty(texts, [-(n % 9) for n in range(60)], bootstrap=20, rng=0)


STUDIES = {
    "InferenceBoundary": (_boundary, 7, ("certainty", "thinking", "skins", "needed")),
    "SelfEfficacyStudy": (_efficacy, 5, ("performance", "assertion", "revision")),
    "SemanticCalibration": (_semantic, 3, ("arms", "contrasts")),
    "MetacognitiveSkill": (_skill, 5, ("prompting", "structure", "agreement", "needed")),
    "AbstentionSkill": (_abstention, 1, ("found",)),
    "RevisionSkill": (_revision, 2, ("found",)),
    "SteeringMatch": (_steering, 3, ("controls", "strengths")),
    "Difficulty": (_difficulty, 2, ("found",)),
}


@pytest.fixture(scope="module", params=STUDIES)
def page(request):
    make, figures, sections = STUDIES[request.param]
    study = make()
    assert type(study).__name__ == request.param
    return study, report_text(study, source="# mine\nx = 1", simulated=True), figures, sections


def test_a_page_is_whole(page):
    study, text, figures, sections = page
    assert_self_contained(text)
    assert_names_unique_and_found(text)
    ids = {attributes.get("id") for tag, attributes in read(text).tags if tag == "section"}
    assert {*sections, "methods"} <= ids
    assert text.count("<figure>") >= figures
    assert text.count("<table") >= 1
    words = read(without_figures(text)).text
    assert "SIMULATED" in words.upper()
    assert "# mine x = 1" in words
    assert "nan" not in words.split()
    assert layout_of(study).title in words


def test_a_page_says_what_was_found(page):
    study, text, *_ = page
    found = study.findings().verdict or "model"
    top = read(text[: text.index('class="facts"') - len("<dl ")].partition("<header>")[2]).text
    assert found.split()[-1].rstrip(".") in top


def test_a_study_without_a_layout_is_shown_by_its_findings(tmp_path):
    link = rank_link(np.arange(8.0), np.arange(8.0) % 5, tuple("abcdefgh"), rng=0)
    words = read(link.report(tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "Monitoring link" in words
    assert "It is unclear whether" in words


def test_what_is_no_study_has_no_report(tmp_path):
    with pytest.raises(OptionError, match="pass the result of a study"):
        write_report(3, tmp_path / "page.html")  # type: ignore[arg-type]


def _shares(hits, n, level=0.95):
    hits, n = np.atleast_1d(np.asarray(hits, float)), np.atleast_1d(np.asarray(n, float))
    return Estimate(
        name="share", value=hits / n, se=np.sqrt(hits / n * (1 - hits / n) / n),
        interval=wilson(hits, n, level=level), n=n, flags=(Reason.NONE,) * n.size,
        method="Wilson", level=level, labels=tuple(range(n.size)),
    )  # fmt: skip


def test_only_what_is_open_needs_more():
    shares = _shares([50, 0, 5000], [100, 100, 10_000])
    wanted = Criterion(what="half", estimate=shares, smallest=0.6)
    assert needed([wanted], "answers") is None
    centred = Estimate(
        name="difference", value=np.array([0.02, 0.5]), se=np.array([0.1, 0.01]),
        interval=np.array([[-0.2, 0.24], [0.48, 0.52]]), n=np.array([40.0, 40.0]),
        flags=(Reason.NONE,) * 2, method="z", level=0.95, labels=("open", "shown"),
    )  # fmt: skip
    finding = needed([Criterion(what="gap", estimate=centred, smallest=0.05)], "questions")
    assert finding is not None
    (table,) = section(finding).tables
    assert table.rows[0][0].text == "open"
    assert len(table.rows) == 1


def test_a_span_is_one_number_where_all_are_equal():
    assert span(_shares([5, 5], [10, 10])) == "0.50"
    assert span(_shares([1, 5], [10, 10])) == "0.10 to 0.50"


@pytest.mark.usefixtures("undrawn")
def test_the_coder_is_named_as_one():
    assert "All codes were assigned by the coder ‘judge’." in report_text(_skill())


@pytest.mark.usefixtures("undrawn")
def test_code_has_the_options_that_were_chosen():
    given = "bootstrap=9, level=0.9, rng=4"
    text = read(report_text(_abstention(), options=given)).text
    assert f"study = psy.studies.abstention_skill(answers, {given})" in text
    assert "import pandas as pd import psychollm as psy # scores" in text
