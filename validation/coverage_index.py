"""List the family of the coverage tables that contains the intervals of each public function.

The list is checked against the public names of calibration and reliability; a function without an
entry is an error.
"""

from types import FunctionType, ModuleType

from psychollm import calibration, reliability

FAMILIES: dict[str, tuple[str, ...]] = {
    "Abstention": ("abstention", "abstention_by"),
    "Agreement": (
        "agreement",
        "percent_agreement",
        "fleiss_kappa",
        "gwet_ac1",
        "cohen_kappa",
        "krippendorff_alpha",
    ),
    "Answer variance": ("answer_variance",),
    "Between models": ("between_models",),
    "Calibration curves": ("calibration_error", "cox", "corp"),
    "Clustered means": ("mean_score",),
    "Differences": ("score_differences", "set_difference"),
    "Ensemble gain": ("ensemble_gain",),
    "F-beta": ("f_beta",),
    "False alarms": ("pairwise_conditions",),
    "Rare errors": ("auroc", "gamma", "brier", "cohen_kappa"),
    "Few clusters": ("calibration_panel", "mean_score", "score_differences", "cohen_kappa"),
    "Generalizability": ("generalizability", "decision_study"),
    "Hierarchical meta-d'": ("hierarchical_meta_d", "hierarchical_meta_d_from_counts"),
    "Individuation": ("individuation",),
    "Loadings": ("loading_errors", "pairwise_likelihood", "full_information"),
    "Meta-d'": ("meta_d", "meta_d_from_counts"),
    "Meta-information": ("meta_information",),
    "Mixed model": ("mixed_model",),
    "Omega": ("omega",),
    "Pairwise calibration": ("pairwise_calibration",),
    "Panel": (
        "calibration_panel",
        "auroc",
        "gamma",
        "somers_d",
        "tau_b",
        "average_precision",
        "point_biserial",
        "confidence_information",
        "brier",
        "brier_skill",
        "log_score",
        "overconfidence",
        "smooth_calibration_error",
        "murphy",
        "selective_prediction",
        "confusion",
        "signal_detection",
    ),
    "Raters": ("intraclass",),
    "Rank tests": ("kruskal_wallis", "friedman"),
    "Response shares": ("response_shares",),
    "Retest": ("retest", "rate_contrast"),
    "Scales": (
        "alpha",
        "alpha_of_matrix",
        "consistency",
        "kr20",
        "kr21",
        "omega_categorical",
        "guttman",
        "split_half",
        "item_statistics",
    ),
    "Selection": ("risk_at_coverage", "coverage_at_risk", "risk_coverage"),
    "Semantic entropy": ("semantic_entropy",),
    "Type-2 ROC": ("type2_roc",),
}
WITHOUT: dict[str, str] = {
    "assumed_variance": "arithmetic",
    "comparison_power": "arithmetic",
    "crossed_logistic": "measured with the card: docs/evaluation_card_tables.md",
    "gaussian_meta_information": "arithmetic",
    "grim": "arithmetic",
    "guttman_of_matrix": "a matrix alone has no n",
    "mcnemar": "p-values",
    "metric_keys": "names",
    "minimum_detectable_difference": "arithmetic",
    "omega_of_loadings": "loadings alone have no n",
    "predicted_correctness": "predictions, to be judged by the panel",
    "p_true": "arithmetic",
    "pilot_variance": "a variance to plan with",
    "questions_needed": "arithmetic",
    "rate_confidence": "recoding",
    "scan_stated": "a table for the panel",
    "semantic_confidence": "confidences, judged by the panel: family Semantic confidence",
    "spiegelhalter": "a p-value",
}


def functions(room: ModuleType) -> set[str]:
    """Return the names of a room's public functions."""
    return {name for name in room.__all__ if isinstance(getattr(room, name), FunctionType)}


def index() -> list[str]:
    """Return the lines of a table of functions and families.

    Raises
    ------
    LookupError
        If a public function is in no family and not known to have no interval.
    """
    public = functions(calibration) | functions(reliability) | set(FAMILIES["Loadings"])
    placed = {name for names in FAMILIES.values() for name in names} | set(WITHOUT)
    if public != placed:
        msg = f"place or remove: {', '.join(sorted(public ^ placed))}"
        raise LookupError(msg)
    rows = [
        f"| {family} | {', '.join(f'`{name}`' for name in names)} |"
        for family, names in FAMILIES.items()
    ]
    rest = ", ".join(f"`{name}` ({why})" for name, why in WITHOUT.items())
    return [
        "## Where the intervals of each function are\n",
        "| family | functions |",
        "| :--- | :--- |",
        *rows,
        "",
        "`compare_all` and `Estimate.difference`, of `psychollm.estimates`: Differences and "
        "False alarms.\n",
        f"Without an interval: {rest}.\n",
    ]
