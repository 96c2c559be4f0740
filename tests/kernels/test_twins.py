"""Law 4: every kernel has a slow twin that shares no code with it, and a test compares them."""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
KERNELS = ROOT / "psychollm" / "kernels"

# Kernel: the module in tests/oracles, or the independent library, that it is compared with; where.
TWINS = {
    "adaptive_rules": ("irt_multidimensional_slow", "irt/test_multidimensional.py"),
    "agreement": ("agreement_slow", "reliability/test_agreement.py"),
    "association": ("association_slow", "calibration/test_association.py"),
    "binned": ("binned_slow", "calibration/test_binned.py"),
    "bivariate": ("tetrachoric_slow", "kernels/test_bivariate.py"),
    "cell_draws": ("cell_draws_slow", "kernels/test_cell_draws.py"),
    "conditional_rasch": ("conditional_slow", "irt/test_rasch.py"),
    "corp": ("proper_scores_slow", "calibration/test_corp.py"),
    "correlate": ("tetrachoric_slow", "correlation/test_tetrachoric.py"),
    "cox": ("proper_scores_slow", "calibration/test_cox.py"),
    "discordance": ("tetrachoric_slow", "kernels/test_discordance.py"),
    "exponential": ("mpmath", "kernels/test_exponential.py"),
    "irt_marginal": ("irt_marginal_slow", "irt/test_bayesian.py"),
    "irt_multidimensional": ("irt_multidimensional_slow", "irt/test_multidimensional.py"),
    "irt_multidimensional_scores": ("irt_multidimensional_slow", "irt/test_multidimensional.py"),
    "irt_polytomous": ("polytomous_slow", "irt/test_polytomous_statistics.py"),
    "item_posteriors": ("item_population_slow", "irt/test_item_population.py"),
    "item_moments": ("consistency_slow", "reliability/test_consistency.py"),
    "kernel_smooth": ("binned_slow", "calibration/test_smooth.py"),
    "label_numbers": ("label_numbers_slow", "data/test_batches.py"),
    "logistic_factors": ("logistic_factors_slow", "irt/test_logistic_factors.py"),
    "logistic_questions": (
        "logistic_questions_slow",
        "reliability/test_crossed_logistic.py",
    ),
    "logistic_rows": ("logistic_rows_slow", "kernels/test_logistic_rows.py"),
    "loops": ("numpy", "kernels/test_loops.py"),
    "meta_d": ("meta_d_slow", "calibration/test_meta_d.py"),
    "meta_d_group": ("meta_d_slow", "calibration/test_hierarchical_meta_d.py"),
    "meta_d_likelihood": ("meta_d_slow", "calibration/test_meta_d.py"),
    "meta_information": ("meta_d_slow", "calibration/test_meta_information.py"),
    "murphy": ("proper_scores_slow", "calibration/test_murphy.py"),
    "normal": ("mpmath", "kernels/test_normal.py"),
    "one_factor": ("scipy", "kernels/test_one_factor.py"),
    "ordinal_covariance": ("omega_slow", "kernels/test_ordinal_covariance.py"),
    "pair_counts": ("pair_counts_slow", "data/test_pair_counts.py"),
    "pairwise_factors": (
        "pairwise_likelihood_slow",
        "factor/one_factor/test_pairwise_likelihood.py",
    ),
    "pairwise_lapses": ("lapses_slow", "kernels/test_lapses.py"),
    "pairwise_likelihood": (
        "pairwise_likelihood_slow",
        "factor/one_factor/test_pairwise_likelihood.py",
    ),
    "polychoric": ("polychoric_slow", "correlation/test_polychoric.py"),
    "polychoric_influence": ("polychoric_slow", "correlation/test_polychoric.py"),
    "polyserial": ("polychoric_slow", "correlation/test_polyserial.py"),
    "proper_scores": ("proper_scores_slow", "calibration/test_proper_scores.py"),
    "irt_streamed": ("irt_streamed_slow", "kernels/test_irt_streamed.py"),
    "quadrature": ("irt_slow", "irt/test_fit.py"),
    "random": ("streams_slow", "kernels/test_random.py"),
    "response_models": ("irt_slow", "irt/test_fit.py"),
    "second_factor": ("lapses_slow", "kernels/test_lapses.py"),
    "selective": ("selective_slow", "calibration/test_selective.py"),
    "semantic": ("semantic_slow", "calibration/test_semantic_confidence.py"),
    "splits": ("consistency_slow", "reliability/test_split_half.py"),
    "symmetric": ("numpy", "kernels/test_symmetric.py"),
    "table_inference": ("tetrachoric_slow", "correlation/test_intervals.py"),
    "tally": ("tally_slow", "kernels/test_tally.py"),
    "tetrachoric": ("tetrachoric_slow", "kernels/test_tetrachoric.py"),
    "tetrachoric_lanes": ("tetrachoric_slow", "kernels/test_tetrachoric_lanes.py"),
    "voters": ("voters_slow", "kernels/test_voters.py"),
    "weighted_ranking": ("calibration_slow", "kernels/test_weighted_ranking.py"),
}
# Draws of tables that have no value to agree with: their distribution is compared with enumerated
# tables, another program's draws, or what the design says.
DRAWS = {
    "null_matrices": "nulls/test_permutation.py",
    "ordered_nulls": "factor/number_of_factors/test_ordered_design.py",
}
LIBRARIES = ("mpmath", "numpy", "scipy")


WITHOUT_KERNELS = {"codes", "compilation"}


@cache
def imported(path):
    """Modules that a file imports, as dotted names, names of what is taken from them included."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def of_library(path):
    """The files of the library that a file imports directly."""
    names = [name.split(".") for name in imported(path) if name.startswith("psychollm.")]
    places = [ROOT.joinpath(*name) for name in names]
    files = {file for one in places for file in (one.with_suffix(".py"), one / "__init__.py")}
    return {file for file in files if file.exists()}


@cache
def reached(path):
    """All files of the library that a file imports, directly or not."""
    seen, ahead = set(), [path]
    while ahead:
        new = of_library(ahead.pop()) - seen
        seen |= new
        ahead.extend(new)
    return seen


def test_every_kernel_has_a_twin():
    kernels = {path.stem for path in KERNELS.glob("[!_]*.py")} - WITHOUT_KERNELS
    assert kernels == set(TWINS) | set(DRAWS)
    assert not set(TWINS) & set(DRAWS)


@pytest.mark.parametrize("kernel", sorted(TWINS))
def test_a_test_compares_them(kernel):
    twin, name = TWINS[kernel]
    path = TESTS / name
    if twin in LIBRARIES:
        assert {twin} & {module.partition(".")[0] for module in imported(path)}
    else:
        assert f"tests.oracles.{twin}" in imported(path)
    assert KERNELS / f"{kernel}.py" in reached(path)


@pytest.mark.parametrize("kernel", sorted(DRAWS))
def test_a_test_looks_at_the_distribution(kernel):
    assert KERNELS / f"{kernel}.py" in reached(TESTS / DRAWS[kernel])


@pytest.mark.parametrize(
    "path", sorted((TESTS / "oracles").glob("*.py")), ids=lambda path: path.stem
)
def test_twins_share_no_code_with_the_library(path):
    assert not {name for name in imported(path) if name.startswith("psychollm")}
