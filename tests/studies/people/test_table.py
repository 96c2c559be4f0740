"""Tables of people: how they are read, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, LabelError
from psychollm.instruments.self_prediction import SelfPrediction
from psychollm.studies.people.table import beside_people, read_people

RIGHT = pd.DataFrame([[1, 1, 0, 1], [0, 1, 0, 0]], index=["a", "b"], columns=list("wxyz"))


def people(n: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 2, (n, 4)), columns=list("wxyz"))
    frame.insert(0, "person", [f"p{k}" for k in range(n)])
    return frame


def test_wide_long_files_and_arrays_say_the_same(tmp_path) -> None:
    wide = people()
    long = wide.melt("person", var_name="question", value_name="score")
    wide.to_csv(tmp_path / "wide.csv", index=False)
    long.sample(frac=1, random_state=1).to_csv(tmp_path / "long.csv", index=False, sep=";")
    every = [wide, long, wide.set_index("person").to_numpy(), tmp_path / "wide.csv"]
    every += [str(tmp_path / "long.csv"), read_people(tmp_path / "wide.csv")]
    first, *others = (beside_people(RIGHT, one).to_frame() for one in every)
    for other in others:
        pd.testing.assert_frame_equal(first, other)


def test_questions_that_models_were_not_asked_are_left_out() -> None:
    more = people().assign(other=1)
    pd.testing.assert_frame_equal(
        beside_people(RIGHT, more).to_frame(), beside_people(RIGHT, people()).to_frame()
    )


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("who,q\nAda,1\n", LabelError, "no column of people"),
        ("person,w\n,1\n", LabelError, "line 2: person is blank"),
        ("person,w\nAda,maybe\n", CodeError, r"line 2 \(person 'Ada', question 'w'\)"),
        ("person,q9\nAda,1\n", LabelError, "use the same labels"),
        ("person,question,mark\nAda,w,1\n", LabelError, "no column of scores"),
        ("person,prompt,reply\nAda,w,yes\n", InputError, "has replies"),
        ("person,w\n", InputError, "has no answers"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_row(tmp_path, text, error, said) -> None:
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(error, match=said):
        beside_people(RIGHT, tmp_path / "people.csv")


def test_replies_are_read_and_scored_as_those_of_models(tmp_path) -> None:
    asked = SelfPrediction(
        questions=[
            {"key": f"q{k}", "question": f"{k} + 1?", "answer": str(k + 1)} for k in range(4)
        ]
    )
    lines = ["person,instrument,prompt,reply"]
    for person in ("Ada", "Bea"):
        for prompt in asked.prompts():
            right = person == "Ada" or prompt.item == "q0"
            reply = "Yes" if prompt.reply == "yes_no" else ("Answer: 1" if right else "Answer: no")
            lines.append(f'{person},self_prediction,{prompt.key},"{reply}"')
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    frame = read_people(path, prompts=asked.prompts())
    assert frame["person"].unique().tolist() == ["Ada", "Bea"]
    assert {"said", "correct"} <= set(frame.columns)
    path.write_text(path.read_text() + "Ada,self_prediction,q77/answer,1\n")
    with pytest.raises(LabelError, match=r"line \d+: prompt 'q77/answer' was not asked"):
        read_people(path, prompts=asked.prompts())


def test_a_condition_that_people_lack_is_that_of_the_item_or_asked_for() -> None:
    answers = pd.DataFrame(
        {"model": "m", "type": ["A", "C"] * 10, "item": range(20), "run": 1, "response": "pass",
         "score": [1, 0] * 10}
    )  # fmt: skip
    rows = [answers.assign(person=f"p{k}").drop(columns=["model", "type"]) for k in range(6)]
    study = psy.studies.inference_boundary(answers, people=pd.concat(rows), bootstrap=20, rng=1)
    assert list(study.people.parts) == ["passed, type A", "passed, type C"]
    assert study.findings()["people"].question == "How do models compare with people?"
    ratings = pd.DataFrame(
        {"model": list("aabb"), "condition": ["x", "y"] * 2, "i1": [1, 2, 3, 4]}
    )
    with pytest.raises(LabelError, match="no column 'condition'"):
        psy.studies.self_efficacy(
            ratings, people=pd.DataFrame({"person": [1], "i1": [1]}), bootstrap=20, rng=1
        )
