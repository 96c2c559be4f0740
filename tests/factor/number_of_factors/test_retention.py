"""`retention`: planted factors, gaps, bad input."""

import json

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, OptionError, ShapeError, ValidityWarning
from psychollm.factor.number_of_factors.parallel import parallel_analysis
from psychollm.factor.number_of_factors.retention import retention


def planted(m, n=1200, seed=0, cuts=(-0.4, 0.7)):
    rng = np.random.default_rng(seed)
    L = np.kron(np.eye(m), np.full((4, 1), 0.75))
    latent = L @ rng.normal(size=(m, n)) + np.sqrt(1 - 0.75**2) * rng.normal(size=(4 * m, n))
    return np.digitize(latent, cuts)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_what_is_planted_is_counted(m):
    found = retention(planted(m), n_null=30, rng=0)
    weak = ("very simple structure 1", "parallel analysis, other margin")
    assert {count for rule, count in found.counts.items() if rule not in weak} == {m}
    assert found.comparison.shape[1] == 30
    assert "rules" in found.summary().lower()
    assert len(found.to_frame()) == len(found.counts)
    assert "comparison data" in repr(found)
    json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("function", "data", "options", "error", "message"),
    [
        (parallel_analysis, [[1, 1, 1], [0, 1, 1]], {}, CodeError, "models 0 have one answer"),
        (parallel_analysis, [[1, 0, 1]], {}, ShapeError, "one model only"),
        (parallel_analysis, planted(1, 50), {"scheme": "magic"}, OptionError, "scheme='magic'"),
        (parallel_analysis, planted(1, 50), {"quantile": 1}, OptionError, "quantile=1"),
        (parallel_analysis, planted(1, 50), {"eigenvalues": "x"}, OptionError, "eigenvalues='x'"),
        (retention, planted(1, 50)[:3], {}, ShapeError, "at least four"),
        (retention, planted(1, 50), {"max_factors": 0}, OptionError, "max_factors=0"),
    ],
)
def test_bad_input(function, data, options, error, message):
    with pytest.raises(error, match=message):
        function(data, **options)


@pytest.mark.parametrize("function", [retention, parallel_analysis, psy.dimensionality])
def test_a_table_with_many_more_rows_than_columns_names_the_remedy(function):
    tall = np.random.default_rng(1).integers(0, 2, (300, 20))
    remedy = r'300 rows .* from 20 columns: pass of="questions" .*, or the transposed table'
    with pytest.raises(ShapeError, match=remedy):
        function(tall, n_null=1)


def test_constant_rows_of_a_tall_table_name_the_remedy():
    tall = np.tile([[0, 1, 1, 0], [1, 1, 1, 1], [1, 0, 1, 0]], (8, 1))
    with (
        pytest.warns(ValidityWarning, match="data: the 24 rows are correlated over 4 columns"),
        pytest.raises(CodeError, match='omit them, or pass of="questions" to correlate the col'),
    ):
        retention(tall)


def test_takes_responses_with_gaps():
    codes = planted(1, 300).astype(float)
    codes[0, :40] = np.nan
    found = retention(psy.Responses(codes), n_null=10, rng=1)
    assert found.n == pytest.approx(1 / np.mean([1 / 260] * 3 + [1 / 300] * 3))
