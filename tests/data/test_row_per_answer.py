"""Data frames with a row per answer, where a table of models x questions is expected."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError

RIGHT = (np.random.default_rng(0).random((8, 40)) < 0.6).astype(int)
LONG = pd.DataFrame(
    [
        (model, f"q{column}", RIGHT[row, column], 2.5)
        for row, model in enumerate("abcdefgh")
        for column in range(40)
    ],
    columns=["model", "question", "correct", "seconds"],
)
OWN_NAMES = LONG.drop(columns="seconds").set_axis(["maker", "case", "hit"], axis=1)
ONE = {
    "Responses": psy.Responses,
    "align": lambda table: psy.data.align(table, table),
    "alpha": psy.reliability.alpha,
    "attempts": psy.attempts,
    "compare": psy.compare,
    "conditional_rasch": psy.irt.conditional_rasch,
    "consistency": psy.reliability.consistency,
    "evaluation_card": psy.evaluation_card,
    "fit_irt": psy.fit_irt,
    "intraclass": psy.reliability.intraclass,
    "item_bank": psy.item_bank,
    "item_statistics": psy.reliability.item_statistics,
    "judged_scores": lambda table: psy.judged_scores(table, table),
    "mean_score": psy.reliability.mean_score,
    "omega": psy.reliability.omega,
    "predict_answers": psy.predict_answers,
    "question_screen": psy.question_screen,
    "retention": psy.retention,
    "score_differences": psy.reliability.score_differences,
    "stitch_benchmarks": psy.stitch_benchmarks,
    "tetrachoric": psy.tetrachoric,
    "validity_screen": psy.validity_screen,
    "auroc": lambda table: psy.calibration.auroc(table, table),
    "brier": lambda table: psy.calibration.brier(table, table),
    "shared_confidence": lambda table: psy.shared_confidence(table, table),
    "time_horizon": lambda table: psy.time_horizon(table, np.arange(1, 41)),
}


@pytest.mark.parametrize("name", ONE)
def test_an_unknown_table_of_answers_names_the_remedy(name: str) -> None:
    with pytest.raises(CodeError) as told:
        ONE[name](OWN_NAMES)
    remedy = "if each row is one answer, pass table.pivot(index='maker', columns='case', values="
    assert remedy in str(told.value)


@pytest.mark.parametrize("name", ["alpha", "consistency", "item_statistics"])
def test_scales_take_a_row_per_answer(name: str) -> None:
    wide = pd.DataFrame(RIGHT, list("abcdefgh"), [f"q{column}" for column in range(40)])
    np.testing.assert_equal(str(ONE[name](LONG)), str(ONE[name](wide)))


def test_other_tables_of_words_keep_their_advice() -> None:
    words = pd.DataFrame({"q1": ["yes", "no"], "q2": ["no", "no"]}, index=["a", "b"])
    with pytest.raises(CodeError, match="answers in words need codes="):
        psy.Responses(words)


def test_an_audit_takes_a_row_per_answer() -> None:
    options = LONG.assign(response=np.where(LONG["correct"] == 1, "A", "B"))
    options = options.drop(columns=["correct", "seconds"])
    audit = psy.question_audit(options, {f"q{column}": "A" for column in range(40)}, rng=1)
    assert (audit.n_models, audit.labels[0]) == (8, "q0")


@pytest.mark.parametrize("function", [psy.spectrum, psy.smooth])
def test_a_matrix_is_not_a_table_of_answers(function) -> None:
    with pytest.raises(InputError, match="is a table of answers: correlate them first"):
        function(LONG)


def test_texts_are_not_a_data_frame() -> None:
    with pytest.raises(InputError, match="texts is a DataFrame: pass a list of questions"):
        psy.difficulty(LONG, LONG)


STATED = LONG.assign(confidence=np.linspace(0.1, 0.9, len(LONG))).drop(columns="seconds")
WIDE = {"index": "model", "columns": "question", "values": "confidence"}


@pytest.mark.parametrize(
    ("frame", "index"),
    [(STATED, "model"), (STATED[::2], "model"), (STATED.rename(columns={"model": "m"}), "m")],
)
def test_one_frame_of_confidence_and_correctness_names_the_remedy(frame, index) -> None:
    remedy = f"if each row is one answer, pass table.pivot(index='{index}', columns='question', "
    with pytest.raises(OptionError, match="once for the confidence and once for") as told:
        psy.calibration.calibration_panel(frame)
    assert str(told.value).startswith(f"correctness is missing: {remedy}")
    with pytest.raises(OptionError, match="pass a second table, or the result of scan_stated"):
        psy.calibration.calibration_panel(STATED.pivot_table(**WIDE))


def test_a_column_named_like_the_argument_holds_its_values() -> None:
    wide = STATED.pivot_table(**WIDE), STATED.pivot_table(**WIDE | {"values": "correct"})
    both = psy.calibration.brier(STATED, STATED, bootstrap=0)
    np.testing.assert_allclose(both.value, psy.calibration.brier(*wide, bootstrap=0).value)


def test_a_series_with_several_models_is_an_error() -> None:
    indexed = STATED.set_index(["model", "question"])
    pair = indexed["confidence"], indexed["correct"]
    with pytest.raises(LabelError, match=r"'model'.*pass .* confidence.unstack\('question'\)"):
        psy.calibration.brier(*pair)
    with pytest.raises(LabelError, match=r"If each row is one answer, pass table\.pivot"):
        psy.calibration.brier(*(one.droplevel("model") for one in pair))
    one = [series.loc[["a"]] for series in pair]  # a single model
    assert len(psy.calibration.brier(*one, bootstrap=0).labels) == 1
