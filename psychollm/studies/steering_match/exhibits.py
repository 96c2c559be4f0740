"""Figures and tables of the findings of a steering match."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest, listing
from psychollm.estimates.listing import (
    Table,
    interval_column,
    name_column,
    number_column,
    p_column,
)
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.steering_match.evidence import HEADLINES

if TYPE_CHECKING:
    from psychollm.studies.steering_match.result import SteeringMatch

NAMES = {
    "r_squared": "R² of strengths on thresholds",
    "agreement": "agreement at the best strength",
    "kappa": "kappa at the best strength",
    "held_out_agreement": "held-out agreement",
    "held_out_kappa": "held-out kappa",
}


def exhibits(
    study: "SteeringMatch", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    match = Drawing(
        plot="plot_steering_match",
        of=study,
        key="match",
        title="Best strengths against thresholds, with controls",
        caption="Top left: best strength for each target against its threshold, with intervals "
        "over questions. Top right: held-out agreement with each target; lines begin at the "
        "agreement of the constant answer. Bottom: R² and held-out kappa of the direction and of "
        "the controls, and their distribution in tables with permuted questions.",
    )
    targets = {
        "best strength": study.best.strength,
        "held-out agreement": study.held_out.agreement,
        "held-out kappa": study.held_out_for_kappa.kappa,
        "kappa from the threshold": study.from_threshold.kappa,
        "lift over the constant answer": study.lift,
    }
    agreement = forest(
        {
            "held out": study.held_out.agreement,
            "from the threshold alone": study.from_threshold.agreement,
            "constant answer": study.constant.agreement,
        },
        key="agreement",
        title="Agreement with each target",
        caption="Proportion of questions answered like the target.",
        x="agreement",
    )
    kappa = forest(
        {
            "held out": study.held_out_for_kappa.kappa,
            "from the threshold alone": study.from_threshold.kappa,
        },
        key="kappa",
        title="Kappa with each target",
        caption="Agreement corrected for chance, given both yes rates.",
        x="kappa",
        reference=0.0,
    )
    return {
        "strengths": (
            match,
            Listing(table=partial(_exchanged, study)),
            listing(targets, "Targets", of="target", folded=True),
        ),
        "agreement": (agreement,),
        "kappa": (kappa,),
        "controls": (Listing(table=partial(_controls, study)),),
    }


def _exchanged(study: "SteeringMatch") -> Table:
    """Return the headline statistics with and without permuted questions."""
    null = study.null
    low, middle, high = null.quantile([0.05, 0.5, 0.95])
    return Table.of(
        [
            name_column("statistic", [NAMES[name] for name in HEADLINES]),
            number_column("observed", null.observed),
            interval_column("permuted questions", middle, np.stack([low, high], axis=-1)),
            p_column("p", null.p_value),
        ],
        caption=f"Headline statistics, and their median and 90 % range in {count(null.n)} tables "
        "with permuted questions",
        emphasised=[name == "held_out_kappa" for name in HEADLINES],
    )


def _controls(study: "SteeringMatch") -> Table:
    frame = study.controls_frame()
    columns = [name_column("direction", frame["name"])]
    columns += [number_column(NAMES[name], frame[name]) for name in HEADLINES]
    if "ahead" in frame.columns:
        bounds = frame[["ahead_lower", "ahead_upper"]].to_numpy(dtype=np.float64)
        columns.append(interval_column("direction minus control (kappa)", frame["ahead"], bounds))
        columns.append(p_column("p", frame["ahead_p"]))
    return Table.of(columns, caption="Direction, controls and permuted questions")
