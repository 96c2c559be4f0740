"""Options that all resampled quantities share: errors name the argument of the caller."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.reliability.components.generalizability import generalizability
from psychollm.reliability.contrasts.conditions import friedman, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import mixed_model
from psychollm.reliability.means.answer_variance import answer_variance
from psychollm.reliability.raters.agreement import agreement
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.retest import retest

RUNS = np.random.default_rng(0).integers(0, 2, (3, 2, 12))


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize(
    "estimate",
    [
        lambda n: agreement(RUNS, bootstrap=n),
        lambda n: answer_variance(RUNS.transpose(1, 2, 0), bootstrap=n),
        lambda n: friedman(np.arange(6), list("aabbcc"), list("xyxyxy"), bootstrap=n),
        lambda n: generalizability(RUNS.sum(axis=0), bootstrap=n),
        lambda n: kruskal_wallis(np.arange(6), list("aabbcc"), bootstrap=n),
        lambda n: mixed_model(np.arange(6), list("aabbcc"), list("xyxyxy"), bootstrap=n),
        lambda n: rate_contrast(RUNS, list("AB" * 6), {"A": 1}, bootstrap=n),
        lambda n: retest(RUNS, bootstrap=n),
    ],
)
def test_errors_about_resamples_name_the_argument(estimate, n):
    with pytest.raises(OptionError, match=f"bootstrap={n} must be a whole number"):
        estimate(n)
