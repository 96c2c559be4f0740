"""An iteration that did not converge is never silent."""

import warnings

import pytest

from psychollm._base.convergence import Convergence
from psychollm._base.errors import ConvergenceWarning


def test_converged_is_quiet() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Convergence(converged=True, iterations=3, reason="gradient", objective=0.0).warn("it")


def test_not_converged_says_why() -> None:
    end = Convergence(converged=False, iterations=50, reason="still moving", objective=1.0)
    with pytest.warns(
        ConvergenceWarning, match="the fit did not converge after 50 .*still moving"
    ):
        end.warn("the fit")
