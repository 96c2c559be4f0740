"""Plans whose questions a bank draws, against a server of our own."""

import json
import os
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.bank import Session
from psychollm.cli import main
from psychollm.collect.adaptive import Adaptive
from psychollm.collect.client import Collection, collect
from psychollm.collect.drawing import bank_scores
from psychollm.collect.plan import Plan, read_plan
from psychollm.collect.preview import preview
from psychollm.collect.roster import Model
from psychollm.collect.store import Store
from psychollm.estimates.reasons import Reason
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.questions import Question
from psychollm.instruments.self_prediction import SelfPrediction
from tests.banks import hard_ones_wrong, small_bank, told
from tests.collect.conftest import MakePlan
from tests.collect.hostile import Act, Body, Hostile, said
from tests.collect.test_processes import start

pytest.importorskip("httpx")

N = 90
BANK = small_bank(N)


def prompts(n: int = N) -> tuple[Prompt, ...]:
    questions = [
        Question(key=f"q{k}", text=f"What is {k} + 0?", answers=(str(k),), rule="numeric")
        for k in range(n)
    ]
    asked = SelfPrediction(questions=questions, max_tokens=4).prompts()
    return tuple(prompt for prompt in asked if prompt.about["part"] == "answer")


def number_in(body: Body) -> int:
    return int(body["messages"][-1]["content"].split("What is ")[1].split(" +")[0])


def server(body: Body, n: int) -> Act:
    """Most are right; the other model knows nothing."""
    k = number_in(body)
    return said(str(k if hard_ones_wrong(f"q{k}") and body["model"] == "org/m" else 1000))


def adaptive(**options: Any) -> Adaptive:
    return Adaptive(**({"bank": BANK, "seed": 1, "half_width": 0.12, "batch": 8} | options))


def by_hand(answer: Any = hard_ones_wrong, **options: Any) -> Any:
    """Return the session after it was done."""
    chosen = adaptive(**options)
    session = chosen.session()
    while not session.done and (batch := session.next(chosen.batch)):
        for question in batch:
            session.record(question, answer(question))
    return session


def check(found: Any, session: Session) -> None:
    assert [found["score"], found["lower"], found["upper"]] == pytest.approx(
        told(session.estimate())
    )
    assert found["asked"] == len(session.answers)


def questions_of(bodies: list[Body], model: str = "org/m") -> list[str]:
    return [f"q{number_in(body)}" for body in bodies if body["model"] == model]


def test_it_asks_what_is_drawn_and_stops(
    make_plan: MakePlan, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile(server) as here:
        plan = make_plan(here.url, asked=prompts(), adaptive=adaptive())
        found = collect(plan)
    session = by_hand()
    assert len(session.answers) < N
    assert set(questions_of(here.seen)) == set(session.answers)
    assert len(here.seen) == len(session.answers)
    check(found.scores["m"], session)
    assert found.complete
    assert found.left == (0,)
    n = len(session.answers)
    line = f"for all 90 questions of the bank, estimated from {n} questions (the margin of error"
    assert line in found.summary()
    with Store(plan.store) as store:
        assert bank_scores(store) == found.scores
    assert main(["score", str(plan.store)]) == 0
    assert line in capsys.readouterr().out
    assert main(["score", str(plan.store), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bank"]["m"]["seed"] == 1


def test_each_model_has_a_session_of_its_own(make_plan: MakePlan) -> None:
    both = tuple(Model(name=name, endpoint="here", model=f"org/{name}") for name in ("m", "w"))
    with Hostile(server) as here:
        found = collect(make_plan(here.url, asked=prompts(), adaptive=adaptive(), models=both))
    check(found.scores["m"], by_hand())
    weak = by_hand(lambda question: 0.0)
    check(found.scores["w"], weak)
    assert set(questions_of(here.seen, "org/w")) == set(weak.answers)
    # The same seed: both begin with the same questions; what comes later is up to the answers.
    assert weak.asked[:8] == by_hand().asked[:8]


POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def write_plan(folder: Path, url: str, *adaptive: str, more: str = "") -> Path:
    """Write a plan with its prompts and its bank."""
    BANK.save(folder / "bank.psy")
    lines = [json.dumps(prompt.to_dict()) for prompt in prompts()]
    (folder / "items.jsonl").write_text("\n".join(lines))
    text = ['prompts = "items.jsonl"', 'store = "run.sqlite"', "[adaptive]", 'bank = "bank.psy"']
    text += [*adaptive, "[endpoints.here]", f'url = "{url}"', more]
    text += ["[[models]]", 'name = "m"', 'model = "org/m"', 'endpoint = "here"']
    plan = folder / "plan.toml"
    plan.write_text("\n".join(text))
    return plan


@POSIX
def test_killed_it_goes_on_to_the_same_questions_and_the_same_interval(tmp_path: Path) -> None:
    """kill -9 after the 5th, then after the 15th further request, then to the end."""
    with Hostile(lambda body, n: replace(server(body, n), delay=0.02)) as here:
        options = ("half_width = 0.12", "seed = 1", "batch = 8")
        plan = write_plan(tmp_path, here.url, *options, more="concurrency = 2")
        for further in (5, 15):
            target = len(here.seen) + further
            process = start(plan)
            while len(here.seen) < target and process.poll() is None:
                time.sleep(0.002)
            process.kill()
            process.communicate()
        assert 15 < len(here.seen) < len(by_hand().answers)
        process = start(plan)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    with Store(tmp_path / "run.sqlite") as store:
        check(bank_scores(store)["m"], by_hand())
    asked = Counter(questions_of(here.seen))
    assert set(asked) == set(by_hand().answers)
    assert sum(asked.values()) <= len(asked) + 4  # two under way each time


class PlugError(Exception):
    """Stands for the plug."""


@pytest.mark.parametrize("after", [0, 5, 8, 21])
def test_broken_off_it_goes_on_to_the_same_interval(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    kept = Store.record_all
    times = 0

    def record(self: Store, exchanges: list[Any]) -> list[int]:
        nonlocal times
        times += len(exchanges)
        if times > after:
            raise PlugError
        return kept(self, exchanges)

    with Hostile(server) as here:
        plan = make_plan(here.url, asked=prompts(), adaptive=adaptive(), start_concurrency=2)
        monkeypatch.setattr(Store, "record_all", record)
        with pytest.raises(PlugError):
            collect(plan)
        monkeypatch.undo()
        found = collect(plan)
        again = collect(plan)
    check(found.scores["m"], by_hand())
    assert again.scores == found.scores
    asked = Counter(questions_of(here.seen))
    assert set(asked) == set(by_hand().answers)
    assert sum(asked.values()) <= len(asked) + 8  # those under way when it broke off


def test_what_fails_is_missing_until_it_is_asked_again(make_plan: MakePlan) -> None:
    down = True

    def failing(body: Body, n: int) -> Act:
        k = number_in(body)
        if k % 5 == 0 and down:
            return Act(status=400, body=b'{"error": {"message": "no"}}')
        return said("") if k % 7 == 0 else server(body, n)

    def answer(question: str) -> float:
        k = int(question[1:])
        return float("nan") if k % 5 == 0 or k % 7 == 0 else hard_ones_wrong(question)

    with Hostile(failing) as here:
        plan = make_plan(here.url, asked=prompts(), adaptive=adaptive(), attempts=1)
        found = collect(plan).scores["m"]
        session = by_hand(answer)
        check(found, session)
        missing = sum(one != one for one in session.answers.values())
        assert found["unanswered"] == missing > 0
        assert found["flag"] == str(Reason.MISSING_ANSWERS)
        down = False
        later = collect(plan).scores["m"]
    assert later["unanswered"] < missing


def test_another_seed_leaves_what_the_first_had_drawn(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hostile(server) as here:
        plan = make_plan(here.url, asked=prompts(), adaptive=adaptive(seed=2))
        monkeypatch.setattr(Store, "claim", lambda *_, **__: [])
        assert collect(plan).left == (8,)  # entered, not asked
        monkeypatch.undo()
        found = collect(replace(plan, adaptive=adaptive()))
    assert set(questions_of(here.seen)) == set(by_hand().answers)
    assert found.left == (0,)


def test_repeats_are_averaged(make_plan: MakePlan) -> None:
    seen: Counter[int] = Counter()

    def wavering(body: Body, n: int) -> Act:
        k = number_in(body)
        seen[k] += 1
        return said(str(k)) if seen[k] == 1 else server(body, n)

    with Hostile(wavering) as here:
        plan = make_plan(here.url, asked=prompts(), adaptive=adaptive(), repeats=2)
        found = collect(plan)
    check(found.scores["m"], by_hand(lambda question: (1 + hard_ones_wrong(question)) / 2))


def test_prompts_that_follow_come_with_their_question(make_plan: MakePlan) -> None:
    questions = [
        Question(key=f"q{k}", text=f"What is {k} + 0?", answers=(str(k),), rule="numeric")
        for k in range(N)
    ]
    pairs = SelfPrediction(questions=questions, same_conversation=True).prompts()
    with Hostile(server) as here:
        found = collect(make_plan(here.url, asked=pairs, adaptive=adaptive(size=10)))
    assert found.scores["m"]["asked"] == 10
    assert Counter(Counter(questions_of(here.seen)).values()) == {2: 10}


def test_a_preview_counts_the_most_that_is_asked(make_plan: MakePlan) -> None:
    plan = make_plan("http://127.0.0.1:9/v1", asked=prompts(), adaptive=adaptive(size=20))
    assert preview(plan).requests == (20,)
    plan = replace(plan, adaptive=adaptive())
    assert preview(plan).requests == (N,)


def plain_plan(asked: tuple[Prompt, ...], **options: Any) -> Plan:
    return Plan(
        store=Path("run.sqlite"),
        prompts=asked,
        endpoints={},
        models=(),
        adaptive=adaptive(**options),
    )


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="1 of 90 questions of the bank have no prompt.*'q89'"):
        plain_plan(prompts(N - 1))
    with pytest.raises(OptionError, match="half_width, size"):
        adaptive(half_width=None)
    with pytest.raises(OptionError, match="adaptive: batch=0"):
        adaptive(batch=0)
    other = replace(prompts()[0], key="x", about={"instrument": "wagering"})
    with pytest.raises(OptionError, match="self_prediction, wagering"):
        plain_plan((*prompts(), other))
    follows = replace(prompts()[0], key="x", follows=prompts()[1].key)
    with pytest.raises(LabelError, match="'x' follows one about another question"):
        plain_plan((*prompts(), follows))


def test_a_plan_names_a_bank(tmp_path: Path) -> None:
    def write(*adaptive: str) -> Path:
        return write_plan(tmp_path, "http://127.0.0.1:9/v1", *adaptive)

    found = read_plan(write("seed = 1", "size = 3")).adaptive
    assert found
    assert (found.size, found.batch, found.bank.digest) == (3, 20, BANK.digest)
    with pytest.raises(OptionError, match="adaptive: seed missing"):
        read_plan(write("size = 3"))
    with pytest.raises(OptionError, match="adaptive: n unknown"):
        read_plan(write("seed = 1", "n = 3"))
    plan = write("seed = 1", "size = 3")
    (tmp_path / "bank.psy").unlink()
    with pytest.raises(InputError, match=r"bank\.psy"):
        read_plan(plan)
    none = Collection(
        store="", models=(), answered=(), failed=(), left=(), cost=0.0, failures={}, halted={},
        stopped=None,
    )  # fmt: skip
    none.save(tmp_path / "bank.psy")
    with pytest.raises(InputError, match="holds a Collection, not an item bank"):
        read_plan(plan)
