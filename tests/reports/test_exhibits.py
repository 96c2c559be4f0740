"""Every finding brings what shows it, and every point of a figure answers."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

import psychollm as psy
from psychollm.estimates.exhibits import Drawing, Listing
from psychollm.estimates.findings import Finding, Findings
from psychollm.estimates.listing import Table, text_column
from psychollm.instruments import RuleWorld
from psychollm.plots.marks import Mark, marks_of
from psychollm.reports.figure import drawn_by
from psychollm.reports.sections import section
from psychollm.studies import compare_arms, fit_gate
from tests.reports.test_studies import STUDIES

_ROOT = Path(psy.__file__).parent


def _comparison() -> Any:
    right = np.random.default_rng(1).random((5, 200)) < np.linspace(0.8, 0.4, 5)[:, None]
    return psy.compare(right.astype(int), rng=1)


def _agreement() -> Any:
    rng = np.random.default_rng(1)
    able = np.stack([np.linspace(-1.5, 1.5, 8), np.linspace(1.5, -1.5, 8)])[:, :, None]
    return psy.benchmark_agreement(*(rng.random((2, 8, 200)) < 1 / (1 + np.exp(-able))), rng=1)


def _arms() -> Any:
    world = RuleWorld(n=(20, 20), types=("A", "C"), seed=1)
    rng = np.random.default_rng(1)

    def said(share: float) -> Any:
        texts = [f"Answer: {'AB'[int(rng.random() < share)]}" for _ in world.prompts()]
        return world.score([world.read(*one) for one in zip(world.prompts(), texts, strict=True)])

    scores = {
        arm: {name: said(share) for name in "abc"} for arm, share in (("x", 0.3), ("y", 0.7))
    }
    return compare_arms(scores, "rule_world", bootstrap=50, rng=0)


def _by_groups() -> Any:
    rng = np.random.default_rng(2)
    said = (0.9 * rng.normal(size=400) + 0.5 * rng.normal(size=(6, 400)) > 0).astype(int)
    right = (rng.random(said.shape) < 0.4 + 0.3 * said).astype(int)
    groups = np.repeat(["facts", "code"], 200)
    return psy.shared_confidence_by(said, right, groups, n_null=19, bootstrap=20, rng=1)


def _votes() -> Any:
    rng = np.random.default_rng(0)
    sides = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")] * 20
    won = rng.choice(["left", "right", "tie"], len(sides), p=[0.5, 0.3, 0.2])
    return psy.bradley_terry([(*pair, one) for pair, one in zip(sides, won, strict=True)], rng=1)


def _attempts() -> Any:
    rng = np.random.default_rng(1)
    tries = rng.random((3, 30, 4)) < np.array([0.8, 0.5, 0.4])[:, None, None]
    return psy.attempts(tries.astype(int), k=(1, 3), rng=1)


def _stitched() -> Any:
    rng = np.random.default_rng(1)
    able, hard = rng.normal(size=(20, 1)), np.linspace(-1, 1, 6)
    scores = 1 / (1 + np.exp(hard - able)) + rng.normal(0, 0.03, (20, 6))
    return psy.stitch_benchmarks(scores.clip(0, 1), rng=1)


def _raters() -> Any:
    rng = np.random.default_rng(3)
    quality, family = rng.normal(size=90), np.repeat(["x", "y"], 45)
    table = (rng.normal(size=(90, 4)) + quality[:, None]).round().clip(-1, 1)
    return psy.rater_severity(table, time=np.arange(90), group=family, rng=1)


def _horizons() -> Any:
    rng = np.random.default_rng(1)
    odds = np.arange(4)[:, None] - np.linspace(-2, 5, 40) + rng.normal(size=40)
    solved = (rng.random((4, 40)) < 1 / (1 + np.exp(-odds))).astype(int)
    dates = [f"202{year}-01-01" for year in range(4)]
    return psy.time_horizon(solved, 2.0 ** np.linspace(-2, 5, 40), dates=dates)


def _recency() -> Any:
    rng = np.random.default_rng(1)
    days = [f"2024-{1 + day // 28:02}-{1 + day % 28:02}" for day in range(60)]
    scores = rng.random((4, 60)) < 0.5
    return psy.recency_break(scores, published=days, cutoff="2024-02-01", n_null=19, rng=1)


def _card() -> Any:
    rng = np.random.default_rng(1)
    right = (rng.random((5, 200)) < np.linspace(0.8, 0.4, 5)[:, None]).astype(int)
    return psy.evaluation_card(right, confidence=rng.random((5, 200)), rng=1)


def _judged() -> Any:
    rng = np.random.default_rng(1)
    truth = (rng.random((5, 200)) < np.linspace(0.8, 0.4, 5)[:, None]).astype(float)
    judges = {name: np.where(rng.random(truth.shape) < 0.1, 1 - truth, truth) for name in "ab"}
    people = np.where(np.arange(200) < 50, truth, np.nan)
    return psy.judged_scores(judges, people, families=list("xxyyy"), rng=1)


def _audit() -> Any:
    chosen = np.array([list("AAAA"), list("BBBB"), list("CCCC"), list("AABA")])
    return psy.question_audit(chosen, list("ABDA"), rng=1)


def _panel() -> Any:
    rng = np.random.default_rng(5)
    said = np.round(rng.beta(4, 2, (5, 60)), 1)
    right = (rng.random(said.shape) < said).astype(float)
    said[3] = np.nan
    return psy.calibration_panel(said, right, rng=0, bootstrap=20)


def _gate() -> Any:
    rng = np.random.default_rng(0)
    digits = rng.integers(1, 9, 120)
    texts = [f"What is {'7' * n} + 1?" for n in digits]
    right = (rng.random(120) < 1 / (1 + np.exp(digits - 4.5))).astype(float)
    own = (rng.random(120) < 0.3 + 0.4 * right).astype(float)
    options = {"n_folds": 5, "bootstrap": 20, "rng": 0}
    return fit_gate(texts, right, risk=0.3, scores=-digits, own=own, **options)


def _confidence_gate() -> Any:
    rng = np.random.default_rng(0)
    said = rng.choice([0.5, 0.7, 0.9, 1.0], (2, 200))
    right = (rng.random(said.shape) < said).astype(int)
    groups = np.repeat(["facts", "code"], 100)
    return psy.calibration.confidence_gate(said, right, groups=groups)


MADE: dict[str, Callable[[], Any]] = {
    "ArmStudy": _arms,
    "Attempts": _attempts,
    "BradleyTerry": _votes,
    **{name: make for name, (make, *_) in STUDIES.items()},
    "BenchmarkAgreement": _agreement,
    "TimeHorizon": _horizons,
    "RecencyBreak": _recency,
    "Comparison": _comparison,
    "ConfidenceGate": _confidence_gate,
    "EvaluationCard": _card,
    "JudgedScores": _judged,
    "QuestionAudit": _audit,
    "RaterSeverity": _raters,
    "CalibrationPanel": _panel,
    "GateFit": _gate,
    "SharedByGroups": _by_groups,
    "StitchedBenchmarks": _stitched,
}


def _pages() -> list[str]:
    """Return the names of all results that have a page of their own."""
    files = sorted(_ROOT.rglob("page.py"))
    names = [".".join(one.relative_to(_ROOT).with_suffix("").parts) for one in files]
    made = [import_module(f"psychollm.{name}") for name in names]
    homes = [module for module in made if hasattr(module, "PAGES")]
    return sorted(name for module in homes for name in module.PAGES)


PAGES = _pages()


def test_every_page_is_tried() -> None:
    assert {*MADE, "SharedConfidence"} == set(PAGES)


@pytest.fixture(scope="module", params=PAGES)
def found(request: pytest.FixtureRequest) -> Findings:
    """Return the findings of every kind of result that has a page of its own."""
    if request.param == "SharedConfidence":
        study = request.getfixturevalue("study")
    else:
        study = MADE[request.param]()
    findings: Findings = study.findings()
    return findings


def drawings_of(found: Findings) -> Iterator[Drawing]:
    for finding in found:
        yield from (one for one in finding.exhibits if isinstance(one, Drawing))


@pytest.fixture(scope="module")
def figures(found: Findings) -> list[tuple[str, Figure]]:
    """Return the figures of the findings, with the keys of their drawings."""
    return [(one.key, drawn_by(one)) for one in drawings_of(found)]


def test_findings_have_exhibits_that_draw(
    found: Findings, figures: list[tuple[str, Figure]]
) -> None:
    assert len({key for key, _ in figures}) == len(figures) > 0
    assert all(figure.axes for _, figure in figures)
    listings = [one for item in found for one in item.exhibits if isinstance(one, Listing)]
    tables = [table for one in listings if (table := one.table()) is not None]
    assert all(isinstance(table, Table) and table.rows for table in tables)
    assert tables


def test_exhibits_are_no_part_of_the_data(found: Findings) -> None:
    assert all("exhibits" not in item for item in found.to_dict()["items"])


def test_no_point_of_a_figure_is_without_a_mark(figures: list[tuple[str, Figure]]) -> None:
    n = 0
    for key, figure in figures:
        for ax in figure.axes:
            marks = marks_of(ax)
            for point in points_of(ax):
                assert any(_holds(mark, point) for mark in marks), (key, point)
                n += 1
            assert all(mark.text and "nan" not in mark.text.split() for mark in marks)
    assert n > 0


def points_of(ax: Axes) -> Iterator[tuple[float, float]]:
    """Yield the places of all symbols in the units of the axes; of legends there are none."""
    for line in ax.lines:
        if str(line.get_marker()) not in {"None", "none", "", " "}:
            yield from _finite(np.column_stack(line.get_data()))
    for one in ax.collections:
        if isinstance(one, PathCollection):
            yield from _finite(np.ma.filled(one.get_offsets(), np.nan))


def _finite(at: np.ndarray) -> Iterator[tuple[float, float]]:
    at = np.asarray(at, dtype=np.float64)
    yield from (tuple(pair) for pair in at[np.isfinite(at).all(axis=1)].tolist())


def _holds(mark: Mark, point: tuple[float, float]) -> bool:
    low, high = mark.at.min(axis=0) - 1e-9, mark.at.max(axis=0) + 1e-9
    inside = (low <= point) & (point <= high)
    return bool(inside[1] if mark.shape == "row" else inside.all())


@pytest.mark.parametrize(("instead", "kept"), [(True, False), (False, True)])
def test_a_table_may_stand_instead_of_the_rows(*, instead: bool, kept: bool) -> None:
    table = Table.of([text_column("m", ["a"])], caption="t")
    listing = Listing(table=lambda: table, folded=True, instead=instead)
    shown = section(Finding(question="Q?", rows=("a: 1",), exhibits=(listing,)))
    assert ("<li>a: 1</li>" in shown.body) is kept
    assert (shown.title, shown.tables, shown.folded) == ("Q?", (), (table,))
    empty = Listing(table=lambda: None, instead=True)  # nothing is listed: the rows stay
    assert "<li>" in section(Finding(rows=("a: 1",), exhibits=(empty,))).body


def test_what_no_model_has_is_not_drawn() -> None:
    from psychollm.calibration.decisions.confusion import confusion
    from psychollm.estimates.exhibits import forest, listing

    never = confusion([[0, 0]], [[1, 0]]).precision
    words = {"key": "k", "title": "t", "caption": "c", "x": "x"}
    assert forest({"precision": never}, **words) is None
    assert forest({}, **words) is None
    assert listing({}, "c").table() is None
    table = listing({"precision": never}, "c").table()
    assert table is not None
    assert table.footnotes == (("a", "never says yes"),)
