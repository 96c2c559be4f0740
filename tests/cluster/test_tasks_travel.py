"""What functions hand to `replicate` can be sent to other processes, closures over kernels too."""

from uuid import uuid4

import numpy as np
import pytest

import psychollm as psy
from psychollm._base import replicate
from psychollm.calibration.decisions.f_beta import f_beta
from psychollm.calibration.scores.corp import corp
from psychollm.factor.number_of_factors.parallel import parallel_analysis
from psychollm.reliability.scales.consistency import alpha

RNG = np.random.default_rng(8)
CONFIDENCE = RNG.choice([0.2, 0.4, 0.6, 0.8], (3, 60))
RIGHT = (RNG.random((3, 60)) < CONFIDENCE).astype(int)
ANSWERS = (RNG.normal(size=80) + RNG.normal(size=(6, 80)) > 0).astype(int)

WORK = {
    "panel": lambda: psy.calibration_panel(CONFIDENCE, RIGHT, bootstrap=20, rng=1),
    "corp": lambda: corp(CONFIDENCE, RIGHT, bootstrap=20, rng=1),
    "f_beta": lambda: f_beta((CONFIDENCE > 0.5).astype(int), RIGHT, bootstrap=20, rng=1),
    "parallel_analysis": lambda: parallel_analysis(ANSWERS, n_null=20, rng=1),
    "alpha": lambda: alpha(ANSWERS.T, bootstrap=20, rng=1),
}


@pytest.mark.parametrize("name", WORK)
def test_the_same_after_a_journey(name, monkeypatch):
    expected = repr(WORK[name]().to_frame().to_dict())
    sizes, spread = [], replicate.spread

    def sent(function, pieces, who, **options):
        data = replicate._pickled(function)
        sizes.append(len(data))
        yield from spread(replicate._unpickled(uuid4().hex, data), pieces, who, **options)

    monkeypatch.setattr(replicate, "spread", sent)
    assert repr(WORK[name]().to_frame().to_dict()) == expected
    assert sizes
