"""How models fare on one type of question."""

import pandas as pd

from psychollm.estimates.resampling import Resampling
from psychollm.studies.inference_boundary.profile import boundary_profile


def test_failures_of_a_boundary_profile() -> None:
    frame = pd.DataFrame(
        {"model": "m", "item": [1, 2], "run": 1, "response": list("xy"), "score": [1, 0]}
    )
    found = boundary_profile(frame, "A", Resampling(n=20, level=0.95, rng=0))
    assert found.failures is not None
    assert found.failures.categories == ("y",)
