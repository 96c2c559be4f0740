"""What is compared between arms: for each instrument, measures of one model in one arm.

All models in all arms are measured at once, so that a question is resampled with all replies to
it. A question that two arms put in other words, as a world of `RuleWorld` is told in two skins, is
one question here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import in_words
from psychollm.estimates.resampling import Resampling

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure of every model in every arm, and what of it matters."""

    estimate: Estimate
    matters: str = "share"  # its smallest effect that matters, a field of `SmallestEffects`
    rate: bool = False  # whether it is a mean of numbers inside [0, 1]


# By the label of a model in an arm.
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
    """Return contrasts of rates on kinds of questions, each measure by its name."""
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
    answers["item"] = answers["structure"]  # one world, however it is told
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
        "hit rate less false alarms": Measure(estimate=found.youden),
    }


def _self_efficacy(cells: Cells, options: Resampling) -> Measures:
    from psychollm.reliability.means.clustered import mean_score
    from psychollm.studies.self_efficacy.table import efficacy_table

    table = efficacy_table(cells, None)
    own = table.base.groupby("model", sort=False)[list(table.items)].mean()
    ratings = (own.loc[list(cells)] - table.low) / (table.high - table.low)
    return {"mean rating, 0 to 1": Measure(estimate=mean_score(ratings, **options.arguments))}


def _abstention(cells: Cells, options: Resampling) -> Measures:
    answers = _frame(cells)
    answers["model"] = [label for label, one in cells.items() for _ in one.items]
    answers["due"] = answers["should_abstain"].map({1.0: "due", 0.0: "undue"})
    weights: dict[str, Mapping[Any, float]] = {
        "rate of abstaining where it is due": {"due": 1.0},
        "rate of abstaining where it is not due": {"undue": 1.0},
        "abstaining where due, less where not": {"due": 1.0, "undue": -1.0},
    }
    return _rates(answers, "due", "abstained", weights, options)


def _staged(
    cells: Cells,
    options: Resampling,
    *,
    stage: str,
    pairs: Mapping[str, tuple[str, str]],
) -> Measures:
    """Measure answers at several stages about one question, such as before and after a review."""
    answers = _frame(cells)
    answers = answers[answers["correct"].notna()]
    # Later rounds stand for their stage; users and chains are repeats.
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
    "abstention": _abstention,
    "revision": _revision,
    "scaffold": partial(_staged, stage="arm", pairs=_EFFECT),
}
