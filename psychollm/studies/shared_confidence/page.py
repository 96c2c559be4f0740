"""Report page of the shared-confidence study, with its facts and methods."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, extent, p_equals, percent, with_interval
from psychollm.estimates.findings import sentence_list
from psychollm.estimates.layout import Criterion, Fact, Layout, by_question, names
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import Outcome, SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.dimensionality.result import Dimensionality
    from psychollm.studies.shared_confidence.by_groups import SharedByGroups
    from psychollm.studies.shared_confidence.result import SharedConfidence


def _facts(study: "SharedConfidence", smallest: SmallestEffects) -> tuple[Fact, ...]:
    dimensions, between = study.dimensionality, study.between
    own, private = study.individuation, study.private_signal
    deciding = dimensions.with_lapses
    against = p_equals((deciding or dimensions.one_factor_test).p_value)
    against += " with lapses modelled" if deciding else ""
    row_of = {name: i for i, name in enumerate(own.average.labels)}
    fair = row_of["own_minus_cut"]
    line = between.confidence_on_accuracy
    known = study.private_signal.verdicts(smallest).which(Outcome.ABOVE)
    mean = _value(private.mean, private.mean_interval, 2)
    return (
        Fact(
            name="Shared factors",
            value=_factors(dimensions, smallest),
            detail=(
                f"one factor against more: {against}; a second factor explains "
                f"{percent(dimensions.evidence.share, 1)} of latent variance"
            ),
        ),
        Fact(
            name="Loadings on the common factor",
            value=extent(study.loadings),
            detail=f"thresholds {extent(study.thresholds)}",
        ),
        Fact(
            name="Self-report minus factor score, at equal yes rates (AUROC)",
            **_value(own.average.value[fair], own.average.interval[fair]),
        ),
        Fact(
            name="Confidence and correctness beyond the common factor",
            value=mean["value"],
            detail=(f"{mean['detail']}, {p_equals(private.mean_p)}; " if mean["detail"] else "")
            + (
                f"significant in {sentence_list(known, most=4)}"
                if known
                else "significant in no model"
            ),
        ),
        Fact(
            name="Slope of confidence on accuracy, between models",
            **_value(line.slope, line.slope_interval, 2),
        ),
        Fact(
            name="Difference in correctness when models disagree, minus expectation",
            **_value(study.pairwise.pooled_excess, study.pairwise.pooled_excess_interval),
        ),
    )


def _factors(dimensions: "Dimensionality", smallest: SmallestEffects) -> str:
    second = dimensions.second_factor(smallest=smallest)
    if dimensions.n_factors == 0 or second is Outcome.ABOVE:
        return "more than one" if dimensions.n_factors else "none"
    if dimensions.n_factors == 2:
        return "one, with local dependence"
    return "one" if second is Outcome.SMALL else "one; a second factor cannot be excluded"


def _value(value: float, bounds: "np.ndarray", digits: int = 3) -> dict[str, str]:
    """Separate a number from its interval."""
    text, _, interval = with_interval(float(value), bounds, digits).partition(" ")
    return {"value": text, "detail": interval}


def _notices(study: "SharedConfidence") -> tuple[str, ...]:
    unusable = ~study.screen.usable
    if not unusable.any() or study.dropped:
        return ()
    who = names(study.screen.models, unusable)
    verb = "is" if int(unusable.sum()) == 1 else "are"
    return (
        f"<b>{who}</b> {verb} unusable but {verb} included below: see "
        f'<a href="#validity">why</a>, and <code>screen="drop"</code> '
        "(on the command line <code>--drop-unusable</code>) to exclude "
        f"{'it' if verb == 'is' else 'them'}.",
    )


def methods(study: "SharedConfidence") -> tuple[str, ...]:
    """Return the methods of the study as paragraphs."""
    return (_data(study), _structure(study), _knowledge(study), _uncertainty(study))


def _data(study: "SharedConfidence") -> str:
    return (
        f"<b>Data.</b> {len(study.labels)} models and {count(study.n_questions)} questions. "
        f"Confidence: {escape(study.coding['confidence'])}; correctness: "
        f"{escape(study.coding['correctness'])}. For each pair of models, questions that "
        "either model did not answer are omitted. Models were screened for too few answers, "
        "constant answers, confidence that is negatively related to correctness (Fisher’s exact "
        f"test; {cite('holm')[1:]}, and duplicates of another model’s answers (Cohen’s κ)."
    )


def _structure(study: "SharedConfidence") -> str:
    dimensions = study.dimensionality
    rule = escape(dimensions.spectrum.correlation.empty_cells)
    lapsing = dimensions.one_factor_model == "with lapses"
    model = "fit with asymptotes" if lapsing else "normal-ogive model"
    return (
        "<b>Structure.</b> A model says yes if a latent normal value exceeds its threshold. "
        f"The tetrachoric correlation {cite('pearson')} of each pair of models reproduces the "
        f"pair’s 2 × 2 table exactly {cite('hamdan')}; empty cells were treated by the rule "
        f"<code>{rule}</code>. Any continuity correction, or difficulty alone, can produce a "
        f"further component {cite('ferguson')}. The number of factors is therefore tested "
        "without continuity correction. Loadings maximise the pairwise likelihood "
        f"{cite('katsikatsou')}. The test "
        "statistic is the largest eigenvalue of the standardised residuals of all joint yes "
        f"counts. It is compared with its values in {count(dimensions.one_factor_test.n)} tables "
        "simulated from the fitted one-factor model, which is fitted again to each of these "
        "tables. The eigenvalues of the tetrachoric matrix are "
        "compared with the same simulated tables and with "
        f"{count(dimensions.spectrum.permutation.n)} tables shuffled within models. "
        f"{_with_lapses(dimensions)}Loadings, thresholds and factor scores come from the "
        f"full-information likelihood of the {model} {cite('bock')}; scores are posterior means "
        "that omit the model whose correctness they predict."
    )


def _with_lapses(dimensions: "Dimensionality") -> str:
    lapses = dimensions.with_lapses
    if lapses is None:
        return ""
    return (
        "One normal factor was rejected. Models that answer some questions at random can cause "
        f"such a rejection, so each model was given a lower and an upper asymptote "
        f"{cite('barton')}. Asymptotes and their distribution over models were estimated from "
        "whole answer patterns. One factor was then tested again: by the largest eigenvalue of "
        f"the scores of a second factor, in {count(lapses.test.n)} tables simulated from that "
        "model, and by the proportion of variance of a second factor fitted together with "
        "asymptotes. Two factors without asymptotes were also compared with one factor with "
        f"asymptotes by their likelihood {cite('vuong')}. "
    )


def _knowledge(study: "SharedConfidence") -> str:
    return (
        "<b>Knowledge.</b> Self-reports are compared with the factor score by the AUROC. "
        "Self-reports are also compared with the factor score dichotomised at the model’s own "
        "yes rate, because a score with many levels has an advantage in AUROC over a yes/no "
        "report. Knowledge beyond the common factor is the correlation of a model’s latent "
        "confidence with its latent correctness, given the common factor; the distribution of the "
        "factor is inferred from the answers of all other models. The correlation beyond the "
        "common factor is tested by a likelihood-ratio test. P-values are adjusted for the "
        f"number of models ({escape(study.individuation.adjustment)}). If models disagree, the "
        "difference in correctness (pairwise calibration, our version of "
        f"{cite('moran')[1:-1]}) is compared with the prediction of the factor score. "
        "Residuals of confidence and correctness are correlated over pairs of models and tested "
        "by permuting the models "
        f"{cite('mantel')}."
    )


def _uncertainty(study: "SharedConfidence") -> str:
    return (
        f"<b>Uncertainty.</b> The nominal coverage of intervals is {percent(study.level)}. "
        f"Proportions are reported with Wilson intervals {cite('wilson')}, differences of "
        f"proportions with Bonett and Price’s intervals {cite('bonett')}. For F-beta and AUROC, "
        f"intervals are percentiles of {count(study.f_beta.n_bootstrap)} bootstrap resamples of "
        "the questions, which all models share. If b of n replicates are at least as extreme as "
        f"the data, the p-value is (b + 1)/(n + 1) {cite('phipson')}."
    )


def code(study: "SharedConfidence | SharedByGroups", source: str, _: str) -> str:
    """Return Python code that repeats the study; `source` is the code that makes its tables."""
    tables = source or "# confidence and correctness: the two tables, models x questions"
    call = study.call.replace("(", "(\n    ", 1).replace(", ", ",\n    ")
    call = call.removesuffix(")") + ",\n)"
    return f"{tables}\nstudy = psy.{call}"


def _wanted(study: "SharedConfidence", smallest: SmallestEffects) -> Iterator[Criterion]:
    private = study.private_signal
    yield Criterion(
        what="confidence and correctness beyond the common factor",
        estimate=private.correlation,
        smallest=smallest.correlation,
        alpha=(1.0 - study.level) / max(1, int(np.isfinite(private.p_value).sum())),
    )


LAYOUT = Layout(
    title="Shared confidence: do models know what they know?",
    subtitle=lambda study: (
        f"{len(study.labels)} models, {count(study.n_questions)} questions, "
        f"{percent(study.level)} intervals"
    ),
    lead=lambda study: study.dimensionality.verdict,
    facts=_facts,
    notices=_notices,
    sections=by_question(
        "structure thresholds own agreement risk between disagreement ensemble remainder people "
        "validity"
    ),
    alone=True,
    methods=methods,
    call=code,
    wanted=_wanted,
    simulated=lambda study: study.simulated,
)


def _facts_by_groups(study: "SharedByGroups", smallest: SmallestEffects) -> tuple[Fact, ...]:
    common, known = study.common, study.results.values()
    shared = Fact(name="One factor over all groups", value="–", detail=study.without)
    if common is not None:
        judged = common.outcome(alpha=1.0 - study.level, smallest=smallest)
        told = {Outcome.ABOVE: "no", Outcome.SMALL: "yes", Outcome.OPEN: "inconclusive"}[judged]
        cost = _value(common.rmsea, common.rmsea_interval)
        detail = f"{p_equals(float(common.test.p_value))}, RMSEA {cost['value']} {cost['detail']}"
        shared = Fact(name="One factor over all groups", value=told, detail=detail)
    factors = extent([one.dimensionality.n_factors for one in known], 0)
    loadings = extent([float(np.nanmean(one.loadings)) for one in known])
    return (
        shared,
        Fact(name="Factors in each group", value=factors),
        Fact(name="Mean loadings", value=loadings),
    )


def _methods_by_groups(study: "SharedByGroups") -> tuple[str, ...]:
    first = next(iter(study.results.values()))
    return (
        "<b>Groups.</b> Loadings are fitted in each group by pairwise likelihood "
        f"{cite('katsikatsou')}. Models follow one factor over all groups if their slopes are "
        "equal up to the SD of the factor; thresholds are free in each group. The distance from "
        "equality, in standard errors, is compared with tables simulated under equality and "
        f"refitted; p-values are (b + 1)/(n + 1) {cite('phipson')}. One factor is accepted if "
        "the 90 % interval of the RMSEA is below the smallest value of interest.",
        *methods(first)[1:],
    )


BY_GROUPS = Layout(
    title="Shared confidence by groups of questions: one factor or several?",
    facts=_facts_by_groups,
    sections=dict.fromkeys(("verdict",), "Does one factor fit all groups?"),
    methods=_methods_by_groups,
    call=code,
    models=lambda study: () if study.common is None else study.common.labels,
)

PAGES = {"SharedConfidence": LAYOUT, "SharedByGroups": BY_GROUPS}
