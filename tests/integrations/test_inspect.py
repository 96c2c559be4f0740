"""Tasks of Inspect AI that stop early, run by Inspect itself with its mock model."""

import gc
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pytest

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.bank import Session
from psychollm.data.logs import read_scores
from psychollm.estimates.reasons import Reason
from psychollm.integrations.inspect import StopEarly, stop_early
from tests.banks import hard_ones_wrong, small_bank
from tests.banks import told as told_by

pytest.importorskip("inspect_ai")

from inspect_ai import Task, eval, eval_retry, task  # noqa: A004
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score, includes, match
from inspect_ai.solver import Generate, Solver, TaskState, solver

# What Inspect leaves open, and what it uses that others give up.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*initial.* is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
]

N = 60
BANK = small_bank(N)


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    """Let its open streams be found here, and not in somebody else's test."""
    yield
    gc.collect()


def dataset(n: int = N) -> MemoryDataset:
    """Some questions are beyond the model, which says yes to all; sorted by that."""
    keys = sorted((f"q{k}" for k in range(n)), key=hard_ones_wrong)
    samples = [
        Sample(id=k, input=f"{k}?", target="yes" if hard_ones_wrong(k) else "no") for k in keys
    ]
    return MemoryDataset(samples, name="quiz")


def model(name: str = "a", says: str = "yes") -> Model:
    def answer(*_: Any) -> ModelOutput:
        said = ModelOutput.from_content(name, says)
        # Else Inspect counts tokens by a table that it fetches.
        said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return said

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def run(folder: Path, task: Task, *models: Model, **options: Any) -> list[EvalLog]:
    return eval(
        task,
        model=[*models] or [model()],
        log_dir=str(folder),
        display="none",
        max_samples=options.pop("max_samples", 4),
        **options,
    )


def metadata(log: EvalLog) -> dict[str, Any]:
    assert log.status == "success", log.error
    assert log.results
    assert log.results.early_stopping
    return log.results.early_stopping.metadata


def asked(log: EvalLog) -> set[str]:
    return {str(sample.id) for sample in log.samples or ()}


def by_hand(n: int, answer: Any = hard_ones_wrong, **options: Any) -> Session:
    """Return a session of the bank after its first `n` questions."""
    session = BANK.session(rng=1, **options)
    while session.next(max(20, len(session.asked) // 2)):
        pass
    for question in session.asked[:n]:
        session.record(question, answer(question))
    return session


def told(found: dict[str, Any]) -> Any:
    return pytest.approx([found["score"], found["lower"], found["upper"]])


def test_a_task_stops_when_its_interval_is_narrow_enough(tmp_path: Path) -> None:
    stop = stop_early(BANK, half_width=0.15, rng=1)
    (log,) = run(tmp_path, Task(stop.ordered(dataset()), scorer=match(), early_stopping=stop))
    found = metadata(log)
    n = found["asked"]
    fewest = next(k for k in range(5, N) if by_hand(k, half_width=0.15).done)
    assert fewest <= n <= fewest + 4 < N  # those under way come to an end
    session = by_hand(n, half_width=0.15)
    assert asked(log) == set(session.asked[:n])
    assert told_by(session.estimate()) == told(found)
    assert found["stopped"] == "the margin of error is at most 0.15"
    assert found["bank"] == BANK.digest
    assert (found["questions"], found["unanswered"], found["seed"]) == (N, 0, 1)
    # What stands in the file is what is there, and the answers can be read back as of any log.
    assert metadata(read_eval_log(log.location)) == found
    assert log.results
    assert log.results.early_stopping
    assert len(log.results.early_stopping.early_stops) == N - n
    scores = read_scores(log.location).frame.set_index("question")["score"]
    assert dict(scores) == {question: hard_ones_wrong(question) for question in session.asked[:n]}


def test_models_side_by_side_are_counted_apart_and_asked_the_same(tmp_path: Path) -> None:
    stop = stop_early(BANK, size=20, rng=1)
    task = Task(stop.ordered(dataset()), scorer=match(), early_stopping=stop)
    first, second = run(tmp_path, task, model("a"), model("b", "no"), max_tasks=2)
    assert asked(first) == asked(second) == set(by_hand(20, size=20).asked)
    assert told_by(by_hand(20, size=20).estimate()) == told(metadata(first))
    other = by_hand(20, lambda question: 1 - hard_ones_wrong(question), size=20)
    assert told_by(other.estimate()) == told(metadata(second))


def test_in_another_order_all_that_are_drawn_are_asked(tmp_path: Path) -> None:
    stop = stop_early(BANK, size=20, half_width=0.2, rng=1)
    (log,) = run(tmp_path, Task(dataset(), scorer=match(), early_stopping=stop))
    assert asked(log) == set(by_hand(20, size=20).asked)
    assert metadata(log)["asked"] == 20
    stop = stop_early(BANK, half_width=0.2, rng=1)
    (log,) = run(tmp_path, Task(dataset(), scorer=match(), early_stopping=stop))
    n = int(BANK.plan(half_width=0.2).needed.max())
    assert asked(log) == set(by_hand(n).asked[:n])


def test_a_limit_takes_the_first_that_were_drawn(tmp_path: Path) -> None:
    stop = stop_early(BANK, half_width=0.01, rng=1)
    task = Task(stop.ordered(dataset()), scorer=match(), early_stopping=stop)
    (log,) = run(tmp_path, task, limit=12)
    assert asked(log) == set(by_hand(12).asked[:12])
    assert metadata(log)["asked"] == 12
    stop = stop_early(BANK, size=20, rng=1)
    (log,) = run(tmp_path, Task(dataset(), scorer=match(), early_stopping=stop), limit=12)
    assert log.error
    assert "was drawn but is not among the 12 samples" in log.error.message


def test_epochs_are_averaged(tmp_path: Path) -> None:
    @solver
    def in_the_first_epoch() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("m", "yes" if state.epoch == 1 else "?")
            return state

        return solve

    stop = stop_early(BANK, half_width=0.2, rng=1)
    task = Task(
        stop.ordered(dataset()),
        solver=in_the_first_epoch(),
        scorer=match(),
        epochs=2,
        early_stopping=stop,
    )
    (log,) = run(tmp_path, task)
    found = metadata(log)
    assert len(log.samples or ()) == 2 * found["asked"] < 2 * N
    half = by_hand(found["asked"], lambda question: hard_ones_wrong(question) / 2, half_width=0.2)
    assert told_by(half.estimate()) == told(found)


FAILED: Counter[str] = Counter()


def failed(question: str) -> bool:
    return int(question[1:]) % 5 == 0


@solver
def failing(times: int) -> Solver:
    """Fail so many times at every fifth question."""
    FAILED.clear()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        name = str(state.sample_id)
        if failed(name) and FAILED[name] < times:
            FAILED[name] += 1
            msg = "no sandbox"
            raise RuntimeError(msg)
        return await generate(state)

    return solve


@pytest.mark.parametrize("score_on_error", [False, True])
def test_samples_that_fail_are_missing_and_do_not_hold_it_up(
    tmp_path: Path, *, score_on_error: bool
) -> None:
    stop = stop_early(BANK, half_width=0.2, rng=1)
    task = Task(
        stop.ordered(dataset()),
        solver=failing(99),
        scorer=match(),
        early_stopping=stop,
        fail_on_error=False,
        score_on_error=score_on_error,
    )
    (log,) = run(tmp_path, task)
    found = metadata(log)
    session = by_hand(
        found["asked"],
        lambda one: nan if failed(one) else hard_ones_wrong(one),
        half_width=0.2,
    )
    assert told_by(session.estimate()) == told(found)
    assert found["unanswered"] == sum(map(failed, session.answers)) > 0
    assert found["flag"] == str(Reason.MISSING_ANSWERS)
    assert found["asked"] < N


def test_a_sample_that_is_tried_again_is_not_cut_off(tmp_path: Path) -> None:
    stop = stop_early(BANK, size=20, rng=1)
    task = Task(
        stop.ordered(dataset()),
        solver=failing(1),
        scorer=match(),
        early_stopping=stop,
    )
    (log,) = run(tmp_path, task, retry_on_error=1)
    assert metadata(log)["unanswered"] == 0
    assert told_by(by_hand(20, size=20).estimate()) == told(metadata(log))


@solver
def failing_once(count: str) -> Solver:
    """Fail at the 4th sample that is asked; a retry loads this file anew, so a file counts."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        file = Path(count)
        asked = file.read_text() if file.exists() else ""
        file.write_text(f"{asked}{state.sample_id} ")
        if len(asked.split()) == 3:
            msg = "no sandbox"
            raise RuntimeError(msg)
        state.output = ModelOutput.from_content("m", "yes")  # a retried mock model says else
        return state

    return solve


@task
def stopped_in_the_middle(count: str) -> Task:
    stop = stop_early(BANK, half_width=0.15, rng=1)
    return Task(
        stop.ordered(dataset()), solver=failing_once(count), scorer=match(), early_stopping=stop
    )


def test_a_run_that_broke_off_goes_on_to_the_same_interval(tmp_path: Path) -> None:
    whole, count = tmp_path / "whole", tmp_path / "count"
    whole.write_text("before " * 4)
    (expected,) = run(tmp_path, stopped_in_the_middle(str(whole)), max_samples=1)
    (broken,) = run(tmp_path, stopped_in_the_middle(str(count)), max_samples=1)
    assert broken.status == "error"
    (log,) = eval_retry(broken, log_dir=str(tmp_path), display="none", max_samples=1)
    assert metadata(log) == metadata(expected)
    again, once = count.read_text().split(), whole.read_text().split()[4:]
    # Asked twice are the one that failed and what was under way beside it.
    assert set(again) == set(once)
    assert len(again) <= len(once) + 2


def test_it_needs_a_log(tmp_path: Path) -> None:
    stop = stop_early(BANK, size=20, rng=1)
    task = Task(stop.ordered(dataset()), scorer=match(), early_stopping=stop)
    (log,) = run(tmp_path, task, log_samples=False)
    assert log.error
    assert "log_samples" in log.error.message


def test_several_scorers_need_a_choice(tmp_path: Path) -> None:
    def of(**options: Any) -> EvalLog:
        stop = stop_early(BANK, size=10, rng=1, **options)
        task = Task(stop.ordered(dataset()), scorer=[match(), includes()], early_stopping=stop)
        return run(tmp_path, task)[0]

    log = of()
    assert log.error
    assert "scorer=, of 'match', 'includes'" in log.error.message
    assert metadata(of(scorer="includes"))["asked"] == 10


def one(value: Any, name: str = "m") -> dict[str, SampleScore]:
    return {name: SampleScore(score=Score(value=value), sample_id="q0")}


@pytest.mark.parametrize(
    ("value", "worth"),
    [("C", 1), ("I", 0), ("P", 0.5), ("N", 0), (True, 1), (0.25, 0.25), ("0.5", 0.5), ("yes", 1)],
)
def test_what_a_score_is_worth(value: Any, worth: float) -> None:
    assert stop_early(BANK, size=1).answer("q0", one(value)) == worth


def test_scores_with_parts_and_of_other_scales() -> None:
    parts = one({"recall": 0.25, "style": 7, "gone": None})
    assert stop_early(BANK, size=1, scorer="m.recall").answer("q0", parts) == 0.25
    assert math.isnan(stop_early(BANK, size=1, scorer="m.gone").answer("q0", parts))
    assert math.isnan(stop_early(BANK, size=1).answer("q0", one(math.nan)))
    assert math.isnan(stop_early(BANK, size=1).answer("q0", {}))

    def tenths(score: Score) -> float:
        return score.as_float() / 10

    assert stop_early(BANK, size=1, worth=tenths).answer("q0", one(7)) == 0.7
    with pytest.raises(CodeError, match="sample 'q0': the score 7 by 'm.style'.*worth="):
        stop_early(BANK, size=1, scorer="m.style").answer("q0", parts)
    with pytest.raises(CodeError, match="the score 'A' by 'm'"):
        stop_early(BANK, size=1).answer("q0", one("A"))
    with pytest.raises(OptionError, match="no score is 'n'.*of 'm'"):
        stop_early(BANK, size=1, scorer="n").answer("q0", one("C"))


def test_the_dataset_must_hold_the_bank() -> None:
    stop = stop_early(BANK, size=10, rng=1)
    with pytest.raises(LabelError, match="lacks 2 of 60 questions of the bank, such as 'q58'"):
        stop.ordered(dataset(58))
    with pytest.raises(LabelError, match="two samples .* 'q1'"):
        stop.ordered([*dataset(), Sample(id="q1", input="")])
    # Numbered as by Inspect; what is not in the bank is never asked.
    numbers = stop_early(replace(BANK, questions=tuple(range(1, N + 1))), size=3, rng=1)
    made = numbers.ordered([Sample(input=str(k)) for k in range(N + 5)])
    assert sorted(int(sample.id or 0) for sample in made) == [*range(1, N + 6)]
    assert [sample.id for sample in made[-5:]] == [*range(N + 1, N + 6)]
    named = stop_early(BANK, size=2, rng=1, label=lambda sample: f"q{sample.input}")
    assert len(named.ordered([Sample(input=str(k)) for k in range(N)])) == N


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="half_width=, size="):
        stop_early(BANK)
    with pytest.raises(OptionError, match="size=0"):
        stop_early(BANK, size=0)
    with pytest.raises(OptionError, match="rng"):
        stop_early(BANK, size=1, rng=-1)
    assert isinstance(stop_early(BANK, size=1), StopEarly)


def test_the_program_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "live.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(from .*?)```", page, re.DOTALL)
    program = program.replace("solver=...,", "").replace("scorer=...", "scorer=match()")
    asked = []

    def on_the_mock_model(task: Task, **named: Any) -> list[EvalLog]:
        asked.append(named)
        return run(tmp_path, task)

    BANK.save(tmp_path / "mmlu.bank")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("inspect_ai.eval", on_the_mock_model)
    names: dict[str, Any] = {"dataset": dataset(), "match": match}
    exec(program, names)  # noqa: S102
    assert asked == [{"model": "openai/gpt-4o-mini"}]
    (said,) = re.findall(r"# (score, .*), \.\.\.", program)
    assert set(said.split(", ")) <= set(metadata(names["log"]))
