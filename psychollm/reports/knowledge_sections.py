"""Sections of the report on knowledge: is confidence right, and is it the model's own."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, extent, number, p_equals, significant, with_interval
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.reports.page import Section
from psychollm.reports.study_figures import figure
from psychollm.reports.table import (
    Column,
    Table,
    estimate_column,
    interval_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.reports.words import ahead, at, beyond_factor, models, names, sentence
from psychollm.studies.shared_confidence.text import beyond, private_verdicts, says_yes

if TYPE_CHECKING:
    from psychollm.calibration.consensus.between_models import Line
    from psychollm.studies.shared_confidence.study import SharedConfidence


def validity(study: "SharedConfidence") -> Section:
    """Whether answers can be taken at their word."""
    screen = study.screen
    frame = screen.to_frame()
    flagged = frame[frame["reasons"] != ""]
    usable = int(screen.usable.sum())
    text = f"{usable} of {len(screen.models)} models are usable; {models(len(flagged))} flagged."
    tables: tuple[Table, ...] = ()
    if len(flagged):
        tables = (
            Table.of(
                [
                    text_column("model", flagged["model"]),
                    text_column("usable", ["yes" if ok else "no" for ok in flagged["usable"]]),
                    number_column("answers", flagged["answered"], digits=0),
                    number_column("yes, %", 100 * flagged["yes_rates"], digits=1),
                    text_column("why", flagged["reasons"]),
                ],
                caption="Flagged models",
            ),
        )
    return Section(
        title="Can the answers be taken at their word?",
        key="validity",
        paragraphs=(text + _left_out(study),),
        figures=(
            figure(
                study,
                "screen",
                "Yes rate of each model, and how well its yes tells correct from wrong answers "
                "(one half: not at all; below: it runs against its own correctness).",
            ),
        ),
        tables=tables,
    )


def _left_out(study: "SharedConfidence") -> str:
    parts = []
    for what, left in (
        ("Left out of everything", study.dropped),
        ("Left out of what rests on correlations", study.uncorrelated),
    ):
        if left:
            listed = ", ".join(f"{escape(str(m))} ({escape(why)})" for m, why in left.items())
            parts.append(f" {what}: {listed}.")
    if not study.dropped and not study.screen.usable.all():
        parts.append(" All flagged models are part of what follows.")
    return "".join(parts)


def agreement(study: "SharedConfidence", smallest: SmallestEffects = SMALLEST) -> Section:
    """How well confidence matches correctness, model by model."""
    told = escape(sentence(says_yes(study, smallest))[:-1])
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
    columns = [text_column("model", table.labels), number_column("n", table.n, digits=0)]
    columns += [
        estimate_column(heading, getattr(table, rate))
        for heading, rate in zip(headings, rates, strict=True)
    ]
    return Section(
        title="How well does confidence match correctness?",
        key="agreement",
        paragraphs=(
            f"{told}. Yes rate minus accuracy runs from {extent(table.overconfidence.value)}.",
        ),
        tables=(
            Table.of(columns, caption="Confidence as a classifier of correctness, with intervals"),
        ),
    )


def risk(study: "SharedConfidence") -> Section:
    """Whose confidence is best for which attitude to risk."""
    sweep = study.f_beta
    one = int(np.abs(np.log(sweep.betas)).argmin())
    clearly = int((sweep.beats_all_yes[:, one] >= 0.5 * (1.0 + study.level)).sum())
    return Section(
        title="Whose confidence is best for which purpose?",
        key="risk",
        paragraphs=(
            "F-beta weighs precision against recall: at low β a wrong yes costs more, at high β a "
            f"missed one. At β = 1 the models reach {extent(sweep.value[:, one])}, but a model "
            "that "
            "knew nothing and always said yes would reach "
            f"{extent(sweep.all_yes[:, one])}, depending on its accuracy. "
            f"{sentence(models(clearly))[:-1]} "
            f"{'is' if clearly <= 1 else 'are'} clearly above its own always-yes.",
        ),
        figures=(
            figure(
                study,
                "f_beta",
                "F-beta of every model; the strip names the best one at each β, with its "
                "bootstrap band. A curve is solid where it beats its own “always yes” and dotted "
                "where it does not. Black: what the best model would reach without any knowledge "
                "of the question.",
            ),
        ),
        tables=(_leaders(study),),
        folded=(_f_one(study, one),),
    )


def _leaders(study: "SharedConfidence") -> Table:
    frame = study.f_beta.leaders_frame()
    return Table.of(
        [
            text_column("best model", frame["model"]),
            Column(heading="from β", cells=tuple(map(significant, frame["from_beta"]))),
            Column(heading="to β", cells=tuple(map(significant, frame["to_beta"]))),
        ],
        caption="Where the best model changes (exact, not read off a grid)",
    )


def _f_one(study: "SharedConfidence", one: int) -> Table:
    sweep = study.f_beta
    reasons = [str(reason) for reason in sweep.reason]
    return Table.of(
        [
            text_column("model", sweep.labels),
            interval_column("F1", sweep.value[:, one], sweep.interval[:, one], reasons=reasons),
            number_column("always yes", sweep.all_yes[:, one]),
            number_column("at random, same rate", sweep.rate_matched[:, one]),
            number_column("P(beats always yes)", sweep.beats_all_yes[:, one]),
        ],
        caption="F1 beside what knowing nothing reaches",
    )


def between(study: "SharedConfidence") -> Section:
    """Whether models that know more say yes more."""
    found = study.between
    line = found.confidence_on_accuracy
    return Section(
        title="Do models that know more say yes more?",
        key="between",
        paragraphs=(
            f"Over {found.n} models, the slope of mean confidence on accuracy is "
            f"{_slope(line)}. Spearman’s correlation is "
            f"{with_interval(found.spearman, found.spearman_interval)} "
            f"({p_equals(found.spearman_p)}). That confidence equals accuracy but for chance "
            f"(intercept 0, slope 1) has {p_equals(line.identity_p)}.",
        ),
        figures=(
            figure(
                study,
                "between_models",
                "Mean confidence over accuracy, one point per model with intervals in both "
                "directions; fitted line with its band, and the line of perfect calibration.",
            ),
        ),
        tables=(_coefficients(study),),
    )


def _slope(line: "Line") -> str:
    return f"{with_interval(line.slope, line.slope_interval)} ({p_equals(line.p_value)})"


def _coefficients(study: "SharedConfidence") -> Table:
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


def own_knowledge(study: "SharedConfidence", smallest: SmallestEffects = SMALLEST) -> Section:
    """Whether a model knows something that the shared signal does not."""
    own, private = study.individuation, study.private_signal
    place = {name: i for i, name in enumerate(own.average.labels)}
    fair = place["own_minus_cut"]
    naive = int((own.p_adjusted <= 1.0 - study.level).sum())
    known, against = beyond_factor(study, smallest)
    told = escape(beyond(private_verdicts(study, smallest), smallest))
    who = f" They are {names(study.labels, known)}." if any(known) else ""
    return Section(
        title="Does a model know something that the shared signal does not?",
        key="own",
        paragraphs=(
            "The shared score, made without the model, ranks a model’s correct answers above its "
            f"wrong ones with an area of {at(own.average, place['shared'], digits=3)} on average; "
            f"the model’s own yes or no with {at(own.average, place['own'], digits=3)}. At equal "
            "yes rates, the fair comparison, the own answer is "
            f"{ahead(own.average.value[fair], own.average.interval[fair])}.",
            f"Taken as exact, the shared score leaves something for the own answer to add in "
            f"{models(naive)}. But it is measured with error, and an answer that carries nothing "
            "but the shared signal still adds to a noisy measurement of it. With that error "
            f"allowed for, <b>{told}</b>.{who} Over {private.n_models} models, the mean "
            "correlation beyond the factor is "
            f"{with_interval(private.mean, private.mean_interval, 3)} "
            f"({p_equals(private.mean_p)}).",
        ),
        figures=(
            figure(
                study,
                "private_signal",
                "Correlation of confidence and correctness that the shared factor does not "
                "explain, with intervals. Names in bold: different from zero after adjustment for "
                "the number of models.",
            ),
            figure(
                study,
                "individuation",
                "Areas under the ROC curve for being correct. The fair rival of a yes or no is "
                "the shared score cut at the same yes rate; the uncut score has more levels. Bold "
                "names as before.",
            ),
        ),
        tables=(_own_table(study, [up or down for up, down in zip(known, against, strict=True)]),),
    )


def _own_table(study: "SharedConfidence", known: list[bool]) -> Table:
    own, private = study.individuation, study.private_signal
    return Table.of(
        [
            text_column("model", study.labels),
            estimate_column("AUROC, own answer", own.own),
            estimate_column("AUROC, shared score", own.shared),
            estimate_column("own − shared at equal rate", own.own_minus_cut, digits=3),
            _odds_column(study),
            estimate_column("correlation beyond the factor", private.correlation),
            p_column("p, adjusted", private.p_adjusted, reasons=private.reason),
        ],
        caption="What the own answer knows",
        emphasised=known,
    )


def _odds_column(study: "SharedConfidence") -> Column:
    return estimate_column("odds ratio, own yes", study.individuation.odds_ratio)


def disagreement(study: "SharedConfidence") -> Section:
    """Who is right where models disagree about whether they know."""
    pairs = study.pairwise
    if not pairs.n_disagreements:
        text = "No two models ever disagree about whether they know."
        return Section(
            title="When models disagree, who is right?", key="disagreement", paragraphs=(text,)
        )
    excess = with_interval(pairs.pooled_excess, pairs.pooled_excess_interval, 3)
    return Section(
        title="When models disagree, who is right?",
        key="disagreement",
        paragraphs=(
            f"On {count(pairs.n_questions_split)} questions at least one model says yes and "
            f"another no ({count(pairs.n_disagreements)} disagreements of pairs; "
            f"{count(pairs.n_questions_unanimous)} questions on which all agree say nothing). "
            "The one that says yes is right more often by "
            f"{with_interval(pairs.pooled_difference, pairs.pooled_difference_interval, 3)}. "
            "Without "
            f"any self-knowledge ({escape(pairs.control)}) one would expect "
            f"{number(pairs.pooled_expected, 3)}, which leaves <b>{excess}</b>.",
        ),
        figures=(
            figure(
                study,
                "pairwise_calibration",
                "Each point is an ordered pair of models, on the questions where the first says "
                "yes and the second no: the observed difference of their correctness over what is "
                "expected without self-knowledge. Cross: pooled, with its interval.",
            ),
        ),
    )


def ensemble(study: "SharedConfidence") -> Section:
    """Whether many models know more than the best one."""
    gain = study.ensemble
    fair = with_interval(gain.mean_gain_at_equal_rate, gain.mean_gain_at_equal_rate_interval, 3)
    return Section(
        title="Do many models know more than the best one?",
        key="ensemble",
        paragraphs=(
            "The mean vote of all models predicts a model’s correctness better than the best "
            "single model’s answer (chosen on other questions) by an area of "
            f"{with_interval(gain.mean_gain, gain.mean_gain_interval, 3)}. Most of that may be "
            "owed to "
            f"the vote’s many levels: cut at the single model’s yes rate, it gains {fair}.",
        ),
        figures=(
            figure(
                study,
                "ensemble",
                "Gain of the mean vote over the best single answer in predicting each model’s "
                "correctness, with intervals.",
            ),
        ),
        folded=(
            Table.of(
                [
                    text_column("model predicted", gain.labels),
                    estimate_column("AUROC, vote", gain.vote),
                    estimate_column("AUROC, best single", gain.single),
                    estimate_column("vote at equal rate", gain.vote_cut),
                    estimate_column("gain at equal rate", gain.gain_at_equal_rate, digits=3),
                ],
                caption="Mean vote and best single answer",
            ),
        ),
    )
