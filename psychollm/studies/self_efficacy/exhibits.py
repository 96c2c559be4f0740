"""What shows the findings of self-efficacy: totals, consistency, what they go along with."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import number, percent
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest, listing
from psychollm.estimates.listing import (
    Table,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.self_efficacy.links import EfficacyLink
    from psychollm.studies.self_efficacy.study import SelfEfficacyStudy


def exhibits(
    study: "SelfEfficacyStudy", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the exhibits of each finding."""
    totals = Drawing(
        plot="plot_self_efficacy",
        of=study,
        key="totals",
        title="Totals of each model under each condition",
        caption="Mean total of each model under each condition, with Student’s intervals over its "
        "repeats: a mark without a bar stands for one administration, or for repeats that are all "
        "the same. The axis is the whole range of the scale.",
    )
    alpha = forest(
        {
            "of single administrations": study.consistency.alpha,
            "of models’ means": study.consistency.of_means,
        },
        key="alpha",
        title="Cronbach's alpha by condition",
        caption="Cronbach’s α under each condition: of single administrations, and of "
        "models’ means over their repeats.",
        x="Cronbach’s α",
    )
    names = ("flat", "lowest", "highest", "disowning", "incomplete")
    style = {name: getattr(study.style, name) for name in names}
    linked = {"performance": study.performance or {}, **study.links}
    return {
        "totals": (totals, Listing(table=partial(_conditions, study), instead=True)),
        "consistency": (
            alpha,
            listing(style, "Flat, extreme, disowned and incomplete ratings", folded=True),
        ),
        "revision": _revision(study),
        **{key: _linked(key, links, smallest) for key, links in linked.items() if links},
    }


def _revision(study: "SelfEfficacyStudy") -> tuple[Exhibit | None, ...]:
    found = study.revision
    if found is None:
        return ()
    drawn = forest(
        {"net change": found.change},
        key="revision",
        title="Change of totals when asked again",
        caption="Mean net change of the total when the model is asked whether it is "
        "confident, by the wording of the question.",
        x="net change of the total",
        reference=0.0,
    )
    shares = {
        "net change": found.change,
        "rise": found.up,
        "fall": found.down,
        "unchanged": found.unchanged,
        "missing": found.missing,
    }
    return drawn, listing(shares, "Asked again", of="wording", instead=True)


def _conditions(study: "SelfEfficacyStudy") -> Table:
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


def _linked(
    key: str, links: "Mapping[Any, EfficacyLink]", smallest: SmallestEffects
) -> tuple[Exhibit, ...]:
    """Return totals over another number of the models."""
    title = f"Totals over {key}"
    drawn = Drawing(
        plot="plot_links",
        of=links,
        options={"columns": 3},
        key=f"links-{key}".replace(" ", "-"),
        title=title,
        caption=f"{title}, a point per model and a panel per condition, with the rank "
        "correlation over models, its interval, and its p-value by permutations.",
    )
    table = partial(_link_table, links, f"Ratings and {key}", smallest)
    return drawn, Listing(table=table, instead=True)


def _link_table(
    links: "Mapping[Any, EfficacyLink]", caption: str, smallest: SmallestEffects
) -> Table:
    every = list(links.values())
    needed = _models_needed(smallest.correlation)
    return Table.of(
        [
            name_column("condition", links),
            interval_column(
                "rank correlation",
                [one.value for one in every],
                [one.interval for one in every],
                reasons=[str(one.flag) for one in every],
            ),
            p_column("p", [one.p_value for one in every]),
            number_column("models", [len(one.labels) for one in every], digits=0),
            number_column("models needed", [needed] * len(every), digits=0),
            text_column("at the ceiling", [_ceiling(one) for one in every]),
        ],
        caption=f"{caption}; how many models a correlation of "
        f"{number(smallest.correlation, 1)} would take",
    )


def _ceiling(one: "EfficacyLink") -> str:
    if not np.isfinite(one.at_ceiling):
        return "–"
    return f"{percent(one.at_ceiling)}{' (too many to find much)' if one.ceiling else ''}"


def _models_needed(rho: float) -> float:
    """Return how many models show a rank correlation with a chance of 80 % (Bonett and Wright)."""
    z = 1.959964 + 0.841621
    return float(np.ceil(3.0 + (1.0 + 0.5 * rho**2) * (z / np.arctanh(rho)) ** 2))
