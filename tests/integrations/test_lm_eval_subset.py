"""The example that puts a drawn subset to lm-evaluation-harness, on logs in the harness's form."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.numbers import with_interval

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "lm_eval_subset.py"
N = 40


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("lm_eval_subset", SCRIPT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_logs(folder: Path, model: str, right: dict[str, dict[int, int]]) -> None:
    """Write samples and results as the harness does."""
    own, time = folder / model, "2026-11-21T08-37-25.010071"
    own.mkdir(parents=True)
    (own / f"results_{time}.json").write_text(json.dumps({"model_name": model}))
    for task, scores in right.items():
        rows = [
            {
                "doc_id": k,
                "doc": {"question": f"{task} {k}?"},
                "target": "0",
                "arguments": {},
                "resps": [[["-0.5", "False"]]],
                "filtered_resps": [["-0.5", "False"], ["-0.8", "False"]],
                "filter": "none",
                "metrics": ["acc", "acc_norm"],
                "doc_hash": f"{task}{k:063d}",
                "acc": float(score),
                "acc_norm": 1.0,
            }
            for k, score in scores.items()
        ]
        lines = "\n".join(json.dumps(row) for row in rows)
        (own / f"samples_{task}_{time}.jsonl").write_text(lines)


@pytest.fixture(params=[("arc",), ("arc", "boolq")], ids=["one task", "two tasks"])
def tasks(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found: tuple[str, ...] = request.param
    return found


def answered(seed: int, tasks: tuple[str, ...]) -> dict[str, dict[int, int]]:
    rng = np.random.default_rng(seed)
    ability = rng.normal()
    return {
        task: {k: int(rng.random() < 1 / (1 + np.exp(-ability - (k % 5) + 2))) for k in range(N)}
        for task in tasks
    }


def test_from_logs_to_a_subset_to_the_score_of_the_whole(
    script: ModuleType,
    tmp_path: Path,
    tasks: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for k in range(8):
        write_logs(tmp_path / "old", f"model{k}", answered(k, tasks))
    scores = psy.read_logs(tmp_path / "old", scorer="acc").responses
    bank = psy.item_bank(scores, rng=1)
    file, chosen = str(bank.save(tmp_path / "bank.psy")), tmp_path / "subset.json"
    options = ["--task", "arc", "--size", "25", "--seed", "3"]
    script.main(["draw", file, *options, "--out", str(chosen)])
    subset = json.loads(chosen.read_text())
    assert sum(map(len, subset.values())) == 25
    assert set(subset) == set(tasks)
    # The harness writes ids that are not in ascending order beside the wrong documents.
    assert all(ids == sorted(ids) for ids in subset.values())
    new = answered(99, tasks)
    write_logs(
        tmp_path / "new",
        "new",
        {task: {k: new[task][k] for k in ids} for task, ids in subset.items()},
    )
    capsys.readouterr()
    script.main(["score", file, str(tmp_path / "new"), *options])
    session = bank.session(25, rng=3)
    for question in session.next(25):
        task, _, number = question.rpartition("/")
        session.record(question, new[task or "arc"][int(number)])
    found = session.estimate()
    assert with_interval(found.value[0], found.interval[0], 3) in capsys.readouterr().out
    with pytest.raises(SystemExit, match="questions drawn are not in the logs"):
        script.main(["score", file, str(tmp_path / "new"), *options[:-1], "4"])


def test_labels_that_are_no_ids_are_refused(script: ModuleType) -> None:
    assert script.subset(["12", "3", "4"], "arc") == {"arc": [3, 4, 12]}
    assert script.subset(["a/12", "b/3"], "arc") == {"a": [12], "b": [3]}
    with pytest.raises(SystemExit, match="12~3fa81c02"):
        script.subset(["12~3fa81c02"], "arc")
