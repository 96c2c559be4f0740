"""The program of the page on steering runs, on a model of as many layers as it speaks of."""

import re
from pathlib import Path

import pytest

from psychollm.steering import Direction
from tests.steering.tiny import ARCHITECTURES, made, prompts, tokenizer, transformers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "steering.md"


def test_the_program_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(
        r"```python\n(from .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    small = ARCHITECTURES["llama"]().to_dict()
    deep = transformers.LlamaConfig(**small | {"num_hidden_layers": 26})
    monkeypatch.setitem(ARCHITECTURES, "llama", lambda: deep)
    model, words = made("llama"), tokenizer()
    model.generation_config.max_new_tokens = 3
    names = {
        "model": model,
        "tokenizer": words,
        "prompts": [f"w{i} w{7 * i % 40} w{i * i % 40} :" for i in range(40)],
        "other_prompts": prompts(9),
        "doses": [-2.0, 0.0, 2.0],
        "inputs": words(prompts(1), return_tensors="pt"),
    }
    exec(program, names)  # noqa: S102
    assert isinstance(names["direction"], Direction)
    assert names["scan"].layers == (10, 15, 20, 25)
    assert len(names["found"].by_strength()) == 3
    assert (tmp_path / "sweep.npz").exists()
