"""Priors of the Bayesian models."""

import numpy as np
import pytest

from psychollm._base.errors import (
    OptionError,
)
from psychollm.irt.bayes.target import (
    HierarchicalPriors,
    contrasts,
)


def test_contrasts_are_orthonormal():
    basis = contrasts(5)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-15)


@pytest.mark.parametrize("values", [{"slope": (1.0, 0.0)}, {"intercept": None}, {"families": 0}])
def test_bad_priors(values):
    with pytest.raises(OptionError):
        HierarchicalPriors(**values)


def test_basis_of_contrasts():
    assert np.abs(contrasts(4).sum(axis=0)).max() < 1e-15
