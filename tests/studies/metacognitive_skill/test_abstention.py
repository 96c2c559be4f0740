"""Abstention skill: golden values through the long table, scenarios, judges, mismatch."""

import json

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.estimates.reasons import Reason
from psychollm.instruments.abstention import Abstention
from psychollm.studies.metacognitive_skill.abstention import abstention_skill

QUICK = {"bootstrap": 50, "rng": 0}
KEYS = {
    "abst_precision": "precision",
    "abst_recall": "recall",
    "abst_f1": "f1",
    "over_abstention_rate": "over_abstention",
    "coverage": "coverage",
    "selective_accuracy_answerable_attempted": "selective_accuracy",
    "accuracy_answerable_all": "accuracy",
    "mcc": "phi",
}


@pytest.fixture(scope="module", params=["abstention_a", "abstention_b"])
def golden_case(golden, request):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{request.param}.csv")
    block = json.loads((folder / f"{request.param}.expected.json").read_text())["blocks"][0]
    return abstention_skill(frame, **QUICK), block


@pytest.mark.parametrize("key", KEYS)
def test_golden(golden_case, key):
    study, block = golden_case
    found = getattr(study.overall, KEYS[key])
    for row, model in enumerate(found.labels):
        assert set(block["values"][model]) == set(KEYS)
        expected = block["values"][model][key]
        if key == "mcc" and model == "never":
            # scikit-learn gives 0 where a margin of the table is empty; it is undefined.
            assert (expected, found.flags[row]) == (0.0, Reason.NEVER_ABSTAINS)
            expected = None
        wanted = np.nan if expected is None else expected
        np.testing.assert_allclose(found.value[row], wanted, atol=block["tol"])


def replies_of(careful):
    """Return one model's table: it abstains where it should, or never, from own pairs."""
    asked = Abstention(n_pairs=3, n_repeats=2)
    replies = {}
    for one in asked.prompts():
        if one.about["should_abstain"] and careful:
            replies[one.key] = "Answer: That cannot be known."
        elif one.about["should_abstain"]:
            replies[one.key] = "I am not sure about that at all.\nAnswer: 12"
        else:
            replies[one.key] = f"Answer: {one.about['reference'][0]}"
    judged = asked.judge_prompts(replies)
    readings = {one.key: asked.read(one, replies[one.key]) for one in asked.prompts()}
    for one in judged:
        yes = {"abstains": careful, "confident": one.about["view"] == "answer", "uncertain": True}
        said = "yes" if yes[one.about["asks"]] else "no"
        readings[one.key] = asked.read(one, f"Verdict: {said}")
    return asked.score(readings, judged=judged).to_frame("careful" if careful else "eager")


TABLE = pd.concat([replies_of(careful=True), replies_of(careful=False)], ignore_index=True)
STUDY = abstention_skill(TABLE, **QUICK)


def test_own_pairs():
    assert STUDY.labels == ("careful", "eager")
    np.testing.assert_array_equal(STUDY.overall.recall.value, [1.0, 0.0])
    np.testing.assert_array_equal(STUDY.overall.accuracy.value, [1.0, 1.0])
    assert len(STUDY.by_scenario.groups) == 6
    np.testing.assert_array_equal(STUDY.by_scenario["subjective"].f1.value[0], 1.0)
    assert STUDY.by_dataset is None
    assert len(STUDY.to_frame()) == 14
    assert "careful: abstention rate 1.00" in STUDY.summary()


def test_mismatch_by_reader():
    assert set(STUDY.mismatch) == {"rule", "judge", "judge_whole"}
    assert STUDY.mismatch["rule"].value[1] == 1.0
    assert np.isnan(STUDY.mismatch["rule"].value[0])
    assert STUDY.mismatch["judge"].value[1] == 1.0
    assert STUDY.mismatch["judge_whole"].value[1] == 0.0
    assert STUDY.seen.value[1] == -1.0
    rows = " ".join(STUDY.findings()["verdict"].rows)
    assert "of doubting traces end in a confident answer" in rows


def test_pairs_and_runs_are_clusters():
    alone = abstention_skill(TABLE.drop(columns="pair").assign(item=range(len(TABLE))), **QUICK)
    assert alone.overall.recall.df is None
    noisy = TABLE.assign(
        abstained=np.random.default_rng(0).integers(0, 2, len(TABLE)).astype(float)
    )
    assert abstention_skill(noisy, **QUICK).overall.coverage.value.shape == (2,)


@pytest.mark.parametrize("reader", ["rule", "judge"])
def test_readers(reader):
    found = abstention_skill(TABLE, reader=reader, **QUICK)
    assert found.overall.recall.value[0] == 1.0
    assert found.reader == reader


def test_missing_replies_are_counted():
    table = TABLE.assign(abstained=TABLE["abstained"].where(TABLE["run"] == 1))
    found = abstention_skill(table, **QUICK)
    np.testing.assert_array_equal(found.overall.unjudged, [36, 36])


@pytest.mark.parametrize(
    ("change", "options", "error"),
    [
        (lambda t: t.drop(columns="should_abstain"), {}, LabelError),
        (lambda t: t.drop(columns="abstained_judged"), {"reader": "judge"}, LabelError),
        (lambda t: pd.concat([t, t]), {}, LabelError),
        (lambda t: t.assign(abstained=2), {}, CodeError),
        (lambda t: t, {"reader": "oracle"}, OptionError),
    ],
)
def test_bad_input(change, options, error):
    with pytest.raises(error):
        abstention_skill(change(TABLE), **options, **QUICK)
