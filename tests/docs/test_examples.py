"""Every Python example of every page runs: sessions (`>>>`) with their output, and programs.

A page speaks of `confidence`, `scores` or ``answers.parquet`` of its readers; `GIVEN` makes small
ones. Nothing is asked of a network.
"""

import doctest
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import psychollm as psy

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "generated", "gallery"} & set(path.relative_to(DOCS).parts)
}  # those of the README run in tests/test_documents.py
BLOCK = re.compile(r"^```(?:python|\{executed\})\n(.*?)^```", re.MULTILINE | re.DOTALL)
SESSIONS = [page for page, text in PAGES.items() if ">>>" in text]
PROGRAMS = {
    page: [one for one in BLOCK.findall(text) if not one.startswith(">>>")]
    for page, text in PAGES.items()
}
# Those run in tests/integrations and tests/steering, beside the model that they need.
ELSEWHERE = {"live.md", "steering.md"}
NEEDED = {  # packages that may be absent
    "results.md": ["xarray"],
    "clusters.md": ["joblib", "dask"],
    "difficulty.md": ["sklearn"],
    "calibration.md": ["duckdb", "matplotlib"],
    "question_audit.md": ["matplotlib"],
    "index.md": ["matplotlib"],
    "tutorial_logs.md": ["matplotlib"],
    "tutorial_r.md": ["matplotlib"],
    "tutorial_replication.md": ["matplotlib"],
    "tutorial_leaderboard.md": ["matplotlib"],
    "factor_sparse.md": ["pyarrow"],
    "collect.md": ["httpx", "pyarrow"],
    "stages.md": ["httpx"],
}
MODELS, QUESTIONS = [f"m{k}" for k in range(1, 9)], [f"question {k}" for k in range(1, 41)]


def right(models: list[str] = MODELS, questions: list[str] = QUESTIONS) -> pd.DataFrame:
    """Return right and wrong answers by a Rasch model."""
    rng = np.random.default_rng(1)
    ease = np.linspace(-1.5, 1.5, len(questions))
    logits = rng.normal(0.3, 0.8, (len(models), 1)) + rng.permutation(ease)
    chance = 1.0 / (1.0 + np.exp(-logits))
    return pd.DataFrame((rng.random(chance.shape) < chance).astype(int), models, questions)


def long(table: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = table.rename_axis(columns=None).melt(ignore_index=False, value_name=name)
    return rows.rename_axis("model").rename(columns={"variable": "question"}).reset_index()


def of_calibration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    import duckdb

    rng, correctness = np.random.default_rng(2), right()
    confidence = (0.3 + 0.4 * correctness + 0.3 * rng.random(correctness.shape)).round(2)
    with duckdb.connect(str(folder / "answers.duckdb")) as base:
        base.register("rows", long(correctness, "correct").merge(long(100.0 * confidence, "sure")))
        base.execute("CREATE TABLE runs AS SELECT * FROM rows")
    passages = [k // 4 for k in range(len(QUESTIONS))]
    return {"confidence": confidence, "correctness": correctness, "passages": passages}


def of_collect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    from tests.cli.stores import filled

    asked = psy.instruments.SelfPrediction(
        questions=[{"key": "sum", "question": "17 times 23?", "answer": "391", "rule": "numeric"}]
    )
    store = filled(folder / "run.sqlite", asked.prompts(), {"m": lambda prompt, n: "391"})
    here = psy.collect.Endpoint(name="here", url="http://127.0.0.1:9/v1")
    models = [psy.collect.Model(name=name, endpoint="here", model="x") for name in ("m", "GPT-5")]
    monkeypatch.setattr(psy.collect, "collect", lambda plan: plan.requests())
    return {
        "plan": psy.collect.Plan(
            store=store, prompts=asked.prompts(), endpoints={"here": here}, models=tuple(models)
        )
    }


def of_contributing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    from psychollm._base.axes import Axes
    from psychollm.irt.families import YesOrNo

    return {"Axes": Axes, "YesOrNo": YesOrNo}


def of_factor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    long(right(["a", "b", *MODELS]), "correct").to_parquet(folder / "answers.parquet")
    return {"domain": np.arange(2000) % 2}


def of_inference_boundary(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    world, rng = psy.instruments.RuleWorld(n=300, seed=1), np.random.default_rng(1)
    said = {
        model: {p.key: rng.choice(["Yes.", "No.", "It cannot be known."]) for p in world.prompts()}
        for model in ("m1", "m2", "m3")
    }
    return {"replies": said}


def of_irt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    models = [f"m{k}" for k in range(41)]
    table, algebra = right(models), np.arange(len(QUESTIONS)) % 2
    where = {"all": 1, "algebra": algebra, "law": 1 - algebra}
    return {
        "correct": psy.Responses(table.iloc[:40]),
        "families": {model: k // 4 for k, model in enumerate(models[:40])},
        "answers": table.iloc[40],
        "family": [k % 2 for k in range(40)],
        "is_algebra": algebra,
        "is_law": 1 - algebra,
        "questions": QUESTIONS,
        "bifactor": pd.DataFrame(where, QUESTIONS),
        "family_of_model": ["llama", "qwen", "gemma", "phi"] * 10,
        "subject_of_question": ["algebra", "law"] * 20,
    }


def of_bank(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    models = [f"m{k}" for k in range(20)]
    scores = right(models, [f"q{k}" for k in range(200)])
    answers = scores.iloc[0].to_dict()
    return {
        "scores": scores.iloc[1:],
        "families": [k // 2 for k in range(1, 20)],
        "subjects": ["algebra", "law"] * 100,
        "ask_and_score": answers.get,
    }


def of_prediction(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    table, rng = right(), np.random.default_rng(1)
    return {
        "responses": table.where(rng.random(table.shape) < 0.8),
        "pd": pd,
        "task_names": QUESTIONS,
        "benchmarks": [k % 3 for k in range(len(QUESTIONS))],
        "minutes": 60.0 * rng.random(len(QUESTIONS)),
    }


def of_audit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    table = right([f"m{k}" for k in range(14)], [f"q{k}" for k in range(120)]).T
    rng = np.random.default_rng(1)
    key = rng.choice(list("ABCD"), len(table))
    wrong = rng.choice(list("ABCD"), table.shape)
    chosen = pd.DataFrame(np.where(table == 1, key[:, None], wrong), table.index, table.columns)
    chosen = chosen.assign(subject="law", key=key, label="ok").rename_axis("question")
    chosen.to_csv(folder / "mmlu_redux_options.csv.gz")
    return {}


def of_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    rng, correctness = np.random.default_rng(1), right([f"m{k}" for k in range(8)])
    shared = 2.0 * correctness.mean().to_numpy() + rng.normal(size=len(QUESTIONS))
    stated = shared + rng.normal(size=correctness.shape)
    confidence = pd.DataFrame(stated, correctness.index, correctness.columns)
    confidence.to_csv(folder / "confidence.csv")
    correctness.to_csv(folder / "correctness.csv")
    frame = long(correctness, "right").rename(columns={"model": "llm", "question": "id"})
    return {"frame": frame.assign(sure=np.linspace(0.1, 0.9, len(frame)))}


GIVEN: dict[str, Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]] = {
    "calibration.md": of_calibration,
    "collect.md": of_collect,
    "stages.md": of_collect,
    "contributing/extending.md": of_contributing,
    "contributing/index.md": of_contributing,
    "factor_sparse.md": of_factor,
    "factor_confirmatory.md": of_factor,
    "inference_boundary.md": of_inference_boundary,
    **dict.fromkeys(["irt.md", "irt_rasch.md", "irt_short_forms.md", "irt_groups.md"], of_irt),
    **dict.fromkeys(["irt_multidimensional.md", "irt_bayesian.md"], of_irt),
    "item_bank.md": of_bank,
    "prediction.md": of_prediction,
    "question_audit.md": of_audit,
    "start.md": of_start,
}


def test_all_pages_are_read() -> None:
    assert len(SESSIONS) > 12
    assert sum(map(len, PROGRAMS.values())) > 25
    assert set(GIVEN) <= {page for page, programs in PROGRAMS.items() if programs}
    marked = sum(text.count("```python\n") for text in PAGES.values())
    sessions = sum(len(re.findall(r"^```python\n>>>", text, re.M)) for text in PAGES.values())
    executed = sum(text.count("```{executed}") for text in PAGES.values())
    assert marked - sessions + executed == sum(map(len, PROGRAMS.values()))


def needed(page: str) -> None:
    for package in NEEDED.get(page, ()):
        pytest.importorskip(package)


@pytest.mark.parametrize("page", SESSIONS)
def test_sessions(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed(page)
    (tmp_path / "tests").symlink_to(ROOT / "tests", target_is_directory=True)  # for samples
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(
        str(DOCS / page), module_relative=False, optionflags=options, encoding="utf-8"
    )
    assert tried > 1
    assert failed == 0


def quicker(program: str) -> str:
    """Return a program with 19 replicates instead of those that its readers need."""
    return re.sub(r"\b(n_null=|bootstrap=|Bootstrap\()\d+", r"\g<1>19", program)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.filterwarnings(
    "ignore::psychollm._base.errors.PsychollmWarning"
)  # of tables so small
@pytest.mark.parametrize(
    "page", [page for page, programs in PROGRAMS.items() if programs and page not in ELSEWHERE]
)
def test_programs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed(page)
    monkeypatch.chdir(tmp_path)
    names = GIVEN.get(page, lambda folder, monkeypatch: {})(tmp_path, monkeypatch)
    for program in PROGRAMS[page]:
        try:
            exec(compile(quicker(program), page, "exec"), names)  # noqa: S102
        except psy.errors.MissingPackageError as error:
            pytest.skip(str(error))
    with suppress(ImportError):
        import matplotlib.pyplot as plt

        plt.close("all")


def test_each_picture_of_the_guide_is_shown_on_its_page() -> None:
    """`validation.guide_pictures` draws the example of a page under the name of that page."""
    pictures = sorted((DOCS / "_static" / "guide").glob("*.png"))
    assert pictures
    for path in pictures:
        assert f"_static/guide/{path.name}" in PAGES[f"{path.stem}.md"]
