"""What models of several groups take: results of polychoric, with all items in each."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import LabelError, OptionError
from psychollm.correlation.by_group import polychoric_by_group
from psychollm.factor.invariance.fit import confirmatory_groups

MODEL = {"F": "vwxyz"}


def simulated(n=600, seed=0, shift=0.0, cuts=(-0.6, 0.5)):
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b"], n)
    f = rng.normal(size=2 * n) * np.where(group == "a", 1.0, 0.8) + 0.3 * (group == "b")
    loads = np.array([0.8, 0.7, 0.6, 0.75, 0.65])[:, None]
    latent = loads * f + np.sqrt(1 - loads**2) * rng.normal(size=(5, 2 * n))
    latent[2] -= shift * (group == "b")
    steps = np.linspace(-0.5, 0.5, 5)
    codes = np.stack(
        [np.digitize(row, np.add(cuts, s)) for row, s in zip(latent, steps, strict=True)]
    )
    return pd.DataFrame(codes, index=list("vwxyz")), group


def test_bad_groups():
    halves = polychoric_by_group(*simulated(100, 9))
    with pytest.raises(OptionError, match="two or more groups"):
        confirmatory_groups({"a": halves["a"]}, MODEL)
    with pytest.raises(OptionError, match="must be a result of polychoric, got ndarray"):
        confirmatory_groups({"a": halves["a"], "b": halves["b"].matrix}, MODEL)
    with pytest.raises(LabelError, match="'w' are not in group 'b'"):
        confirmatory_groups({"a": halves["a"], "b": halves["b"].select(list("vxyz"))}, MODEL)
    some = confirmatory_groups(halves, {"F": "wxyz"})
    assert some.labels == tuple("wxyz")
