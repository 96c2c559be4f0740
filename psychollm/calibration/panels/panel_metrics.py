"""Which metrics a panel holds, by key, in the order of its table.

The first part answers "does it know?" (ranking), the second "may its numbers be believed?"
(calibration), the third "what does it cost to act on them?" (decisions and selection).
"""

from psychollm.calibration.decisions.confusion import YES_NO
from psychollm.calibration.discrimination.meta_information import META_INFORMATION
from psychollm.calibration.discrimination.rank_statistics import RANKING
from psychollm.calibration.errors.binned import ECE, RMSCE
from psychollm.calibration.errors.smooth import SMOOTH_ECE
from psychollm.calibration.metric import Metric
from psychollm.calibration.scores.corp import CORP
from psychollm.calibration.scores.cox import COX
from psychollm.calibration.scores.murphy import MURPHY
from psychollm.calibration.scores.overconfidence import MISCALIBRATION, OVERCONFIDENCE
from psychollm.calibration.scores.proper_scores import BRIER, BRIER_SKILL, LOG_SCORE
from psychollm.calibration.selection.selective_areas import SELECTIVE

PANEL_METRICS: tuple[tuple[tuple[str, ...], Metric], ...] = (
    (
        (
            "auroc",
            "gamma",
            "somers_d",
            "tau_b",
            "average_precision",
            "average_precision_errors",
            "point_biserial",
        ),
        RANKING,
    ),
    (("meta_information", "relative_meta_information"), META_INFORMATION),
    (("brier",), BRIER),
    (("brier_skill",), BRIER_SKILL),
    (("log_score",), LOG_SCORE),
    (("overconfidence",), OVERCONFIDENCE),
    (("overconfident_part", "underconfident_part"), MISCALIBRATION),
    (("ece",), ECE),
    (("rmsce", "rmsce_debiased"), RMSCE),
    (("smooth_ece",), SMOOTH_ECE),
    (
        ("corp_mcb", "corp_dsc", "corp_unc", "corp_log_mcb", "corp_log_dsc", "corp_log_unc"),
        CORP,
    ),
    (
        (
            "murphy_reliability",
            "murphy_resolution",
            "murphy_uncertainty",
            "murphy_reliability_corrected",
            "murphy_resolution_corrected",
            "murphy_uncertainty_corrected",
        ),
        MURPHY,
    ),
    (("cox_slope", "cox_intercept", "calibration_in_the_large"), COX),
    (("aurc", "e_aurc", "aurc_normalised", "augrc", "e_augrc"), SELECTIVE),
    (
        (
            "yes_rate",
            "accuracy",
            "precision",
            "recall",
            "specificity",
            "negative_predictive_value",
            "agreement",
            "yes_overconfidence",
            "f1_abstain",
            "phi",
            "kappa",
            "youden_j",
            "f1",
            "type2_d_prime",
            "type2_criterion",
        ),
        YES_NO,
    ),
)


def metric_keys() -> list[str]:
    """Return the keys of all metrics of a panel.

    Examples
    --------
    >>> metric_keys()[:3]
    ['auroc', 'gamma', 'somers_d']
    """
    return [key for keys, _ in PANEL_METRICS for key in keys]
