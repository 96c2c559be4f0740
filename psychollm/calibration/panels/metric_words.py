"""What each metric of a panel is called and means, in a line: for tables, plots and reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Better: TypeAlias = Literal["higher", "lower", "near", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricWords:
    """A metric in words.

    Examples
    --------
    >>> METRIC_WORDS["auroc"].heading, METRIC_WORDS["auroc"].neutral
    ('AUROC', 0.5)
    """

    heading: str
    meaning: str
    better: Better  # "near": the closer to `neutral` the better; "": neither
    neutral: float | None  # the value of confidence that knows nothing, or is calibrated


def _words(
    heading: str, meaning: str, better: Better = "", neutral: float | None = None
) -> MetricWords:
    return MetricWords(heading=heading, meaning=meaning, better=better, neutral=neutral)


_CAUTION = "as stated, above zero by chance alone"

METRIC_WORDS: Mapping[str, MetricWords] = {
    "auroc": _words(
        "AUROC",
        "the chance that a correct answer has more confidence than a wrong one, ties one half",
        "higher",
        0.5,
    ),
    "gamma": _words(
        "gamma",
        "pairs of a correct and a wrong answer in order less those against it, of pairs not tied",
        "higher",
        0.0,
    ),
    "somers_d": _words("Somers’ d", "the same, of all pairs: 2 AUROC − 1", "higher", 0.0),
    "tau_b": _words("tau-b", "Kendall’s correlation of confidence and correctness", "higher", 0.0),
    "average_precision": _words(
        "average precision",
        "mean precision at each correct answer, from the most confident down; knowing nothing "
        "gives the accuracy",
        "higher",
    ),
    "average_precision_errors": _words(
        "average precision of errors",
        "the same for errors from the least confident up; knowing nothing gives the error rate",
        "higher",
    ),
    "point_biserial": _words(
        "point-biserial r", "correlation of confidence and correctness", "higher", 0.0
    ),
    "meta_information": _words(
        "meta-I (bits)", "bits that confidence tells about correctness", "higher", 0.0
    ),
    "relative_meta_information": _words(
        "relative meta-I", "the same as a share of the bits there are to tell", "higher", 0.0
    ),
    "brier": _words(
        "Brier score", "mean squared distance of confidence from what came true, 1 or 0", "lower"
    ),
    "brier_skill": _words(
        "Brier skill",
        "share of the Brier score saved over stating one’s accuracy each time",
        "higher",
        0.0,
    ),
    "log_score": _words(
        "log score", "mean surprise: −ln of the probability stated for what came true", "lower"
    ),
    "overconfidence": _words(
        "overconfidence", "mean confidence less the share correct", "near", 0.0
    ),
    "overconfident_part": _words(
        "overconfident part",
        f"what the bins with too much confidence add to the calibration error; {_CAUTION}",
        "lower",
    ),
    "underconfident_part": _words(
        "underconfident part",
        f"what the bins with too little confidence add to it; {_CAUTION}",
        "lower",
    ),
    "ece": _words(
        "ECE", f"mean gap of confidence and share correct over bins; {_CAUTION}", "lower"
    ),
    "rmsce": _words("RMSCE", f"root mean square of the same gaps; {_CAUTION}", "lower"),
    "rmsce_debiased": _words("debiased RMSCE", "the same with its noise subtracted", "lower"),
    "smooth_ece": _words(
        "smooth ECE",
        f"gap smoothed over confidence by a kernel as wide as the error; {_CAUTION}",
        "lower",
    ),
    "corp_mcb": _words(
        "MCB", f"what recalibration would take off the Brier score; {_CAUTION}", "lower"
    ),
    "corp_dsc": _words(
        "DSC",
        "what recalibrated confidence gains over stating the share correct",
        "higher",
        0.0,
    ),
    "corp_unc": _words("UNC", "Brier score of stating the share correct"),
    "corp_log_mcb": _words("MCB (log score)", "MCB of the log score", "lower"),
    "corp_log_dsc": _words("DSC (log score)", "DSC of the log score", "higher", 0.0),
    "corp_log_unc": _words("UNC (log score)", "UNC of the log score"),
    "murphy_reliability": _words(
        "reliability", f"Murphy’s: mean squared gap at each confidence; {_CAUTION}", "lower"
    ),
    "murphy_resolution": _words(
        "resolution", f"variance of the share correct over confidences; {_CAUTION}", "higher"
    ),
    "murphy_uncertainty": _words("uncertainty", "variance of correctness"),
    "murphy_reliability_corrected": _words(
        "corrected reliability", "the same with its noise subtracted; may be below zero", "lower"
    ),
    "murphy_resolution_corrected": _words(
        "corrected resolution", "the same with its noise subtracted", "higher", 0.0
    ),
    "murphy_uncertainty_corrected": _words(
        "corrected uncertainty", "variance of correctness, without bias"
    ),
    "cox_slope": _words(
        "Cox slope",
        "slope of log odds of being correct on stated log odds; below 1: too extreme",
        "near",
        1.0,
    ),
    "cox_intercept": _words("Cox intercept", "where that line stands at log odds zero"),
    "calibration_in_the_large": _words(
        "calibration in the large",
        "the intercept with the slope held at 1; below 0: too confident on the whole",
        "near",
        0.0,
    ),
    "aurc": _words(
        "AURC", "error rate among the most confident answers, mean over all coverages", "lower"
    ),
    "e_aurc": _words("E-AURC", "AURC above that of an order with all errors last", "lower"),
    "aurc_normalised": _words(
        "normalised AURC", "the same as a share of that of a random order", "lower", 1.0
    ),
    "augrc": _words(
        "AUGRC", "share of questions answered wrongly, mean over all coverages", "lower"
    ),
    "e_augrc": _words("E-AUGRC", "AUGRC above that of an order with all errors last", "lower"),
    "yes_rate": _words("yes rate", "share of answers with a confidence above the cut"),
    "accuracy": _words("accuracy", "share of correct answers", "higher"),
    "precision": _words("precision", "share correct among yes", "higher"),
    "recall": _words("recall", "share of yes among correct answers", "higher"),
    "specificity": _words("specificity", "share of no among wrong answers", "higher"),
    "negative_predictive_value": _words(
        "negative predictive value", "share wrong among no", "higher"
    ),
    "agreement": _words("agreement", "yes where correct or no where wrong", "higher"),
    "yes_overconfidence": _words("yes rate − accuracy", "yes rate less accuracy", "near", 0.0),
    "f1_abstain": _words("F1 of abstaining", "F1 of no as a sign of wrong answers", "higher"),
    "phi": _words("phi", "correlation of yes and correct (MCC)", "higher", 0.0),
    "kappa": _words("kappa", "agreement of yes and correct beyond chance", "higher", 0.0),
    "youden_j": _words("Youden’s J", "recall less the share of yes among wrong", "higher", 0.0),
    "f1": _words("F1", "harmonic mean of precision and recall", "higher"),
    "type2_d_prime": _words("type-2 d′", "z of recall less z of yes among wrong", "higher", 0.0),
    "type2_criterion": _words("type-2 c", "below 0: yes comes easily"),
}


def words_of(key: str, name: str = "") -> MetricWords:
    """Return the words of a metric; its name alone where there are none.

    Parameters
    ----------
    key : str
        Of a panel.
    name : str
        Of the estimate.

    Examples
    --------
    >>> words_of("brier").better, words_of("mine", "my score").heading
    ('lower', 'my score')
    """
    known = METRIC_WORDS.get(key)
    return _words(name or key, "") if known is None else known
