"""How the study was made: the methods in words, with references, and the call that repeats it."""

from html import escape
from typing import TYPE_CHECKING

from psychollm._base.numbers import count, percent
from psychollm.reports.references import cite

if TYPE_CHECKING:
    from psychollm.studies.shared_confidence.result import SharedConfidence


def methods(study: "SharedConfidence") -> tuple[str, ...]:
    """Return the methods of the study as paragraphs."""
    return (_data(study), _structure(study), _knowledge(study), _uncertainty(study))


def _data(study: "SharedConfidence") -> str:
    return (
        f"<b>Data.</b> {len(study.labels)} models and {count(study.n_questions)} questions. "
        f"Confidence: {escape(study.coding['confidence'])}; correctness: "
        f"{escape(study.coding['correctness'])}. Missing answers are left out pair by pair, "
        "question by question. Models were screened for too few answers, constant answers, "
        "confidence that runs against correctness (Fisher’s exact test; "
        f"{cite('holm')[1:]}, and answers that repeat another model’s (Cohen’s κ)."
    )


def _structure(study: "SharedConfidence") -> str:
    dimensions = study.dimensionality
    rule = escape(dimensions.spectrum.correlation.empty_cells)
    return (
        "<b>Structure.</b> A model says yes where a latent normal value exceeds its threshold. "
        f"Tetrachoric correlations {cite('pearson')} are the exact root of the equation for each "
        f"pair {cite('hamdan')}; empty cells were treated by the rule <code>{rule}</code>. Every "
        "such rule, and difficulty alone, can make a further component "
        f"{cite('ferguson')}, so the number of factors is decided without one: "
        f"loadings maximise the pairwise likelihood {cite('katsikatsou')}, and the largest "
        "eigenvalue of the standardised residuals of all joint yes counts is compared with "
        f"{count(dimensions.one_factor_test.n)} tables drawn from the fitted one-factor model and "
        "fitted again. The plain spectrum stands beside the same one-factor tables and beside "
        f"{count(dimensions.spectrum.permutation.n)} tables shuffled within models. "
        "Loadings, thresholds and "
        "scores of questions come from the full-information likelihood of the normal-ogive model "
        f"{cite('bock')}; scores are posterior means, made without the model whose correctness "
        "they are to predict."
    )


def _knowledge(study: "SharedConfidence") -> str:
    return (
        "<b>Knowledge.</b> Own answers are set against the shared score by areas under the ROC "
        "curve, also with the score cut at the model’s own yes rate, because an area rewards many "
        "levels. Knowledge beyond the shared factor is the correlation of the latent confidence "
        "and correctness of a model with the factor integrated out over the answers of all other "
        "models, tested by its likelihood ratio. P-values are adjusted for the number of models "
        f"({escape(study.individuation.adjustment)}). Where models disagree, the difference in "
        f"correctness (pairwise calibration, in our reading of {cite('moran')[1:-1]}) is compared "
        "with what the shared score foresees. Residuals of confidence and correctness are "
        f"correlated over pairs of models and tested by permuting the models {cite('mantel')}."
    )


def _uncertainty(study: "SharedConfidence") -> str:
    return (
        f"<b>Uncertainty.</b> Intervals cover {percent(study.level)}. Shares have Wilson’s "
        f"interval {cite('wilson')}, differences of shares Bonett and Price’s {cite('bonett')}; "
        f"F-beta and areas have percentiles of {count(study.f_beta.n_bootstrap)} bootstrap "
        "resamples of the questions, the same for all models. P-values from replicates are "
        f"(b + 1)/(n + 1) {cite('phipson')}."
    )


def code(study: "SharedConfidence", source: str) -> str:
    """Return the lines of Python that repeat the study; `source` is what makes its tables."""
    tables = source or "# confidence and correctness: the two tables, models x questions"
    call = study.call.replace("(", "(\n    ", 1).replace(", ", ",\n    ")
    call = call.removesuffix(")") + ",\n)"
    return f"import psychollm as psy\n\n{tables}\nstudy = psy.{call}"
