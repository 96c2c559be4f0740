"""The contrast of skins: paired by world, and an interaction where models differ in it."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import LabelError
from psychollm.studies.inference_boundary.skin_contrast import skin_contrast

QUICK = {"bootstrap": 200, "rng": 0}


def simulated(drop: dict[str, float], n: int = 60) -> pd.DataFrame:
    """Worlds of very different difficulty; in the trade each is missed more often by `drop`."""
    rng = np.random.default_rng(0)
    ease = rng.choice([0.05, 0.95], size=n)
    rows = [
        (model, "C", f"{skin}-{world}", 1, skin, world, float(rng.random() < p))
        for model, less in drop.items()
        for world in range(n)
        for skin, p in [("synthetic", ease[world]), ("plumbing", ease[world] - less)]
    ]
    names = ["model", "type", "item", "run", "skin", "structure", "score"]
    return pd.DataFrame(rows, columns=names)


def test_differences_are_paired_by_world() -> None:
    frame = simulated({"a": 0.0})
    found = skin_contrast(frame, "C", "synthetic", "plumbing", **QUICK)
    rates = frame.groupby("skin")["score"].mean()
    assert found.value[0] == pytest.approx(rates["synthetic"] - rates["plumbing"])
    assert found.interval[0, 0] < 0 < found.interval[0, 1]
    apart = frame.assign(structure=range(len(frame)))
    assert found.se[0] < 0.8 * skin_contrast(apart, "C", "synthetic", "plumbing", **QUICK).se[0]


def test_models_differ_in_what_a_trade_does_to_them() -> None:
    found = skin_contrast(simulated({"a": 0.0, "b": 0.9}), "C", "synthetic", "plumbing", **QUICK)
    interaction = found.difference("b", "a")
    assert interaction.value > 0.2
    assert interaction.interval[0] > 0
    turned = skin_contrast(simulated({"a": 0.0, "b": 0.9}), "C", "plumbing", "synthetic", **QUICK)
    assert turned.value == pytest.approx(-found.value)


def test_bad_input() -> None:
    frame = simulated({"a": 0.0})
    with pytest.raises(LabelError, match="no column 'skin'"):
        skin_contrast(frame.drop(columns="skin"), "C", "synthetic", "plumbing")
    with pytest.raises(LabelError, match="in skin 'circuits': skins are"):
        skin_contrast(frame, "C", "synthetic", "circuits")
