"""Figures and tables of the findings of the study."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import significant
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest, listing
from psychollm.estimates.findings import VERDICT
from psychollm.estimates.listing import (
    Column,
    Table,
    estimate_column,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.studies.shared_confidence.by_groups import SharedByGroups
    from psychollm.studies.shared_confidence.result import SharedConfidence

_COMPONENTS = 8
_WIDEST_PAIRS = 12
_WALD = 1.96


# Figures of the page: plot names, titles and captions.
_DRAWINGS = {
    "factor_structure": (
        "Loadings against thresholds, with the spectrum",
        "Each model’s loading on the common factor against its threshold. Dots: first component "
        "of the tetrachoric matrix, with a quadratic fit. Diamonds: full-information loadings "
        "with intervals, which need no continuity correction. If the dots decline but the "
        "diamonds do not, the cause is the continuity correction, or lapses (random answers). "
        "Hollow diamonds: loadings fitted without a lapse rate. Left inset: proportions of "
        "variance, with bands that contain 90 % of the replicates of each null model. Right "
        "inset: R² of the quadratic fit in simulated one-factor data.",
    ),
    "scree": (
        "Eigenvalues and two null models",
        "Eigenvalues compared with two null models. Tables shuffled within models "
        "are used to test for any common factor, and simulated one-factor data to test for a "
        "second factor.",
    ),
    "second_factor": (
        "Loadings on the second component and simulated one-factor data",
        "Loadings on the second component, and their 90 % range in simulated one-factor data with "
        "the same thresholds. Points inside the band are compatible with one factor.",
    ),
    "sensitivity": (
        "Eigenvalue proportions under each continuity correction",
        "Eigenvalues as proportions of the total variance, under each continuity correction. "
        "Differences between rows are due to the continuity correction. Negative eigenvalues show "
        "that a matrix is not a proper correlation matrix.",
    ),
    "private_signal": (
        "Correlation of confidence and correctness beyond the common factor",
        "Correlation of confidence and correctness given the common factor. Intervals are "
        "pointwise. Bold names: significant after adjustment for the number of models.",
    ),
    "individuation": (
        "AUROC of self-reports and of the factor score",
        "Areas under the ROC curve for correctness. Yes/no reports should be compared with the "
        "factor score dichotomised at the same yes rate, because the original score has more "
        "levels. Bold names: significant correlation of confidence and correctness beyond the "
        "common factor.",
    ),
    "f_beta": (
        "F-beta of all models as a function of beta",
        "F-beta of every model; the strip names the best one at each β, with its bootstrap band. "
        "Solid curve: the model exceeds its own “always yes” baseline; dotted: it does not. "
        "Black: the value expected of the best model if its answers carried no information.",
    ),
    "between_models": (
        "Yes rate against accuracy of all models",
        "Mean confidence against accuracy, one point per model with intervals in both "
        "directions, with a fitted line, its band, and the line of perfect calibration.",
    ),
    "pairwise_calibration": (
        "Observed and expected difference in correctness, pairs of models",
        "Each point represents two models, on questions to which the first says yes and the "
        "second no. Vertical: observed difference in correctness; horizontal: difference "
        "expected without self-knowledge. Cross: all pairs pooled, with an interval.",
    ),
    "ensemble": (
        "Gain of the mean vote over the best single answer",
        "Gain of the mean vote over the best single answer in predicting each model’s "
        "correctness, with intervals.",
    ),
    "residuals": (
        "Residuals of all pairs of models after the common factor",
        "Residuals of joint yes counts, in standard errors. Models are sorted by increasing "
        "threshold; dots mark residuals beyond ±3. Orange pairs agree more often than one factor "
        "predicts.",
    ),
    "screen": (
        "Yes rates and AUROC of yes for correctness, flagged models named",
        "Yes rate of each model, and the AUROC of yes for correctness (0.5: chance; lower: "
        "confidence is negatively related to correctness).",
    ),
}


def exhibits(
    study: "SharedConfidence", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    draw, table, folded = partial(_drawing, study), partial(_listing, study), {"folded": True}
    return {
        "structure": (
            *map(draw, ("factor_structure", "scree", "second_factor", "sensitivity")),
            *map(table, (_spectrum_table, _rules_table)),
            table(_moved_pairs, **folded),
        ),
        "thresholds": (table(_threshold_table),),
        "own": (
            draw("private_signal"),
            draw("individuation"),
            Listing(table=partial(_own_table, study, smallest)),
        ),
        "agreement": (table(_agreement_table),),
        "risk": (draw("f_beta"), table(_leader_table), table(_f_one_table, **folded)),
        "between": (draw("between_models"), table(_between_table)),
        "disagreement": [draw("pairwise_calibration")] * bool(study.pairwise.n_disagreements),
        "ensemble": (draw("ensemble"), table(_ensemble_table, **folded)),
        "remainder": (draw("residuals"), table(_residual_table, **folded)),
        "validity": (draw("screen"), table(_validity_table)),
    }


def _drawing(study: "SharedConfidence", name: str) -> Drawing:
    title, caption = _DRAWINGS[name]
    return Drawing(
        plot="plot_shared_confidence",
        of=study,
        options={"figure": name},
        key=name.replace("_", "-"),
        title=title,
        caption=caption,
    )


def _listing(study: "SharedConfidence", make: Any, *, folded: bool = False) -> Listing:
    return Listing(table=partial(make, study), folded=folded)


def _spectrum_table(study: "SharedConfidence") -> Table:
    plain = study.dimensionality.spectrum
    shown = slice(0, min(_COMPONENTS, plain.eigenvalues.size))
    rows = np.arange(1, plain.eigenvalues.size + 1)[shown]

    def band(name: str, bounds: np.ndarray) -> Column:
        middle, low, high = bounds[:, shown]
        return interval_column(name, middle, np.stack([low, high], axis=-1))

    return Table.of(
        [
            number_column("component", rows, digits=0),
            number_column("eigenvalue", plain.eigenvalues[shown]),
            number_column("proportion, %", 100 * plain.shares[shown], digits=1),
            number_column("binary answers, %", 100 * plain.binary_shares[shown], digits=1),
            band("shuffled", plain.permutation.quantile([0.5, 0.05, 0.95])),
            p_column("p, shuffled", plain.permutation.p_value[shown]),
            band("one factor", plain.one_factor.quantile([0.5, 0.05, 0.95])),
            p_column("p, one factor", plain.one_factor.p_value[shown]),
        ],
        caption="Eigenvalues of the tetrachoric correlations, proportions of those of the binary "
        "answers (phi), and the median and 90 % range of each null",
    )


def _rules_table(study: "SharedConfidence") -> Table:
    dimensions = study.dimensionality
    return Table.of(
        [
            text_column("rule", dimensions.factors_by_rule),
            number_column("factors", dimensions.factors_by_rule.values(), digits=0),
        ],
        caption="Number of factors by each rule; the verdict uses the first",
        emphasised=[row == 0 for row in range(len(dimensions.factors_by_rule))],
    )


def _moved_pairs(study: "SharedConfidence") -> Table | None:
    frame = study.dimensionality.spectrum.sensitivity.to_frame().head(_WIDEST_PAIRS)
    if frame.empty:
        return None
    columns = [name_column("first", frame["first"]), name_column("second", frame["second"])]
    values = (*study.dimensionality.spectrum.sensitivity.rules, "spread")
    columns += [number_column(name, frame[name]) for name in values]
    return Table.of(columns, caption="Pairs most affected by the continuity correction")


def _threshold_table(study: "SharedConfidence") -> Table:
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
    return Table.of(
        [
            name_column("model", frame["model"]),
            number_column("yes, %", 100 * frame["yes_rate"], digits=1),
            interval_column("threshold", frame["threshold"], bounds["threshold"], reasons=reasons),
            interval_column("loading", frame["loading"], bounds["loading"], reasons=reasons),
            number_column("first component", frame["first_component"]),
            number_column("quadratic fit", frame["quadratic_fit"]),
            *_lapse_column(frame),
        ],
        caption="Thresholds and loadings: full information with 95 % intervals, and the first "
        "component, which depends on the continuity correction",
    )


def _lapse_column(frame: "pd.DataFrame") -> list[Column]:
    if "lapse_rate" not in frame:
        return []
    low, high = 100 * frame["lapse_rate_lower"], 100 * frame["lapse_rate_upper"]
    bounds = np.stack([low, high], axis=-1)
    return [interval_column("lapses, %", 100 * frame["lapse_rate"], bounds, digits=1)]


def _own_table(study: "SharedConfidence", smallest: SmallestEffects) -> Table:
    own, private = study.individuation, study.private_signal
    return Table.of(
        [
            name_column("model", study.labels),
            estimate_column("AUROC, self-report", own.own),
            estimate_column("AUROC, factor score", own.shared),
            estimate_column("own − factor score at equal rate", own.own_minus_cut, digits=3),
            estimate_column("odds ratio of self-report", own.odds_ratio),
            estimate_column("residual correlation", private.correlation),
            p_column("p, adjusted", private.p_adjusted, reasons=private.reason),
        ],
        caption="Information in self-reports, with pointwise intervals and p-values adjusted for "
        "the number of models",
        emphasised=[one.shown for one in study.private_signal.verdicts(smallest).outcomes],
    )


def _agreement_table(study: "SharedConfidence") -> Table:
    table = study.confusion
    rates = ("yes_rate", "accuracy", "overconfidence", "precision", "recall", "specificity")
    headings = (
        "yes rate",
        "accuracy",
        "yes rate − accuracy",
        "correct, of yes",
        "yes, of correct",
        "no, of wrong",
    )
    columns = [name_column("model", table.labels), number_column("n", table.n, digits=0)]
    columns += [
        estimate_column(heading, getattr(table, rate))
        for heading, rate in zip(headings, rates, strict=True)
    ]
    return Table.of(columns, caption="Confidence as a classifier of correctness, with intervals")


def _leader_table(study: "SharedConfidence") -> Table:
    frame = study.f_beta.leaders_frame()
    return Table.of(
        [
            name_column("best model", frame["model"]),
            Column(heading="from β", cells=tuple(map(significant, frame["from_beta"]))),
            Column(heading="to β", cells=tuple(map(significant, frame["to_beta"]))),
        ],
        caption="Values of β at which the best model changes (exact)",
    )


def _f_one_table(study: "SharedConfidence") -> Table:
    sweep = study.f_beta
    one = int(np.abs(np.log(sweep.betas)).argmin())
    reasons = [str(reason) for reason in sweep.reason]
    return Table.of(
        [
            name_column("model", sweep.labels),
            interval_column("F1", sweep.value[:, one], sweep.interval[:, one], reasons=reasons),
            number_column("always yes", sweep.all_yes[:, one]),
            number_column("at random, same rate", sweep.rate_matched[:, one]),
            number_column("P(beats always yes)", sweep.beats_all_yes[:, one]),
        ],
        caption="F1 and baselines without information",
    )


def _between_table(study: "SharedConfidence") -> Table:
    frame = study.between.to_frame()
    reason = str(study.between.reason)
    return Table.of(
        [
            text_column("coefficient", frame["coefficient"]),
            interval_column(
                "value",
                frame["value"],
                frame[["lower", "upper"]].to_numpy(),
                reasons=[reason] * len(frame),
            ),
            p_column("p", frame["p_value"]),
        ],
        caption="Between models",
    )


def _ensemble_table(study: "SharedConfidence") -> Table:
    gain = study.ensemble
    return Table.of(
        [
            name_column("model predicted", gain.labels),
            estimate_column("AUROC, vote", gain.vote),
            estimate_column("AUROC, best single", gain.single),
            estimate_column("vote at equal rate", gain.vote_cut),
            estimate_column("gain at equal rate", gain.gain_at_equal_rate, digits=3),
        ],
        caption="Mean vote and best single answer",
    )


def _residual_table(study: "SharedConfidence") -> Table:
    frame = study.dimensionality.residuals.to_frame().head(10)
    return Table.of(
        [
            name_column("first", frame["first"]),
            name_column("second", frame["second"]),
            number_column("both yes", frame["observed"], digits=0),
            number_column("expected", frame["expected"], digits=1),
            number_column("standard errors", frame["standardised"]),
            number_column("questions", frame["n"], digits=0),
        ],
        caption="The ten largest residuals",
    )


def _validity_table(study: "SharedConfidence") -> Table | None:
    frame = study.screen.to_frame()
    flagged = frame[frame["reasons"] != ""]
    if not len(flagged):
        return None
    return Table.of(
        [
            name_column("model", flagged["model"]),
            text_column("usable", ["yes" if ok else "no" for ok in flagged["usable"]]),
            number_column("answers", flagged["answered"], digits=0),
            number_column("yes, %", 100 * flagged["yes_rates"], digits=1),
            text_column("why", flagged["reasons"]),
        ],
        caption="Flagged models",
    )


def of_groups(
    study: "SharedByGroups", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return a figure and tables of the loadings in each group, and a table of the groups."""
    loadings = {}
    if study.common is not None:
        found = study.common.estimates(level=study.level)
        loadings = {str(group): one for group, one in found.items()}
    drawn = forest(
        loadings,
        key="loadings-by-group",
        title="Loadings of each model, by group of questions",
        caption="Loading of each model on the common factor in each group. If all groups share "
        "one factor, loadings are equal in all groups up to the SD of the factor.",
        x="loading",
    )
    table = Listing(table=partial(_groups_table, study))
    each = listing(loadings, "Loadings by group", n=False, folded=True) if loadings else None
    return {VERDICT: (drawn, table, each)}


def _groups_table(study: "SharedByGroups") -> Table:
    frame = study.to_frame().reindex(columns=["group", "n", *_OF_GROUP])
    return Table.of(
        [
            name_column("group", frame["group"]),
            number_column("questions", frame["n"], digits=0),
            *(number_column(heading, frame[name]) for name, heading in _OF_GROUP.items()),
        ],
        caption="Groups of questions",
    )


_OF_GROUP = {
    "n_factors": "factors",
    "mean_loading": "mean loading",
    "second_share": "proportion of a second factor",
    "private_correlation": "mean residual correlation",
    "yes_rate": "yes rate",
    "accuracy": "accuracy",
}
