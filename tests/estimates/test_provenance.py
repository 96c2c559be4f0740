"""Seeds, calls and versions; what a study does with its tables first."""

import numpy as np
import pytest

from psychollm._base.checks import choose_seed
from psychollm._base.errors import LabelError, ShapeError
from psychollm.calibration.stated import binary_tables
from psychollm.data.responses import Responses
from psychollm.data.screen import validity_screen
from psychollm.estimates.provenance import call_text, versions, with_imports
from psychollm.studies.shared_confidence.study import uncorrelatable, unusable


def test_seeds():
    assert choose_seed(3) == choose_seed(np.int64(3)) == 3
    first, second = (choose_seed(np.random.default_rng(1)) for _ in range(2))
    assert first == second
    assert choose_seed(None) != choose_seed(None)


def test_call_text_is_python():
    text = call_text("f", ("a",), {"rule": "half", "level": 0.95, "rng": 1})
    assert eval(text, {"f": lambda a, **options: (a, options), "a": 7}) == (  # noqa: S307
        7,
        {"rule": "half", "level": 0.95, "rng": 1},
    )


def test_code_begins_with_the_imports_that_it_lacks():
    psy, pd = "import psychollm as psy\n", "import pandas as pd\n"
    assert with_imports("a = psy.read(1)") == f"{psy}\na = psy.read(1)"
    assert with_imports("psy.f(pd.concat(a))") == f"{pd}{psy}\npsy.f(pd.concat(a))"
    assert with_imports(f"{pd}\npsy.f(pd.concat(a))") == f"{psy}\n{pd}\npsy.f(pd.concat(a))"
    assert with_imports("") == with_imports(with_imports("")) == ""


def test_versions_are_text():
    assert all(isinstance(version, str) and version for version in versions().values())


def test_tables_are_paired_by_label():
    said = Responses([[1, 0], [0, 0]], models=["a", "b"])
    right = Responses([[0, 1], [1, 1]], models=["b", "a"])
    assert binary_tables(said, right)[1].codes.tolist() == [[1, 1], [0, 1]]
    with pytest.raises(LabelError, match="'c'"):
        binary_tables(said, Responses([[0, 1], [1, 1]], models=["a", "c"]))


def test_constant_and_unusable_models():
    table = Responses([[1, 0] * 20, [1, 1] * 20, [0, 0] * 20, [np.nan] * 40])
    found = uncorrelatable(table, validity_screen(table))
    assert found == {
        1: "always says yes (40 answers)",
        2: "always says no (40 answers)",
        3: "too few answers: 0, but at least 30 are required",
    }
    assert set(unusable(validity_screen(table))) == {1, 2, 3}
    with pytest.raises(ShapeError, match="no model is usable"):
        unusable(validity_screen(table.select(models=[1, 2])))


def test_models_that_share_too_little_cannot_be_correlated():
    rng = np.random.default_rng(0)
    values = (rng.random((5, 200)) < 0.5).astype(float)
    values[1, 20:] = np.nan  # too few answers
    values[2, :100] = np.nan
    values[3, 100:] = np.nan  # shares nothing with the third
    values[3, 99] = 1
    table = Responses(values, models=list("abcde"))
    found = uncorrelatable(table, validity_screen(table))
    assert list(found) == ["b", "d"] or list(found) == ["b", "c"]
    assert found["b"] == "too few answers: 20, but at least 30 are required"
    assert "on which the answers of both vary" in list(found.values())[1]
