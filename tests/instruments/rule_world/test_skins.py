"""Invented words: pronounceable, distinct, seeded, and nobody's."""

import re

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.instruments.rule_world import draw_vocabulary, occurrences
from psychollm.instruments.rule_world.skins import closing, lexicon

# Words of published rule systems of this sort, and of the language the prompts are written in.
TAKEN = ["nagermor", "nermend", "naxet", "blarvex", "vornish", "wug", "blicket"]


def test_words_are_distinct_and_pronounceable() -> None:
    for seed in range(60):
        words = draw_vocabulary(seed)
        assert len(set(words.words)) == len(words.words)
        for word in words.words:
            assert re.fullmatch(r"[a-z]{6,16}", word)
            assert not re.search(r"[aeiou]{2}|[^aeiou]{4}", word), word
            assert not any(taken in word or word in taken for taken in TAKEN)
        roots = [words.unit, words.load, words.passer, *words.spare]
        assert len({root[:3] for root in roots}) == len(roots)


def test_endings_make_the_derived_kinds() -> None:
    seen = set()
    for seed in range(40):
        words = draw_vocabulary(seed)
        assert words.doubler.startswith(words.passer)
        assert words.blocker.startswith(words.passer)
        assert words.endings[0] != words.endings[1]
        seen.add(words.endings)
    assert len(seen) > 20


def test_seeds_draw_fresh_words() -> None:
    drawn = [draw_vocabulary(seed).words for seed in range(200)]
    assert draw_vocabulary(3).words == drawn[3]
    units = [words[0] for words in drawn]
    assert len(set(units)) == 200


def test_contamination_is_counted() -> None:
    words = draw_vocabulary(1)
    counts = occurrences(words, [f"the {words.unit}s and {words.unit}", "nothing"])
    assert counts[words.unit] == 2
    assert sum(counts.values()) == 2


@pytest.mark.parametrize("skin", ["circuits", "plumbing"])
def test_words_of_a_trade_do_not_collide(skin) -> None:
    words = lexicon(skin)
    defined = [words.unit, words.load, words.passer, words.doubler, words.blocker]
    assert len({*defined, *words.kinds, *words.quantities}) == 5 + 16
    assert not any(word[0] in "aeiou" for word in [*defined, *words.kinds])


def test_unknown_skins() -> None:
    with pytest.raises(OptionError, match="skin='opera' is not an option"):
        lexicon("opera")  # type: ignore[arg-type]


def test_streams_do_not_depend_on_numpys_global_state() -> None:
    np.random.seed(1)  # noqa: NPY002
    first = draw_vocabulary(2)
    np.random.seed(2)  # noqa: NPY002
    assert first == draw_vocabulary(2)


def test_the_doubler_is_the_passer_with_an_ending() -> None:
    words = draw_vocabulary(1)
    assert words.doubler == words.passer + words.endings[0]


def test_amounts_in_the_words_of_a_skin() -> None:
    assert lexicon("plumbing").amount(12) == "12 litres of water"


def test_statements_are_lettered() -> None:
    said = closing((("A", "Q holds 2."), ("B", "Q holds 4.")))
    assert said.splitlines()[:2] == ["A. Q holds 2.", "B. Q holds 4."]
