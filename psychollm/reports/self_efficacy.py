"""The report of self-efficacy: totals, consistency, stability, and what they go along with."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import extent, number, p_equals, percent
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Findings, sentence_list
from psychollm.estimates.verdict import Outcome, SmallestEffects, Verdicts
from psychollm.plots.canvas import names_width
from psychollm.plots.links import LINK_PANEL, plot_links
from psychollm.plots.self_efficacy import plot_self_efficacy
from psychollm.plots.small_multiples import grid_size
from psychollm.reports.layout import (
    Beside,
    Layout,
    Picture,
    TableOf,
    estimates_table,
    forest_picture,
    span,
)
from psychollm.reports.page import Fact, cite
from psychollm.reports.table import (
    Table,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)

if TYPE_CHECKING:
    from psychollm.studies.self_efficacy.links import EfficacyLink
    from psychollm.studies.self_efficacy.study import SelfEfficacyStudy

_TOTALS = Picture(
    key="totals",
    title="Totals of each model under each condition",
    caption="Mean total of each model under each condition, with Student’s intervals over its "
    "repeats: a mark without a bar stands for one administration, or for repeats that are all "
    "the same. The axis is the whole range of the scale.",
    draw=lambda study, canvas: plot_self_efficacy(study, ax=canvas.subplots()),
    size=lambda study: (
        round(6.8 + names_width(study.models), 2),
        min(1.5 + 0.34 * len(study.models), 24.0),
    ),
)


def _alpha(study: "SelfEfficacyStudy") -> dict[str, Estimate]:
    found = study.consistency
    return {"of single administrations": found.alpha, "of models’ means": found.of_means}


def _conditions(study: "SelfEfficacyStudy", smallest: SmallestEffects) -> Table:
    """Return the source's table: each condition with its mean, alpha, ICC and stability."""
    frame = study.to_frame()

    def column(heading: str, name: str, digits: int = 2) -> Any:
        bounds = frame[[f"{name}_lower", f"{name}_upper"]].to_numpy(dtype=np.float64)
        return interval_column(heading, frame[name], bounds, digits=digits)

    return Table.of(
        [
            name_column("condition", frame["condition"]),
            column("mean total", "mean", 1),
            column("α", "alpha"),
            column("α of models’ means", "alpha_of_means"),
            column("ICC(A,1)", "icc", 3),
            column("identical ratings", "identical"),
        ],
        caption="Totals, consistency and stability by condition",
    )


def _style(study: "SelfEfficacyStudy", smallest: SmallestEffects) -> Table:
    style = study.style
    names = ("flat", "lowest", "highest", "disowning", "incomplete")
    series = {name: getattr(style, name) for name in names}
    made = estimates_table("Flat, extreme, disowned and incomplete ratings", lambda _: series)
    table = made(study, smallest)
    assert table is not None  # noqa: S101 -- there are series
    return table


def _linked(study: "SelfEfficacyStudy", key: str) -> "Mapping[Any, EfficacyLink]":
    return (study.performance or {}) if key == "performance" else study.links.get(key, {})


def _link_picture(key: str, title: str) -> Picture:
    return Picture(
        key=f"links-{key}".replace(" ", "-"),
        title=title,
        caption=f"{title}, a point per model and a panel per condition, with the rank "
        "correlation over models, its interval, and its p-value by permutations.",
        draw=lambda study, canvas: plot_links(_linked(study, key), columns=3, figure=canvas),
        size=lambda study: grid_size(len(_linked(study, key)), 3, LINK_PANEL, above=0.3),
        worth=lambda study: bool(_linked(study, key)),
    )


def _link_table(key: str, caption: str) -> TableOf:
    def made(study: "SelfEfficacyStudy", smallest: SmallestEffects) -> Table | None:
        links = _linked(study, key)
        if not links:
            return None
        every = list(links.values())
        reasons = [str(one.flag) for one in every]
        return Table.of(
            [
                name_column("condition", links),
                interval_column(
                    "rank correlation",
                    [one.value for one in every],
                    [one.interval for one in every],
                    reasons=reasons,
                ),
                p_column("p", [one.p_value for one in every]),
                number_column("models", [len(one.labels) for one in every], digits=0),
                number_column(
                    "models needed", [_models_needed(smallest.correlation)] * len(every), digits=0
                ),
                text_column("at the ceiling", [_ceiling(one) for one in every]),
            ],
            caption=f"{caption}; how many models a correlation of "
            f"{number(smallest.correlation, 1)} would take",
        )

    return made


def _ceiling(one: "EfficacyLink") -> str:
    if not np.isfinite(one.at_ceiling):
        return "–"
    return f"{percent(one.at_ceiling)}{' (too many to find much)' if one.ceiling else ''}"


def _models_needed(rho: float) -> float:
    """Return how many models show a rank correlation with a chance of 80 % (Bonett and Wright)."""
    z = 1.959964 + 0.841621
    return float(np.ceil(3.0 + (1.0 + 0.5 * rho**2) * (z / np.arctanh(rho)) ** 2))


def _change(study: "SelfEfficacyStudy") -> dict[str, Estimate]:
    if study.revision is None:
        return {}
    return {"net change": study.revision.change}


def _shares(study: "SelfEfficacyStudy") -> dict[str, Estimate]:
    found = study.revision
    if found is None:
        return {}
    return {
        "net change": found.change,
        "rise": found.up,
        "fall": found.down,
        "unchanged": found.unchanged,
        "missing": found.missing,
    }


def _verdict(study: "SelfEfficacyStudy", findings: Findings, smallest: SmallestEffects) -> str:
    """Say whether ratings go with performance, or how far they come back, where nothing else."""
    every = study.identical.text(len(study.identical.labels) - 1)
    stable = f"{every} of ratings come back identically in all repeats"
    if not study.performance:
        return f"{stable}; no tasks were done that ratings could go with"
    judged = findings["performance"].outcome
    assert isinstance(judged, Verdicts)  # noqa: S101 -- `finding_of_links` made it
    words = {
        Outcome.ABOVE: "higher ratings go with better performance",
        Outcome.BELOW: "higher ratings go with worse performance",
        Outcome.SMALL: "ratings have next to nothing to do with performance",
        Outcome.OPEN: "too few models, or too little difference between them, to say whether "
        "ratings go with performance",
    }
    parts = [
        f"{text} ({sentence_list(judged.which(one))})"
        for one, text in words.items()
        if judged.count(one)
    ]
    return f"{'; '.join(parts)}. {stable[0].upper()}{stable[1:]}"


def _facts(study: "SelfEfficacyStudy", smallest: SmallestEffects) -> tuple[Fact, ...]:
    low, high = study.n_items * study.low, study.n_items * study.high
    facts = [
        Fact(name="Mean totals", value=span(study.means, 1), detail=f"of {low} to {high}"),
        Fact(name="Consistency (α)", value=span(study.consistency.alpha)),
        Fact(
            name="Identical ratings in all repeats",
            value=span(study.identical),
            detail="by condition, and over all",
        ),
    ]
    if np.isfinite(study.mixed.f_statistic):
        facts.append(
            Fact(
                name="Conditions differ (mixed model)",
                value=p_equals(study.mixed.p_value),
                detail=f"Friedman {p_equals(study.friedman.p_value)}",
            )
        )
    if study.performance:
        rho = extent([one.value for one in study.performance.values()])
        facts.append(Fact(name="Rank correlation with performance", value=rho))
    if study.revision is not None:
        facts.append(Fact(name="Net change when asked again", value=span(study.revision.change)))
    return tuple(facts)


def _methods(study: "SelfEfficacyStudy") -> tuple[str, ...]:
    return (
        f"<b>Ratings.</b> After {cite('jackson')[1:-1]}: each model rates a scale of "
        f"{study.n_items} statements, {study.low} to {study.high} points each, several times "
        "under each condition, the statements in new orders. Models are the unit of replication "
        "of every test and interval: repeats of a model are averaged first.",
        f"<b>Consistency and stability.</b> Cronbach’s α {cite('feldt')} is given of single "
        "administrations, as in the source, and of models’ means, since repeats of one model are "
        f"no further respondents. ICC(A,1) {cite('shrout')} is over models and repeats.",
        "<b>Conditions.</b> A mixed model with a random intercept for each model; Friedman’s "
        "test, which compares within models, beside Kruskal and Wallis’s, which does not know "
        "that the same models appear under each condition. Links are Spearman’s correlations over "
        "models.",
        "<b>Stance.</b> Where replies were coded, the mean code (0, 1, 2) of assertion and of "
        "anthropomorphism by the cues of the scheme <code>stance</code>: words, no judgement.",
    )


def _call(study: "SelfEfficacyStudy", source: str, options: str) -> str:
    made = source or "# scores: the scores of each model, by its name"
    return f"{made}\nstudy = psy.self_efficacy(scores, {options})"


LAYOUT = Layout(
    title="Self-efficacy: how sure are the models of themselves, and with what right?",
    subtitle=lambda study: (
        f"{len(study.models)} models, {len(study.conditions)} condition"
        f"{'s' * (len(study.conditions) > 1)}, {study.n_items} statements, "
        f"{percent(study.level)} intervals"
    ),
    models=lambda study: study.models,
    verdict=_verdict,
    facts=_facts,
    beside={
        "totals": Beside(pictures=(_TOTALS,), tables=(_conditions,), instead=True),
        "consistency": Beside(
            pictures=(
                forest_picture(
                    "alpha",
                    "Cronbach's alpha by condition",
                    "Cronbach’s α under each condition: of single administrations, and of "
                    "models’ means over their repeats.",
                    _alpha,
                    x="Cronbach’s α",
                ),
            ),
            folded=(_style,),
        ),
        "stability": Beside(),
        "conditions": Beside(),
        "people": Beside(),
        "performance": Beside(
            pictures=(_link_picture("performance", "Totals over performance"),),
            tables=(_link_table("performance", "Ratings and performance"),),
            instead=True,
        ),
        "revision": Beside(
            pictures=(
                forest_picture(
                    "revision",
                    "Change of totals when asked again",
                    "Mean net change of the total when the model is asked whether it is "
                    "confident, by the wording of the question.",
                    _change,
                    x="net change of the total",
                    reference=0.0,
                ),
            ),
            tables=(estimates_table("Asked again", _shares, of="wording"),),
            instead=True,
        ),
        **{
            name: Beside(
                pictures=(_link_picture(name, f"Totals over {name}"),),
                tables=(_link_table(name, f"Ratings and {name}"),),
                instead=True,
            )
            for name in ("assertion", "anthropomorphism", "perplexity")
        },
    },
    methods=_methods,
    call=_call,
)
