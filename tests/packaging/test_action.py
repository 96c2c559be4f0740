"""The GitHub Action: its script is run on sample logs, with a stand-in for `gh`."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".github" / "scripts" / "compare-comment.sh"
SAMPLES = ROOT / "tests" / "data" / "samples"
HELM = {"LOGS": f"  {SAMPLES / 'helm'}  \n\n", "ARGUMENTS": "--scorer exact_match"}
PULL = {"GITHUB_REPOSITORY": "us/evals", "PULL_REQUEST": "7"}

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("bash") or not shutil.which("xargs"),
    reason="the script runs on Linux",
)

Run = Callable[..., subprocess.CompletedProcess[str]]

# Notes what it was called with, and the body that it was to send; lists one earlier comment.
GH = """#!{python}
import json, os, sys
body = next((one.split("@", 1)[1] for one in sys.argv if one.startswith("body=@")), None)
with open("calls.jsonl", "a") as file:
    text = None if body is None else open(body, encoding="utf-8").read()
    file.write(json.dumps([sys.argv[1:], text]) + "\\n")
if "graphql" in sys.argv:
    print("bot[bot]")
elif body is None and os.environ["KEY"] == "again":
    assert "<!-- psychollm compare: again -->" in sys.argv[-1]
    assert ".user.login == env.ME" in sys.argv[-1]
    print(41 if os.environ["ME"] == "bot[bot]" else 40)
"""


COMMAND = f'#!/bin/sh\nexec "{sys.executable}" -m psychollm "$@"\n'
# In place of the command, where only the script matters.
COMPARED = """#!/bin/sh
[ "$*" = "compare --scorer exact_match --markdown -- {logs}" ] || exit 2
echo "| model | score | rank | tier |"
"""


@pytest.fixture
def act(tmp_path: Path) -> Run:
    """Return a function that runs the script as the action does."""
    tools = tmp_path / "tools"
    tools.mkdir()

    def run(command: str = COMMAND, **given: str) -> subprocess.CompletedProcess[str]:
        for name, text in (
            ("gh", GH.format(python=sys.executable)),
            ("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'),
            ("psychollm", command),
        ):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        return subprocess.run(
            ["bash", str(SCRIPT)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "RUNNER_TEMP": str(tmp_path),
                "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
                "GITHUB_OUTPUT": str(tmp_path / "output"),
                "KEY": "",
                **given,
            },
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def calls(folder: Path) -> list[tuple[list[str], str | None]]:
    return [tuple(json.loads(line)) for line in (folder / "calls.jsonl").read_text().splitlines()]


def test_a_new_pull_request_gets_a_comment(act: Run, tmp_path: Path) -> None:
    found = act(**HELM, **PULL, TITLE="Sums")
    assert found.returncode == 0, found.stderr
    _, listed, sent = calls(tmp_path)
    assert listed[0][:3] == ["api", "--paginate", "repos/us/evals/issues/7/comments"]
    assert sent[0][:4] == ["api", "--method", "POST", "repos/us/evals/issues/7/comments"]
    assert sent[1] is not None
    assert sent[1].startswith("<!-- psychollm compare:  -->\n### Sums\n\n")
    assert "| model | score | rank | tier |" in sent[1]
    assert (tmp_path / "summary.md").read_text() == sent[1]
    path = (tmp_path / "output").read_text().strip().removeprefix("markdown=")
    assert Path(path).read_text() == sent[1]


def test_an_earlier_comment_is_brought_up_to_date(act: Run, tmp_path: Path) -> None:
    command = COMPARED.format(logs=SAMPLES / "helm")
    assert act(command, **HELM, **PULL, KEY="again").returncode == 0
    arguments = calls(tmp_path)[-1][0]
    assert arguments[:4] == ["api", "--method", "PATCH", "repos/us/evals/issues/comments/41"]


@pytest.mark.parametrize("given", [{}, {**PULL, "COMMENT": "false"}])
def test_without_a_pull_request_nothing_is_sent(act: Run, tmp_path: Path, given) -> None:
    found = act(COMPARED.format(logs=SAMPLES / "helm"), **HELM, **given)
    assert found.returncode == 0, found.stderr
    assert "in the summary of the job" in found.stdout
    assert not (tmp_path / "calls.jsonl").exists()
    assert "| model |" in (tmp_path / "summary.md").read_text()


def test_a_choice_that_has_to_be_made_fails_the_job(act: Run, tmp_path: Path) -> None:
    found = act(LOGS=HELM["LOGS"], **PULL)
    assert found.returncode == 2
    assert "has 2 scorers: pass --scorer" in found.stderr
    assert not (tmp_path / "calls.jsonl").exists()


def test_a_regression_is_commented_before_it_fails_the_step(act: Run, tmp_path: Path) -> None:
    for name, n_right in (("old", 90), ("new", 40)):
        rows = [(name, f"q{i}", int(i < n_right)) for i in range(100)]
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("model", "question", "score"), *rows])
    logs = f"{tmp_path / 'old.csv'}\n{tmp_path / 'new.csv'}"
    found = act(LOGS=logs, ARGUMENTS="--fail-below old", **PULL)
    assert found.returncode == 1
    assert "'new' scores significantly lower than 'old'" in found.stderr
    assert "old ranks first" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert len(calls(tmp_path)) == 3


@pytest.mark.parametrize(
    ("code", "printed", "told"),
    [(0, "| a |", True), (1, "| a |", True), (1, "", False), (2, "| a |", False)],
)
def test_the_step_ends_as_the_command_did(
    act: Run, tmp_path: Path, code: int, printed: str, told: bool
) -> None:
    """Only a comparison that was printed is told: codes are those of tests/cli/test_compare.py."""
    command = f"#!/bin/sh\nprintf '%s' '{printed}'\nexit {code}\n"
    assert act(command, **HELM).returncode == code
    assert (tmp_path / "summary.md").exists() == told
    assert not (tmp_path / "calls.jsonl").exists()
    assert act(command, **HELM, **PULL).returncode == code
    assert (tmp_path / "calls.jsonl").exists() == told
    assert not told or len(calls(tmp_path)) == 3


def test_what_logs_and_inputs_hold_is_never_run(act: Run, tmp_path: Path) -> None:
    rows = "".join(f"{m},{q},{q % 2}\n" for m in ("@us/all", "$(touch here)") for q in range(12))
    (tmp_path / "a b.csv").write_text(f"model,question,score\n{rows}")
    found = act(LOGS="a b.csv", ARGUMENTS="--seed '2'", TITLE="$(touch here)", **PULL)
    assert found.returncode == 0, found.stderr
    assert not (tmp_path / "here").exists()
    body = calls(tmp_path)[-1][1]
    assert body is not None
    assert "@us" not in body
    assert "@\u200bus/all" in body


def test_a_label_cannot_act_in_the_comment(act: Run, tmp_path: Path) -> None:
    labels = ["<img src=x onerror=y>", "[a](http://e.vil)", "see #12 `code`", "two\x1b[2J\nlines"]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        rows = [(m, q, (q + k) % 3 // 2) for k, m in enumerate(labels) for q in range(12)]
        csv.writer(file).writerows([("model", "question", "score"), *rows])
    title = 'It\'s "which"?\n<!-- psychollm compare: other --> @us'
    found = act(LOGS="a.csv", ARGUMENTS="--seed \n '2'\n", TITLE=title, **PULL)
    assert found.returncode == 0, found.stderr
    body = calls(tmp_path)[-1][1]
    assert body is not None
    assert body.splitlines()[1].startswith('### It\'s "which"? <!-- ')
    assert "@us" not in body
    below = body.partition("\n\n")[2]
    assert not re.search(r"(?<!\\)(<img|\]\(|`|://)|#12|\x1b|^lines", below, re.MULTILINE)


def test_arguments_are_quoted_as_in_a_shell(act: Run) -> None:
    found = act(LOGS=HELM["LOGS"], ARGUMENTS="--scorer 'exact\n_match'", **PULL)
    assert found.returncode == 2
    assert r"--scorer 'exact\n_match'" in found.stderr
    found = act(**{**HELM, "ARGUMENTS": "--scorer it's"})
    assert found.returncode == 2
    assert found.stderr == "arguments: No closing quotation\n"


def test_a_key_is_a_word(act: Run) -> None:
    found = act(**HELM, KEY='a") | error("')
    assert found.returncode == 2
    assert "letters, digits and hyphens" in found.stderr


def test_the_action_hands_on_all_that_the_script_reads() -> None:
    action, script = (ROOT / "action.yml").read_text(), SCRIPT.read_text()
    read = set(re.findall(r"\$\{?([A-Z_]+)", script))
    given = set(re.findall(r"^        ([A-Z_]+): ", action, re.MULTILINE))
    own = {"RUNNER_TEMP", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_REPOSITORY"}
    assert read - own == given - {"GH_TOKEN"}
    inputs = set(re.findall(r"^  ([a-z-]+):\n    description", action, re.MULTILINE))
    assert set(re.findall(r"inputs\.([a-z-]+)", action)) == inputs - {"markdown"}
    assert f"/{SCRIPT.relative_to(ROOT).as_posix()}" in action
    assert os.access(SCRIPT, os.X_OK)
