"""How far coders agree on each category."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psychollm._base.result import Result
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Resampling
from psychollm.reliability.raters.agreement import Agreement, agreement
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.ratings import Ratings

if TYPE_CHECKING:
    import pandas as pd

_CODES = (0.0, 1.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoderAgreement(Result):
    """Agreement of coders over all traces, category by category.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "item": [1, 2, 3] * 2, "category": "evaluation",
    ...                       "coder": ["a"] * 3 + ["b"] * 3, "code": [0, 1, 2, 0, 1, 1]})
    >>> found = coder_agreement(table, Resampling(n=20, rng=0))
    >>> found.codes["evaluation"].pairwise.value.round(3), found.coders
    (array([0.667]), ('a', 'b'))
    """

    codes: Mapping[Hashable, Agreement]  # of 0, 1 and 2; alpha is ordinal
    shown: Mapping[Hashable, Agreement]  # of shown or not
    kappa: Mapping[Hashable, Estimate] | None  # linearly weighted, of two coders
    coders: tuple[Hashable, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per category."""
        import pandas as pd

        rows = []
        for name, found in self.codes.items():
            alpha, shown = found.krippendorff_alpha, self.shown[name]
            row = {
                "category": name,
                "n": int(found.pairwise.n[0]),
                "alpha": alpha.value[0],
                "alpha_lower": alpha.interval[0, 0],
                "alpha_upper": alpha.interval[0, 1],
                "same_code": found.pairwise.value[0],
                "shown_ac1": shown.gwet_ac1.value[0],
            }
            if self.kappa is not None:
                kappa = self.kappa[name]
                row["kappa"] = kappa.value[0]
                row["kappa_lower"], row["kappa_upper"] = kappa.interval[0]
            rows.append(row)
        return pd.DataFrame(rows)


def coder_agreement(
    table: pd.DataFrame, resampling: Resampling, *, threshold: int = 1
) -> CoderAgreement | None:
    """Compare coders on the traces that several of them coded; None for a single coder."""
    if "coder" not in table.columns or table["coder"].nunique() < 2:
        return None
    keys = [name for name in ("model", "arm", "item", "run") if name in table.columns]
    joined = table[keys].astype(str).agg("/".join, axis=1)
    binary_codes = (table["code"] >= threshold).astype(float).where(table["code"].notna())
    frame = table.assign(_trace=joined, _shown=binary_codes)
    items = dict(zip(frame["_trace"], frame["item"], strict=True))
    codes: dict[Hashable, Agreement] = {}
    shown: dict[Hashable, Agreement] = {}
    kappa: dict[Hashable, Estimate] = {}
    options = resampling.arguments
    for name, part in frame.groupby("category", sort=False):
        graded = _ratings(part, "code", _CODES)
        binary = _ratings(part, "_shown", (0.0, 1.0))
        clusters = [items[trace] for trace in graded.questions]
        codes[name] = agreement(graded, metric="ordinal", clusters=clusters, **options)
        shown[name] = agreement(binary, clusters=clusters, **options)
        if len(graded.runs) == 2:
            kappa[name] = cohen_kappa(graded, weights="linear", clusters=clusters, **options)
    coders = tuple(dict.fromkeys(table["coder"].tolist()))
    return CoderAgreement(
        codes=codes,
        shown=shown,
        kappa=kappa if len(kappa) == len(codes) else None,
        coders=coders,
    )


def _ratings(part: pd.DataFrame, value: str, categories: tuple[float, ...]) -> Ratings:
    return Ratings.from_long(
        part.astype({value: float}),
        model=None,
        question="_trace",
        run="coder",
        value=value,
        categories=categories,
    )
