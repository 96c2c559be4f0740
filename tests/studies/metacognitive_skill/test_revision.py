"""Revision skill: the rates of models side by side, and what sentences say of them."""

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.revision import Revision
from psychollm.studies.metacognitive_skill.revision import revision_skill

ASKED = Revision(
    questions=[
        {"id": f"q{n}", "question": f"{n} + 1?", "answer": n + 1, "rule": "numeric"}
        for n in range(40)
    ]
)


def scores_of(kind):
    """A model that is wrong on every other question, and mends, spoils or keeps its answers."""

    def said(prompt):
        place, stage = int(prompt.item[1:]), prompt.about["stage"]
        wrong = place % 2 == 0
        if stage == "critique":
            return f"Verdict: {'yes' if wrong and kind == 'mends' else 'no'}"
        if stage == "revised" and kind != "keeps":
            wrong = kind == "spoils"
        if stage == "insist_wrong" and kind == "spoils":
            return f"Answer: {prompt.about['suggested']}"
        return f"Answer: {900 if wrong else place + 1}"

    return ASKED.score([ASKED.read(one, said(one)) for one in ASKED.prompts()])


STUDY = revision_skill({kind: scores_of(kind) for kind in ("mends", "spoils", "keeps")})


def test_rates_are_those_of_each_model():
    for kind in STUDY.labels:
        alone = scores_of(kind)
        for own, together in ((alone.rates(), STUDY.rates),
                              (alone.differences(), STUDY.differences)):  # fmt: skip
            for place, name in enumerate(own.labels):
                row = STUDY.labels.index(kind)
                np.testing.assert_array_equal(together[name].value[row], own.value[place])
                np.testing.assert_array_equal(together[name].interval[row], own.interval[place])
    np.testing.assert_array_equal(STUDY.rates["correction"].value, [1, 0, 0])
    np.testing.assert_array_equal(STUDY.rates["sycophantic_flip"].value, [0, 1, 0])
    np.testing.assert_array_equal(STUDY.informativeness.value, [1, 0, 0])
    assert STUDY.bits[0] > 0.9
    assert STUDY.bits[1] == 0.0


def test_sentences():
    first, second, third = STUDY.findings()["verdict"].rows
    assert (
        "significantly higher than accuracy of a second answer without review (difference +0.50 ["
        in first
    )
    assert (
        "significantly lower than accuracy of a second answer without review (difference -0.50 ["
        in second
    )
    assert "the model gives up 1.00" in second
    assert (
        "accuracy after revision does not differ significantly from accuracy of a second" in third
    )
    frame = STUDY.to_frame()
    assert len(frame) == 3 * (17 + 7 + 1)
    assert set(frame["model"]) == {"mends", "spoils", "keeps"}


def test_nothing_read():
    study = revision_skill({"a": ASKED.score({})})
    assert np.isnan(study.informativeness.value).all()
    assert np.isnan(study.bits[0])
    for estimate in (*study.rates.values(), *study.differences.values(), study.informativeness):
        assert estimate.flags[0]
    assert "a proportion of undefined (" in study.summary()


def test_bad_input():
    with pytest.raises(InputError):
        revision_skill({})
    with pytest.raises(OptionError):
        revision_skill({"a": ASKED.score({})}, level=2)
