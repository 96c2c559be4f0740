from psychollm.plots.abilities import plot_abilities as plot_abilities
from psychollm.plots.attempts import plot_attempts as plot_attempts
from psychollm.plots.between_models import plot_between_models as plot_between_models
from psychollm.plots.calibration_panel import plot_calibration_panel as plot_calibration_panel
from psychollm.plots.comparison import plot_comparison as plot_comparison
from psychollm.plots.confidence_gate import plot_confidence_gate as plot_confidence_gate
from psychollm.plots.correlation import plot_correlation as plot_correlation
from psychollm.plots.correlation import plot_matrix as plot_matrix
from psychollm.plots.correlation import plot_residuals as plot_residuals
from psychollm.plots.correlation import plot_sensitivity as plot_sensitivity
from psychollm.plots.difficulty import plot_difficulty as plot_difficulty
from psychollm.plots.evaluation_card import plot_evaluation_card as plot_evaluation_card
from psychollm.plots.f_beta import plot_f_beta as plot_f_beta
from psychollm.plots.factor_structure import plot_factor_structure as plot_factor_structure
from psychollm.plots.forest import plot_comparisons as plot_comparisons
from psychollm.plots.forest import plot_forest as plot_forest
from psychollm.plots.inference_boundary import plot_boundary_rates as plot_boundary_rates
from psychollm.plots.inference_boundary import plot_failures as plot_failures
from psychollm.plots.irt_curves import plot_item_curves as plot_item_curves
from psychollm.plots.irt_curves import plot_test_information as plot_test_information
from psychollm.plots.links import plot_links as plot_links
from psychollm.plots.loadings import plot_loadings as plot_loadings
from psychollm.plots.pairwise_calibration import plot_individuation as plot_individuation
from psychollm.plots.pairwise_calibration import (
    plot_pairwise_calibration as plot_pairwise_calibration,
)
from psychollm.plots.people import plot_people as plot_people
from psychollm.plots.person_item_map import plot_wright_map as plot_wright_map
from psychollm.plots.posterior_forest import plot_posterior_forest as plot_posterior_forest
from psychollm.plots.question_audit import plot_question_audit as plot_question_audit
from psychollm.plots.reliability import plot_reliability as plot_reliability
from psychollm.plots.reliability import plot_reliability_grid as plot_reliability_grid
from psychollm.plots.risk_coverage import plot_risk_coverage as plot_risk_coverage
from psychollm.plots.risk_coverage import plot_risk_coverage_grid as plot_risk_coverage_grid
from psychollm.plots.scree import plot_retention as plot_retention
from psychollm.plots.scree import plot_scree as plot_scree
from psychollm.plots.screen import plot_screen as plot_screen
from psychollm.plots.second_factor import plot_null as plot_null
from psychollm.plots.second_factor import plot_second_factor as plot_second_factor
from psychollm.plots.self_efficacy import plot_self_efficacy as plot_self_efficacy
from psychollm.plots.semantic_calibration import (
    plot_semantic_calibration as plot_semantic_calibration,
)
from psychollm.plots.shared_confidence import plot_shared_confidence as plot_shared_confidence
from psychollm.plots.steering_match import plot_steering_match as plot_steering_match
from psychollm.plots.type2_roc import plot_type2_roc as plot_type2_roc
from psychollm.plots.watch import plot_watch as plot_watch
