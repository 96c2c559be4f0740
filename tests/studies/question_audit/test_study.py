"""Audits of questions: simulated truth, false discoveries, stretches, and what cannot show."""

from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import rankdata

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.studies.question_audit.answers import answers_of, family_weights
from psychollm.studies.question_audit.evidence import MEANS, Picked, likelihoods
from psychollm.studies.question_audit.mixture import CONSTANTS, _stretches
from psychollm.studies.question_audit.study import QuestionAudit, question_audit

N_OPTIONS, TRAPS = 4, 0.01


def drawn(
    n: int = 600, models: int = 14, share: float = 0.06, seed: int = 1
) -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    """Return choices, keys and which of them are wrong: models share errors, as real ones do."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(N_OPTIONS, size=n)
    trap = rng.random(n) < TRAPS
    ease, ability = rng.normal(4.0, 3.0, size=n), rng.normal(0.0, 0.7, size=models)
    knows = rng.random((n, models)) < expit(ease[:, None] + ability)
    shares = rng.dirichlet(np.full(N_OPTIONS - 1, 0.25), size=n)
    step = 1 + (rng.random((n, models, 1)) > shares.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    seems = np.where(trap, truth + rng.integers(1, N_OPTIONS, size=n), truth)[:, None]
    chosen = (seems + np.where(knows, 0, step)) % N_OPTIONS
    wrong = rng.random(n) < share
    key = np.where(wrong, (truth + rng.integers(1, N_OPTIONS, size=n)) % N_OPTIONS, truth)
    letters, labels = np.array(list("ABCD")), [f"q{i}" for i in range(n)]
    frame = pd.DataFrame(letters[chosen], labels, [f"m{i}" for i in range(models)])
    return frame, pd.Series(letters[key], labels), wrong


@cache
def usual() -> QuestionAudit:
    return question_audit(*drawn()[:2], rng=1)


def auroc(score: np.ndarray, positive: np.ndarray) -> float:
    n, ranks = positive.sum(), rankdata(score)
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def test_wrong_keys_come_first_and_false_discoveries_are_as_stated() -> None:
    false, found = np.zeros(3), np.zeros(3)
    for seed in range(4):
        choices, key, wrong = drawn(seed=seed)
        audit = question_audit(choices, key, rng=seed)
        missed = (choices.to_numpy() != key.to_numpy()[:, None]).mean(axis=1)
        assert auroc(audit.p_wrong_key, wrong) > max(0.93, auroc(missed, wrong) - 0.01)
        is_wrong = dict(zip(audit.labels, wrong, strict=True))
        for level, fdr in enumerate((0.1, 0.2, 0.5)):
            flagged = audit.flagged(fdr)
            false[level] += sum(not is_wrong[label] for label in flagged)
            found[level] += len(flagged)
    stated = np.array([0.1, 0.2, 0.5])
    assert (false <= stated * found + 2.0 * np.sqrt(stated * found) + 1.0).all()
    assert abs(false[2] / found[2] - 0.5) < 0.15
    assert found[2] > 100


def test_where_nothing_is_wrong_little_is_flagged() -> None:
    audits = [question_audit(*drawn(share=0.0, seed=seed)[:2], rng=1) for seed in range(3)]
    assert sum(len(audit.flagged(0.2)) for audit in audits) <= 2
    assert sum(audit.p_wrong_key.sum() for audit in audits) < 0.015 * 1800


@pytest.mark.parametrize("binary", [False, True])
def test_chances_of_all_answers_add_up_to_one(binary: bool) -> None:
    n_options = 2 if binary else 3
    codes = np.array(list(product(range(n_options), repeat=3)))
    key, weights = np.zeros(len(codes), dtype=int), np.ones(3)
    if binary:
        picked = Picked(place=codes, n_options=4, binary=True, weights=weights)
    else:
        picked = Picked.of(codes, key, n_options, weights)
    logs = likelihoods(picked, 2.0, 0.4)
    assert logs.shape == (MEANS.size, len(codes), 5)
    assert logsumexp(logs, axis=1) == pytest.approx(np.zeros((MEANS.size, 5)), abs=1e-9)


def test_stretches_are_those_of_all_paths() -> None:
    rng = np.random.default_rng(3)
    n, begins, ends = 7, CONSTANTS.begins, CONSTANTS.ends
    slipped, usual = rng.random(n), rng.random(n) ** 4
    inside = np.zeros(n)
    total = 0.0
    first = begins / (begins + ends)
    for path in product((0, 1), repeat=n):
        chance = first if path[0] else 1.0 - first
        for q, state in enumerate(path):
            if q:
                entering = begins if not path[q - 1] else 1.0 - ends
                chance *= entering if state else 1.0 - entering
            chance *= slipped[q] if state else usual[q]
        total += chance
        inside += chance * np.array(path)
    found = _stretches(slipped, usual, [np.arange(n)], CONSTANTS)
    assert found == pytest.approx(inside / total)


def test_a_column_of_keys_that_slipped_is_found_in_its_order_only() -> None:
    choices, key, _ = drawn(share=0.0, seed=5)
    slipped = key.copy()
    slipped.iloc[200:230] = key.iloc[199:229].to_numpy()
    audit = question_audit(choices, slipped, rng=1)
    ((first, last),) = audit.stretches()
    assert abs(first - 200) <= 3
    assert abs(last - 229) <= 3
    assert "run of suspect keys" in audit.reason[215]
    assert "q2" in audit.findings()["stretches"].rows[0]
    order = np.random.default_rng(1).permutation(len(key))
    assert question_audit(choices.iloc[order], slipped, rng=1).stretches() == ()


def test_neither_models_nor_labels_matter() -> None:
    choices, key, _ = drawn(200)
    audit = question_audit(choices, key, rng=1)
    names = dict(zip("ABCD", "wxyz", strict=True))
    for other in (
        question_audit(choices.iloc[:, ::-1], key[::-1].to_dict(), rng=2),
        question_audit(choices.replace(names), key.replace(names), rng=2),
        question_audit(choices.to_numpy(), key.to_numpy(), rng=2),
    ):
        assert other.p_wrong_key == pytest.approx(audit.p_wrong_key, abs=1e-9)
    codes = choices.replace(dict(zip("ABCD", range(4), strict=True))).astype(int)
    own = question_audit(choices.rename_axis("question").reset_index(), key, rng=2)
    assert own.p_wrong_key == pytest.approx(audit.p_wrong_key, abs=1e-9)
    table = psy.Responses(codes.T)
    answers = key.replace(dict(zip("ABCD", range(4), strict=True)))
    found = question_audit(table, answers, rng=1)
    assert found.p_wrong_key == pytest.approx(audit.p_wrong_key, abs=1e-9)
    assert found.labels == audit.labels


def test_groups_are_read_off_the_labels() -> None:
    choices, key, _ = drawn(200)
    index = [f"{'ab'[i // 100]}/{i}" for i in range(200)]
    choices.index = key.index = pd.Index(index)
    audit = question_audit(choices, key, rng=1)
    assert set(audit.group) == {"a", "b"}
    own = question_audit(choices, key, groups=dict(zip(index, audit.group, strict=True)), rng=1)
    assert own.p_flawed == pytest.approx(audit.p_flawed)
    assert set(question_audit(*drawn(200)[:2], rng=1).group) == {""}


def test_what_cannot_show_is_said() -> None:
    choices, key, _ = drawn(200)
    choices.iloc[3] = key.iloc[3]
    choices.iloc[4] = None
    choices.iloc[5, :6] = ""
    audit = question_audit(choices, key, rng=1)
    assert audit.reason[3] == "all models choose the key, so no fault can be detected"
    assert audit.p_wrong_key[3] < 0.01
    assert audit.reason[4] == "no answer was read"
    assert np.isnan(audit.p_flawed[4])
    assert np.isnan(audit.p_stretch[4])
    assert audit.labels[4] not in audit.flagged(0.9)
    assert audit.n[5] == 8
    assert "Number of questions without any answer: 1." in audit.findings()["hidden"].statement
    assert audit.worst()[-1] == 4


def test_right_and_wrong_alone_show_less() -> None:
    choices, key, wrong = drawn(800)
    right = (choices.to_numpy() == key.to_numpy()[:, None]).T.astype(int)
    audit, full = question_audit(right, n_options=4, rng=1), question_audit(choices, key, rng=1)
    assert 0.85 < auroc(audit.p_wrong_key, wrong) <= auroc(full.p_wrong_key, wrong)
    assert set(audit.key) == {""}
    worst = audit.worst()[0]
    assert "answer wrongly" in audit.reason[worst]
    flagged = audit.flagged(0.5)
    assert sum(not wrong[q] for q in flagged) <= 0.6 * len(flagged)


def test_a_group_of_hard_questions_is_not_one_of_wrong_keys() -> None:
    rng = np.random.default_rng(5)
    ability, hard = rng.normal(0.0, 1.0, size=(60, 1)), np.arange(800) < 200
    ease = rng.normal(np.where(hard, -2.5, 1.0), 1.5)
    wrong = rng.random(800) < 0.05
    right = (rng.random((60, 800)) < expit(ability + ease)) & ~wrong
    groups = np.where(hard, "hard", "easy")
    audit = question_audit(right.astype(int), groups=groups, n_options=100, rng=1)
    flagged = set(audit.flagged(0.5))
    false = sum(label in flagged for label in np.asarray(audit.labels)[~wrong])
    assert false <= 0.6 * len(flagged)
    assert auroc(audit.p_wrong_key, wrong) > 0.9


def test_more_is_flagged_the_more_may_be_false() -> None:
    audit = usual()
    sets = [audit.flagged(fdr, fault="any") for fdr in (0.05, 0.2, 0.5, 0.8)]
    for fewer, more in pairwise(sets):
        assert more[: len(fewer)] == fewer
    frame = audit.to_frame().set_index("question")
    assert frame.columns[:3].tolist() == ["p_wrong_key", "p_flawed", "reason"]
    mean = frame.loc[list(sets[2]), "p_flawed"].mean()
    assert 0.5 <= mean < 0.6
    faults = ("wrong_key", "several", "none", "unclear")
    total = frame[[f"p_{fault}" for fault in faults]].sum(axis=1)
    assert total.to_numpy() == pytest.approx(audit.p_flawed)


def test_the_trial_finds_what_was_put_wrong() -> None:
    audit = usual()
    assert audit.found[-1] > 0.7
    assert abs(audit.false[-1] - 0.5) < 0.15
    assert (np.diff(audit.found) >= 0.0).all()
    again = question_audit(*drawn()[:2], rng=1)
    assert again.found.tolist() == audit.found.tolist()


def test_copies_of_a_model_speak_with_one_voice() -> None:
    choices, key, _ = drawn(300, models=6)
    copies = pd.concat([choices] + [choices["m0"].rename(f"c{i}") for i in range(4)], axis=1)
    families = ["x", *"abcde", *"xxxx"]
    weights = family_weights(families, answers_of(copies, key, None))
    assert weights[[0, 6, 9]] == pytest.approx(0.2)
    assert weights[1:6] == pytest.approx(1.0)
    plain = question_audit(copies, key, rng=1)
    audit = question_audit(copies, key, families=dict(zip(copies, families, strict=True)), rng=1)
    alone = question_audit(choices, key, rng=1)
    gaps = [np.abs(one.p_wrong_key - alone.p_wrong_key).max() for one in (audit, plain)]
    assert gaps[0] < gaps[1]


def test_texts_as_options() -> None:
    """Where each question has options of its own, labels are told apart question by question."""
    choices, key, _ = drawn(100)
    own = choices.apply(lambda column: column + "-" + choices.index)
    audit = question_audit(own, key + "-" + key.index, rng=1)
    assert audit.p_wrong_key == pytest.approx(question_audit(choices, key, rng=1).p_wrong_key)
    assert all("-q" in label for label in audit.key)


def test_what_cannot_be_used_is_named() -> None:
    choices, key, _ = drawn(50)
    with pytest.raises(LabelError, match="key has no entry for 'q0'"):
        question_audit(choices, key.iloc[1:])
    with pytest.raises(LabelError, match="no model chose the key of any question"):
        question_audit(choices, key.str.lower())
    with pytest.raises(LabelError, match="key is empty for 'q7'"):
        question_audit(choices, key.where(key.index != "q7"))
    with pytest.raises(CodeError, match="pass key="):
        question_audit(np.arange(12).reshape(3, 4))
    with pytest.raises(ShapeError, match="needs at least 3"):
        question_audit(choices.iloc[:, :2], key)
    with pytest.raises(ShapeError, match="n_options=2"):
        question_audit(choices, key, n_options=2)
    with pytest.raises(LabelError, match="families has no entry for model 'm1'"):
        question_audit(choices, key, families={"m0": "a"})
    with pytest.raises(OptionError, match="fault"):
        question_audit(choices, key, rng=1).flagged(fault="unclear")


def test_experts_judgements() -> None:
    """What the documentation says of MMLU-Redux; `validation.question_audit_rates` has it all."""
    root = Path(__file__).parents[3].parent
    path = root / "shared" / "data" / "mmlu_redux_options.csv.gz"
    if not path.exists():
        pytest.skip("the judged questions are not here")
    frame = pd.read_csv(path).set_index("question")
    label = frame.pop("label")
    choices = frame.drop(columns=["subject", "key"])
    audit = question_audit(choices, frame["key"], rng=1)
    wrong = (label == "wrong_groundtruth").to_numpy()
    flawed = ~label.isin(["ok", "expert"])
    assert auroc(audit.p_wrong_key, wrong) > 0.87
    first = np.argsort(-audit.p_wrong_key, kind="stable")[:100]
    assert flawed.iloc[first].mean() >= 0.44
    for fault, faulty in (("wrong_key", label == "wrong_groundtruth"), ("any", flawed)):
        assert abs(1.0 - faulty[list(audit.flagged(0.5, fault=fault))].mean() - 0.5) < 0.1
        assert faulty[list(audit.flagged(0.1, fault=fault))].mean() >= 0.9


def test_a_key_shows_that_rows_are_models() -> None:
    choices = pd.DataFrame(
        [list("ABAC"), list("ABCC"), list("BBAC")],
        index=["m1", "m2", "m3"],
        columns=["q1", "q2", "q3", "q4"],
    )
    key = {"q1": "A", "q2": "B", "q3": "A", "q4": "B"}
    turned = psy.question_audit(choices, key, rng=1).to_frame()
    pd.testing.assert_frame_equal(turned, psy.question_audit(choices.T, key, rng=1).to_frame())


def test_numbers_are_read_as_their_text() -> None:
    choices, key = np.array([[1, 2, 1], [3, 1, 1], [2, 2, 3]]), np.array([1, 3, 2])
    numbers = answers_of(choices, key, None)
    assert numbers.options == (("1", "2", "3"),) * 3
    for same in (choices.astype(float), choices.astype(str), choices.astype(object)):
        assert answers_of(same, key, None).codes.tolist() == numbers.codes.tolist()
    gap = np.where(choices == 3, np.nan, choices)
    assert answers_of(gap, key, None).codes.tolist() == [[0, 1, 0], [-1, 0, 0], [1, 1, -1]]
