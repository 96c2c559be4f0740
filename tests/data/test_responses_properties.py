"""What must hold for every table: relabelling, reordering, flipping and round trips."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import psychollm as psy
from psychollm.data.responses import Responses, as_responses

CELLS = st.sampled_from([0.0, 1.0, np.nan])
GRADED = st.sampled_from([*map(float, range(16)), np.nan])
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=7)
# Labels as people write them: spaces, commas, quotes and letters of all scripts.
LABELS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=8
).filter(lambda text: text.strip() == text)


@st.composite
def tables(draw, cells=CELLS):
    values = draw(arrays(np.float64, SHAPES, elements=cells))
    models = draw(st.lists(LABELS, min_size=len(values), max_size=len(values), unique=True))
    n = values.shape[1]
    questions = draw(st.lists(LABELS, min_size=n, max_size=n, unique=True))
    return Responses(values, models=models, questions=questions)


def same(first: Responses, second: Responses) -> None:
    assert first.models == second.models
    assert first.questions == second.questions
    np.testing.assert_array_equal(first.values, second.values)


@given(tables(GRADED))
def test_values_and_labels_come_back(table):
    same(
        as_responses(table.values, argument="x").align(as_responses(table.values)),
        as_responses(table.values),
    )
    same(Responses(table), table)


@given(tables(GRADED))
def test_frames_come_back(table):
    same(as_responses(table.to_frame()), table)


@given(tables())
def test_long_tables_come_back(table):
    long = table.to_long()
    assert len(long) == (~table.missing).sum()
    if long.empty:
        return
    again = Responses(long)
    asked = table.select(models=table.answered > 0, questions=(~table.missing).any(axis=0))
    same(asked.align(again), asked)


@given(tables(GRADED))
def test_files_come_back(table):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv.gz"
        table.to_frame().to_csv(path)
        same(psy.read_responses(path, layout="wide", missing_values=()), table)


@given(tables())
def test_flipping_twice_changes_nothing(table):
    chosen = table.models[::2]
    once = table.flip(chosen)
    same(once.flip(chosen), table)
    assert once.flip(chosen).flipped == ()
    np.testing.assert_array_equal(once.missing, table.missing)
    rates = table.yes_rates.copy()
    rates[::2] = 1 - rates[::2]
    np.testing.assert_allclose(once.yes_rates, rates, atol=1e-15)


@given(tables(), st.randoms(use_true_random=False))
def test_reordering_is_undone_by_align(table, random):
    models = random.sample(table.models, table.n_models)
    questions = random.sample(table.questions, table.n_questions)
    shuffled = table.select(models=models, questions=questions)
    same(table.align(shuffled), table)
    np.testing.assert_array_equal(np.sort(shuffled.yes_rates), np.sort(table.yes_rates))


@given(tables())
def test_transposing_twice_changes_nothing(table):
    same(table.transpose().transpose(), table)


@given(
    arrays(np.float64, SHAPES, elements=st.integers(0, 10).map(float)),
    st.integers(-3, 3),
    st.sampled_from([0.25, 1.0, 8.0]),
)
def test_balanced_split_ignores_the_scale(stated, shift, factor):
    """Exact for these factors: powers of two and whole numbers do not round."""
    plain = Responses(stated, threshold="model_balanced")
    scaled = Responses(shift + factor * stated, threshold="model_balanced")
    np.testing.assert_array_equal(plain.codes, scaled.codes)
    np.testing.assert_array_equal(shift + factor * plain.cuts, scaled.cuts)


@given(tables(), st.randoms(use_true_random=False))
def test_the_screen_does_not_depend_on_the_order_of_questions(table, random):
    questions = random.sample(table.questions, table.n_questions)
    plain = psy.validity_screen(table, table, min_answers=2)
    shuffled = psy.validity_screen(table.select(questions=questions), table, min_answers=2)
    assert plain.reasons == shuffled.reasons
    np.testing.assert_array_equal(plain.usable, shuffled.usable)
