"""What models of several groups take: results of polychoric, with all items in each."""

import pytest

from psychollm._base.errors import LabelError, OptionError
from psychollm.correlation.by_group import polychoric_by_group
from psychollm.factor.invariance.fit import confirmatory_groups
from tests.factor.invariance.tables import simulated

MODEL = {"F": "vwxyz"}


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
