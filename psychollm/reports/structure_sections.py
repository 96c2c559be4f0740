"""Sections of the report on structure: how many signals, whose threshold where, what is left."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, extent, number, p_equals, p_value, percent
from psychollm.reports.page import Section
from psychollm.reports.study_figures import figure
from psychollm.reports.table import (
    Column,
    Table,
    interval_column,
    number_column,
    p_column,
    text_column,
)

if TYPE_CHECKING:
    from psychollm.studies.dimensionality.study import Dimensionality
    from psychollm.studies.shared_confidence.study import SharedConfidence

_COMPONENTS = 8
_WIDEST_PAIRS = 12
_WALD = 1.96


def structure(study: "SharedConfidence") -> Section:
    """Is there one signal, or several."""
    found = study.dimensionality
    plain = found.spectrum
    low, high = np.nanquantile(plain.quadratic_r2.draws, [0.05, 0.95])
    rule = escape(plain.correlation.empty_cells)
    pairs = len(found.labels) * (len(found.labels) - 1) // 2
    return Section(
        title="One signal or several?",
        key="structure",
        paragraphs=(
            _tests(found),
            f"In the plain spectrum of tetrachoric correlations under the rule "
            f"<code>{rule}</code>, the first component takes {percent(plain.shares[0])} and "
            f"the second {percent(plain.shares[1])}. {count(plain.n_empty)} of {count(pairs)} "
            "pairs of models have an empty cell, whose correlation the rule supplies. Loadings on "
            "the first component follow a quadratic curve in the threshold with R² = "
            f"{number(float(plain.quadratic_r2.observed))}; data with one factor and these "
            f"thresholds give {number(low)} to {number(high)} "
            f"({p_equals(float(plain.quadratic_r2.p_value))}). The second component’s loadings "
            f"have a congruence of {number(plain.congruence)} with those that one factor produces "
            f"(single one-factor replicates: {number(plain.null_congruence)}).",
        ),
        figures=(
            figure(study, "factor_structure", _STRUCTURE_CAPTION),
            figure(study, "scree", _SCREE_CAPTION),
            figure(study, "second_factor", _SECOND_CAPTION),
            figure(study, "sensitivity", _SENSITIVITY_CAPTION),
        ),
        tables=(_spectrum_table(found), _rules_table(found)),
        folded=_moved_pairs(found),
    )


_STRUCTURE_CAPTION = (
    "Each model’s loading on the shared signal over its threshold. Dots: first component of the "
    "tetrachoric matrix, with a quadratic fit. Diamonds: full-information loadings with "
    "intervals, which need no rule for empty cells. Where dots fall and diamonds do not, the "
    "fall is made by the rule. Left inset: shares of variance beside both nulls (bands: "
    "90 % of replicates). Right inset: R² of the fit in tables that have one factor."
)
_SCREE_CAPTION = (
    "Eigenvalues beside both nulls. The question “is anything shared?” is answered by the tables "
    "shuffled within models; “is there a second factor?” by the one-factor tables."
)
_SECOND_CAPTION = (
    "Loadings on the second component, and the range of 90 % of them in one-factor tables with "
    "the same thresholds. Points inside the band show nothing that one factor does not make."
)
_SENSITIVITY_CAPTION = (
    "Shares of the eigenvalues under each rule for empty cells. What moves from row to row is "
    "owed to the rule. Values below zero belong to no correlation matrix."
)


def _tests(found: "Dimensionality") -> str:
    none, one, share = found.shared_test, found.one_factor_test, found.second_share
    middle, top = np.quantile(share.draws, [0.5, 0.95])
    return (
        "Without any rule for empty cells: no shared factor is "
        f"{_outcome(none.p_value, found.level)} ({p_equals(none.p_value)} ± "
        f"{p_value(none.p_value_se)}), and one factor is {_outcome(one.p_value, found.level)} "
        f"({p_equals(one.p_value)} ± {p_value(one.p_value_se)}). A second factor would take "
        f"{percent(share.observed, 1)} of the latent variance; chance gives "
        f"{percent(middle, 1)} where there is one factor, and less than {percent(top, 1)} in "
        "95 of 100 tables."
    )


def _outcome(p: float, level: float) -> str:
    return "rejected" if p <= level else "compatible with the answers"


def _spectrum_table(found: "Dimensionality") -> Table:
    plain = found.spectrum
    shown = slice(0, min(_COMPONENTS, plain.eigenvalues.size))
    rows = np.arange(1, plain.eigenvalues.size + 1)[shown]

    def band(name: str, bounds: np.ndarray) -> Column:
        middle, low, high = bounds[:, shown]
        return interval_column(name, middle, np.stack([low, high], axis=-1))

    return Table.of(
        [
            number_column("component", rows, digits=0),
            number_column("eigenvalue", plain.eigenvalues[shown]),
            number_column("share, %", 100 * plain.shares[shown], digits=1),
            band("shuffled", plain.permutation.quantile([0.5, 0.05, 0.95])),
            p_column("p, shuffled", plain.permutation.p_value[shown]),
            band("one factor", plain.one_factor.quantile([0.5, 0.05, 0.95])),
            p_column("p, one factor", plain.one_factor.p_value[shown]),
        ],
        caption="Eigenvalues, and the median and 90 % range of each null",
    )


def _rules_table(found: "Dimensionality") -> Table:
    return Table.of(
        [
            text_column("rule", found.factors_by_rule),
            number_column("factors", found.factors_by_rule.values(), digits=0),
        ],
        caption="Number of factors by each rule; the first decides",
        emphasised=[place == 0 for place in range(len(found.factors_by_rule))],
    )


def _moved_pairs(found: "Dimensionality") -> tuple[Table, ...]:
    frame = found.spectrum.sensitivity.to_frame().head(_WIDEST_PAIRS)
    if frame.empty:
        return ()
    columns = [text_column("first", frame["first"]), text_column("second", frame["second"])]
    values = (*found.spectrum.sensitivity.rules, "spread")
    columns += [number_column(name, frame[name]) for name in values]
    return (Table.of(columns, caption="Pairs that the rule for empty cells moves most"),)


def thresholds(study: "SharedConfidence") -> Section:
    """Where each model puts its threshold, and how closely it follows the signal."""
    full = study.dimensionality.full_information
    frame = study.loadings_frame().sort_values("threshold", kind="stable")
    reasons = [str(study.uncorrelated.get(model, "")) for model in frame["model"]]
    bounds = {
        name: np.stack(
            [frame[name] - _WALD * frame[f"{name}_se"], frame[name] + _WALD * frame[f"{name}_se"]],
            axis=-1,
        )
        for name in ("threshold", "loading")
    }
    bounds["loading"] = np.clip(bounds["loading"], -1.0, 1.0)
    at_bound = [str(label) for label, flag in zip(full.labels, full.at_bound, strict=True) if flag]
    notes = ""
    if at_bound:
        notes = (
            f" The loading of {escape(', '.join(at_bound))} is at the bound: its answers follow "
            "the shared signal as closely as can be told, and it has no standard error."
        )
    return Section(
        title="Where does each model put its threshold?",
        key="thresholds",
        paragraphs=(
            "A model says yes where its view of a question exceeds its threshold, in standard "
            "deviations of that view: low is bold, high is cautious. The loading says how closely "
            f"it follows the shared signal. Thresholds run from {extent(frame['threshold'])}, "
            f"loadings from {extent(frame['loading'])}; the score of a question is known with a "
            f"reliability of {number(study.scores.reliability)}.{notes}",
        ),
        tables=(
            Table.of(
                [
                    text_column("model", frame["model"]),
                    number_column("yes, %", 100 * frame["yes_rate"], digits=1),
                    interval_column(
                        "threshold", frame["threshold"], bounds["threshold"], reasons=reasons
                    ),
                    interval_column(
                        "loading", frame["loading"], bounds["loading"], reasons=reasons
                    ),
                    number_column("first component", frame["first_component"]),
                    number_column("quadratic fit", frame["quadratic_fit"]),
                ],
                caption="Thresholds and loadings: full information with 95 % intervals; and, bent "
                "by the rule for empty cells, the first component",
            ),
        ),
    )


def remainder(study: "SharedConfidence") -> Section:
    """Say what is left after the shared factor."""
    found, left = study.dimensionality.residuals, study.residuals
    frame = found.to_frame().head(10)
    if left.reason:
        together = f"Residuals of correctness cannot be compared: {escape(str(left.reason))}."
    else:
        together = (
            "Pairs of models that agree in confidence more than the factor makes them agree in "
            f"correctness with a correlation of {number(left.correlation)} "
            f"({p_equals(left.p_value)} by permuting models, {count(left.n_pairs)} pairs)."
        )
    return Section(
        title="What is left after the shared factor?",
        key="remainder",
        paragraphs=(
            "For every pair of models, the number of questions to which both said yes is compared "
            "with what the shared factor expects. " + together,
        ),
        figures=(
            figure(
                study,
                "residuals",
                "Residuals of joint yes counts in standard errors, models from bold to cautious; "
                "dots mark those beyond three. Orange pairs agree more than one factor expects.",
            ),
        ),
        folded=(
            Table.of(
                [
                    text_column("first", frame["first"]),
                    text_column("second", frame["second"]),
                    number_column("both yes", frame["observed"], digits=0),
                    number_column("expected", frame["expected"], digits=1),
                    number_column("standard errors", frame["standardised"]),
                    number_column("questions", frame["n"], digits=0),
                ],
                caption="The ten largest residuals",
            ),
        ),
    )
