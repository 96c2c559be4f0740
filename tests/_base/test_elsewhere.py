"""Names of the field lead to the names here."""

import pytest

import psychollm as psy
from psychollm._base.elsewhere import names_here

SEARCHED = {
    "cronbach_alpha": "reliability.alpha",
    "cronbachs_alpha": "reliability.alpha",
    "roc_auc": "calibration.auroc",
    "roc_auc_score": "calibration.auroc",
    "auc": "calibration.auroc",
    "ece": "calibration.calibration_error",
    "expected_calibration_error": "calibration.calibration_error",
    "icc": "reliability.intraclass",
    "efa": "factor.factor_analysis",
    "cfa": "factor.confirmatory_factors",
    "dif": "irt.differential_functioning",
    "m2": "irt.model_fit",
    "kmo": "factor.sampling_adequacy",
    "reliability_diagram": "plots.plot_reliability",
    "brier_score": "calibration.brier",
    "log_loss": "calibration.log_score",
    "rasch_model": "fit_irt",
    "grm": "fit_irt",
    "theta": "ability",
    "mcdonald_omega": "reliability.omega",
    "kr_20": "reliability.consistency",
    "cohens_kappa": "reliability.cohen_kappa",
    "cohen_kappa_score": "reliability.cohen_kappa",
    "fleiss_kappa_": "",
    "power_analysis": "reliability.comparison_power",
    "mde": "reliability.comparison_power",
    "bonferroni": "estimates.adjust_p_values",
    "fdr": "estimates.adjust_p_values",
    "cat": "irt.adaptive_test",
    "wright_map": "plots.plot_wright_map",
    "semantic_uncertainty": "calibration.semantic_entropy",
    "leaderboard": "compare",
    "win_rate": "compare",
    "polychor": "correlation.polychoric",
    "nearpd": "correlation.smooth",
    "pca": "correlation.spectrum",
    "fa": "factor.factor_analysis",
    "varimax": "factor.rotate",
    "tinybenchmarks": "item_bank",
    "d_prime_": "",
    "glmm": "crossed_logistic",
    "aurc": "calibration.risk_coverage",
    "meta_d_": "",
    "calibration_curve": "plots.plot_reliability",
    "lavaan": "factor.confirmatory_factors",
    "spearman_brown": "reliability.split_half",
    "gwet": "",
    "kendall_tau": "calibration.gamma",
}


@pytest.mark.parametrize("name", [name for name, here in SEARCHED.items() if here])
def test_a_name_that_people_search_for_leads_to_its_call(name):
    assert f"psychollm.{SEARCHED[name]}" in names_here(name)
    with pytest.raises(AttributeError, match=rf"{name}'.*psychollm\.{SEARCHED[name]}"):
        getattr(psy, name)


@pytest.mark.parametrize(
    "name", [name for name, here in SEARCHED.items() if not here] + ["compar"]
)
def test_other_names_lead_nowhere(name):
    assert names_here(name) == []
