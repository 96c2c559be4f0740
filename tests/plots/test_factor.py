"""Pictures of factor analysis draw what its results say."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import psychollm as psy
from psychollm import plots
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.loading_errors import loading_errors


@pytest.fixture(scope="module")
def two_factors():
    rng = np.random.default_rng(4)
    L = np.kron(np.eye(2), np.full((4, 1), 0.8))
    z = L @ rng.normal(size=(2, 600)) + 0.6 * rng.normal(size=(8, 600))
    return (z > 0.2).astype(int)


def test_loadings_are_drawn_with_their_intervals(two_factors, ax):
    correlation = psy.polychoric(two_factors)
    covariance = correlation.covariance()
    found = factor_analysis(correlation, 2, covariance=covariance)
    errors = loading_errors(found, covariance=covariance)
    drawn = found.plot(errors=errors, ax=ax)
    points = [line.get_xdata() for line in drawn.lines if line.get_linestyle() == "None"]
    np.testing.assert_allclose(np.sort(np.concatenate(points)), np.sort(found.loadings.ravel()))
    ends = np.concatenate([group.get_segments() for group in drawn.collections])[:, :, 0]
    np.testing.assert_allclose(np.sort(ends.ravel()), np.sort(errors.interval.ravel()))
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == list(found.factors)
    rows = [int(text.get_text()) for text in drawn.get_yticklabels()]
    first = np.abs(found.loadings).argmax(axis=1)[rows]
    assert (np.diff(first) >= 0).all()


def test_errors_of_another_solution_are_refused(two_factors, ax):
    found = factor_analysis(psy.polychoric(two_factors), 2)
    errors = loading_errors(found, covariance=psy.polychoric(two_factors).covariance())
    with pytest.raises(psy.errors.LabelError, match="not of the variables"):
        plots.plot_loadings(found.permuted([1, 0]), errors=errors, ax=ax)


def test_rules_and_their_eigenvalues(two_factors, ax):
    found = psy.retention(two_factors, n_null=20, rng=1)
    drawn = found.plot(ax=ax)
    assert [int(text.get_text()) for text in drawn.texts] == list(found.counts.values())
    drawn = plots.plot_scree(found.parallel, ax=Figure().subplots())
    names = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert names == ["shuffled within models", "shuffled within questions", "observed"]
    observed = next(line for line in drawn.lines if line.get_label() == "observed")
    np.testing.assert_allclose(observed.get_ydata(), found.eigenvalues)
