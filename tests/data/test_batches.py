"""Labels numbered batch by batch, and what an answer means."""

import numpy as np
import pytest

from psychollm._base.errors import CodeError, OptionError
from psychollm.data.batches import Numbered, Rule
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


def test_labels_may_change_their_type_from_batch_to_batch():
    numbers = Numbered()
    batches = [[5, 3], ["a", "5"], [3, 7], ["a", "b"]]
    found = [
        numbers.number(pa.array(batches[0])),
        numbers.number(pa.array(["a", "5"]).dictionary_encode()),
    ]
    found += [numbers.number(pa.array(batches[2]))]
    found += [numbers.number(pa.array(["a", "b"]).dictionary_encode())]
    assert numbers.labels == [5, 3, "a", "5", 7, "b"]
    assert np.concatenate(found).tolist() == [0, 1, 2, 3, 1, 4, 2, 5]


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
    with pytest.raises(CodeError, match="holds 16: answers are null or whole numbers 0 to 15"):
        Rule(None, strict=True, highest=15, codes={"a": 16}).read(pa.array(["a"]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": "model_median"}, "rules for each model"),
        ({"threshold": 0.5, "codes": {"a": 1}}, "exclude each other"),
    ],
)
def test_rules_that_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        Rule(**{"threshold": None, "strict": True, **options})
