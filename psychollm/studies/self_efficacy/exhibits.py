"""Figures and tables of self-efficacy: totals, consistency, and correlates."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number, percent
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing, forest, listing
from psychollm.estimates.listing import (
    Table,
    interval_column,
    name_column,
    number_column,
    p_column,
    text_column,
)
from psychollm.estimates.sample_size import POWER, units_needed
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.self_efficacy.links import WITHIN

_MANY = 1e6  # larger numbers of models are not reported

if TYPE_CHECKING:
    from psychollm.studies.self_efficacy.links import EfficacyLink
    from psychollm.studies.self_efficacy.study import SelfEfficacyStudy


def exhibits(
    study: "SelfEfficacyStudy", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    totals = Drawing(
        plot="plot_self_efficacy",
        of=study,
        key="totals",
        title="Totals of each model under each condition",
        caption=(
            "Mean total of each model under each condition, with Student’s t intervals over "
            "repeats. No interval is drawn for a single administration or for identical repeats. "
            "The axis covers the range of the scale."
        ),
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
            listing(style, "Uniform, extreme, rejected and incomplete ratings", folded=True),
        ),
        "revision": _revision(study),
        **{
            key: _linked(key, links, (study.within or {}).get(key), smallest)
            for key, links in linked.items()
            if links
        },
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
    """Return mean, alpha, ICC and stability by condition, as in Jackson et al. (2025)."""
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
    key: str,
    links: "Mapping[Any, EfficacyLink]",
    within: Estimate | None,
    smallest: SmallestEffects,
) -> tuple[Exhibit, ...]:
    """Return the figure and table of totals against another measure."""
    title = f"Totals against {key}"
    drawn = Drawing(
        plot="plot_links",
        of=links,
        options={"columns": 2 if len(links) in {2, 4} else 3},
        key=f"links-{key}".replace(" ", "-"),
        title=title,
        caption=f"{title}, with one point per model and one panel per condition. Each panel "
        "states the rank correlation over models, its interval, and a permutation p-value.",
    )
    table = partial(_link_table, links, f"Ratings and {key}", within, smallest)
    return drawn, Listing(table=table, instead=True)


def _link_table(
    links: "Mapping[Any, EfficacyLink]",
    caption: str,
    within: Estimate | None,
    smallest: SmallestEffects,
) -> Table:
    every, least = list(links.values()), smallest.correlation
    fewer, most = (count(float(_models_needed(least, absence=one))) for one in (True, False))
    found = _models_needed([one.value for one in every])
    found[found > _MANY] = np.nan
    rows: list[tuple[Any, ...]] = [
        (label, one.value, one.interval, str(one.flag), one.p_value, len(one.labels), n, top)
        for (label, one), n, top in zip(links.items(), found, map(_ceiling, every), strict=True)
    ]
    if within is not None:
        values = within.value[0], within.interval[0], str(within.flags[0]), np.nan, within.n[0]
        rows.append((WITHIN, *values, np.nan, ""))
    name, value, bounds, reasons, p, models, needed, top = zip(*rows, strict=True)
    columns = [
        name_column("condition", name),
        interval_column("rank correlation", value, bounds, reasons=reasons),
        p_column("p", p),
        number_column("models", models, digits=0),
        number_column("models to detect it", needed, digits=0),
    ]
    return Table.of(
        [*columns, *([text_column("at the ceiling", top)] if any(top) else [])],
        caption=f"{caption}; for a power of {percent(POWER)}, detecting a correlation of "
        f"{number(least, 1)} takes {most} models, and excluding it if the true correlation is 0 "
        f"takes {fewer}",
    )


def _ceiling(one: "EfficacyLink") -> str:
    if not np.isfinite(one.at_ceiling):
        return ""
    return f"{percent(one.at_ceiling)}{' (low power)' if one.ceiling else ''}"


def _models_needed(rho: Any, *, absence: bool = False) -> FloatArray:
    """Return the number of models needed to detect or to exclude rank correlations."""
    # Fisher's z has the variance (1 + r^2 / 2) / (n - 3) (Bonett and Wright).
    size = np.asarray(rho, dtype=np.float64)
    spread = np.ones_like(size) if absence else np.sqrt(1.0 + 0.5 * size**2)
    with np.errstate(divide="ignore"):
        return 3.0 + units_needed(1.0, spread, np.arctanh(size), absence=absence)
