"""Which code in the text is a name, and of what."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
from names import Names, Place

NAMES = Names(
    {
        "psychollm.tetrachoric",
        "psychollm.factor.extract",
        "psychollm.irt.IRTFit",
        "psychollm.irt.IRTFit.summary",
        "psychollm.irt.Revision",
        "psychollm.studies.Revision",
        "psychollm.instruments.Revision",
        "psychollm.steering.HiddenStates.take",
        "psychollm.compare",
    },
    {"psychollm.kernels.tetrachoric", "psychollm.factor"},
    {"pandas.NA"},
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tetrachoric", "psychollm.tetrachoric"),
        ("psy.tetrachoric", "psychollm.tetrachoric"),
        ('tetrachoric(table, of="models")', "psychollm.tetrachoric"),
        ("correlation = psy.tetrachoric(table)", "psychollm.tetrachoric"),
        ("psychollm.correlation.tetrachoric", "psychollm.tetrachoric"),
        ("kernels.tetrachoric", "psychollm.kernels.tetrachoric"),
        ("psychollm.factor", "psychollm.factor"),
        ("psychollm.factor.exploratory.extraction.extract", "psychollm.factor.extract"),
        ("IRTFit.summary()", "psychollm.irt.IRTFit.summary"),
        ("IRTFit.slopes", "psychollm.irt.IRTFit"),  # a field
        ("states.take(rows)", "psychollm.steering.HiddenStates.take"),
        ("Revision", "psychollm.instruments.Revision"),  # as names.toml decides
        ("compare()", "psychollm.compare"),
        ("psy.compare", "psychollm.compare"),
        ("pd.NA", "pandas.NA"),
    ],
)
def test_names(text: str, found: str) -> None:
    assert NAMES.find(text) == ("obj", found)


@pytest.mark.parametrize(
    "text",
    [
        "compare",  # the command, as names.toml says
        "summary",
        "take(rows)",
        "factor",
        "psychollm.nothing",
        "nothing.compare",
        "threshold=0.5",
        "0.5",
        "psychollm compare logs/",
    ],
)
def test_words(text: str) -> None:
    assert NAMES.find(text) is None


def test_methods_of_every_result_lead_to_their_page() -> None:
    assert NAMES.find("study.to_frame()") == ("doc", "results")


def test_docstrings_mean_their_own_parameters_and_neighbours() -> None:
    place = Place("a page", "psychollm.studies.Steering", frozenset({"tetrachoric"}))
    assert NAMES.find("tetrachoric", place) is None
    assert NAMES.find("Revision", place) == ("obj", "psychollm.studies.Revision")
    own = Place("a page", "psychollm.irt.IRTFit")
    assert NAMES.find("summary()", own) == ("obj", "psychollm.irt.IRTFit.summary")
    assert NAMES.find("IRTFit", own) is None
