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
    # names in R's mirt, ltm, psych, eRm, TAM and difR
    "itemfit": "irt.item_fit",
    "personfit": "irt.person_fit",
    "multipleGroup": "irt.fit_irt_groups",
    "testinfo": "irt.information",
    "bfactor": "irt.fit_multidimensional",
    "mantel_haenszel": "irt.differential_functioning",
    "difMH": "irt.differential_functioning",
    "difLogistic": "irt.differential_functioning",
    "tpm": "fit_irt",
    "pcm": "fit_irt",
    "RM": "irt.conditional_rasch",
    "splitHalf": "reliability.split_half",
    "descript": "reliability.item_statistics",
    # names in scikit-learn, netcal and torchmetrics
    "matthews_corrcoef": "calibration.confusion",
    "f1_score": "calibration.f_beta",
    "balanced_accuracy_score": "calibration.confusion",
    "average_precision_score": "calibration.average_precision",
    "roc_curve": "calibration.type2_roc",
    "IsotonicRegression": "calibration.corp",
    "MCE": "calibration.calibration_error",
    "BinaryCalibrationError": "calibration.calibration_error",
    # names in SciPy, statsmodels and pingouin
    "proportion_confint": "estimates.wilson",
    "multipletests": "estimates.adjust_p_values",
    "false_discovery_control": "estimates.adjust_p_values",
    "ttest_rel": "reliability.score_differences",
    "wilcoxon": "reliability.score_differences",
    "friedmanchisquare": "reliability.friedman",
    "kendalltau": "calibration.tau_b",
    "intraclass_corr": "reliability.intraclass",
}


@pytest.mark.parametrize("name", [name for name, here in SEARCHED.items() if here])
def test_a_name_that_people_search_for_leads_to_its_call(name):
    assert f"psychollm.{SEARCHED[name]}" in names_here(name)
    with pytest.raises(AttributeError, match=rf"{name}'.*psychollm\.{SEARCHED[name]}"):
        getattr(psy, name)


@pytest.mark.parametrize("name", ["ece", "roc_auc", "cronbach_alpha", "itemfit", "log_loss"])
def test_subpackages_know_these_names_too(name):
    with pytest.raises(AttributeError, match=rf"{name}': see psychollm\.{SEARCHED[name]}"):
        getattr(psy.calibration, name)


def test_a_subpackage_names_the_home_of_a_name_of_another():
    with pytest.raises(AttributeError, match=r"'fit_irt': it is psychollm\.irt\.fit_irt"):
        _ = psy.calibration.fit_irt


@pytest.mark.parametrize(
    "name", [name for name, here in SEARCHED.items() if not here] + ["compar"]
)
def test_other_names_lead_nowhere(name):
    assert names_here(name) == []
