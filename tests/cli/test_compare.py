"""``psychollm compare``: logs of scores in, ranks and tiers out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm.cli.parser import build_parser


@pytest.fixture
def wide(tmp_path: Path) -> list[Path]:
    """Two files, each with a row per model and a column per question."""
    drawn = np.random.default_rng(0)
    right = (drawn.random((3, 200)) < [[0.8], [0.5], [0.45]]).astype(int)
    frame = pd.DataFrame(right, index=["a", "b", "c"], columns=[f"q{i}" for i in range(200)])
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    frame.iloc[:2].to_csv(paths[0], index_label="model")
    frame.iloc[2:].to_csv(paths[1])
    return paths


@pytest.mark.usefixtures("plotting")
def test_tables_become_ranks_and_a_page(call, wide, tmp_path: Path) -> None:
    found = call("compare", *wide, "--by-label", "--out", "here")
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert "a ranks first" in found.stdout
    assert "rank 2 to 3" in found.stdout
    folder = tmp_path / "here"
    assert {path.name for path in folder.iterdir()} == {
        "report.html",
        "results.json",
        "models.csv",
        "pairs.csv",
        "comment.md",
    }
    assert len(pd.read_csv(folder / "pairs.csv")) == 3
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<code>import psychollm as psy\n\nlog = psy.read_scores(" in page


def test_json_holds_verdict_models_and_pairs(call, wide) -> None:
    found = json.loads(call("compare", *wide, "--json").stdout)
    assert found["tiers"] == [["a"], ["b", "c"]]
    assert [row["model"] for row in found["models"]] == ["a", "b", "c"]
    assert len(found["pairs"]) == 3
    assert found["logs"]["logs"] == 2


def test_a_regression_ends_with_exit_code_1(call, wide, tmp_path: Path) -> None:
    found = call("compare", *wide, "--fail-below", "a", "--out", tmp_path / "here", "--no-report")
    assert found.returncode == 1
    assert found.stderr == "psychollm: 'b', 'c' score significantly lower than 'a'\n"
    assert "a ranks first" in found.stdout
    assert (tmp_path / "here" / "results.json").exists()
    assert call("compare", *wide, "--fail-below", "b").returncode == 0
    for given, error in (
        (("--fail-below", "z"), "--fail-below: no model 'z': pass one of 'a', 'b', 'c'"),
        (("--fail-below", "a", "--by", "model"), "cannot be combined with --attempts or --by"),
    ):
        refused = call("compare", *wide, *given)
        assert refused.returncode == 2
        assert error in refused.stderr


def test_markdown_is_all_that_is_printed(call, wide) -> None:
    found = call("compare", *wide, "--markdown")
    assert found.stdout.startswith("a ranks first")
    assert "| model | score | rank | tier |" in found.stdout
    assert found.stderr == ""


def test_the_same_as_in_python_with_clusters(call, wide, tmp_path: Path) -> None:
    clusters = pd.DataFrame({"question": [f"q{i}" for i in range(200)]})
    clusters["page"] = clusters.index // 5
    clusters.to_csv(tmp_path / "pages.csv", index=False)
    found = json.loads(call("compare", *wide, "--clusters", "pages.csv", "--json").stdout)
    log = psy.read_scores(wide)
    own = psy.compare(log, clusters=np.arange(200) // 5, rng=1)
    assert [row["se"] for row in found["pairs"]] == pytest.approx(own.differences.se.tolist())


def test_epochs_of_a_question_are_repeats(call, tmp_path: Path) -> None:
    rows = [(m, q, k, (q + k) % 3 > 0) for m in "ab" for q in range(20) for k in range(1, 4)]
    frame = pd.DataFrame(rows, columns=["model", "question", "repeat", "score"])
    frame.to_csv(tmp_path / "long.csv", index=False)
    found = json.loads(call("compare", "long.csv", "--json").stdout)
    assert (found["n_questions"], found["n_answers"]) == (20, 3.0)


def test_attempts_are_those_of_python(call, tmp_path: Path) -> None:
    rows = [
        (m, q, k, (q + k * (m == "a")) % 3 > 0) for m in "ab" for q in range(20) for k in (1, 2)
    ]
    frame = pd.DataFrame(rows, columns=["model", "question", "repeat", "score"])
    frame.to_csv(tmp_path / "long.csv", index=False)
    found = json.loads(call("compare", "long.csv", "--attempts", "1,2", "--json").stdout)
    own = psy.attempts(psy.read_scores(tmp_path / "long.csv"), k=(1, 2), rng=1).to_frame()
    assert [row["value"] for row in found["models"]] == pytest.approx(own["value"].tolist())


@pytest.mark.parametrize("other", [("--by", "question"), ("--equal-tasks",), ("--power", "0.9")])
def test_attempts_refuse_what_they_would_ignore(call, wide, other: tuple[str, ...]) -> None:
    found = call("compare", *wide, "--by-label", "--attempts", "1,2", *other)
    assert found.returncode == 2
    assert "--attempts" in found.stderr
    assert other[0] in found.stderr


def test_one_model_is_refused_in_one_line(call, wide) -> None:
    found = call("compare", wide[1])
    assert found.returncode == 2
    assert "one model only" in found.stderr
    assert found.stdout == ""


@pytest.fixture
def two_runs(tmp_path: Path) -> None:
    """Two folders with a run of one model each, the second one better."""
    for name, share in (("main", 0.3), ("pr", 0.8)):
        (tmp_path / name).mkdir()
        right = np.random.default_rng(1).random(80) < share
        frame = pd.DataFrame({"model": "m", "question": range(80), "score": right.astype(int)})
        frame.to_csv(tmp_path / name / f"{name}.csv", index=False)


@pytest.mark.usefixtures("two_runs")
def test_two_runs_of_one_model_have_names(call) -> None:
    found = call("compare", "after=pr", "before=main/", "--json", "--fail-below", "after")
    assert found.returncode == 1, found.stderr
    assert "'before' scores significantly lower than 'after'" in found.stderr
    results = json.loads(found.stdout)
    assert results["tiers"] == [["after"], ["before"]]
    spaces: dict[str, object] = {}
    exec(results["call"], spaces)  # noqa: S102 -- what the command wrote
    assert spaces["result"].labels == ("after", "before")
    mixed = call("compare", "after=pr", "main")
    assert "main has no name, but other logs have one: write NAME=main" in mixed.stderr


@pytest.mark.usefixtures("two_runs")
def test_runs_without_names_are_said_to_be_repeats(call, tmp_path: Path) -> None:
    (tmp_path / "pr" / "pr.csv").rename(tmp_path / "pr" / "main.csv")
    found = call("compare", "main", "pr")
    assert found.returncode == 2
    note, error = found.stderr.splitlines()
    assert "answers of 'm' in main and pr to the same questions count as repeats" in note
    assert "name them: before=main after=pr" in note
    assert "one model only ('m')" in error
    assert "name them: before=PATH after=PATH" in error


def test_attempts_of_one_agent_name_the_option(call, tmp_path: Path) -> None:
    rows = [f"agent,t{k},{n},{(k + n) % 2}\n" for k in range(12) for n in range(4)]
    (tmp_path / "tries.csv").write_text("model,task,attempt,score\n" + "".join(rows))
    found = call("compare", "tries.csv")
    assert found.returncode == 2
    assert "for success in several attempts, use --attempts 1,4" in found.stderr
    assert call("compare", "tries.csv", "--attempts", "1,4").returncode == 0
    (tmp_path / "once.csv").write_text("model,task,score\nagent,a,1\nagent,b,0\n")
    assert "attempts" not in call("compare", "once.csv").stderr
    other = [row.replace("agent", "other") for row in rows]
    (tmp_path / "two.csv").write_text("model,task,attempt,score\n" + "".join([*rows, *other]))
    assert "attempts" not in call("compare", "two.csv").stderr


def test_files_of_ids_and_scores_are_models(call, tmp_path: Path) -> None:
    for name, share in (("a", 0.3), ("b", 0.8)):
        right = np.random.default_rng(1).random(80) < share
        frame = pd.DataFrame({"id": range(80), "correct": right.astype(int)})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.assign(answer="text").to_csv(tmp_path / f"{name}-long.csv", index=False)
    assert json.loads(call("compare", "a.csv", "b.csv", "--json").stdout)["tiers"] == [
        ["b"],
        ["a"],
    ]
    unclear = call("compare", "a-long.csv", "b-long.csv")
    assert "name the only model of the file: NAME=a-long.csv" in unclear.stderr
    named = call("compare", "old=a-long.csv", "new=b-long.csv", "--json")
    assert json.loads(named.stdout)["tiers"] == [["new"], ["old"]]


def test_repeated_options_add_to_each_other(call, tmp_path: Path) -> None:
    rows = "".join(f"{m},q{k},{'YN'[(k + (m == 'b')) % 3 > 0]}\n" for m in "ab" for k in range(30))
    (tmp_path / "own.csv").write_text(f"who,which,how\n{rows}")
    once = call("compare", "own.csv", "--columns", "model=who,question=which,score=how",
                "--score-map", "Y=1,N=0", "--json")  # fmt: skip
    again = call("compare", "own.csv", "--columns", "model=who", "--columns", "question=which",
                 "--columns", "score=how", "--score-map", "Y=1", "--score-map", "N=0",
                 "--json")  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert again.stdout == once.stdout
    bad = call("compare", "own.csv", "--columns", "model=who", "--columns", "which")
    assert "--columns which: write it as name=value" in bad.stderr


def test_repeated_numbers_and_effects_add_up() -> None:
    parser = build_parser(only="card")
    typed = ["card", "x.csv", "--attempts", "1", "--attempts", "3,5", "--missing", "-99"]
    typed += ["--smallest", "share=0.2", "--scorer", "a", "--scorer", "b"]
    found = parser.parse_args(typed)
    assert (found.attempts, found.missing, found.scorer) == ((1, 3, 5), ("-99",), "b")
    assert found.smallest.share == 0.2
    several = ["--smallest", "share=0.2", "--smallest", "auroc=0.1"]
    smallest = build_parser(only="calibrate").parse_args(["calibrate", "x.csv", *several]).smallest
    assert (smallest.share, smallest.auroc) == (0.2, 0.1)


@pytest.mark.parametrize(
    ("sides", "options"),
    [("system1,system2", ()), ("Model 1,Model 2", ()), ("llm_a,llm_b", ()),
     ("one,two", ("--columns", "left=one", "--columns", "right=two,winner=vote"))],
)  # fmt: skip
def test_sides_of_votes_have_many_names(call, tmp_path: Path, sides: str, options) -> None:
    drawn = np.random.default_rng(0).integers(3, size=90)
    rows = "".join(f"p,q,{('p', 'q', 'tie')[k]}\nq,r,{'qr'[k % 2]}\n" for k in drawn)
    (tmp_path / "votes.csv").write_text(f"{sides},vote\n{rows}")
    found = call("compare", "votes.csv", *options)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("3 models, 180 votes.")


def test_unknown_columns_of_votes_name_the_option(call, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("one,two,preferred\np,q,p\n")
    found = call("compare", "votes.csv")
    assert found.returncode == 2
    assert "pass --columns left=COLUMN,right=COLUMN,winner=COLUMN" in found.stderr
    assert "'psychollm compare VOTES.csv'" in call("votes", "votes.csv").stderr
    assert "--attempts 1,3" in call("attempts", "a.csv").stderr


def test_the_example_is_that_of_python(call) -> None:
    found = json.loads(call("compare", "--example", "--json").stdout)
    own = psy.compare(psy.load_example("smollm2").correctness, rng=1)
    assert found["verdict"] == own.verdict
    assert 'example = psy.load_example("smollm2")' in found["call"]
    assert "psy.compare(example.correctness, rng=1)" in found["call"]
    lines = call("compare", "--example").stdout.splitlines()
    assert lines[1].startswith("French ranks first")
    assert len(lines) <= 24


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((), "no LOG"),
        (("a.csv", "--example"), "omit LOG"),
        (("--example", "--by", "domain"), "--by"),
    ],
)
def test_either_logs_or_the_example(call, typed: tuple[str, ...], said: str) -> None:
    found = call("compare", *typed)
    assert found.returncode == 2
    assert said in found.stderr


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Votes on three models, with columns of other names."""
    drawn = np.random.default_rng(1)
    left = drawn.integers(0, 3, 300)
    right = (left + drawn.integers(1, 3, 300)) % 3
    strength = np.array([1.5, 0.2, 0.0])
    won = drawn.logistic(size=300) < strength[left] - strength[right]
    names = np.array(["a", "b", "c"])
    table = {
        "one": names[left], "two": names[right], "preferred": np.where(won, "left", "right"),
        "who": drawn.integers(0, 9, 300),
    }  # fmt: skip
    pd.DataFrame(table).to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path / "votes.csv"


def test_columns_of_votes_may_have_any_names(call, votes) -> None:
    named = "left=one,right=two,winner=preferred,voter=who"
    found = json.loads(call("compare", votes, "--columns", named, "--json").stdout)
    table = pd.read_csv(votes)
    usual = ["model_a", "model_b", "winner", "judge"]
    table.set_axis(usual, axis=1).to_csv(votes.with_name("usual.csv"), index=False)
    same = json.loads(call("compare", "usual.csv", "--json").stdout)
    assert {**found, "call": ""} == {**same, "call": ""}
    assert 'voter="who"' in found["call"].replace("'", '"')
    table.set_axis([*usual[:2], "preferred", "who"], axis=1).to_csv(votes, index=False)
    found = json.loads(call("compare", votes, "--columns", "winner=preferred", "--json").stdout)
    assert found["tiers"] == same["tiers"]


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ("left=on,right=two,winner=preferred", "has no column 'on': keys for votes are left,"),
        ("winner=preferred,score=who", "--columns has a key 'score': keys for votes are left,"),
    ],
)
def test_wrong_columns_of_votes_are_refused(call, votes, named: str, error: str) -> None:
    found = call("compare", votes, "--columns", named)
    assert found.returncode == 2
    assert error in found.stderr
    assert "one, two, preferred, who" in found.stderr
