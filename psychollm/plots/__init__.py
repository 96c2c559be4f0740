"""Floor 6: one plot per file; a result goes in, Axes come out.

Every function draws numbers that the result also gives as a table, on axes of its own or on those
passed. matplotlib is loaded at the first plot; nothing global is set.
"""

from psychollm._base.entry import entries
from psychollm.plots.abilities import plot_abilities
from psychollm.plots.attempts import plot_attempts
from psychollm.plots.between_models import plot_between_models
from psychollm.plots.calibration_panel import plot_calibration_panel
from psychollm.plots.comparison import plot_comparison
from psychollm.plots.correlation import (
    plot_correlation,
    plot_matrix,
    plot_residuals,
    plot_sensitivity,
)
from psychollm.plots.difficulty import plot_difficulty
from psychollm.plots.evaluation_card import plot_evaluation_card
from psychollm.plots.f_beta import plot_f_beta
from psychollm.plots.factor_structure import plot_factor_structure
from psychollm.plots.forest import plot_comparisons, plot_forest
from psychollm.plots.inference_boundary import plot_boundary_rates, plot_failures
from psychollm.plots.irt_curves import plot_item_curves, plot_test_information
from psychollm.plots.links import plot_links
from psychollm.plots.loadings import plot_loadings
from psychollm.plots.pairwise_calibration import plot_individuation, plot_pairwise_calibration
from psychollm.plots.people import plot_people
from psychollm.plots.person_item_map import plot_wright_map
from psychollm.plots.posterior_forest import plot_posterior_forest
from psychollm.plots.question_audit import plot_question_audit
from psychollm.plots.reliability import plot_reliability, plot_reliability_grid
from psychollm.plots.risk_coverage import plot_risk_coverage, plot_risk_coverage_grid
from psychollm.plots.scree import plot_retention, plot_scree
from psychollm.plots.screen import plot_screen
from psychollm.plots.second_factor import plot_null, plot_second_factor
from psychollm.plots.self_efficacy import plot_self_efficacy
from psychollm.plots.semantic_calibration import plot_semantic_calibration
from psychollm.plots.shared_confidence import plot_shared_confidence
from psychollm.plots.steering_match import plot_steering_match
from psychollm.plots.type2_roc import plot_type2_roc

__all__ = [
    "plot_abilities",
    "plot_attempts",
    "plot_between_models",
    "plot_boundary_rates",
    "plot_calibration_panel",
    "plot_comparison",
    "plot_comparisons",
    "plot_correlation",
    "plot_difficulty",
    "plot_evaluation_card",
    "plot_f_beta",
    "plot_factor_structure",
    "plot_failures",
    "plot_forest",
    "plot_individuation",
    "plot_item_curves",
    "plot_links",
    "plot_loadings",
    "plot_matrix",
    "plot_null",
    "plot_pairwise_calibration",
    "plot_people",
    "plot_posterior_forest",
    "plot_question_audit",
    "plot_reliability",
    "plot_reliability_grid",
    "plot_residuals",
    "plot_retention",
    "plot_risk_coverage",
    "plot_risk_coverage_grid",
    "plot_scree",
    "plot_screen",
    "plot_second_factor",
    "plot_self_efficacy",
    "plot_semantic_calibration",
    "plot_sensitivity",
    "plot_shared_confidence",
    "plot_steering_match",
    "plot_test_information",
    "plot_type2_roc",
    "plot_wright_map",
]

entries(globals())
