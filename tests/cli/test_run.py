"""``psychollm run``: studies whole, over the wire, interrupted and taken up again."""

import json
import os
import re
import time
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychollm.cli import INTERRUPTED, UNUSABLE
from psychollm.cli.run import DESCRIPTION, STUDY_PARTS
from psychollm.collect.plan import read_prompts
from psychollm.collect.store import Store
from psychollm.instruments.coding.replies import transcript_of
from psychollm.instruments.stages import STAGES
from tests.cli.commands import SAVED, kept_of
from tests.cli.respondents import MODELS, questions, reply, script
from tests.collect.hostile import Act, Body, Hostile, said
from tests.forked import Started
from tests.goldens import check, flat

pytest.importorskip("httpx")
QUICK = ("--null", 19, "--bootstrap", 50)
MISSING = 1
NOWHERE = "http://127.0.0.1:9/v1"

STUDIES = {
    "shared_confidence": """
[study.self_prediction]
questions = "q.csv"
form = "direct"
[study.grading]
judge = "j"
""",
    "inference_boundary": """
[study.rule_world]
n = [4, 4, 4, 4]
n_repeats = 2
[study.analysis]
thinking = [["b", "a"]]
""",
    "self_efficacy": """
[study.self_efficacy]
conditions = ["none", "computational"]
n_repeats = 2
followups = ["neutral"]
[study.feedback]
kinds = ["true", "too_high"]
[study.coding]
judge = "j"
scheme = "stance"
n_items = 2
""",
    "semantic_calibration": """
[study.semantic_sampling]
questions = "q.csv"
n_samples = 3
[study.grading]
judge = "j"
[study.analysis]
baseline = "c"
""",
    "metacognitive_skill": """
[study.abstention]
n_pairs = 1
[study.revision]
questions = "q.csv"
[study.scaffold]
questions = "q.csv"
direct = ["evaluation"]
[study.grading]
judge = "j"
[study.coding]
judge = "j"
n_items = 6
""",
}
# A scaffold, then a review of its answers and pressure on them, then a judge of its traces.
LATER = """
[study.scaffold]
questions = "q.csv"
[study.revision]
arms = ["critique", "insist_wrong"]
[study.coding]
judge = "j"
"""


def write(folder: Path, study: str, url: str = NOWHERE, *, extra: str = "", n: int = 0) -> Path:
    """Write a plan of four models and a judge, and its questions."""
    questions(folder, n or (40 if "self_prediction" in study else 12))
    prices = "prices = { input = 1.0, output = 2.0 }"
    models = [
        f'[[models]]\nname = "{one}"\nmodel = "org/{one}"\nendpoint = "here"\n{prices}\n'
        for one in (*MODELS, "j")
    ]
    text = f'store = "run.sqlite"\n{extra}\n[endpoints.here]\nurl = "{url}"\n{"".join(models)}'
    path = folder / "plan.toml"
    path.write_text(text + study)
    return path


def asked(server: Hostile) -> Counter[str]:
    return Counter(json.dumps([one["model"], one["messages"]]) for one in server.seen)


# Whole studies -------------------------------------------------------------------------------


def drifting(body: Body, n: int) -> Act:
    """Reply properly; samples of one question differ."""
    if "Give the answer alone" in body["messages"][-1]["content"]:
        return said(f"{n % 3}")
    return script(body, n)


REPORTS = {
    "self_efficacy": ("self_efficacy", "coding"),
    "metacognitive_skill": ("abstention", "revision", "scaffold", "coding"),
}


# The test that kills compares the reports of a study in several parts.
WRITTEN_TWICE = ("shared_confidence", "inference_boundary")


@pytest.mark.usefixtures("plotting")
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_from_its_plan_to_its_report(call, tmp_path: Path, name: str) -> None:
    with Hostile(drifting) as server:
        write(tmp_path, STUDIES[name], server.url, extra="budget = 50.0")
        foretold = json.loads(call("run", name, "plan.toml", "--dry-run", "--json").stdout)
        assert not server.seen
        found = call("run", name, "plan.toml", *QUICK, "--out", "results")
        assert found.returncode == 0, found.stderr
        n_asked = len(server.seen)
        less = [] if name in WRITTEN_TWICE else ["--no-report"]
        again = call("run", name, "plan.toml", *QUICK, "--out", "again", "--json", *less)
        assert again.returncode == 0, again.stderr
        assert len(server.seen) == n_asked
    told = json.loads(again.stdout)
    stages = [one["stage"] for one in told["stages"]]
    assert stages == [one["stage"] for one in foretold["stages"]]
    most = [sum(one["requests"]) for one in foretold["stages"]]
    assert most[0] <= n_asked <= sum(most)
    cost = sum(sum(one["most_cost"]) for one in foretold["stages"])
    assert 0 < told["stages"][-1]["cost"] <= cost
    folders = [Path(one) for one in REPORTS.get(name, [""])]
    assert list(told["studies"]) == [one.name for one in folders] or len(folders) == 1
    for folder in folders:
        assert (tmp_path / "results" / folder / "report.html").exists()
        for file in ("results.json", "report.html")[: 1 if less else 2]:
            first, second = (tmp_path / out / folder / file for out in ("results", "again"))
            assert first.read_bytes() == second.read_bytes()
    for number, stage in enumerate(stages, start=1):
        prompts = tmp_path / "results" / f"{number}-{stage}.jsonl"
        assert f"Stage {number} of {len(stages)}, {stage}: " in found.stdout
        assert f"{len(read_prompts(prompts)):,} prompts" in found.stdout
    # What could be read of whom, judges among them, stands before what was found.
    if name != "shared_confidence":
        assert re.search(r"\n\w+: \d+ prompts were sent to \d models?\.\na: ", found.stdout)


@pytest.mark.usefixtures("plotting")
@pytest.mark.parametrize("name", ["self_efficacy", "inference_boundary"])
def test_a_run_leaves_what_it_left(call, tmp_path: Path, name: str) -> None:
    with Hostile(script) as server:
        write(tmp_path, STUDIES[name], server.url)
        done = call("run", name, "plan.toml", *QUICK, "--out", "here")
        assert done.returncode == 0, done.stderr
        told = json.loads(call("run", name, "plan.toml", *QUICK, "--out", "it", "--json").stdout)
    for one in told["studies"].values():
        del one["versions"]
    found = dict(flat(told["studies"], "studies"))
    for page in sorted((tmp_path / "here").rglob("report.html")):
        where = page.parent.relative_to(tmp_path).as_posix()
        kept = kept_of(page.parent, {})
        found |= {f"{where}: {key}": value for key, value in kept.items()}
    words = [line for line in done.stdout.splitlines() if not line.startswith("Stage")]
    first = next(n for n, line in enumerate(words) if line == f"{next(iter(told['studies']))}:")
    check(SAVED, f"run {name}", found | {"printed": words[first:]})


def on_page(path: Path) -> Any:
    """Return the study that the last lines of Python on a page make."""
    page = path.read_text(encoding="utf-8")
    lines = unescape(re.sub("<[^>]+>", "", re.findall(r"<pre.*?</pre>", page, re.S)[-1]))
    made: dict[str, Any] = {}
    exec(lines, made)  # noqa: S102 -- of our own page
    return made["study"]


@pytest.mark.usefixtures("plotting")
@pytest.mark.parametrize(
    ("name", "compared"),
    [
        ("inference_boundary", lambda study: study.thinking[0].thinking == "b"),
        ("semantic_calibration", lambda study: study.contrasts[0].baseline == "c"),
    ],
)
def test_what_the_analysis_compares_is_in_the_plan(call, tmp_path: Path, name, compared) -> None:
    with Hostile(drifting) as server:
        write(tmp_path, STUDIES[name], server.url)
        found = call("run", name, "plan.toml", *QUICK, "--out", "out", "--quiet")
    assert found.returncode == 0, found.stderr
    assert compared(on_page(tmp_path / "out" / "report.html"))


def test_verdicts_of_the_judge_are_in_the_study(call, tmp_path: Path) -> None:
    def wrong(body: Body, n: int) -> Act:
        judged = "Compare a reply" in body["messages"][-1]["content"]
        return said("No" if judged else reply(body))

    for folder, respond in (("plain", script), ("strict", wrong)):
        (tmp_path / folder).mkdir()
        with Hostile(respond) as server:
            path = write(tmp_path / folder, STUDIES["shared_confidence"], server.url)
            call("run", "shared_confidence", path, *QUICK, "--no-report", "--quiet")
    scores = [
        json.loads(call("score", f"{one}/run.sqlite", "--json").stdout)["self_prediction"][
            "scores"
        ]
        for one in ("plain", "strict")
    ]
    right = [np.mean([one["0"]["correct"] for one in each.values()]) for each in scores]
    assert right[0] > 0.5
    assert right[1] == 0.0


@pytest.mark.usefixtures("plotting")
def test_later_stages_go_on_from_the_first(call, tmp_path: Path) -> None:
    with Hostile(script) as server:
        write(tmp_path, LATER, server.url)
        found = call("run", "metacognitive_skill", "plan.toml", *QUICK, "--out", "out", "--json")
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert [one["stage"] for one in told["stages"]] == ["questions", "revision", "coding"]
    assert list(told["studies"]) == ["scaffold", "revision", "coding"]
    rows = told["studies"]["coding"]["behaviours"]
    assert {row["model"] for row in rows} == set(MODELS)
    assert all(row["prompted_minus_spontaneous"] is not None for row in rows)
    assert {row["coder"] for row in told["studies"]["coding"]["codes"]} == {"j", "rules"}
    for name in ("scaffold", "coding"):  # the lines on the page do what was done
        made = on_page(tmp_path / "out" / name / "report.html")
        shown = pd.DataFrame(told["studies"][name]["behaviours"])["prevalence"]
        assert np.allclose(made.to_frame()["prevalence"], shown.astype(float))
    # What is revised are the answers that models gave of their own accord.
    later = read_prompts(tmp_path / "out" / "2-revision.jsonl")
    assert len(later) == len(MODELS) * 12 * 3
    assert not any("While you think" in one.messages[0].content for one in later)


def thinking(body: Body, n: int) -> Act:
    """Reply with thoughts apart from the answer; only those of one model check anything."""
    if "one JSON object" in body["messages"][-1]["content"]:
        return said(reply(body), usage=(900, 50))
    thought = "Let me check that." if body["model"] == "org/a" else "That is a sum."
    message = {"content": "Answer: 43", "reasoning_content": thought}
    whole = json.loads(said(message=message, usage=(200, 100)).body)
    whole["usage"]["completion_tokens_details"] = {"reasoning_tokens": 60}
    return Act(body=json.dumps(whole).encode())


def test_thoughts_are_coded_and_what_all_cost_is_told(call, tmp_path: Path) -> None:
    study = '[study.scaffold]\nquestions = "q.csv"\n[study.coding]\njudge = "j"\n'
    with Hostile(thinking) as server:
        write(tmp_path, study, server.url, n=4)
        command = ("run", "metacognitive_skill", "plan.toml", "--no-report")
        found = call(*command, *QUICK, "--out", "out")
    assert found.returncode == 0, found.stderr
    shown = [transcript_of(one) for one in read_prompts(tmp_path / "out" / "2-coding.jsonl")]
    assert Counter(shown) == {
        "Let me check that.\n\nAnswer: 43": 8,
        "That is a sum.\n\nAnswer: 43": 24,
    }
    codes = pd.read_csv(tmp_path / "out" / "coding" / "codes.csv")
    checks = codes[(codes["coder"] == "rules") & (codes["category"] == "evaluation")]
    assert (checks.groupby("model")["code"].min() > 0).to_dict() == {
        "a": True,
        "b": False,
        "c": False,
        "d": False,
    }
    # A million tokens of input cost 1, and of output 2, thoughts among them.
    rows = [re.split(r"  +", line) for line in found.stdout.splitlines()]
    for one in MODELS:
        assert [one, "1,600", "800", "480", "0.0032", "0.0004"] in rows
    assert ["j", "28,800", "1,600", "0", "0.032", "0.001"] in rows
    assert "Cost so far: 0.0448." in found.stdout


# Interrupted ---------------------------------------------------------------------------------


COMMAND = ("run", "metacognitive_skill", "plan.toml", *QUICK, "--out", "results")


@pytest.mark.usefixtures("plotting")
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_killed_at_every_stage_it_asks_none_twice_and_reports_the_same(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was under way when it was killed (at most 4 at a time) may be asked again."""
    at_once, first, second, third = 4, 96, 96 + 144, 96 + 144 + 96
    moments = np.random.default_rng(3)
    spans = ((5, first), (first, second), (second, third - at_once))
    places = [int(moments.integers(*span)) for span in spans]
    wholly, partly = tmp_path / "wholly", tmp_path / "partly"
    limits = f"concurrency = {at_once}\nstart_concurrency = {at_once}\n"
    for folder in (wholly, partly):
        folder.mkdir()
        with Hostile(lambda body, n: Act(200, script(body, n).body, delay=0.004)) as server:
            plan = write(folder, LATER, server.url)
            plan.write_text(plan.read_text().replace("[[models]]", f"{limits}[[models]]", 1))
            for place in places if folder is partly else []:
                process = Started(["-m", "psychollm", *map(str, COMMAND)], folder)
                while len(server.seen) < place and process.poll() is None:
                    time.sleep(0.001)
                process.kill()
                process.communicate()
            monkeypatch.chdir(folder)
            ended = call(*COMMAND)
            assert ended.returncode == 0, ended.stderr
            times = asked(server)
    assert len(times) == third
    assert sum(times.values()) <= third + at_once * len(places)
    with Store(partly / "run.sqlite") as store:
        kept = next(store.rows("SELECT count(*) FROM attempt WHERE kind = 'ok'"))[0]
    assert kept == third  # every reply that was kept was kept once
    files = sorted(one.relative_to(wholly) for one in (wholly / "results").rglob("*.*"))
    assert len(files) > 15
    for file in files:
        assert (wholly / file).read_bytes() == (partly / file).read_bytes(), file


def test_a_budget_ends_it_and_more_money_takes_it_up(call, tmp_path: Path) -> None:
    def dear(body: Body, n: int) -> Act:
        return said(reply(body), usage=(200, 100))  # 0.0004 each

    with Hostile(dear) as server:
        write(tmp_path, LATER, server.url)
        budget = ("--budget", 0.02)
        found = call("run", "metacognitive_skill", "plan.toml", *budget, "--out", "out")
        assert found.returncode == MISSING
        assert "Stopped: " in found.stdout
        assert "Stage 2" not in found.stdout
        assert not (tmp_path / "out" / "report.html").exists()
        n = len(server.seen)
        assert 0 < n < 96
        again = call("run", "metacognitive_skill", "plan.toml", "--no-report", *QUICK)
        assert again.returncode == 0, again.stderr
        assert max(asked(server).values()) == 1


def test_a_model_that_is_refused_ends_it_before_the_next_stage(call, tmp_path: Path) -> None:
    def refuse(body: Body, n: int) -> Act:
        return Act(401, b'{"error": {"message": "no"}}') if body["model"] == "org/b" else said("3")

    with Hostile(refuse) as server:
        write(tmp_path, LATER, server.url)
        found = call("run", "metacognitive_skill", "plan.toml", "--out", "out")
    assert found.returncode == MISSING
    assert "Stage 2" not in found.stdout


def test_what_failed_for_good_is_missing_and_the_rest_is_studied(call, tmp_path: Path) -> None:
    def fail(body: Body, n: int) -> Act:
        bad = body["model"] == "org/a" and "What is 3 + 40?" in json.dumps(body)
        return Act(400, b'{"error": {"message": "filtered"}}') if bad else script(body, n)

    with Hostile(fail) as server:
        write(tmp_path, LATER, server.url)
        found = call("run", "metacognitive_skill", "plan.toml", "--no-report", *QUICK, "--json")
    assert found.returncode == MISSING, found.stderr
    told = json.loads(found.stdout)
    assert told["stages"][0]["failed"] == [2, 0, 0, 0]
    assert list(told["studies"]) == ["scaffold", "revision", "coding"]


# What is foretold, and what cannot be --------------------------------------------------------


def test_a_dry_run_tells_stages_requests_and_cost(call, tmp_path: Path) -> None:
    write(tmp_path, LATER, extra="budget = 5.0")
    found = call("run", "metacognitive_skill", "plan.toml", "--dry-run")
    assert found.returncode == 0, found.stderr
    assert (
        "While you think: Say what you know" in found.stdout or "Think in writing" in found.stdout
    )
    lines = found.stdout.splitlines()
    heads = [line for line in lines if line.startswith("Stage")]
    assert heads == ["Stage 1, questions:", "Stage 2, revision:", "Stage 3, coding:"]
    models = [line for line in lines if re.match(r"  [abcdj]: ", line)]
    assert [line.split(",")[0] for line in models] == [
        *(f"  {one}: 24 requests" for one in MODELS),
        *(f"  {one}: at most 36 requests" for one in MODELS),
        "  j: at most 96 requests",
    ]
    whole = re.fullmatch(
        r"Total: at most 336 requests, about [\d,]+ tokens, at most ([\d.]+) \(budget 5\)\. "
        r"Nothing was sent\.",
        lines[-1],
    )
    parts = [float(line.rpartition(" ")[2]) for line in models]
    assert float(whole[1]) == pytest.approx(sum(parts), rel=0.01)
    assert not (tmp_path / "run.sqlite").exists()


def test_the_help_names_the_parts_that_there_are() -> None:
    for name, parts in STUDY_PARTS.items():
        row = next(line for line in DESCRIPTION.splitlines() if line.startswith(f"  {name} "))
        assert row.split() == [
            name,
            *", ".join(parts.first).split(),
            *", ".join(parts.later).split(),
        ]


def test_parts_are_instruments_and_stages() -> None:
    from psychollm.cli.study_store import of_stores
    from psychollm.instruments.instrument import INSTRUMENTS

    for parts in STUDY_PARTS.values():
        assert set(parts.first) <= set(INSTRUMENTS) & set(of_stores())
        judged = [STAGES[name].judged for name in parts.later]
        assert judged == sorted(judged)  # models before judges


BOUNDARY, CONFIDENCE = "inference_boundary", "shared_confidence"
EFFICACY, SKILL = "self_efficacy", "metacognitive_skill"
RULES = "[study.rule_world]\nn = 4\n"
PREDICT = '[study.self_prediction]\nquestions = "q.csv"\n'


@pytest.mark.parametrize(
    ("name", "study", "words"),
    [
        ("horoscope", RULES, ["horoscope", "inference_boundary"]),
        (BOUNDARY, "", ["no settings", "[study.rule_world]"]),
        (BOUNDARY, f"{RULES}[study.analysis]\nbaseline = 'a'", ["[study.analysis]", "baseline"]),
        (BOUNDARY, f"{RULES}[study.analysis]\nthinking = [['a', 'e']]", ["'e'", "a, b, c, d"]),
        (BOUNDARY, f"{RULES}[study.analysis]\nthinking = [['a', 'a']]", ["with itself"]),
        (EFFICACY, "[study.analysis]\nbaseline = 'a'", ["is not an arm of the plan"]),
        (BOUNDARY, "[study]\nseed = 1\n", ["study.seed is not part", "[study.rule_world]"]),
        (BOUNDARY, "[study]\nrule_world = 1\n", ["study.rule_world is not a table"]),
        (BOUNDARY, PREDICT, ["study.self_prediction is not part"]),
        (BOUNDARY, "[study.rule_world]\nsede = 1\n", ["[study.rule_world]", "'seed'?"]),
        (BOUNDARY, "[study.rule_world]\nzzz = 1\n", ["zzz", "known: n, "]),
        (BOUNDARY, '[study.rule_world]\nn = "x"\n', ["n = 'x'", "a whole number"]),
        (BOUNDARY, "[study.rule_world]\nn = 0\n", ["[study.rule_world]: n=0"]),
        (BOUNDARY, "[study.rule_world]\nseed = true\n", ["seed = True"]),
        (BOUNDARY, '[study.rule_world]\nskin = "gold"\n', ["'gold'", "one of", "plumbing"]),
        (BOUNDARY, '[study.rule_world]\ntypes = "A"\n', ["a list (one of A, B"]),
        (CONFIDENCE, "[study.self_prediction]\n", ["questions missing"]),
        (CONFIDENCE, '[study.self_prediction]\nquestions = "no.csv"\n', ["no.csv"]),
        (CONFIDENCE, PREDICT + "[study.grading]\n", ["[study.grading]", "judge"]),
        (CONFIDENCE, PREDICT + '[study.grading]\njudge = "z"\n', ["'z'", "a, b, c, d, j"]),
        (EFFICACY, '[study.self_efficacy]\nfeedback = ["true"]\n', ["'feedback' is not known"]),
        (
            EFFICACY,
            '[study.self_efficacy]\nconditions = ["none"]\n[study.feedback]\n',
            ["feedback: there are no self_efficacy ratings"],
        ),
        (SKILL, "[study.revision]\n", ["no first stage", "[study.scaffold]"]),
        (
            SKILL,
            STUDIES["metacognitive_skill"].replace('questions = "q.csv"\ndirect', "direct"),
            ["scaffold: several instruments have answers (abstention, revision)", "'of'"],
        ),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_and_asks_nobody(call, tmp_path: Path, name, study, words) -> None:
    write(tmp_path, study)
    found = call("run", name, "plan.toml", "--no-report")
    assert found.returncode == UNUSABLE
    (line,) = found.stderr.splitlines()
    for word in words:
        assert word in line
    assert not (tmp_path / "run.sqlite").exists()


def test_prompts_beside_a_study(call, tmp_path: Path) -> None:
    write(tmp_path, RULES, extra='prompts = "items.jsonl"')
    found = call("run", "inference_boundary", "plan.toml")
    assert "remove prompts" in found.stderr
    write(tmp_path, RULES)
    found = call("collect", "plan.toml")
    assert (found.returncode, "psychollm run" in found.stderr) == (UNUSABLE, True)


def test_a_plan_that_was_changed_is_told_from_the_store(call, tmp_path: Path) -> None:
    with Hostile(script) as server:
        plan = write(tmp_path, RULES, server.url)
        call("run", "inference_boundary", "plan.toml", "--no-report", *QUICK)
        plan.write_text(plan.read_text().replace("n = 4", "n = 3"))
        found = call("run", "inference_boundary", "plan.toml", "--no-report", *QUICK)
    assert found.returncode == UNUSABLE
    assert "run.sqlite holds replies of another plan" in found.stderr


def test_settings_that_are_more_than_words_and_numbers(call, tmp_path: Path) -> None:
    """Examples, answers to insist on, files with options of their own."""
    study = """
[study.self_prediction]
questions = "odd.csv"
rule = "numeric"
columns = { text = "asked", answers = "right" }
form = "direct"
examples = [["What is 1 + 1?", true], ["Who am I?", false]]
"""
    write(tmp_path, study)
    (tmp_path / "odd.csv").write_text(
        "asked,right\n" + "".join(f"What is 2 + {n}?,{2 + n}\n" for n in range(30))
    )
    found = call("run", "shared_confidence", "plan.toml", "--dry-run")
    assert found.returncode == 0, found.stderr
    assert "What is 1 + 1?" in found.stdout
    pressed = '[study.revision]\nquestions = "q.csv"\nsuggestions = { q1 = "Zanzibar" }\n'
    write(tmp_path, pressed)
    assert call("run", "metacognitive_skill", "plan.toml", "--dry-run").returncode == 0


def test_a_study_of_too_few_models_asks_nobody(call, tmp_path: Path) -> None:
    path = write(tmp_path, PREDICT)
    head, *models = path.read_text().split("[[models]]")
    path.write_text("[[models]]".join([head, *models[:2], models[-1]]))
    found = call("run", "shared_confidence", "plan.toml", "--dry-run")
    assert found.returncode == UNUSABLE
    assert "needs 4 models, but the plan has 3" in found.stderr


def test_a_study_of_too_few_questions_asks_nobody(call, tmp_path: Path) -> None:
    with Hostile(script) as server:
        for n, fits in ((10, False), (29, False), (30, True)):
            write(tmp_path, PREDICT, server.url, n=n)
            found = call("run", "shared_confidence", "plan.toml", "--dry-run")
            assert (found.returncode == 0) == fits
            assert fits or f"needs 30 questions, but the plan has {n}" in found.stderr
    assert not server.seen


def test_a_dry_run_without_prices_tells_tokens(call, tmp_path: Path) -> None:
    path = write(tmp_path, RULES)
    path.write_text(re.sub("prices = .*", "", path.read_text()))
    lines = call("run", "inference_boundary", "plan.toml", "--dry-run").stdout.splitlines()
    told = [line for line in lines if re.match("  [abcd]: |Total: ", line)]
    assert len(told) == 5
    assert all(re.search(r"requests, about [\d,]+ tokens(\.|$)", line) for line in told), told


def test_interrupted_by_hand(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from psychollm.collect import client

    with Hostile(script) as server:
        write(tmp_path, RULES, server.url)

        async def stop(plan, state, watch, every) -> None:
            state.stop(client.INTERRUPTED)

        monkeypatch.setattr(client, "_run", stop)
        found = call("run", "inference_boundary", "plan.toml", "--no-report")
    assert found.returncode == INTERRUPTED
    assert "Stopped: interrupted" in found.stdout
