"""Labels numbered batch by batch, and what an answer means."""

import numpy as np
import pytest

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.data.batches import Numbered, Rule, Source
from tests.oracles.label_numbers_slow import numbered

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize("distinct", [3, 5_000])  # more than the table has room for at first
def test_whole_numbers_against_the_slow_twin(distinct):
    rng = np.random.default_rng(1)
    values = rng.integers(-(2**62), 2**62, distinct)[rng.integers(0, distinct, 20_000)]
    numbers = Numbered()
    found = [numbers.number(pa.array(part)) for part in np.split(values, 8)]
    assert (np.concatenate(found).tolist(), numbers.labels) == numbered(values.tolist())
    assert all(type(label) is int for label in numbers.labels)


def test_labels_may_change_how_they_are_kept_from_batch_to_batch():
    numbers = Numbered()
    batches = [[5, 3], [2.5, 5.0], [3, 7], [7.0, 2.5]]
    arrays = [pa.array(batch) for batch in batches]
    found = [numbers.number(arrays[0]), numbers.number(arrays[1].dictionary_encode())]
    found += [numbers.number(arrays[2]), numbers.number(arrays[3].dictionary_encode())]
    found += [numbers.number(pa.array([7, 9]).dictionary_encode())]
    assert numbers.labels == [5, 3, 2.5, 7, 9]
    assert np.concatenate(found).tolist() == [0, 1, 2, 0, 1, 3, 3, 2, 3, 4]


@pytest.mark.parametrize(
    ("first", "second"),
    [([5, 1], ["a", "5"]), (["1"], [1]), ([1, 2], [True]), ([True], [1.0]), ([0.5], ["a"])],
)
def test_labels_may_not_change_their_type(first, second):
    numbers = Numbered()
    numbers.number(pa.array(first).dictionary_encode())
    for kept in range(1 + (second == [1])):  # whole numbers come as they are, too
        column = pa.array(second) if kept else pa.array(second).dictionary_encode()
        with pytest.raises(LabelError, match=f"{second[0]!r} is of type .* and {first[0]!r} bef"):
            numbers.number(column)
    assert numbers.number(column[:0]).size == 0
    assert numbers.labels == first


def test_two_columns_of_one_name():
    rule = Rule(None, strict=True)
    with pytest.raises(OptionError, match="column 'question' is named twice"):
        Source.of("models", ("question", "question"), "value", rule, 10)
    with pytest.raises(OptionError, match="column 'model' is named twice"):
        Source.of("questions", ("model", "question"), "model", rule, 10)


def test_labels_that_no_row_bears_are_not_numbered():
    numbers = Numbered()
    column = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["a", "b", "c"]))
    assert numbers.number(column).tolist() == [0, 1, 0]
    assert numbers.labels == ["c", "a"]


def test_codes_of_words():
    rule = Rule(None, strict=True, highest=15, codes={"no": 0, "yes": 1, "unsure": 2})
    column = pa.array(["yes", None, "unsure", "no"])
    assert rule.read(column).tolist() == [1, -1, 2, 0]
    assert rule.read(column.dictionary_encode()).tolist() == [1, -1, 2, 0]
    with pytest.raises(CodeError, match=r"holds 'maybe', not a key of codes=\{'no': 0"):
        rule.read(pa.array(["yes", "maybe"]))
    # As in memory.
    rule = Rule(None, strict=True, highest=15, codes={"no": None, "yes": "1"})
    assert rule.read(pa.array(["yes", "no"])).tolist() == [1, -1]
    with pytest.raises(CodeError, match="holds 16: answers are null or whole numbers 0 to 15"):
        Rule(None, strict=True, highest=15, codes={"a": 16}).read(pa.array(["a"]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": "model_median"}, "rules for each model"),
        ({"threshold": 0.5, "codes": {"a": 1}}, "exclude each other"),
        ({"threshold": float("nan")}, "threshold=nan must be a finite number"),
        ({"threshold": np.float32("inf")}, "must be a finite number"),
        ({"threshold": True}, "threshold=True must be a finite number"),
        ({"threshold": 1j}, "must be a finite number"),
        ({"threshold": 0.5, "strict": "x"}, "strict='x' must be True or False"),
        ({"codes": ["yes", "no"]}, r"must map each value to a number: codes=.\"yes\": 1"),
        ({"codes": {"yes": "one"}}, "codes={'yes': 'one'} must map each value"),
        ({"codes": {"yes": [1]}}, "must map each value"),
    ],
)
def test_rules_that_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        Rule(**{"threshold": None, "strict": True, **options})
