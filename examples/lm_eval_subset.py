"""Ask a sample of a task of lm-evaluation-harness, and estimate the score on the whole task.

    python examples/lm_eval_subset.py draw bank.psy --task arc_easy --size 100 --out subset.json
    lm_eval run --model hf --model_args pretrained=org/new --tasks arc_easy \
        --samples subset.json --log_samples --output_path new
    python examples/lm_eval_subset.py score bank.psy new --task arc_easy --size 100 --metric acc

The item bank is built from the sample logs of other models on the whole task::

    scores = psy.read_logs("old", scorer="acc").responses
    psy.item_bank(scores, rng=1).save("bank.psy")

Size and seed must be the same in both commands, because they determine the sample.
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psychollm as psy


def subset(drawn: Iterable[str], task: str) -> dict[str, list[int]]:
    """Return the ids of documents by task, in the format of ``--samples``.

    A bank of one task names its questions by their ids, one of several (the subjects of a group)
    by task and id, as the readers of logs do.
    """
    chosen: dict[str, list[int]] = {}
    for question in drawn:
        name, _, number = question.rpartition("/")
        if not number.isdigit():
            msg = (
                f"question {question!r} has no plain id: was the bank made of two versions of it?"
            )
            raise SystemExit(msg)
        chosen.setdefault(name or task, []).append(int(number))
    # Ascending, because the harness reads documents in its own order and would pair them with
    # our ids one by one. Tasks without ids are omitted, because [] means all.
    return {name: sorted(numbers) for name, numbers in chosen.items()}


def answers(logs: Path, metric: str, *, by_task: bool) -> Mapping[str, Mapping[str, float]]:
    """Return the scores in the logs by model and question."""
    frame = psy.read_scores(logs, scorer=metric, match="label").frame
    if by_task:  # logs of one task do not name it
        named = frame["question"].where(
            frame["question"].str.contains("/"), frame["task"] + "/" + frame["question"]
        )
        frame = frame.assign(question=named)
    means = frame.groupby(["model", "question"])["score"].mean()
    return {str(model): dict(own.droplevel("model")) for model, own in means.groupby("model")}


def draw(bank: Any, given: argparse.Namespace) -> None:
    """Write the subset."""
    chosen = subset(bank.session(given.size, rng=given.seed).next(given.size), given.task)
    given.out.write_text(json.dumps(chosen))
    print(
        f"{given.size} of {len(bank.questions)} questions, tasks {', '.join(chosen)}: {given.out}"
    )


def score(bank: Any, given: argparse.Namespace) -> None:
    """Print the score of each model over the whole bank."""
    by_task = any("/" in question for question in bank.questions)
    for model, own in answers(given.logs, given.metric, by_task=by_task).items():
        session = bank.session(given.size, rng=given.seed)
        drawn = session.next(given.size)
        if absent := [question for question in drawn if question not in own]:
            msg = (
                f"{model}: {len(absent)} questions drawn are not in the logs, such as {absent[0]}"
            )
            raise SystemExit(msg)
        for question in drawn:
            session.record(question, own[question])  # NaN where the harness has no score
        print(session.estimate(label=model).summary())


def main(arguments: list[str] | None = None) -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for name, run in (("draw", draw), ("score", score)):
        command = commands.add_parser(name, help=run.__doc__)
        command.set_defaults(run=run)
        command.add_argument("bank", type=Path)
        if run is draw:
            command.add_argument("--out", type=Path, required=True)
        else:
            command.add_argument("logs", type=Path)
            command.add_argument("--metric", default="acc")
        command.add_argument("--task", required=True, help="as the harness calls it")
        command.add_argument("--size", type=int, required=True)
        command.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    given.run(psy.load(given.bank), given)


if __name__ == "__main__":
    main()
