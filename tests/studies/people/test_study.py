"""What is said of models beside people, in every form."""

import json

import numpy as np

from psychollm.studies.people.study import BesidePeople
from psychollm.studies.people.table import beside_people


def found(n_models: int = 3) -> BesidePeople:
    rng = np.random.default_rng(1)
    models = rng.random((n_models, 60)) < np.linspace(0.95, 0.3, n_models)[:, None]
    return beside_people(models.astype(int), (rng.random((12, 60)) < 0.6).astype(int))


def test_text_markdown_json_and_table_say_the_same(tmp_path) -> None:
    result = found()
    verdict = "12 people score"
    assert result.verdict.startswith(verdict)
    assert verdict in result.findings().to_markdown()
    assert json.loads(result.findings().to_json())["items"][0]["statement"] == result.verdict
    frame = result.tables()["people"]
    assert frame["difference"].tolist() == result.parts["score"].difference.value.tolist()
    page = result.report(tmp_path / "people.html").read_text(encoding="utf-8")
    assert verdict in page
    assert page.count("<figure") == 1


def test_many_models_are_listed_in_the_table_alone() -> None:
    text = found(20).summary()
    assert "12 more models are in the table of models" in text
    assert len(text.splitlines()) <= 24
