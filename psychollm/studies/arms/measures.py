"""Measures compared between arms, by instrument.

All models in all arms are measured jointly, so that each resample keeps all replies to a question
together. Surface forms of one question, such as the skins of a `RuleWorld`, count as one question.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.special import stdtrit

from psychollm._base.errors import InputError
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import in_words
from psychollm.estimates.resampling import Resampling

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure of every model in every arm, and its smallest effect of interest."""

    estimate: Estimate
    matters: str = "share"  # field of `SmallestEffects` with the smallest effect of interest
    rate: bool = False  # whether the measure is a mean of numbers in [0, 1]


# Each key combines the labels of an arm and a model.
Cells: TypeAlias = Mapping[Any, Any]
Measures: TypeAlias = Mapping[str, Measure]


def _frame(cells: Cells) -> "pd.DataFrame":
    import pandas as pd

    frames: list[pd.DataFrame] = [one.to_frame(label) for label, one in cells.items()]
    return pd.concat(frames, ignore_index=True)


def _rates(
    answers: "pd.DataFrame",
    kind: str,
    value: str,
    weights: Mapping[str, Mapping[Any, float]],
    options: Resampling,
    *,
    clusters: str | None = None,
) -> dict[str, Measure]:
    """Return measures by name, as weighted sums of the rates for each kind of question."""
    from psychollm.reliability.raters.rate_contrast import rate_contrast
    from psychollm.reliability.raters.ratings import Ratings

    scores = Ratings.from_long(answers, question="item", value=value)
    of_item = answers.drop_duplicates("item").set_index("item").loc[list(scores.questions)]
    held = set(of_item[kind])
    return {
        name: Measure(
            estimate=rate_contrast(
                scores,
                of_item[kind].tolist(),
                own,
                clusters=None if clusters is None else of_item[clusters].tolist(),
                **options.arguments,
            ),
            rate=len(own) == 1,
        )
        for name, own in weights.items()
        if set(own) <= held
    }


def _rule_world(cells: Cells, options: Resampling) -> Measures:
    answers = _frame(cells)
    answers["item"] = answers["structure"]  # all surface forms of a question count as one item
    known = answers["score"].notna()
    answers["refused"] = (answers["response"] == "refusal").astype(float).where(known)
    names = {
        "A": "pass rate of settled questions",
        "B": "pass rate of undefined words",
        "C": "pass rate of open events",
        "M": "pass rate of exchanged words",
    }
    weights: dict[str, Mapping[Any, float]] = {name: {kind: 1.0} for kind, name in names.items()}
    weights["certainty inversion"] = {"C": 1.0, "A": -1.0}
    found = _rates(answers, "type", "score", weights, options)
    refusals = {"refusal rate of settled questions": {"A": 1.0}}
    return found | _rates(answers, "type", "refused", refusals, options)


def _semantic(cells: Cells, options: Resampling, n_null: int = 499) -> Measures:
    from psychollm.studies.semantic_calibration.study import semantic_calibration

    study = semantic_calibration(cells, n_null=n_null, **options.arguments)
    return {
        "calibration error beyond a calibrated model": Measure(
            estimate=study.excess, matters="calibration_error"
        ),
        "overconfidence beyond a calibrated model": Measure(estimate=study.excess_overconfidence),
        "accuracy": Measure(estimate=study.accuracy, rate=True),
        "confidence": Measure(estimate=study.mean_confidence, rate=True),
    }


def _self_prediction(cells: Cells, options: Resampling, repeats: Any = "error") -> Measures:
    from psychollm.calibration.decisions.confusion import confusion
    from psychollm.instruments.self_prediction.scoring import confidence_and_correctness

    found = confusion(*confidence_and_correctness(cells, repeats=repeats), **options.arguments)
    return {
        "overconfidence": Measure(estimate=found.overconfidence),
        "rate of yes": Measure(estimate=found.yes_rate, rate=True),
        "accuracy": Measure(estimate=found.accuracy, rate=True),
        "hit rate minus false-alarm rate": Measure(estimate=found.youden),
    }


def _self_efficacy(cells: Cells, options: Resampling) -> Measures:
    """Return mean ratings, task success, and effects of levels, phrasing and feedback."""
    from psychollm.reliability.means.clustered import mean_score
    from psychollm.studies.self_efficacy.table import CELL, efficacy_table

    table = efficacy_table(cells, None)
    items, span = list(table.items), table.high - table.low

    def mean(values: "pd.DataFrame", *, rate: bool = False) -> Measure:
        of_each = values.reindex(list(cells)).astype(float)
        return Measure(estimate=mean_score(of_each, **options.arguments), rate=rate)

    def shift(rows: "pd.DataFrame", before: "pd.DataFrame", factor: str) -> Measure:
        """Return the mean difference in ratings between rows that differ only in `factor`."""
        same = [name for name in CELL if name != factor]
        first = before.groupby(same, sort=False)[items].mean()
        after = rows.groupby(same, sort=False)[items].mean()
        moved = (after - first.reindex(after.index)) / span
        return mean(moved.groupby(level="model", sort=False).mean())

    base, rows = table.base, table.rows
    rated = (base.groupby("model", sort=False)[items].mean() - table.low) / span
    found = {"mean rating, 0 to 1": mean(rated)}
    if table.tasks is not None:
        tasks = table.tasks[table.tasks["persona"].isin(set(base["persona"]))]
        done = tasks.pivot_table(index="model", columns="key", values="correct", sort=False)
        passed = mean(done, rate=True)
        found["share of tasks passed"] = passed
        less = _less(found["mean rating, 0 to 1"].estimate, passed.estimate)
        found["mean rating minus share of tasks passed"] = Measure(estimate=less)
    levels = sorted(set(base["level"]) - {0.0})
    if len(levels) > 1:
        hard, easy = (base[base["level"] == one] for one in (levels[-1], levels[0]))
        found["ratings of the hardest minus the easiest tasks"] = shift(hard, easy, "level")
    again = rows[(rows["phrasing"] != "") & (rows["feedback"] == "")]
    told = rows[(rows["phrasing"] == "") & (rows["feedback"] != "")]
    ways = ((again, "phrasing", "when asked again"), (told, "feedback", "by feedback"))
    for after, factor, name in ways:
        for label, own in after.groupby(factor, sort=False):
            what = f"change of ratings {name}, {in_words(str(label))}"
            found[what] = shift(own, table.first, factor)
    return found


def _less(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two estimates that are based on different questions."""
    value, se = first.value - second.value, np.hypot(first.se, second.se)
    df = np.minimum(first.freedom, second.freedom)
    steps = stdtrit(df, 0.5 + 0.5 * first.level) * se
    return replace(
        first,
        name="difference",
        value=value,
        se=se,
        interval=np.stack([value - steps, value + steps], axis=1),
        n=np.minimum(first.n, second.n),
        flags=tuple(a or b for a, b in zip(first.flags, second.flags, strict=True)),
        method="Student's t",
        df=df,
        _draws=first.draws - second.draws,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedTraces:
    """Codes that one coder assigned to one model's traces."""

    codes: "pd.DataFrame"

    @property
    def items(self) -> tuple[Any, ...]:
        """Questions to which the traces belong."""
        return tuple(dict.fromkeys(self.codes["item"]))

    def to_frame(self, label: Any) -> "pd.DataFrame":
        """Return one row per trace and category."""
        return self.codes.assign(model=label)


def traces_of(scores: Mapping[Any, Mapping[Any, Any]]) -> dict[Any, dict[Any, CodedTraces]]:
    """Return the codes of the first coder who coded all arms, by arm and model."""
    found: dict[Any, dict[Any, CodedTraces]] = {}
    shared = [
        one for one in next(iter(scores.values())) if all(one in own for own in scores.values())
    ]
    if not shared:
        held = "; ".join(f"{arm}: {', '.join(map(str, own))}" for arm, own in scores.items())
        msg = f"arms have no coder in common ({held}): let one coder code the traces of all arms"
        raise InputError(msg)
    for arm, own in scores.items():
        codes = own[shared[0]].to_frame()
        # Repeated codings of a trace count as runs, like repeats of the trace.
        codes["run"] = (
            codes.groupby(["model", "item", "arm", "category"], sort=False).cumcount() + 1
        )
        rows = codes.groupby("model", sort=False)
        found[arm] = {model: CodedTraces(codes=own) for model, own in rows}
    return found


def _coding(cells: Cells, options: Resampling) -> Measures:
    from psychollm.instruments.scaffold.result import SPONTANEOUS

    codes = _frame(cells)
    # Use spontaneous traces only; another study estimates the effect of directions.
    ways = list(dict.fromkeys(codes["arm"]))
    codes = codes[codes["arm"] == (SPONTANEOUS if SPONTANEOUS in ways else ways[0])]
    shown = (codes["code"] > 0).astype(float).where(codes["code"].notna())
    codes = codes.assign(shown=shown, all="all", trace=codes["item"])
    every = codes.assign(item=codes["item"].astype(str) + "/" + codes["category"].astype(str))
    parts = {"share of behaviours shown": every} | {
        f"share of traces with {in_words(str(name))}": own
        for name, own in codes.groupby("category", sort=False)
    }
    return {
        name: _rates(own, "all", "shown", {name: {"all": 1.0}}, options, clusters="trace")[name]
        for name, own in parts.items()
    }


def _abstention(cells: Cells, options: Resampling) -> Measures:
    answers = _frame(cells)
    answers["model"] = [label for label, one in cells.items() for _ in one.items]
    answers["due"] = answers["should_abstain"].map({1.0: "due", 0.0: "undue"})
    weights: dict[str, Mapping[Any, float]] = {
        "rate of abstention when appropriate": {"due": 1.0},
        "rate of abstention when inappropriate": {"undue": 1.0},
        "abstention when appropriate minus when inappropriate": {"due": 1.0, "undue": -1.0},
    }
    return _rates(answers, "due", "abstained", weights, options)


def _staged(
    cells: Cells,
    options: Resampling,
    *,
    stage: str,
    pairs: Mapping[str, tuple[str, str]],
) -> Measures:
    """Return accuracy by stage, such as before and after review, and contrasts between stages."""
    answers = _frame(cells)
    answers = answers[answers["correct"].notna()]
    # Several rounds, users or chains within a stage count as repeats.
    answers["cluster"] = answers["item"]
    answers["item"] = answers["item"].astype(str) + "/" + answers[stage].astype(str)
    answers["run"] = answers.groupby(["model", "item"]).cumcount() + 1
    weights: dict[str, Mapping[Any, float]] = {
        f"accuracy, {in_words(name)}": {name: 1.0} for name in dict.fromkeys(answers[stage])
    }
    for name, (last, first) in pairs.items():
        weights[in_words(name)] = {last: 1.0, first: -1.0}
    return _rates(answers, stage, "correct", weights, options, clusters="cluster")


def _revision(cells: Cells, options: Resampling) -> Measures:
    from psychollm.instruments.revision.result import CONTRASTS

    return _staged(cells, options, stage="stage", pairs=CONTRASTS)


_EFFECT = {"directed minus spontaneous": ("directed", "spontaneous")}
MEASURES: Mapping[str, Callable[..., Measures]] = {
    "rule_world": _rule_world,
    "semantic_sampling": _semantic,
    "self_prediction": _self_prediction,
    "self_efficacy": _self_efficacy,
    "coding": _coding,
    "abstention": _abstention,
    "revision": _revision,
    "scaffold": partial(_staged, stage="arm", pairs=_EFFECT),
}
