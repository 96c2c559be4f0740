"""Every command that analyses something, on small files that are made here."""

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychollm import load
from psychollm.cli import main
from psychollm.data.simulate_study import simulate_study
from psychollm.instruments.abstention import Abstention
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.revision import Revision
from psychollm.instruments.rule_world import RuleWorld
from psychollm.instruments.scaffold import Scaffold
from psychollm.instruments.self_efficacy import SelfEfficacy
from psychollm.instruments.self_prediction import SelfPrediction
from psychollm.instruments.semantic_sampling import SemanticSampling
from tests.bank.conftest import simulated
from tests.cli.stores import filled
from tests.goldens import FOLDER, Kept, flat
from tests.studies.question_audit.test_study import drawn

SAVED = FOLDER / "commands.json"
QUICK = ("--null", "19", "--bootstrap", "50")

# By name: what is typed, in a folder of the files that `COMMANDS[name][0]` makes.
Make = Callable[[], None]


@cache
def _made_by(make: Make) -> Path:
    """Return a folder in which the files were made, once in a process: each draws by a seed."""
    folder = tempfile.TemporaryDirectory()
    _FOLDERS.append(folder)
    with contextlib.chdir(folder.name):
        make()
    return Path(folder.name)


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def fill(make: Make) -> None:
    """Copy the files that a function makes into the current folder."""
    shutil.copytree(_made_by(make), ".", dirs_exist_ok=True)


def tables() -> None:
    """Two wide tables, and both in one long file."""
    made = simulate_study(n_models=6, n_questions=120, rng=0)
    for name, table in (("said", made.confidence), ("right", made.correctness)):
        frame = pd.DataFrame(table.codes, index=table.models, columns=table.questions)
        frame.to_csv(f"{name}.csv", index_label="model")
    rng = np.random.default_rng(0)
    said = made.confidence.codes
    sure = np.where(said == 1, rng.integers(60, 100, said.shape), rng.integers(1, 41, said.shape))
    k, n = said.shape
    long = pd.DataFrame(
        {
            "model": np.repeat(made.confidence.models, n),
            "question": np.tile([f"q{i}" for i in range(n)], k),
            "confidence": sure.ravel() / 100.0,
            "score": made.correctness.codes.ravel(),
            "domain": np.tile(["sums", "proofs"] * (n // 2), k),
        }
    )
    long.to_csv("long.csv", index=False)
    long[long["model"] != made.confidence.models[0]].to_csv("fewer.csv", index=False)
    long.assign(confidence=100.0 * long["confidence"]).to_csv("percent.csv", index=False)
    spoken = pd.DataFrame(np.where(said == 1, "yes", "no"), columns=made.confidence.questions)
    spoken.index = pd.Index(made.confidence.models, name="model")
    spoken.iloc[1:, 1:].to_csv("spoken.csv")
    marked = pd.DataFrame(np.where(made.correctness.codes == 1, "yes", "no"), *spoken.axes)
    marked.to_csv("marked.csv", columns=marked.columns[:-1])
    units = pd.DataFrame({"question": [f"q{i}" for i in range(n)]})
    units.assign(passage=[q // 4 for q in range(n)]).to_csv("passages.csv", index=False)
    units.assign(third=[q % 3 for q in range(n)]).to_csv("thirds.csv", index=False)
    long.rename(columns={"score": "correct"}).to_parquet("runs.parquet", index=False)
    Path("runs").mkdir()
    Path("runs.parquet").rename("runs/runs.parquet")


def scores() -> None:
    """A long table of scores, a wide one of right and wrong, and what belongs to the labels."""
    rng = np.random.default_rng(1)
    level, ease = rng.normal(size=6), rng.normal(size=60)
    rows = [
        {
            "model": f"m{m}", "question": f"q{q}", "repeat": run, "domain": f"d{q % 3}",
            "vendor": "ab"[m // 3],
            "score": int(rng.random() < 1.0 / (1.0 + np.exp(-level[m] - ease[q]))),
        }
        for m in range(6) for q in range(60) for run in (1, 2)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    frame.to_csv("scores.csv", index=False)
    halves = np.where(frame["domain"] == "d0", "first", "second")
    frame.assign(task=halves).to_csv("tasks.csv", index=False)
    once = frame[frame["repeat"] == 1]
    once.pivot_table("score", "model", "question").astype(int).to_csv("right.csv")
    units = pd.DataFrame({"question": [f"q{q}" for q in range(60)]})
    units.assign(cluster=[q // 3 for q in range(60)]).to_csv("passages.csv", index=False)
    units.assign(domain=[f"d{q % 3}" for q in range(60)]).to_csv("domains.csv", index=False)
    families = pd.DataFrame({"model": [f"m{m}" for m in range(6)], "family": list("aaabbb")})
    families.to_csv("families.csv", index=False)


def benchmarks() -> None:
    """Scores of the same models in two benchmarks, and what the questions belong to."""
    rng = np.random.default_rng(5)
    able = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.4], [0.4, 1.0]], 9)
    names = [f"m{k}" for k in range(9)]
    units = []
    for side, name in enumerate(("one", "other")):
        labels = [f"{name}-{k}" for k in range(120)]
        p = 1.0 / (1.0 + np.exp(rng.normal(size=120) - able[:, [side]]))
        frame = pd.DataFrame((rng.random(p.shape) < p).astype(int), index=names, columns=labels)
        frame[side:].to_csv(f"{name}.csv", index_label="model")
        units.append(
            pd.DataFrame({"question": labels, "cluster": [f"{name}{k // 3}" for k in range(120)]})
        )
    pd.concat(units).to_csv("passages.csv", index=False)


def many_benchmarks() -> None:
    """Scores of models in several benchmarks, with gaps, in percent."""
    rng = np.random.default_rng(3)
    able, hard = rng.normal(size=(14, 1)), np.linspace(-1.0, 1.0, 6)
    score = 100.0 / (1.0 + np.exp(hard - able)) + rng.normal(0, 4, (14, 6))
    rows, columns = np.nonzero(rng.random(score.shape) < 0.8)
    pd.DataFrame(
        {
            "model": [f"m{row}" for row in rows],
            "benchmark": [f"b{column}" for column in columns],
            "points": score[rows, columns].clip(0, 100).round(1),
            "date": [f"20{20 + row // 4}-0{1 + 2 * (row % 4)}-01" for row in rows],
        }
    ).to_csv("scores.csv", index=False)


def judgements() -> None:
    """What two judges said of every answer, what people said of some, and families of models."""
    rng = np.random.default_rng(6)
    names, labels = [f"m{k}" for k in range(4)], [f"q{k}" for k in range(150)]
    truth = (rng.random((4, 150)) < np.array([[0.8], [0.7], [0.5], [0.45]])).astype(int)
    lenient = np.where(rng.random(truth.shape) < 0.15, 1, truth)
    exact = np.where(rng.random(truth.shape) < 0.3, 0, truth)
    people = pd.DataFrame(truth, names, labels).astype("Int64")
    people.loc[:, rng.permutation(150) >= 50] = pd.NA
    for name, table in (("lenient", lenient), ("exact", exact)):
        pd.DataFrame(table, names, labels).to_csv(f"{name}.csv", index_label="model")
    people.to_csv("labels.csv", index_label="model")
    pd.DataFrame({"model": names, "family": list("xxyy")}).to_csv("vendors.csv", index=False)
    chance = pd.DataFrame({"question": labels, "probability": 1 / 3})
    chance.to_csv("chances.csv", index=False)


def tries() -> None:
    """Attempts of four agents at tasks, with what each took."""
    rng = np.random.default_rng(9)
    ease = rng.normal(0.0, 1.5, 40)
    rows = [
        {
            "model": name, "question": f"t{q}", "repeat": run,
            "score": int(rng.random() < 1.0 / (1.0 + np.exp(-level - ease[q]))),
            "usd": round(price * rng.uniform(0.5, 1.5), 3),
            "took": round(9.0 * rng.uniform(1.0, 2.0), 1),
        }
        for name, level, price in (("a", 1.5, 2.0), ("b", 0.5, 0.2), ("c", -0.5, 1.0),
                                   ("d", 0.4, 0.21))
        for q in range(40) for run in (1, 2, 3)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv("tries.csv", index=False)


def judged_logs() -> None:
    """Logs of Inspect AI with a scorer that is none and two judges, and labels of some answers."""
    rng = np.random.default_rng(8)
    rows = []
    for model, level in (("org/a", 0.8), ("org/b", 0.5)):
        truth = rng.random(80) < level
        qa, fact = (np.where(rng.random(80) < noise, True, truth) for noise in (0.3, 0.6))
        samples = [
            {
                "id": f"q{k}", "epoch": 1, "input": f"q{k}?",
                "scores": {
                    "match": {"value": "I"},
                    "model_graded_qa": {"value": "CI"[not qa[k]]},
                    "model_graded_fact": {"value": "CI"[not fact[k]]},
                },
            }
            for k in range(80)
        ]  # fmt: skip
        about = {"task": "open", "task_id": model, "model": model}
        log = {"status": "success", "eval": about, "samples": samples}
        Path("logs").mkdir(exist_ok=True)
        Path(f"logs/{model[-1]}.json").write_text(json.dumps(log), encoding="utf-8")
        rows += [{"model": model, "question": f"q{k}", "score": int(truth[k])} for k in range(40)]
    pd.DataFrame(rows).to_csv("labels.csv", index=False)


def dated() -> None:
    """Scores of models on dated questions, of which one lineage has seen the early ones."""
    rng = np.random.default_rng(10)
    odds = np.linspace(-1.0, 1.0, 6)[:, None] + 1.5 * rng.normal(size=120)
    odds[:2, :60] += 2.0
    models, questions = [f"m{k}" for k in range(6)], [f"q{k}" for k in range(120)]
    scores = pd.DataFrame((rng.random((6, 120)) < 1 / (1 + np.exp(-odds))).astype(int),
                          index=models, columns=questions)  # fmt: skip
    scores.to_csv("scores.csv", index_label="model")
    days = pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d")
    pd.DataFrame({"question": questions, "date": days}).to_csv("days.csv", index=False)
    base = ["x", "x", *models[2:]]
    pd.DataFrame({"model": models, "base": base}).to_csv("bases.csv", index=False)
    long = scores.rename_axis("model").reset_index().melt("model", var_name="question",
                                                          value_name="score")  # fmt: skip
    long["released"] = long["question"].map(dict(zip(questions, days, strict=True)))
    long.to_csv("long.csv", index=False)


def agents() -> None:
    """Which tasks four agents solved, how long tasks are, their families, and release dates."""
    rng = np.random.default_rng(3)
    length = rng.uniform(-1.0, 8.0, 60)
    odds = np.array([[1.0], [3.0], [5.0], [6.0]]) - length + rng.normal(size=60)
    tasks = [f"t{k}" for k in range(60)]
    frame = pd.DataFrame((rng.random((4, 60)) < 1 / (1 + np.exp(-odds))).astype(int),
                         index=[f"m{k}" for k in range(4)], columns=tasks)  # fmt: skip
    frame.to_csv("solved.csv", index_label="model")
    units = pd.DataFrame({"task": tasks})
    units.assign(minutes=(2.0**length).round(2)).to_csv("minutes.csv", index=False)
    units.assign(family=[f"f{k // 3}" for k in range(60)]).to_csv("kinds.csv", index=False)
    dates = pd.DataFrame({"model": frame.index, "date": [f"202{k}-03-01" for k in range(4)]})
    dates.to_csv("released.csv", index=False)


def choices() -> None:
    """Options that models chose, one of them called NA, and keys of which some are wrong."""
    chosen, key, _ = drawn(120, share=0.1)
    chosen, key = chosen.replace("A", "NA"), key.replace("A", "NA")
    chosen.iloc[0] = None
    chosen.to_csv("choices.csv", index_label="question")
    key.rename("key").to_csv("key.csv", index_label="question")
    texts = pd.Series({label: f"What is {label}?" for label in key.index}, name="text")
    texts.to_csv("texts.csv", index_label="question")
    groups = pd.Series({label: "NA" if i % 2 else "x" for i, label in enumerate(key.index)})
    groups.rename("group").to_csv("groups.csv", index_label="question")
    families = pd.Series({model: f"f{i // 2}" for i, model in enumerate(chosen.columns)})
    families.rename("family").to_csv("families.csv", index_label="model")
    (key == chosen.T).astype(int).to_csv("right.csv", index_label="model")


def bank() -> None:
    """Answers of thirty models, and some of one more."""
    right = pd.DataFrame(
        simulated(31, 120, 3).astype(int),
        index=[f"m{k}" for k in range(31)],
        columns=[f"q{k}" for k in range(120)],
    )
    right[:30].to_csv("known.csv", index_label="model")
    right[30:].iloc[:, :50].to_csv("new.csv", index_label="model")
    domains = pd.DataFrame({"question": right.columns, "domain": ["a", "b"] * 60})
    domains.to_csv("domains.csv", index=False)


def built() -> None:
    """The bank of these answers."""
    fill(bank)
    main(["bank", "build", "known.csv", "--domains", "domains.csv", "--out", "my.bank", "--quiet"])


def session() -> None:
    """A session of the bank that has drawn fifteen questions, and their answers."""
    fill(built)
    main(["bank", "next", "my.bank", "my.session", "--questions", "15", "--size", "45", "--quiet"])
    asked = load("my.bank").resume("my.session").asked
    scores = [k % 3 % 2 for k in range(len(asked))]
    pd.DataFrame({"question": asked, "score": scores}).to_csv("answers.csv", index=False)


def looked() -> None:
    """Answers of a model to the questions of the bank, and others a day later."""
    fill(built)
    rng = np.random.default_rng(4)
    first = rng.integers(0, 2, 120)
    for name, score in (("first", first), ("today", first * (rng.random(120) < 0.8))):
        frame = pd.DataFrame({"question": [f"q{k}" for k in range(120)], "score": score})
        frame.to_csv(f"{name}.csv", index=False)


QUESTIONS = [{"question": f"What is {k} + 1?", "answer": str(k + 1)} for k in range(30)]


@cache
def store(name: str, firm: str = "") -> Make:
    """Return what fills a store with replies to one instrument, drawn by prompt.

    The models named `firm` say that they are certain.
    """

    def fill() -> None:
        drawing = np.random.default_rng(7)

        def says(prompt: Prompt, sample: int) -> str | None:
            luck = drawing.random()
            if luck < 0.03:
                return None
            if name == "self_efficacy":
                if prompt.reply == "rating":
                    return str(drawing.integers(1, 5))
                return "\n".join(f"{k}. {drawing.integers(1, 5)}" for k in range(1, 11))
            if name == "self_prediction" and prompt.about["part"] == "predict":
                return "Answer: Yes" if luck < 0.6 else "Answer: No"
            if name == "rule_world":
                return "Answer: 7" if prompt.reply == "integer" else f"Answer: {'AB'[luck < 0.4]}"
            if name == "abstention" and luck < 0.2:
                return "Answer: I do not know."
            if prompt.item.isdigit():
                right = int(prompt.item)
                wait = "Wait, let me check that again. " if luck < 0.5 else ""
                return f"{wait}I think so.\nAnswer: {right + int(luck < 0.4)}"
            return f"Let me see.\nAnswer: {drawing.integers(1, 13)}"

        models = dict.fromkeys("abcdef" if name == "self_prediction" else "abc", says)
        repeats = 2 if name == "self_efficacy" else 1
        models |= dict.fromkeys(firm, lambda *asked: f"I am certain of it. {says(*asked) or 1}")
        filled(Path("run.sqlite"), INSTRUMENTS[name]().prompts(), models, repeats=repeats)

    return fill


# Without coding: judges' codes are a second stage, which `psychollm run` makes.
INSTRUMENTS = {
    "rule_world": lambda: RuleWorld(n=24, seed=2),
    "self_prediction": lambda: SelfPrediction(questions=3 * QUESTIONS),
    "self_efficacy": lambda: SelfEfficacy(
        conditions=("none", "social"), n_repeats=2, followups=()
    ),
    "semantic_sampling": lambda: SemanticSampling(QUESTIONS, n_samples=5),
    "abstention": lambda: Abstention(n_pairs=6),
    "revision": lambda: Revision(questions=QUESTIONS[:12]),
    "scaffold": lambda: Scaffold(questions=QUESTIONS[:12]),
}

COMMANDS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "study": (tables, ("study", "said.csv", "right.csv", *QUICK, "--seed", "3")),
    "study of a log": (
        tables,
        ("study", "long.csv", "--threshold", "0.5", *QUICK, "--leave-out", "sim-03"),
    ),
    "study of a long table": (
        tables,
        ("study", "runs", "--confidence-column", "correct", "--null", "19"),
    ),
    "calibrate": (tables, ("calibrate", "long.csv", *QUICK, "--common")),
    "calibrate by group": (
        tables,
        ("calibrate", "long.csv", "--by", "domain", "--metrics", "brier", "--bootstrap", "50"),
    ),
    "calibrate a long table": (
        tables,
        ("calibrate", "runs", "--confidence-column", "confidence", "--metrics", "brier,auroc",
         *QUICK),
    ),
    "gate": (
        tables,
        ("gate", "long.csv", "--by", "domain", "--at-most", "0.2", "--clusters", "passages.csv"),
    ),
    "compare": (
        scores,
        ("compare", "scores.csv", "--clusters", "passages.csv", "--level", "0.9",
         "--smallest", "share=0.02"),
    ),
    "compare tasks": (scores, ("compare", "tasks.csv", "--equal-tasks", "--seed", "2")),
    "compare attempts": (scores, ("compare", "scores.csv", "--attempts", "1,2")),
    "compare by group": (scores, ("compare", "scores.csv", "--by", "domain")),
    "judge": (
        judgements,
        ("judge", "lenient.csv", "labels.csv", "--half-width", "0.05", "--judge", "GPT-4"),
    ),
    "agree": (
        benchmarks,
        ("agree", "one.csv", "other.csv", "--clusters", "passages.csv", "--level", "0.9"),
    ),
    "stitch": (
        many_benchmarks,
        ("stitch", "scores.csv", "--score", "points", "--out-of", "100", "--seed", "2"),
    ),
    "recency": (
        dated,
        ("recency", "scores.csv", "--published", "days.csv", "--cutoff", "2024-02-29",
         "--families", "bases.csv", "--null", "99"),
    ),
    "horizon": (
        agents,
        ("horizon", "solved.csv", "--minutes", "minutes.csv", "--families", "kinds.csv",
         "--dates", "released.csv", "--share", "0.5"),
    ),
    "card": (
        scores,
        ("card", "scores.csv", "--domains", "domain", "--families", "families.csv",
         "--clusters", "passages.csv"),
    ),
    "audit": (
        choices,
        ("audit", "choices.csv", "key.csv", "--texts", "texts.csv", "--groups", "groups.csv",
         "--families", "families.csv", "--fdr", "0.5", "--options", "4"),
    ),
    "audit right and wrong": (choices, ("audit", "right.csv", "--options", "4", "--seed", "2")),
    "items": (scores, ("items", "scores.csv", "--hard", "0.3", "--threshold", "0.5")),
    "irt": (scores, ("irt", "right.csv", "--model", "1pl")),
    "irt of a long table": (
        tables,
        ("irt", "runs", "--value-column", "confidence", "--threshold", "0.5"),
    ),
    **{
        f"study of {name}": (store(name), ("study", "run.sqlite", *QUICK))
        for name in INSTRUMENTS
    },
}  # fmt: skip

BOTH = ("--confidence-column", "confidence", "--correctness-column", "score")
FAST = ("--metrics", "brier", "--bootstrap", "50", "--null", "19")
FEWEST = ("--null", "19", "--bootstrap", "19")
# Further options, of which the script alone is tried.
VARIANTS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "calibrate in percent": (
        tables,
        ("calibrate", "percent.csv", *BOTH, *FAST, "--scale", "100", "--clusters", "passages.csv",
         "--leave-out", "sim-02"),
    ),
    "calibrate a log in percent": (
        tables,
        ("calibrate", "percent.csv", *FAST, "--scale", "100", "--common", "--clusters",
         "passages.csv", "--least-answers", "20", "--leave-out", "sim-02"),
    ),
    "calibrate words": (
        tables,
        ("calibrate", "said.csv", "spoken.csv", *FAST, "--common", "--codes", "yes=1,no=0"),
    ),
    "calibrate by a column": (tables, ("calibrate", "long.csv", *BOTH, *FAST, "--by", "domain")),
    "calibrate by a file": (
        tables, ("calibrate", "long.csv", *BOTH, *FAST, "--by", "thirds.csv")
    ),
    "calibrate by clusters of a column": (
        tables, ("calibrate", "long.csv", *BOTH, *FAST, "--clusters", "domain")
    ),
    "calibrate a long table by clusters": (
        tables,
        ("calibrate", "runs", "--confidence-column", "confidence", *FAST, "--clusters",
         "passages.csv", "--levels", "11"),
    ),
    "gate in percent": (
        tables, ("gate", "percent.csv", *BOTH, "--scale", "100", "--leave-out", "sim-02")
    ),
    "study of words": (
        tables,
        ("study", "spoken.csv", "marked.csv", "--codes", "yes=1,no=0", "--common", *FEWEST),
    ),
    "study of a long file": (
        tables,
        ("study", "percent.csv", *BOTH, "--threshold", "50", "--at-least", "--leave-out",
         "sim-02", *FEWEST),
    ),
    "study of a log at a rule": (
        tables, ("study", "long.csv", "--threshold", "model_median", "--common", *FEWEST)
    ),
    "study of the example": (tables, ("study", "--example", *FEWEST)),
    **{
        f"study of {name} without a model": (
            store(name), ("study", "run.sqlite", "--leave-out", "a", *QUICK)
        )
        for name in INSTRUMENTS
    },
    "study of firm ratings": (store("self_efficacy", "a"), ("study", "run.sqlite", *QUICK)),
    "compare options": (
        scores,
        ("compare", "tasks.csv", "--task", "first", "--missing", "9", "--power", "0.9"),
    ),
    "compare families": (scores, ("compare", "scores.csv", "--by", "families.csv")),
    "judge options": (
        judgements,
        ("judge", "lenient.csv", "labels.csv", "--also", "exact.csv", "--families", "vendors.csv",
         "--probability", "chances.csv", "--target", "like-these", "--seed", "2"),
    ),
    "compare costs": (
        tries,
        ("compare", "tries.csv", "--attempts", "1,2", "--cost", "usd", "--seconds", "took"),
    ),
    "card attempts": (tries, ("card", "tries.csv", "--attempts", "1,3", "--cost", "usd")),
    "judge logs": (judged_logs, ("judge", "logs", "labels.csv")),
    "judge of a log": (
        judged_logs,
        ("judge", "logs", "labels.csv", "--judge", "model_graded_qa", "--task", "open"),
    ),
    "card judged": (
        judgements,
        ("card", "lenient.csv", "--human-labels", "labels.csv", "--seed", "3"),
    ),
    "agree alone": (benchmarks, ("agree", "one.csv", "other.csv", "--seed", "3")),
    "recency searched": (
        dated, ("recency", "long.csv", "--published", "released", "--null", "99")
    ),
    "horizon alone": (agents, ("horizon", "solved.csv", "--minutes", "minutes.csv")),
    "card alone": (scores, ("card", "scores.csv", "--seed", "4")),
    "items of families": (scores, ("items", "scores.csv", "--families", "vendor")),
    "irt at a threshold": (
        scores,
        ("irt", "scores.csv", "--value-column", "score", "--duplicates", "first", "--threshold",
         "1", "--at-least"),
    ),
    "audit of missing": (choices, ("audit", "choices.csv", "key.csv", "--missing", "D")),
}  # fmt: skip
# Commands that print what they find and leave no folder: as JSON, and in words.
PRINTED: dict[str, tuple[Make, tuple[str, ...]]] = {
    "bank build": (
        bank, ("bank", "build", "known.csv", "--domains", "domains.csv", "--out", "my.bank")
    ),
    "bank describe": (built, ("bank", "describe", "my.bank")),
    "bank plan": (
        built, ("bank", "plan", "my.bank", "--half-width", "0.05", "--sizes", "40,80")
    ),
    "bank score": (built, ("bank", "score", "my.bank", "new.csv", "--drawn", "--by-domain")),
    "bank next": (built, ("bank", "next", "my.bank", "my.session", "--seed", "2")),
    "bank next after answers": (
        session, ("bank", "next", "my.bank", "my.session", "--answers", "answers.csv")
    ),
    "bank watch": (
        looked, ("bank", "watch", "my.bank", "my.watch", "--baseline", "first.csv", "--answers",
                 "today.csv", "--look", "2027-01-01")
    ),
    "compare in Markdown": (scores, ("compare", "scores.csv", "--markdown")),
    "compare groups in Markdown": (
        scores, ("compare", "scores.csv", "--by", "domain", "--markdown")
    ),
    "agree in Markdown": (benchmarks, ("agree", "one.csv", "other.csv", "--markdown")),
    "horizon in Markdown": (
        agents, ("horizon", "solved.csv", "--minutes", "minutes.csv", "--markdown")
    ),
    "card in Markdown": (scores, ("card", "scores.csv", "--markdown")),
    "import": (
        scores, ("import", "scores.csv", "--repeats", "first", "--out", "right.csv", "--long",
                 "long.csv")
    ),
    **{
        f"score of {name}": (store(name), ("score", "run.sqlite", "--out", "scores.csv"))
        for name in INSTRUMENTS
    },
}  # fmt: skip


def script_in(folder: Path, results: dict[str, object]) -> str:
    """Return the lines of Python that a command leaves: on its page, or in its results."""
    page = folder / "report.html"
    if not page.exists():
        return str(results.get("call", ""))
    written = re.findall(r"<pre.*?</pre>", page.read_text(encoding="utf-8"), re.DOTALL)
    return unescape(re.sub("<[^>]+>", "", written[-1])) if written else ""


def words_of(page: Path) -> str:
    """Return what a page says: no markup, no figures, no style, no script, no versions."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<(svg|script|style|pre)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text))).strip()


def kept_of(folder: Path, results: dict[str, Any]) -> Kept:
    """Return all that a command left, in few words and numbers."""
    left_out = {"versions", "iterations", "call"}
    found = dict(flat({key: one for key, one in results.items() if key not in left_out}))
    for file in sorted(folder.glob("*.csv")):
        frame = pd.read_csv(file, keep_default_na=False, na_values=[""])
        found |= dict(flat(frame.to_dict(orient="records"), file.name))
    page = folder / "report.html"
    if page.exists():
        text = re.sub(r"psychollm \d.*$", "", words_of(page))
        found["page"] = re.split(r"(?<=[.?]) ", text)
    return found | {"script": script_in(folder, results).splitlines()}
