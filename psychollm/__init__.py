"""The psychometrics of language models.

A public name is imported on first use (PEP 562), so that ``import psychollm`` is fast. Public
names are listed below and, for type checkers, in ``__init__.pyi``; a test compares the two lists.

Examples
--------
>>> import psychollm as psy
>>> example = psy.load_example("shared_confidence")
>>> example.confidence.n_models, example.confidence.n_questions
(19, 2000)
"""

from importlib import import_module
from typing import Any

from psychollm._base.version import __version__

_NAMES = {
    "Responses": "psychollm.data.responses",
    "Bootstrap": "psychollm.estimates.resampling",
    "read_responses": "psychollm.data.readers",
    "read_logs": "psychollm.data.logs",
    "read_scores": "psychollm.data.logs",
    "load": "psychollm._base.result",
    "load_example": "psychollm.data.examples",
    "simulate_factor": "psychollm.data.simulate",
    "validity_screen": "psychollm.data.screen",
    "PairCounts": "psychollm.data.pair_counts",
    "tetrachoric": "psychollm.correlation.tetrachoric",
    "tetrachoric_table": "psychollm.correlation.table",
    "smooth": "psychollm.correlation.smoothing",
    "spectrum": "psychollm.correlation.spectrum",
    "polychoric": "psychollm.correlation.polychoric",
    "polyserial": "psychollm.correlation.polyserial",
    "factor_analysis": "psychollm.factor.exploratory.factor_analysis",
    "confirmatory_factors": "psychollm.factor.confirmatory",
    "parallel_analysis": "psychollm.factor.number_of_factors.parallel",
    "retention": "psychollm.factor.number_of_factors.retention",
    "congruence": "psychollm.factor.congruence",
    "question_scores": "psychollm.factor.one_factor.scores",
    "permutation_null": "psychollm.nulls.permutation",
    "one_factor_null": "psychollm.nulls.one_factor",
    "compare": "psychollm.studies.comparison.study",
    "attempts": "psychollm.studies.attempts.study",
    "recency_break": "psychollm.studies.recency_break.study",
    "time_horizon": "psychollm.studies.time_horizon.study",
    "bradley_terry": "psychollm.studies.votes.study",
    "compare_by": "psychollm.studies.groups.study",
    "benchmark_agreement": "psychollm.studies.benchmark_agreement.study",
    "judged_scores": "psychollm.studies.judged_scores.study",
    "calibration_by": "psychollm.studies.groups.study",
    "item_bank": "psychollm.bank.item_bank",
    "replay": "psychollm.bank.replay",
    "predict_answers": "psychollm.studies.prediction.study",
    "question_audit": "psychollm.studies.question_audit.study",
    "question_screen": "psychollm.studies.question_screen.study",
    "rater_severity": "psychollm.studies.rater_severity.study",
    "evaluation_card": "psychollm.studies.evaluation_card.study",
    "crossed_logistic": "psychollm.reliability.components.crossed_logistic",
    "dimensionality": "psychollm.studies.dimensionality.study",
    "calibration_panel": "psychollm.calibration.panels.panel",
    "fit_irt": "psychollm.irt.fit",
    "ability": "psychollm.irt.ability",
    "bayesian_2pl": "psychollm.irt.bayes.bayesian",
    "shared_confidence": "psychollm.studies.shared_confidence.study",
    "shared_confidence_by": "psychollm.studies.shared_confidence.by_groups",
    "inference_boundary": "psychollm.studies.inference_boundary.study",
    "self_efficacy": "psychollm.studies.self_efficacy.study",
    "semantic_calibration": "psychollm.studies.semantic_calibration.study",
    "steering_match": "psychollm.studies.steering_match.match",
    "stitch_benchmarks": "psychollm.studies.stitching.study",
    "difficulty": "psychollm.studies.difficulty.study",
    "metacognitive_skill": "psychollm.studies.metacognitive_skill.study",
}

_SUBMODULES = {
    "bank": "psychollm.bank",
    "calibration": "psychollm.calibration",
    "collect": "psychollm.collect",
    "correlation": "psychollm.correlation",
    "data": "psychollm.data",
    "errors": "psychollm.errors",
    "estimates": "psychollm.estimates",
    "factor": "psychollm.factor",
    "instruments": "psychollm.instruments",
    "integrations": "psychollm.integrations",
    "irt": "psychollm.irt",
    "nulls": "psychollm.nulls",
    "plots": "psychollm.plots",
    "reliability": "psychollm.reliability",
    "reports": "psychollm.reports",
    "steering": "psychollm.steering",
    "studies": "psychollm.studies",
}

# Maps an old name to the new one and to the version that drops the old one (docs/versions.md).
_RENAMED: dict[str, tuple[str, str]] = {}

__all__ = ["__version__", *_NAMES, *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
        value = import_module("psychollm._base.entry").public(value)
    elif name in _SUBMODULES:
        value = import_module(_SUBMODULES[name])
    else:
        names = import_module("psychollm._base.deprecation")
        return names.renamed(__name__, name, _RENAMED, rooms=_SUBMODULES)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
