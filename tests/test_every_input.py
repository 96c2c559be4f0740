"""Whatever holds an array: missing is missing, in every dtype, in every public function.

NaN, None, pandas.NA and a mask are four spellings of one thing; the order of bytes is none. Tables
and columns of polars and Arrow are read as those of pandas. The test finds the public functions
and their arguments itself; an argument that may hold an array and is in no example has to be added
to `MORE`, or named in `NO_ARRAY`.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import PsychollmError
from psychollm._base.record import plain_data
from psychollm._base.types import AnyArray
from psychollm.data.responses import Responses
from tests.every_function import (
    WITHOUT_EXAMPLE,
    example_call,
    open_parameters,
    public_functions,
)

# Parameters that hold no array: options, names, texts, mappings, tables in long form, files. With
# a colon, of one function only.
_NAMES = """
among answers arms articles blocks cases categories codes commits controls counts distributions
features:difficulty features:fit_gate free items:martin_loef_test items:self_efficacy labels
keep layers levels like measures metrics missing_values model:confirmatory_factors
model:confirmatory_groups model:measurement_invariance no own:fit_gate pairs paths
people:compare people:inference_boundary people:metacognitive_skill people:self_efficacy
people:abstention_skill people:revision_skill path prompts performance points
question replicates:loading_errors residual_pairs solution:factor_scores
steered target:smooth task texts thinking threshold:read_responses tokenizer traces units unsure
weights:rate_contrast yes first:set_difference second:set_difference interval:outcome
clusters:benchmark_agreement judge:judged_scores votes:bradley_terry covariates:bradley_terry
models:predict_answers models:contrast_arms questions:predict_answers groups:common_loadings
scores:compare_arms half_widths designs sizes:replay share:time_horizon cutoff:recency_break
attempts:evaluation_card
"""
NO_ARRAY = set(_NAMES.split())
PER_QUESTION = {"clusters", "groups", "respondents", "by", "keys", "weights"}
# Tables whose columns name something in the result.
NAMING = {"dimensions"}
# Runs of seconds: what their arrays go through is what those of the others go through.
SLOW = {
    "shared_confidence",
    "shared_confidence_by",
    "studies.fit_gate",
    "semantic_calibration",
    "dimensionality",
}
# Which axis of a function's first argument holds the questions, where it is not the last.
_QUESTIONS = {
    **dict.fromkeys(("fleiss_kappa", "gwet_ac1", "krippendorff_alpha", "percent_agreement"), 0),
    **dict.fromkeys(("response_shares", "class_shares", "early_exit", "probe_transfer"), 0),
    **dict.fromkeys(("state_probe", "difficulty", "fit_gate", "predicted_correctness"), 0),
    "question_audit": 0,
    "rater_severity": 0,
    "attempts": 1,
    **dict.fromkeys(("answer_variance", "semantic_calibration", "semantic_entropy"), 1),
    **dict.fromkeys(("crossed_logistic", "evaluation_card"), 1),
}

_RNG = np.random.default_rng(0)
_YES = (_RNG.normal(size=400) + _RNG.normal(size=(6, 400)) > 0).astype(np.int64)

# Arrays that examples leave out. One label or weight per question is made to fit (`per_question`).
MORE: dict[str, dict[str, Any]] = {
    "crossed_logistic": {"families": list("aabbccdd"), "domains": ["x", "y"] * 50},
    "attempts": {"families": ["x", "y"]},
    "bradley_terry": {
        "voter": [f"v{i % 12}" for i in range(600)],
        "kind": ["person", "judge"] * 300,
        "prompt": [f"p{i % 7}" for i in range(600)],
    },
    "stitch_benchmarks": {
        "n": np.full((12, 8), 100.0),
        "optimized": (np.arange(96).reshape(12, 8) % 2 == 0),
        "date": np.linspace(2020.0, 2025.0, 12),
    },
    "rater_severity": {"time": np.arange(120), "group": ["x", "y"] * 60},
    "time_horizon": {"families": ["x", "y"] * 50, "dates": ["2024-01-01", "2024-06-01"]},
    "recency_break": {"families": list("aabbcd")},
    "compare": {"tasks": ["x", "y"] * 200},
    "evaluation_card": {
        "scores": (_RNG.random((6, 60, 2)) < _RNG.random((6, 60, 1))).astype(float),
        "families": list("aabbcc"),
        "domains": ["x", "y"] * 30,
        "confidence": _RNG.random((6, 60)),
        "human_labels": (_RNG.random((6, 60)) < 0.5).astype(float),
    },
    "judged_scores": {"families": ["x", "y"], "probability": np.full(400, 0.15)},
    "question_audit": {"families": list("aabbccddeeff")},
    "question_screen": {"families": list("abcdefghij") * 4},
    "item_bank": {"families": list("aabbccddee"), "domains": ["x", "y"] * 25},
    "bayesian_2pl": {"families": ["a", "b"] * 200, "domains": ["x", "x", "y", "y"]},
    "calibration.abstention": {"correctness": [[1, 1, 0, 1, 0]]},
    "calibration.abstention_by": {"correctness": [[1, 0, 1]]},
    "calibration.gaussian_meta_information": {"prior": [1.0, 0.9, 0.8]},
    "calibration.individuation": {"scores": _RNG.random((5, 200))},
    "calibration.pairwise_calibration": {"scores": [0.5, 0.2, 0.9]},
    "confirmatory_factors": {"covariance": np.diag([0.001] * 10), "n": 400},
    "data.simulate_meta_d": {
        "criterion": [0.1, 0.2],
        "distances": [0.3, 0.6],
        "m_ratio": [1, 0.8],
    },
    "difficulty": {"groups": ["a", "b", "c", "d"] * 50},
    "estimates.max_t": {"df": [20.0] * 10},
    "estimates.paired_difference": {"first_only": [4, 8], "second_only": [2, 7], "n": [50, 60]},
    "estimates.wilson": {"successes": [8, 2], "n": [10, 9], "df": [9.0, 8.0]},
    "estimates.proportion": {"successes": np.array([3.0]), "n": np.array([9.0])},
    "factor.extract": {"matrix": np.full((6, 6), 0.5) + 0.5 * np.eye(6)},
    "factor.factor_scores": {"data": _YES, "thresholds": [0.0] * 6, "method": "eap"},
    "factor.loading_errors": {"covariance": np.eye(28) * 0.001, "replicates": None},
    "factor.pair_residuals": {
        "loadings": [0.5] * 19,
        "lower": [0.01] * 19,
        "upper": [0.98] * 19,
    },
    "factor.rotate": {"loadings": [[0.8, 0.2], [0.7, 0.1], [0.2, 0.9], [0.1, 0.6]]},
    "factor_analysis": {
        "correlation": np.full((6, 6), 0.5) + 0.5 * np.eye(6),
        "n_factors": 1,
        "n": 400,
        "weights": np.ones((6, 6)),
        "covariance": 0.001 * np.eye(15),
        "method": "dwls",
    },
    "irt.adaptive_test": {"abilities": [-1.0, 0.0, 1.0]},
    "irt.andersen_test": {"split": ["a", "b"] * 300},
    "irt.known_items": {"guessing": [0.2, 0.1, 0.2], "upper": [0.9, 1.0, 0.95]},
    "irt.item_slopes": {"factor_correlation": [[1.0]]},
    "fit_irt": {"families": ["a", "b"] * 143},
    "irt.short_form": {"families": ["a", "b", "c", "d", "e"] * 8},
    "reliability.grim": {"n": [90, 90, 90, 90]},
    "reliability.kruskal_wallis": {"models": list("xyzxyz")},
    "reliability.mcnemar": {"first_only": [10, 3], "second_only": [4, 3]},
    "reliability.omega_of_loadings": {"correlation": np.full((3, 3), 0.4) + 0.6 * np.eye(3)},
    "reliability.score_differences": {"tasks": ["x", "y"] * 30},
    "simulate_factor": {"factor_correlation": [[1.0]], "missing": np.zeros((2, 500), dtype=bool)},
    "one_factor_null": {"loadings": [0.5] * 19},
    "question_scores": {
        "loadings": [0.5] * 9,
        "thresholds": [0.0] * 9,
        "lower": [0.01] * 9,
        "upper": [0.98] * 9,
    },
    "studies.private_signal": {"lower": [0.01] * 3, "upper": [0.98] * 3},
    "reliability.cohen_kappa": {"weights": [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]},
    "reliability.item_statistics": {"keys": None},
    "smooth": {"weights": np.ones((3, 3)), "method": "weighted"},
    "steering_match": {"thresholds": [0.0] * 6},
    "studies.fit_gate": {"scores": [0.5] * 200},
    "tetrachoric_table": {"n11": [40, 30], "n10": [10, 9], "n01": [10, 8], "n00": [40, 50]},
}


def thinned(value: Any) -> Any:
    """Return a few hundred of thousands of rows or columns: how they are read shows in those."""
    if isinstance(value, Responses):
        return value.select(questions=value.questions[:: step(value.n_questions)])
    if isinstance(value, np.ndarray):
        return value[tuple(slice(None, None, step(n)) for n in value.shape)]
    return value[:: step(len(value))] if isinstance(value, list) else value


def step(n: int) -> int:
    return n // 300 | 1  # odd: labels may take turns


def arrays_of(name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the arguments of an example call, and those of them that are arrays."""
    call = {**example_call(name), **MORE.get(name, {})}
    call = {parameter: thinned(value) for parameter, value in call.items()}
    if np.ndim(call.get("ratings", 0)) == 2:  # vectors of runs, which are the columns of a table
        call["ratings"] = np.array(call["ratings"]).T
    missing, arrays = [], {}
    for parameter in open_parameters(name):
        if {parameter, f"{parameter}:{name.rpartition('.')[2]}"} & NO_ARRAY:
            continue
        value = call.get(parameter)
        if value is None and parameter in PER_QUESTION:
            value = per_question(name, parameter, call)
        value = value.values if isinstance(value, Responses) else getattr(value, "matrix", value)
        if value is None or not np.ndim(value):
            missing.append(parameter)
            continue
        array = np.array(value)
        arrays[parameter] = array if array.dtype.kind in "biuf" else np.array(value, dtype=object)
    assert not missing, f"add an array for {missing} of {name} to MORE, or name it in NO_ARRAY"
    return call, arrays


def per_question(name: str, parameter: str, call: dict[str, Any]) -> Any:
    """Return one label or one weight for each question, or row, of an example."""
    axis = {"respondents": 0, "by": 0, "keys": -1}.get(parameter)
    if axis is None:
        axis = _QUESTIONS.get(name.rpartition(".")[2], -1)
    first = next(one for one in call.values() if one is not None)
    n = np.shape(getattr(first, "codes", first))[axis]
    if parameter in {"clusters", "groups", "respondents"}:
        return [f"c{i // 2}" for i in range(n)]
    if parameter == "by":
        return ["here"] * n
    return np.where(np.arange(n) % 2, 1, 2 if parameter == "weights" else -1)


def outcome(name: str, call: dict[str, Any]) -> tuple[str, Any]:
    """Return what a call gives in plain values, or the message with which it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "result", plain_data(public_functions()[name](**call))
        except PsychollmError as error:
            return type(error).__name__, str(error)


def with_one_missing(array: AnyArray, at: int) -> dict[str, Any]:
    """Return one table in every spelling of the same missing value."""
    cell = np.unravel_index(at, array.shape)
    nan = array.astype(np.float64 if array.dtype.kind in "biuf" else object)
    nan[cell] = np.nan
    none, na = array.astype(object), array.astype(object)
    none[cell], na[cell] = None, pd.NA
    under = array.copy()  # a mask hides a value that could be one
    under[cell] = array.flat[0] if array.flat[0] != array[cell] else array.flat[-1]
    mask = np.zeros(array.shape, dtype=np.bool_)
    mask[cell] = True
    return {
        "NaN": nan,
        "None": none.tolist(),
        "mask": np.ma.array(under, mask=mask),
        "pandas.NA": nullable(na),
    }


def with_none_missing(array: AnyArray, _: int) -> dict[str, Any]:
    """Return one table as arrays, lists and frames that hold the same values."""
    forms: dict[str, Any] = {"list": array.tolist(), "nullable": nullable(array)}
    if array.dtype.kind in "iuf":
        forms["big-endian"] = array.astype(array.dtype.newbyteorder(">"))
    return forms


def in_other_libraries(array: AnyArray, at: int) -> dict[str, Any]:
    """Return one table as pandas, polars and Arrow hold it, with a missing value."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    if array.ndim > 2:
        return {"array": array}
    cells = array.astype(object)
    cells.flat[at] = None
    if array.ndim == 1:
        return {
            "pandas": pd.Series(cells).convert_dtypes(),
            "polars": polars.Series(cells.tolist(), strict=False),
            "Arrow": pyarrow.array(cells.tolist()),
        }
    columns = {f"column {k}": column.tolist() for k, column in enumerate(cells.T)}
    return {
        "pandas": pd.DataFrame(columns).convert_dtypes(),
        "polars": polars.DataFrame(columns, strict=False),
        "Arrow": pyarrow.table(columns),
    }


def nullable(array: AnyArray) -> Any:
    """Return a Series or DataFrame of nullable columns; more dimensions as they are."""
    if array.ndim > 2:
        return array
    return (pd.Series if array.ndim == 1 else pd.DataFrame)(array).convert_dtypes()


def read_alike(name: str, call: dict[str, Any], forms: dict[str, dict[str, Any]]) -> bool:
    """Whether a call gives the same where each of its arguments takes one form after the other.

    False too where all of them are refused: the refusal of one argument may hide another.
    """
    first = None
    for turn in range(max(map(len, forms.values()), default=0)):
        changed = {
            parameter: list(one.values())[turn % len(one)] for parameter, one in forms.items()
        }
        found = outcome(name, {**call, **changed})
        first = first or found
        if found != first or found[0] != "result":
            return False
    return True


def read_differently(
    name: str, call: dict[str, Any], forms: dict[str, dict[str, Any]]
) -> list[str]:
    """Return the arguments and their forms with which a call gives something else.

    All arguments change form together where none of them is refused, and one after the other only
    where that makes a difference.
    """
    if read_alike(name, call, forms):
        return []
    first = {
        parameter: outcome(name, {**call, parameter: next(iter(one.values()))})
        for parameter, one in forms.items()
    }
    taken = {parameter for parameter in forms if first[parameter][0] == "result"}
    together = {parameter: forms[parameter] for parameter in taken}
    alike = 1 < len(taken) < len(forms) and read_alike(name, call, together)
    differing = []
    for parameter in set(forms) - taken if alike else forms:
        for form, value in [*forms[parameter].items()][1:]:
            one = outcome(name, {**call, parameter: value})
            if one != first[parameter]:
                told = f"{parameter} as {form}: {str(one)[:300]}"
                differing.append(f"{told}\n      not {str(first[parameter])[:300]}")
    return differing


@pytest.mark.parametrize("name", sorted(set(public_functions()) - WITHOUT_EXAMPLE - SLOW))
@pytest.mark.parametrize("spell", [with_one_missing, with_none_missing, in_other_libraries])
def test_every_form_of_an_array_is_the_same(
    name: str, spell: Callable[[AnyArray, int], dict[str, Any]]
) -> None:
    try:
        call, arrays = arrays_of(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    # A source of answers is a file or a table with names, and never an array.
    arrays.pop("source", None)
    # Each has a missing value in a place of its own: no argument hides how another is read.
    forms = {
        parameter: spell(array, (array.size // 2 + k) % array.size)
        for k, (parameter, array) in enumerate(arrays.items())
    }
    for form in {"list", "None"} & set(forms.get("ratings", ())):
        if arrays["ratings"].ndim == 2:  # lists are runs
            forms["ratings"][form] = list(zip(*forms["ratings"][form], strict=True))
    for parameter in NAMING & set(forms):
        forms[parameter].pop("nullable", None)
    differing = read_differently(name, call, forms)
    assert not differing, "\n".join(differing)
