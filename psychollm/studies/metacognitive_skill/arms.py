"""Effects of a prompt on behaviours and on the correctness of answers; agreement of coders.

Traces of both arms are paired by model, question and run. A prompt helps if a wrong answer becomes
right, and harms if a right answer becomes wrong. Help and harm cancel in the effect on accuracy,
so both rates are also reported separately.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.repeated_share import repeated_difference, repeated_share
from psychollm.estimates.resampling import Resampling
from psychollm.reliability.raters.agreement import Agreement, agreement
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.ratings import Ratings
from psychollm.studies.inference_boundary.monitoring_link import MonitoringLink, rank_link
from psychollm.studies.metacognitive_skill.traces import Traces

if TYPE_CHECKING:
    import pandas as pd

_CODES = (0.0, 1.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoderAgreement(Result):
    """Agreement of coders over all traces, by category.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "item": [1, 2, 3] * 2, "category": "evaluation",
    ...                       "coder": ["a"] * 3 + ["b"] * 3, "code": [0, 1, 2, 0, 1, 1]})
    >>> found = coder_agreement(table, Resampling(n=20, rng=0))
    >>> found.codes["evaluation"].pairwise.value.round(3), found.coders
    (array([0.667]), ('a', 'b'))
    """

    codes: Mapping[Hashable, Agreement]  # agreement on the codes 0, 1 and 2; alpha is ordinal
    shown: Mapping[Hashable, Agreement]  # agreement on whether the behaviour is shown
    kappa: Mapping[Hashable, Estimate] | None  # linearly weighted kappa of two coders
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
    """Return the agreement on traces with several coders; None for a single coder."""
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


_FEWEST_MODELS = 4  # smallest number of models for a rank correlation with an interval


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaffolding(Result):
    """Effects of a prompt on the answers of each model.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.metacognitive_skill.traces import as_traces
    >>> rows = [("m", item, arm, "evaluation", 1, float(arm == "led" or item > 1))
    ...         for item in range(4) for arm in ("own", "led")]
    >>> names = ["model", "item", "arm", "category", "code", "correct"]
    >>> found = scaffolding(as_traces(pd.DataFrame(rows, columns=names)), "own", "led")
    >>> found.effect.value, found.helped.value, found.harmed.value
    (array([0.5]), array([1.]), array([0.]))
    """

    before: Estimate  # accuracy without the prompt, for problems answered both with and without it
    after: Estimate  # accuracy with the prompt
    effect: Estimate  # paired difference: `after` minus `before`
    helped: Estimate  # proportion of wrong answers that become right
    harmed: Estimate  # proportion of right answers that become wrong
    by_structure: Mapping[Hashable, Estimate]  # the effect in each kind of problem
    harmed_by_structure: Mapping[Hashable, Estimate]
    # Rank correlation, over models, of the accuracy without the prompt on half of the problems and
    # the effect on the other half; None with fewer than four models.
    by_accuracy: MonitoringLink | None = None


def scaffolding(
    traces: Traces, baseline: Hashable, prompted: Hashable, *, level: float = 0.95
) -> Scaffolding:
    """Compare the correctness of answers in two arms."""
    pairs = _Pairs(traces, baseline, prompted)
    first, second = pairs.of(traces.numbers["correct"])
    known = np.isfinite(first) & np.isfinite(second)
    structures = [one for one in dict.fromkeys(traces.structure) if one != ""]
    within = {one: pairs.where(traces.where("structure", one)) for one in structures}

    def effect(keep: BoolArray) -> Estimate:
        return pairs.difference("effect on accuracy", second, first, keep=keep, level=level)

    def harm(keep: BoolArray) -> Estimate:
        keep = keep & (first == 1.0)
        return pairs.share("harm rate", 1.0 - second, keep, level, absent=Reason.NO_CORRECT)

    return Scaffolding(
        before=pairs.share("accuracy without prompt", first, known, level),
        after=pairs.share("accuracy with prompt", second, known, level),
        effect=effect(known),
        helped=pairs.share(
            "help rate", second, known & (first == 0.0), level, absent=Reason.NO_WRONG
        ),
        harmed=harm(known),
        by_structure={name: effect(known & keep) for name, keep in within.items()},
        harmed_by_structure={name: harm(known & keep) for name, keep in within.items()},
        by_accuracy=pairs.link(first, second, known, level),
    )


def prompting(
    traces: Traces,
    baseline: Hashable,
    prompted: Hashable,
    *,
    threshold: int = 1,
    level: float = 0.95,
) -> dict[Hashable, Estimate]:
    """Return the paired difference in each category's prevalence with and without the prompt."""
    pairs = _Pairs(traces, baseline, prompted)
    differences = {}
    for category, codes in traces.codes.items():
        shown = np.where(np.isfinite(codes), (codes >= threshold).astype(np.float64), np.nan)
        first, second = pairs.of(shown)
        known = np.isfinite(first) & np.isfinite(second)
        name = f"{category}: prompted minus spontaneous"
        differences[category] = pairs.difference(name, second, first, keep=known, level=level)
    return differences


class _Pairs:
    """Indices of the paired traces of both arms."""

    def __init__(self, traces: Traces, baseline: Hashable, prompted: Hashable) -> None:
        keys = list(zip(traces.model, traces.item, traces.run, strict=True))
        first, second = (
            {key: row for row, (key, own) in enumerate(zip(keys, traces.arm, strict=True))
             if own == arm}
            for arm in (baseline, prompted)
        )  # fmt: skip
        both = [key for key in first if key in second]
        self._models = traces.models
        self._first = np.array([first[key] for key in both], dtype=np.int64)
        self._second = np.array([second[key] for key in both], dtype=np.int64)
        self._model = [key[0] for key in both]
        places = {item: row for row, item in enumerate(traces.items)}
        self._item = np.array([places[key[1]] for key in both], dtype=np.int64)

    def of(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values of the pairs in both arms."""
        return values[self._first], values[self._second]

    def where(self, keep: BoolArray) -> BoolArray:
        """Convert a condition on traces to a condition on pairs of traces."""
        return np.asarray(keep[self._first], dtype=np.bool_)

    def difference(
        self, name: str, one: FloatArray, two: FloatArray, *, keep: BoolArray, level: float
    ) -> Estimate:
        """Return paired differences of every model."""
        columns = {}
        for label in self._models:
            here = keep & self._of(label)
            columns[label] = (np.where(here, one, np.nan), np.where(here, two, np.nan))
        return repeated_difference(name, columns, units=self._item, level=level)

    def link(
        self, first: FloatArray, second: FloatArray, keep: BoolArray, level: float
    ) -> MonitoringLink | None:
        """Correlate accuracy without the prompt with the prompt's effect on other problems."""
        # On the same problems, the error of `first` would enter both with opposite signs.
        half = self._item % 2 == 0
        accuracy, effect, labels = [], [], []
        for label in self._models:
            here = keep & self._of(label)
            if (here & half).any() and (here & ~half).any():
                accuracy.append(first[here & half].mean())
                effect.append((second - first)[here & ~half].mean())
                labels.append(label)
        if len(labels) < _FEWEST_MODELS:
            return None
        return rank_link(np.array(accuracy), np.array(effect), tuple(labels), level=level, rng=0)

    def share(
        self,
        name: str,
        hits: FloatArray,
        keep: BoolArray,
        level: float,
        *,
        absent: Reason = Reason.TOO_FEW,
    ) -> Estimate:
        """Return each model's proportion of hits among the pairs that `keep` selects."""
        counts = {}
        size = int(self._item.max(initial=-1)) + 1
        for label in self._models:
            here = keep & self._of(label)
            n = np.bincount(self._item[here], minlength=size).astype(np.float64)
            won = np.bincount(self._item[here], weights=hits[here], minlength=size)
            counts[label] = (won.astype(np.float64), n)
        return repeated_share(name, counts, level=level, absent=absent)

    def _of(self, label: Hashable) -> BoolArray:
        return np.array([one == label for one in self._model], dtype=np.bool_)
