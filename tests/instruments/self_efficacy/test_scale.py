"""Scales from files: what they may hold, and what is said of what they may not."""

import json

import numpy as np
import pytest

from psychollm._base.errors import InputError, ShapeError
from psychollm.instruments.self_efficacy import COPING, Scale, SelfEfficacy, read_scale

TOML = """
name = "mine"
source = "Somebody (1999)"
low = 0
anchors = ["never", "sometimes", "always"]
reversed = [2]
items = ["I cope.", "I fail."]
"""
WANTED = Scale(
    name="mine",
    source="Somebody (1999)",
    low=0,
    anchors=("never", "sometimes", "always"),
    reversed=(2,),
    items=("I cope.", "I fail."),
)


def test_our_own_scale() -> None:
    assert len(COPING.items) == 10
    assert (COPING.low, COPING.high, COPING.reversed) == (1, 4, ())
    assert COPING.labels["exactly true"] == 4
    assert COPING.labels["not at all true"] == 1


def test_toml_and_json_say_the_same(tmp_path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    table = {
        "name": "mine",
        "source": "Somebody (1999)",
        "low": 0,
        "anchors": ["never", "sometimes", "always"],
        "reversed": [2],
        "items": ["I cope.", "I fail."],
    }
    (tmp_path / "a.json").write_text(json.dumps(table), encoding="utf-8")
    assert read_scale(tmp_path / "a.toml") == read_scale(tmp_path / "a.json") == WANTED


def test_csv(tmp_path) -> None:
    path = tmp_path / "eigen.csv"
    path.write_text(
        '\ufeffitem,Reversed,anchor\n"Ich schaffe das, immer.",,nie\nIch scheitere.,x,oft\n'
        ",,stets\n",
        encoding="utf-8",
    )
    found = read_scale(path)
    assert found.name == "eigen"
    assert found.items == ("Ich schaffe das, immer.", "Ich scheitere.")
    assert found.reversed == (2,)
    assert found.anchors == ("nie", "oft", "stets")
    (tmp_path / "plain.csv").write_text("item\nI cope.\n")
    assert read_scale(tmp_path / "plain.csv").anchors == COPING.anchors


def test_a_scale_from_a_file_is_asked_and_read(tmp_path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    asks = SelfEfficacy(
        scale=read_scale(tmp_path / "a.toml"), conditions=("none",), n_repeats=1, followups=()
    )
    prompt = asks.prompts()[0]
    assert "0 = never, 1 = sometimes, 2 = always" in prompt.messages[0].content
    order = prompt.about["order"]
    said = ["always", "never"]
    text = "\n".join(f"{n}. {said[place]}" for n, place in enumerate(order, 1))
    assert asks.score([asks.read(prompt, text)]).totals.tolist() == [4.0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "is read from .toml, .json or .csv"),
        ("a.toml", "items = [", "a.toml: it is not valid TOML"),
        ("a.json", "{", "a.json: it is not valid JSON"),
        ("a.json", "[1]", "must be an object"),
        ("a.toml", "name = 'x'", "has no items"),
        ("a.toml", "items = ['a']\nanchor = ['b']", "unknown field 'anchor'"),
        ("a.toml", "items = 'a'", "items must be a list of texts"),
        ("a.toml", "items = ['a', 2]", "items: number 2 is 2"),
        ("a.toml", "items = ['a', ' ']", "number 2 of 2 is blank"),
        ("a.toml", "items = ['a', 'a']", "occurs more than once"),
        ("a.toml", "items = []", "at least 1 texts"),
        ("a.toml", "items = ['a']\nanchors = ['b']", "at least 2 texts"),
        ("a.toml", "items = ['a']\nreversed = [2]", "numbers of items, 1 to 1"),
        ("a.toml", "items = ['a']\nreversed = [true]", "reversed: number 1 is True"),
        ("a.toml", "items = ['a']\nlow = 'x'", "low='x' must be a whole number"),
        ("a.toml", "items = ['a']\nname = 'x/y'", "without a slash"),
        ("a.csv", "text\nI cope.\n", "unknown columns"),
        ("a.csv", "reversed\n1\n", "no column 'item'"),
        ("a.csv", "", "no column 'item'"),
        ("a.csv", "item\nI cope, mostly.\n", "quote texts with commas"),
        ("a.csv", "item,reversed\nI cope.,perhaps\n", "line 2: reversed is 'perhaps'"),
        ("a.csv", "item\n\n", "at least 1 texts"),
    ],
)
def test_files_that_hold_no_scale(tmp_path, name, text, message) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_scale(tmp_path / name)


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(InputError, match=r"absent.toml: cannot be read"):
        read_scale(tmp_path / "absent.toml")
    (tmp_path / "latin.csv").write_bytes("item\nIch schaffe es früher.\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_scale(tmp_path / "latin.csv")


def test_keying_twice_changes_nothing() -> None:
    ratings = np.array([[0.0, 2.0], [1.0, np.nan]])
    assert np.array_equal(WANTED.keyed(WANTED.keyed(ratings)), ratings, equal_nan=True)
    with pytest.raises(ShapeError):
        WANTED.keyed([[1, 2, 3]])
