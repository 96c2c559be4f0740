"""Kernels loaded from a warm cache work in any order of first use."""

import subprocess
import sys

import pytest

PREAMBLE = """
import numpy as np
import psychollm as psy
from psychollm.factor.one_factor.residuals import residual_test
x = (np.random.default_rng(0).random((5, 100)) < 0.5).astype(float)
x[0, :5] = np.nan
answers = psy.Responses(x)
"""
USES = {
    "tetrachoric": "psy.tetrachoric(answers).se",
    "permutation": "psy.permutation_null(answers, n_null=3, rng=1)",
    "one_factor": "psy.one_factor_null(answers, n_null=3, rng=1)",
    "residual": "residual_test(answers, factors=1, n_null=3, rng=1)",
}


# Each use comes first once, and each of two comes before the other.
ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1))


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_any_order(order):
    """Each order runs in a process of its own: what one compiles, the next ones load."""
    program = "\n".join([PREAMBLE, *(list(USES.values())[k] for k in order)])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
