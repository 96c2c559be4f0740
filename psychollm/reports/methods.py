"""How the study was made: the methods in words, with references, and the call that repeats it."""

from html import escape
from typing import TYPE_CHECKING

from psychollm._base.numbers import count, percent
from psychollm.reports.references import WILSON, Reference, linked, listed

if TYPE_CHECKING:
    from psychollm.studies.shared_confidence.study import SharedConfidence

REFERENCES: tuple[Reference, ...] = (
    (
        "bonett",
        "Bonett & Price, 2012",
        "Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference "
        "of binomial proportions based on paired data. <i>Journal of Educational and Behavioral "
        "Statistics, 37</i>(4), 479–488.",
        "10.3102/1076998611411915",
    ),
    (
        "bock",
        "Bock & Lieberman, 1970",
        "Bock, R. D., & Lieberman, M. (1970). Fitting a response model for n dichotomously scored "
        "items. <i>Psychometrika, 35</i>(2), 179–197.",
        "10.1007/BF02291262",
    ),
    (
        "ferguson",
        "Ferguson, 1941",
        "Ferguson, G. A. (1941). The factorial interpretation of test difficulty. "
        "<i>Psychometrika, 6</i>(5), 323–329.",
        "10.1007/BF02288588",
    ),
    (
        "hamdan",
        "Hamdan, 1970",
        "Hamdan, M. A. (1970). The equivalence of tetrachoric and maximum likelihood estimates of "
        "ρ in 2 × 2 tables. <i>Biometrika, 57</i>(1), 212–215.",
        "10.1093/biomet/57.1.212",
    ),
    (
        "holm",
        "Holm, 1979",
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. "
        "<i>Scandinavian Journal of Statistics, 6</i>(2), 65–70.",
        "",
    ),
    (
        "katsikatsou",
        "Katsikatsou et al., 2012",
        "Katsikatsou, M., Moustaki, I., Yang-Wallentin, F., & Jöreskog, K. G. (2012). Pairwise "
        "likelihood estimation for factor analysis models with ordinal data. <i>Computational "
        "Statistics & Data Analysis, 56</i>(12), 4243–4258.",
        "10.1016/j.csda.2012.04.010",
    ),
    (
        "mantel",
        "Mantel, 1967",
        "Mantel, N. (1967). The detection of disease clustering and a generalized regression "
        "approach. <i>Cancer Research, 27</i>(2), 209–220.",
        "",
    ),
    (
        "pearson",
        "Pearson, 1900",
        "Pearson, K. (1900). On the correlation of characters not quantitatively measurable. "
        "<i>Philosophical Transactions of the Royal Society A, 195</i>, 1–47.",
        "10.1098/rsta.1900.0022",
    ),
    (
        "phipson",
        "Phipson & Smyth, 2010",
        "Phipson, B., & Smyth, G. K. (2010). Permutation p-values should never be zero. "
        "<i>Statistical Applications in Genetics and Molecular Biology, 9</i>(1), 39.",
        "10.2202/1544-6115.1585",
    ),
    (
        "moran",
        "Moran & Whiting, 2026",
        "Moran, M., & Whiting, M. (2026). arXiv:2605.24299.",
        "",
    ),
    WILSON,
)


def cite(*keys: str) -> str:
    """Return references for the running text, linked to their entries."""
    return linked(REFERENCES, keys)


def reference_list() -> tuple[str, ...]:
    """Return all entries in the order of the alphabet, with links to their DOIs."""
    return listed(REFERENCES)


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
    found = study.dimensionality
    rule = escape(found.spectrum.correlation.empty_cells)
    return (
        "<b>Structure.</b> A model says yes where a latent normal value exceeds its threshold. "
        f"Tetrachoric correlations {cite('pearson')} are the exact root of the equation for each "
        f"pair {cite('hamdan')}; empty cells were treated by the rule <code>{rule}</code>. Every "
        "such rule, and difficulty alone, can make a further component "
        f"{cite('ferguson')}, so the number of factors is decided without one: "
        f"loadings maximise the pairwise likelihood {cite('katsikatsou')}, and the largest "
        "eigenvalue of the standardised residuals of all joint yes counts is compared with "
        f"{count(found.one_factor_test.n)} tables drawn from the fitted one-factor model and "
        "fitted again. The plain spectrum stands beside the same one-factor tables and beside "
        f"{count(found.spectrum.permutation.n)} tables shuffled within models. "
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
