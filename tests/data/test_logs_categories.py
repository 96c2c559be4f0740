"""Words of scorers, as categories."""

import json

import pytest

from psychollm._base.errors import InputError
from psychollm.data import read_categories
from psychollm.reliability import Ratings, response_shares
from tests.data.readers.logs.test_inspect import log, sample


@pytest.fixture
def write(tmp_path):
    """Return a function that writes JSON."""

    def to_file(name, content):
        (tmp_path / name).write_text(json.dumps(content))
        return tmp_path / name

    return to_file


def test_categories_come_straight_from_logs(write):
    words = ["left", "both", "left", "both"]
    path = write("a.json", log(*(sample(k, word) for k, word in enumerate(words))))
    found = read_categories(path)
    assert found["response"].tolist() == words
    shares = response_shares(Ratings.from_long(found))
    assert shares.value.tolist() == [[0.5, 0.5]]
    with pytest.raises(InputError, match="no score is a word"):
        read_categories(write("b.json", log(sample("q"))))
