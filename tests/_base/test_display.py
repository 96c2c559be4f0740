"""What is printed of results."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.display import ROWS, SENTENCES
from psychollm._base.result import Result
from psychollm.calibration import brier
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason

# One worker makes all results.
pytestmark = pytest.mark.xdist_group("results")

# A minus before what rounds to zero, a sign before what is no number, NumPy's own words.
BADLY_PRINTED = re.compile(r"np\.|[+-]nan|\bnan\b|(?<![\d.])-0\.0*(?![\d])")


def estimate(n: int, flag: Reason = Reason.NONE) -> Estimate:
    value = np.linspace(0.25, 0.75, n)
    return Estimate(
        name="skill",
        value=value,
        se=np.full(n, 0.1),
        interval=np.stack([value - 0.2, value + 0.2], axis=1),
        n=np.full(n, 40.0),
        flags=(flag,) * n,
        method="made",
        level=0.95,
        labels=tuple(f"model-{k}" for k in range(n)) if n > 1 else ("all",),
    )


def test_every_result_prints_its_numbers(made: dict[str, list[Result]]) -> None:
    wrong = []
    for name, results in made.items():
        for result in results:
            text = str(result)
            lines = text.splitlines()
            held = [getattr(result, field.name) for field in dataclasses.fields(result)]
            empty = all(isinstance(one, tuple) and not one for one in held)
            if not re.search(r"\d|undefined|–", text) and not empty:
                wrong.append(f"{name}: no number\n{text}")
            if len(lines) > 40 or max(map(len, lines)) > 100:
                wrong.append(f"{name}: {len(lines)} lines of {max(map(len, lines))} columns")
            if BADLY_PRINTED.search(text):
                wrong.append(f"{name}: {BADLY_PRINTED.search(text)}\n{text}")
    assert not wrong, "\n".join(wrong)


def test_an_estimate_is_one_line() -> None:
    assert str(estimate(1)) == "skill 0.25 [0.05, 0.45], n = 40, made"
    assert float(estimate(1)) == 0.25
    flagged = str(estimate(1, Reason.FEW_CLUSTERS))
    assert flagged.splitlines()[0].startswith("skill 0.25 [0.05, 0.45], n = 40, few clusters")


def test_alpha_prints_as_it_is_reported() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 1)) + rng.normal(size=(40, 6))
    found = psy.reliability.alpha(scores)
    low, high = found.interval[0]
    said = f"alpha {found.value[0]:.2f} [{low:.2f}, {high:.2f}], n = 40, analytic (Feldt)"
    assert str(found) == said


def test_several_estimates_are_a_table() -> None:
    lines = str(estimate(3)).splitlines()
    assert lines[0] == "skill (made)"
    assert lines[1] == "model         value [95 %]    SE   n"
    assert lines[2] == "model-0  0.25 [0.05, 0.45]  0.10  40"
    assert len(lines) == 5


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_long_summary_is_cut_and_the_rest_is_counted(left: int) -> None:
    @dataclasses.dataclass(frozen=True, repr=False)
    class Summarised(Result):
        value: float = 0.5

        def summary(self) -> str:
            return "\n\n".join(f"line {k}" for k in range(SENTENCES + left))

    text = str(Summarised())
    assert re.findall(r"line (\d+)", text) == [str(k) for k in range(SENTENCES)]
    assert re.findall(r"has (\d+) more lines", text) == ([str(left)] if left else [])


def test_long_tables_are_cut() -> None:
    lines = str(estimate(300)).splitlines()
    assert lines[-1] == f"... {300 - ROWS} more rows; .to_frame() has all"
    assert len(lines) == ROWS + 3


def test_flags_are_said_once_in_words() -> None:
    found = dataclasses.replace(estimate(3), flags=(Reason.NONE, Reason.TOO_FEW, Reason.TOO_FEW))
    assert "* too few observations: model-1, model-2" in str(found).splitlines()


def test_a_difference_is_one_line() -> None:
    data = np.random.default_rng(1).integers(0, 2, (3, 40))
    score = brier(np.full((2, 40), 0.5), data[:2], rng=0)
    assert str(score.difference(0, 1)) == "Brier score, 0 - 1: 0.00 [0.00, 0.00], p = 1.000"


def test_a_float_of_several_values_is_refused() -> None:
    with pytest.raises(TypeError, match="this Estimate holds 3 values"):
        float(estimate(3))
    with pytest.raises(TypeError, match="holds 0 values"):
        float(psy.Responses(np.eye(2, dtype=int)))


def test_fields_of_every_kind_are_short() -> None:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
    class Made(Result):
        numbers: np.ndarray
        label: object
        inner: Estimate
        many: Estimate
        table: pd.DataFrame
        mapping: dict[str, object]
        text: str
        nothing: np.ndarray

    found = Made(
        numbers=np.array([0.125, np.nan]),
        label=(np.str_("a"), np.float64(-1e-9)),
        inner=estimate(1),
        many=estimate(3),
        table=pd.DataFrame({"x": [1]}),
        mapping={"a": np.arange(3)},
        text="x" * 200,
        nothing=np.full((2, 2), np.nan),
    )
    assert str(found).splitlines() == [
        "Made",
        "  numbers  [0.125, –]",
        "  label    ('a', -1e-09)",
        "  inner    0.25 [0.05, 0.45]",
        "  many     <skill (made): 0.25 to 0.75>",
        "  table    table(1, 1)",
        "  mapping  {'a': [0, 1, 2]}",
        f"  text     '{'x' * 81}...",
        "  nothing  array(2, 2) float64",
    ]
