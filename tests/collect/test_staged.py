"""Plans in stages: who is asked what, what it may come to, and what the store may hold."""

from dataclasses import replace
from pathlib import Path

import pytest

from psychollm._base.errors import LabelError, OptionError
from psychollm.collect import (
    Plan,
    StagedPlan,
    Step,
    Store,
    StoreError,
    collect,
    preview,
    read_plan,
    readings,
    replied,
)
from psychollm.collect.roster import Endpoint, Model, Prices
from psychollm.instruments import Message, Prompt, Revision, Scaffold, SelfPrediction
from tests.cli.respondents import reply
from tests.cli.respondents import script as proper
from tests.collect.hostile import Hostile, said

pytest.importorskip("httpx")

SUMS = [
    {"id": f"q{n}", "question": f"What is {n} + 40?", "answer": str(n + 40), "rule": "numeric"}
    for n in range(3)
]
GRADING = Step(name="grading", options={}, judge="j")


def staged(
    folder: Path, asked, steps, url: str = "http://127.0.0.1:9/v1", **options
) -> StagedPlan:
    names = options.pop("names", ("a", "b", "j"))
    prices = Prices(input=1.0, output=1.0)
    plan = Plan(
        store=folder / "run.sqlite",
        prompts=asked.prompts(),
        endpoints={"here": Endpoint(name="here", url=url)},
        models=tuple(Model(name=one, endpoint="here", model=one, prices=prices) for one in names),
        **options,
    )
    return StagedPlan(plan=plan, steps=tuple(steps))


def through(plan: StagedPlan) -> dict[str, int]:
    """Collect all stages; return how many prompts each had."""
    found = {}
    for name, each in plan.plans():
        assert collect(each).complete
        found[name] = len(each.prompts)
    return found


# To whom a prompt is put ---------------------------------------------------------------------


def to(name: str | None, key: str = "q") -> Prompt:
    return Prompt(key=key, item="q", messages=(Message("user", "?"),), reply="text", to=name)


def test_a_prompt_is_put_to_whom_it_is_for(tmp_path: Path) -> None:
    plan = staged(tmp_path, SelfPrediction(questions=SUMS), []).plan
    own = replace(plan, prompts=(to("a"), to("b"), to(None, "r")))
    asked = [(one.model, one.prompt.key) for one in own.requests()]
    assert asked == [("a", "q"), ("a", "r"), ("b", "q"), ("b", "r"), ("j", "r")]
    assert preview(own).requests == (2, 2, 1)
    assert Prompt.from_dict(to("a").to_dict()) == to("a")
    assert "to" not in to(None).to_dict()


def test_nobody_of_the_plan_is_asked(tmp_path: Path) -> None:
    plan = staged(tmp_path, SelfPrediction(questions=SUMS), []).plan
    with pytest.raises(
        LabelError, match="prompt 'q' is for 'z', which is not a model of the plan"
    ):
        replace(plan, prompts=(to("z"),))
    with pytest.raises(LabelError, match="more than once"):
        replace(plan, prompts=(to("a"), to("a")))


# Stages over the wire ------------------------------------------------------------------------


def test_a_judge_outweighs_the_rules_and_is_asked_nothing_else(tmp_path: Path) -> None:
    def script(body, n):
        judged = "Compare a reply" in body["messages"][-1]["content"]
        return said("Yes" if judged else "Answer: 7")

    with Hostile(script) as server:
        plan = staged(tmp_path, SelfPrediction(questions=SUMS), [GRADING], server.url)
        assert through(plan) == {"questions": 6, "grading": 6}
        assert {body["model"] for body in server.seen[:12]} == {"a", "b"}
        assert [body["model"] for body in server.seen[12:]] == ["j"] * 6
    with Store(plan.plan.store, create=False) as store:
        found = readings(store)
    assert found.models == ("a", "b")
    assert {name: one.correct.tolist() for name, one in found.pooled_scores().items()} == {
        "a": [1.0] * 3,
        "b": [1.0] * 3,
    }
    assert found.outcomes["j"] == {"answered": 6}
    assert "j: 6 answered" in found.summary()


def test_each_repeat_is_judged_for_itself(tmp_path: Path) -> None:
    def script(body, n):
        text = body["messages"][-1]["content"]
        if "Compare a reply" in text:
            return said("Yes" if "Reply: Answer: 1" in text else "No")
        return said(f"Answer: {n % 2}")

    with Hostile(script) as server:
        asked = SelfPrediction(questions=SUMS[:1])
        plan = staged(tmp_path, asked, [GRADING], server.url, names=("a", "j"), repeats=4)
        assert through(plan) == {"questions": 2, "grading": 4}
    with Store(plan.plan.store, create=False) as store:
        said_by = [one.said == "Answer: 1" for one in replied(store)
                   if one.prompt.about["part"] == "answer"]  # fmt: skip
        found = readings(store)
    assert [one.correct[0] == 1.0 for one in found.scores()["a"].values()] == said_by
    pooled = found.pooled_scores()["a"]
    assert (pooled.correct == 1.0).tolist() == said_by


def test_every_model_goes_on_with_its_own_words(tmp_path: Path) -> None:
    with Hostile(proper) as server:
        steps = [Step(name="revision", options={"n_rounds": 1}), Step(name="scaffold", options={})]
        asked = Revision(questions=SUMS, arms=())
        plan = staged(tmp_path, asked, steps, server.url, names=("a", "b"))
        assert through(plan) == {"questions": 3, "revision": 2 * 18, "scaffold": 2 * 3}
        assert through(plan) == {"questions": 3, "revision": 2 * 18, "scaffold": 2 * 3}
        assert len(server.seen) == 2 * (3 + 18 + 3)  # none twice
        for body in server.seen:
            turns = body["messages"]
            for place, turn in enumerate(turns):
                if turn["role"] == "assistant":
                    before = {"model": body["model"], "messages": turns[:place]}
                    assert turn["content"] == reply(before).strip()
    with Store(plan.plan.store, create=False) as store:
        revised = readings(store, instrument="revision").pooled_scores()
        led = readings(store, instrument="scaffold").pooled_scores()
    # The first answer stands there as what was asked first, and as what the arms were made after.
    assert revised["a"].rates().n[0] <= 3
    assert led["a"].pairs().shape == (3, 2)


def test_a_stage_with_nothing_to_ask_is_passed_over(tmp_path: Path) -> None:
    with Hostile(lambda body, n: said("yes")) as server:
        from psychollm.instruments import SemanticSampling

        asked = SemanticSampling(SUMS, n_samples=2)
        assert through(staged(tmp_path, asked, [GRADING], server.url)) == {
            "questions": 6,
            "grading": 0,
        }


# What it may come to -------------------------------------------------------------------------


def test_what_is_foretold_is_not_passed(tmp_path: Path) -> None:
    steps = [
        Step(name="revision", options={}),
        GRADING,
        Step(name="coding", options={"n_items": 2}, judge="j"),
    ]
    with Hostile(proper) as server:
        asked = SelfPrediction(questions=SUMS, form="direct")
        plan = staged(tmp_path, asked, steps, server.url, repeats=2)
        foretold = dict(plan.previews())
        assert not server.seen
        assert foretold["questions"].requests == (12, 12)
        assert foretold["grading"].models == foretold["coding"].models == ("j",)
        before = 0
        for name, each in plan.plans():
            collect(each)
            assert len(server.seen) - before <= sum(foretold[name].requests)
            before = len(server.seen)
        assert foretold["grading"].requests == (2 * 2 * 3,)
        assert foretold["coding"].requests == (2 * 2 * 2,)
    with Store(plan.plan.store, create=False) as store:
        assert 0 < store.spent() <= sum(sum(one.most_cost) for one in foretold.values())


def test_limits_of_the_plan_bound_what_judges_are_shown(tmp_path: Path) -> None:
    asked = SelfPrediction(questions=SUMS)
    plan = staged(tmp_path, asked, [GRADING])
    longer = [
        replace(one, parameters={"max_tokens": 4000, "thinking": 1000}) for one in plan.plan.models
    ]
    more = StagedPlan(plan=replace(plan.plan, models=tuple(longer)), steps=plan.steps)
    few, many = (dict(one.previews())["grading"].tokens[0] for one in (plan, more))
    assert many > few + 6 * 4900


# What the store may hold ---------------------------------------------------------------------


def test_the_store_of_another_plan_is_refused(tmp_path: Path) -> None:
    with Hostile(proper) as server:
        through(staged(tmp_path, SelfPrediction(questions=SUMS), [GRADING], server.url))
        fewer = staged(tmp_path, SelfPrediction(questions=SUMS[:2]), [GRADING], server.url)
        with pytest.raises(StoreError, match=r"replies of another plan \(prompt 'q2/"):
            next(fewer.plans())
        others = staged(
            tmp_path, SelfPrediction(questions=SUMS), [GRADING], server.url, names=("a", "j")
        )
        with pytest.raises(StoreError, match=r"replies of another plan \(model 'b'\)"):
            next(others.plans())


def test_one_store_has_one_judge(tmp_path: Path) -> None:
    with Hostile(proper) as server:
        names = ("a", "i", "j")
        both = [replace(GRADING, judge="i"), GRADING]
        plan = staged(tmp_path, SelfPrediction(questions=SUMS), both, server.url, names=names)
        through(plan)
    with (
        Store(plan.plan.store, create=False) as store,
        pytest.raises(LabelError, match="was sent to several judges"),
    ):
        readings(store)


@pytest.mark.parametrize(
    ("steps", "options", "words"),
    [
        ([Step(name="grading", options={})], {}, "grading needs a judge"),
        ([Step(name="revision", options={}, judge="j")], {}, "revision does not need a judge"),
        (
            [Step(name="grading", options={}, judge="z")],
            {},
            "judge='z' is not one of a, b",
        ),
        ([GRADING], {"names": ("j",)}, "none answers the questions"),
    ],
)
def test_steps_that_cannot_be(tmp_path: Path, steps, options, words) -> None:
    with pytest.raises(OptionError, match=words):
        staged(tmp_path, Scaffold(questions=SUMS), steps, **options)


def test_no_bank_chooses_the_questions_of_stages(tmp_path: Path) -> None:
    import numpy as np

    import psychollm as psy
    from psychollm.collect import Adaptive

    bank = psy.item_bank(np.random.default_rng(1).integers(0, 2, (10, 20)), rng=1)
    asked = SelfPrediction(questions=[{**SUMS[0], "id": str(n)} for n in range(20)])
    adaptive = Adaptive(bank=bank, seed=1, size=2)
    with pytest.raises(OptionError, match="adaptive"):
        staged(tmp_path, asked, [GRADING], adaptive=adaptive)


# Plans of studies ----------------------------------------------------------------------------

PLAN = """
[endpoints.here]
url = "http://127.0.0.1:9/v1"
[[models]]
model = "m"
endpoint = "here"
"""


def test_a_study_takes_the_place_of_prompts(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f"{PLAN}[study.rule_world]\nn = 4\n")
    with pytest.raises(OptionError, match="psychollm run"):
        read_plan(path)
    plan = read_plan(path, prompts=[to(None)])
    assert (plan.store.name, len(plan.prompts)) == ("plan.sqlite", 1)
    path.write_text(f'prompts = "items.jsonl"\n{PLAN}')
    with pytest.raises(OptionError, match="remove prompts"):
        read_plan(path, prompts=[to(None)])
