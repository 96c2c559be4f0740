"""Plans: what they may say, and what is said of those that cannot be."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from psychollm._base.errors import PsychollmError
from psychollm.cli import main
from psychollm.collect.plan import read_plan
from psychollm.collect.store import Store
from tests.collect.conftest import prompts, write_plan
from tests.collect.hostile import Act, Hostile, said

ENDPOINT = '[endpoints.a]\nurl = "http://127.0.0.1:9/v1"\n'
MODEL = '[[models]]\nmodel = "org/m"\nendpoint = "a"\n'
WHOLE = 'prompts = "items.jsonl"\n' + ENDPOINT + MODEL


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """Return the place of a plan with prompts beside it."""
    return write_plan(tmp_path, "http://127.0.0.1:9/v1", 2)


def test_a_small_plan(plan_file: Path) -> None:
    plan_file.write_text(WHOLE)
    plan = read_plan(plan_file)
    assert plan.models[0].name == "org/m"
    assert plan.store == plan_file.with_suffix(".sqlite")
    assert len(list(plan.requests())) == 2


def test_parameters_of_all_and_of_one(plan_file: Path) -> None:
    shared = "[parameters]\nseed = 1\ntemperature = 0.0\n"
    own = "[models.parameters]\ntemperature = 1.0\n"
    plan_file.write_text('prompts = ["items.jsonl"]\n' + shared + ENDPOINT + MODEL + own)
    assert read_plan(plan_file).models[0].parameters == {"seed": 1, "temperature": 1.0}


@pytest.mark.parametrize(
    ("prompt", "parameters", "bounded"),
    [(None, "", False), (64, "", True), (None, "max_tokens = 64", True)],
)
def test_a_budget_needs_an_end_of_every_answer(
    prompt: int | None, parameters: str, bounded: bool, plan_file: Path
) -> None:
    items = [replace(one, max_tokens=prompt).to_dict() for one in prompts(2)]
    (plan_file.parent / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    prices = "[models.prices]\ninput = 1.0\noutput = 2.0\n"
    plan_file.write_text(f"budget = 1.0\n{WHOLE}{prices}[models.parameters]\n{parameters}\n")
    refused = pytest.raises(PsychollmError, match="a budget needs max_tokens")
    with contextlib.nullcontext() if bounded else refused:
        assert len(list(read_plan(plan_file).requests())) == 2


BAD = {
    "no TOML": ("prompts = ", "is not valid TOML"),
    "nothing": ("", "endpoints, models, prompts missing"),
    "unknown": ("colour = 1\n" + WHOLE, "colour unknown; choose from"),
    "unknown of endpoint": (WHOLE.replace('v1"\n', 'v1"\nspeed = 1\n'), "speed unknown"),
    "unknown of model": (WHOLE + "speed = 1\n", "speed unknown"),
    "wire": (WHOLE.replace('v1"\n', 'v1"\nwire = "smoke"\n'), "use one of openai-chat"),
    "endpoint": (WHOLE.replace('endpoint = "a"', 'endpoint = "b"'), "'b' is not one of a"),
    "twice": (WHOLE + MODEL, "more than once"),
    "url": (WHOLE.replace("http:", "ftp:"), "must begin with http"),
    "no prompts": (WHOLE.replace("items", "none"), "cannot be read"),
    "prices": ("budget = 1.0\n" + WHOLE, "a budget needs prices"),
    "budget": ("budget = -1.0\n" + WHOLE, "must be a number above zero"),
    "attempts": (WHOLE.replace('v1"\n', 'v1"\nattempts = 0\n'), "attempts"),
    "timeout": (WHOLE.replace('v1"\n', 'v1"\ntimeout = 0\n'), "timeout=0 must be above zero"),
    "repeats": ("repeats = 0\n" + WHOLE, "plan.toml: repeats=0"),
    "half a repeat": ("repeats = 2.0\n" + WHOLE, "repeats must be a whole number"),
    "a budget without end": ("budget = inf\n" + WHOLE, "must be a number above zero"),
    "nothing to ask": (WHOLE.replace('"items.jsonl"', "[]"), "prompts is empty"),
    "nobody to ask": (
        WHOLE.split("[[")[0].replace("[end", "models = []\n[end"),
        "models is empty",
    ),
    "a name of two lines": (WHOLE + 'name = "a\\nb"\n', "must be one line"),
    "a wait without end": (
        WHOLE.replace('v1"\n', 'v1"\nlongest_wait = nan\n'),
        "longest_wait=nan",
    ),
    "a key itself": (
        WHOLE.replace('v1"\n', 'v1"\nkey = "hf_AbCdEfGhIjKlMnOp"\n'),
        "not the secret",
    ),
    "a key in the address": (WHOLE.replace('v1"', 'v1?subscription-key=a1b2"'), "query string"),
    "a key in a header": (
        WHOLE.replace('v1"\n', 'v1"\nheaders = { X-Team = "gsk_AbCdEfGhIjKlMnOp" }\n'),
        "header X-Team must name",
    ),
    "thinking without a word for it": (
        WHOLE.replace('v1"\n', 'v1"\nwire = "openai-completions"\n')
        + '[models.parameters]\nthinking = "low"\n',
        "openai-completions does not support thinking",
    ),
    "a price below nothing": (WHOLE + "prices = { input = -1, output = 1 }\n", "input=-1"),
    "no price": (WHOLE + "prices = { input = nan, output = 1 }\n", "input=nan"),
    "half of the prices": (WHOLE + "prices = { input = 1.0 }\n", "give both input and output"),
    "a reserved parameter": (
        WHOLE + "[models.parameters]\nstream = true\n",
        "stream cannot be set",
    ),
    "a parameter of no JSON": (WHOLE + "[models.parameters]\nt = nan\n", "JSON values"),
    "a date": (WHOLE + "[models.parameters]\nt = 2020-01-01\n", "JSON values"),
    "a word for a number": (WHOLE.replace('v1"\n', 'v1"\ntimeout = "x"\n'), "must be a number"),
    "a number for a word": (WHOLE + "system = 1\n", "system must be text"),
    "models as a word": ('models = "m"\n' + WHOLE.split("[[")[0], "must be"),
    "a table for models": (WHOLE.replace("[[models]]", "[models]"), "must be"),
    "prices of what": (WHOLE + "prices = { cat = 1 }\n", "cat unknown"),
}


@pytest.mark.parametrize("name", BAD)
def test_plans_that_cannot_be(name: str, plan_file: Path) -> None:
    text, message = BAD[name]
    plan_file.write_text(text)
    with pytest.raises(PsychollmError, match=message):
        read_plan(plan_file)


KING = '{"key": "a", "item": "a", "messages": [{"role": "king", "content": "?"}], "reply": "text"}'


PROMPT = (
    '{"key": "a", "item": "a", "messages": [{"role": "user", "content": "?"}], "reply": "text"}'
)
ODD = [
    PROMPT.replace('"?"', "null"),
    PROMPT.replace('"?"', '["?"]'),
    PROMPT.replace("?", "\\ud83d"),
    PROMPT.replace('"user"', '"system"'),
    PROMPT.replace('"key": "a"', '"key": 1'),
    PROMPT.replace('"key": "a"', '"key": ""'),
    *(
        PROMPT.replace('"reply"', f'"{field}, "reply"')
        for field in ('max_tokens": -1000', 'max_tokens": NaN', 'max_tokens": "16"')
    ),
    PROMPT.replace('"reply"', '"repeat": "0", "reply"'),
    PROMPT.replace('"reply"', '"about": [1], "reply"'),
    "[" * 100_000,
]


@pytest.mark.parametrize("line", ["{", "1", '{"key": "a"}', KING, *ODD])
def test_prompts_that_cannot_be(line: str, plan_file: Path) -> None:
    (plan_file.parent / "items.jsonl").write_text("\n" + line)
    with pytest.raises(PsychollmError, match="line 2: not a prompt"):
        read_plan(plan_file)


def test_a_prompt_that_follows_nothing(plan_file: Path) -> None:
    items = plan_file.parent / "items.jsonl"
    items.write_text(items.read_text().replace('"reply"', '"follows": "zz", "reply"'))
    with pytest.raises(PsychollmError, match="'zz', which cannot be sent before it"):
        list(read_plan(plan_file).requests())


# -- the command ---------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as server:
        plan = write_plan(tmp_path, server.url, 3)
        assert main(["collect", str(plan), "--dry-run"]) == 0
        assert "3 requests" in capsys.readouterr().out
        assert server.seen == []
        table = tmp_path / "replies.csv"
        assert main(["collect", str(plan), "--export", str(table), "--progress"]) == 0
        said_there = capsys.readouterr()
        assert "3 answered, 0 failed, 0 not asked" in said_there.out
        assert "3/3 answered" in said_there.err
        assert len(table.read_text().splitlines()) == 4
        assert main(["collect", str(plan), "--json"]) == 0
        assert '"answered": [' in capsys.readouterr().out
        assert len(server.seen) == 3


def test_the_command_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile(lambda body, n: Act(402, b"{}") if n > 2 else said()) as server:
        extra = "start_concurrency = 1\nconcurrency = 1"
        plan = write_plan(tmp_path, server.url, 5, extra=extra)
        assert main(["collect", str(plan)]) == 1
    assert "stopped: payment (status 402)" in capsys.readouterr().out
    assert main(["collect", str(tmp_path / "none.toml")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    with Store(tmp_path / "run.sqlite") as store:
        assert store.counts() == {"m": {"answered": 2, "open": 3}}
