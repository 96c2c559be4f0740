"""What a store keeps of log probabilities, beside what was answered."""

import json

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError
from psychollm.cli import main
from psychollm.collect.store import Store
from psychollm.instruments.self_efficacy import SelfEfficacy
from psychollm.instruments.self_prediction import SelfPrediction
from tests.cli.stores import filled

LEVELS = ("none", "computational", "social")


def _certainty(model, prompt):
    """How unsure a model is of a token: of hard tasks more, of rating always alike."""
    if prompt.about["stage"] != "task":
        return 0.1
    rng = np.random.default_rng((int(model[1:]), LEVELS.index(prompt.about["condition"])))
    return 0.2 + rng.random()


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """A store of eight models, who rate themselves lower where they are less sure."""
    folder = tmp_path_factory.mktemp("likely")
    asks = SelfEfficacy(conditions=LEVELS, n_repeats=1, followups=(), placements=("isolated",))

    def says(model):
        def reply(prompt, sample):
            if prompt.about["stage"] == "task":
                return "Answer: 59" if prompt.item.endswith("1") else "Answer: A"
            unsure = _certainty(model, _Task(prompt.about["condition"]))
            n_high = round(10 * (1.4 - unsure) / 1.2)
            return "\n".join(f"{n}. {4 if n <= n_high else 1}" for n in range(1, 11))

        return reply

    def likely(model, prompt):
        n = 20 if prompt.about["stage"] == "task" else 30
        return -n * _certainty(model, prompt), n

    models = [f"m{k}" for k in range(8)]
    return filled(
        folder / "run.sqlite", asks.prompts(), {m: says(m) for m in models}, likely=likely
    )


class _Task:
    def __init__(self, condition):
        self.about = {"stage": "task" if condition != "none" else "rest", "condition": condition}


def test_perplexity_is_that_of_the_tokens_of_a_kind(rated) -> None:
    with Store(rated, create=False) as store:
        found = psy.collect.readings(store)
    rows = found.likelihoods()
    assert len(rows) == 8 * (3 + 12)
    tasks = rows[rows["stage"] == "task"]
    assert tasks["correct"].isin((0.0, 1.0)).all()
    assert rows.loc[rows["stage"] != "task", "correct"].isna().all()
    by = found.perplexity(by="condition", of={"stage": "task"})
    assert by[("m3", "social")] == pytest.approx(np.exp(_certainty("m3", _Task("social"))))
    assert found.perplexity(
        of={"stage": ["scale", "item"], "phrasing": None}
    ).to_dict() == pytest.approx({f"m{k}": np.exp(0.1) for k in range(8)})
    assert found.perplexity(of={"stage": "nothing"}).empty
    with pytest.raises(LabelError, match="no column 'topic'"):
        found.perplexity(by="topic")


def test_study_of_a_store_holds_ratings_against_perplexity(rated, tmp_path) -> None:
    out = tmp_path / "out"
    assert main(["study", str(rated), "--out", str(out), "--bootstrap", "50", "--quiet"]) == 0
    results = json.loads((out / "results.json").read_text())
    found = {one["key"]: one for one in results["findings"]}
    tasks = found["log perplexity of work on tasks"]
    assert tasks["question"] == "Do totals correlate with log perplexity of work on tasks?"
    assert tasks["numbers"]["within models"]["interval"][0][1] < -0.5
    assert tasks["numbers"]["none"]["labels"] == []
    assert "log perplexity of ratings" in found
    page = (out / "report.html").read_text()
    assert "np.log(said.perplexity(" in page
    assert "within models" in page


def test_script_of_the_page_gives_the_same_links(rated) -> None:
    with Store(rated, create=False) as store:
        said = psy.collect.readings(store, instrument="self_efficacy")
        scores = said.pooled_scores()
    given = {"x": said.perplexity(by="condition", of={"stage": "task", "persona": "plain"})}
    study = psy.self_efficacy(scores, measures=given, bootstrap=50, rng=0)
    table = given["x"].rename("x").reset_index()
    again = psy.self_efficacy(scores, measures=table, bootstrap=50, rng=0)
    assert study.within["x"].interval.tolist() == again.within["x"].interval.tolist()
    assert study.links["x"]["none"].labels == ()
    assert study.within["x"].value[0] < -0.9


def test_likelihoods_of_answers_are_a_confidence(tmp_path) -> None:
    asks = SelfPrediction(
        questions=[{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(6)]
    )

    def reply(prompt, sample):
        if prompt.about["part"] != "answer":
            return "Answer: Yes"
        return "Answer: 2" if prompt.about["reference"] == ["2"] else "Answer: 99"

    path = filled(
        tmp_path / "run.sqlite",
        asks.prompts(),
        {"m": reply},
        likely=lambda model, prompt: (-1.0, 2) if "answer" in prompt.key else None,
    )
    with Store(path, create=False) as store:
        rows = psy.collect.readings(store).likelihoods()
    assert rows["correct"].sum() == 1.0
    assert rows["perplexity"].tolist() == pytest.approx([np.exp(0.5)] * 6)
    with Store(filled(tmp_path / "no.sqlite", asks.prompts(), {"m": reply})) as store:
        none = psy.collect.readings(store)
    assert none.likelihoods().empty
    assert none.perplexity(by="part").empty
