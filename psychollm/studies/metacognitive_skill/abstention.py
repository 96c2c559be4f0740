"""Abstention of models on unanswerable and on answerable questions.

Abstention is scored by rules or by a judge, overall and by scenario. A mismatch is a reasoning
trace that expresses doubt but ends in a confident answer. A judge who sees the trace may mistake
doubts in the trace for doubts in the answer. Mismatch rates are therefore reported separately for
rules, for judges with the trace and for judges without it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import LabelError
from psychollm._base.frames import long_table
from psychollm._base.result import Result
from psychollm._base.types import RandomState
from psychollm.calibration.selection.abstention import (
    Abstention,
    AbstentionByGroup,
    abstention,
    abstention_by,
)
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
from psychollm.estimates.repeated_share import repeated_difference, repeated_share
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import (
    SMALLEST,
    SmallestEffects,
    verdicts,
)
from psychollm.studies.metacognitive_skill.traces import fixed
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.people.table import Measure, beside

if TYPE_CHECKING:
    import pandas as pd

AbstentionReader: TypeAlias = Literal["rule", "judge", "judge_whole"]
_MADE = {"rule": "abstained", "judge": "abstained_judged", "judge_whole": "abstained_judged_whole"}
_MISMATCH = {
    "rule": "mismatch",
    "judge": "mismatch_judged",
    "judge_whole": "mismatch_judged_whole",
}
_NEEDED = ("model", "item", "should_abstain")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbstentionSkill(Study, Result):
    """Abstention of models, and confident answers after traces that express doubt.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "item": range(4), "should_abstain": [1, 1, 0, 0],
    ...                       "abstained": [1, 0, 0, 0], "scenario": list("abab")})
    >>> study = abstention_skill(table, bootstrap=20, rng=0)
    >>> study.overall.recall.value, study.by_scenario["b"].recall.value
    (array([0.5]), array([0.]))
    """

    overall: Abstention
    by_scenario: AbstentionByGroup | None
    by_dataset: AbstentionByGroup | None
    # proportion of confident answers among traces that express doubt, by `reader`
    mismatch: Mapping[str, Estimate]
    # paired difference: mismatch judged with the trace minus that judged without it
    seen: Estimate | None
    reader: str
    labels: Labels
    people: BesidePeople | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model, overall and for each scenario."""
        import pandas as pd

        frames = [self.overall.to_frame().assign(scenario="all")]
        if self.by_scenario is not None:
            frames += [
                part.to_frame().assign(scenario=name)
                for name, part in zip(self.by_scenario.groups, self.by_scenario.parts, strict=True)
            ]
        return pd.concat(frames, ignore_index=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the table of scenarios."""
        return {"abstention": self.to_frame()}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return one finding, with a row per model; `smallest.correlation` applies to phi."""
        overall = self.overall
        rates = {
            "recall": overall.recall,
            "over_abstention": overall.over_abstention,
            "f1": overall.f1,
        }
        rows = tuple(self._sentence(row) for row in range(len(self.labels)))
        question = "Do models abstain when they should?"
        judged = verdicts(overall.phi, smallest=smallest.correlation)
        found = Finding(question=question, rows=rows, numbers=rates, outcome=judged).alone
        return exhibit(found, self, smallest, by="of_abstention")

    def _sentence(self, row: int) -> str:
        overall = self.overall
        text = (
            f"{self.labels[row]}: abstention rate {overall.recall.text(row)} on unanswerable and "
            f"{overall.over_abstention.text(row)} on answerable questions; F1 "
            f"{overall.f1.text(row)}"
        )
        doubts = self.mismatch.get(self.reader)
        if doubts is None or not doubts.defined[row]:
            return text
        return f"{text}; {doubts.text(row)} of doubting traces end in a confident answer"


def abstention_skill(
    answers: pd.DataFrame,
    *,
    reader: AbstentionReader = "rule",
    people: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> AbstentionSkill:
    """Score abstention on answerable and unanswerable questions.

    Parameters
    ----------
    answers : DataFrame
        One row per reply: model, item, should_abstain, and abstained (or abstained_judged, ...);
        optionally run, scenario, dataset, pair, correct, and the columns of mismatch.
        `AbstentionScores.to_frame` returns such a table. All runs of a question, or of both
        questions of a pair, form one cluster.
    reader : {"rule", "judge", "judge_whole"}
        Source of the abstention codes: rules, a judge of the answer, or a judge who also saw the
        trace.
    people : DataFrame or path, optional
        Abstentions and correct answers of people on the same items, as returned by `read_people`.
    bootstrap : int or Bootstrap
        Number of resamples of questions; resamples are the same for all models, so that
        differences are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    AbstentionSkill
        Replies without an abstention code are excluded and counted (`overall.unjudged`).

    Raises
    ------
    LabelError
        If a column does not exist, or a reply occurs twice.
    CodeError
        If a column contains values other than 0, 1 and missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "item": range(4), "should_abstain": [1, 1, 0, 0],
    ...                       "abstained": [1, 0, 0, None]})
    >>> abstention_skill(table, bootstrap=20, rng=0).overall.unjudged
    array([1.])
    """
    check_choice("reader", reader, AbstentionReader)
    check_fraction("level", level)
    frame = _checked(answers, _MADE[reader])
    questions = frame.drop_duplicates("_question").set_index("_question")
    tables = {name: _wide(frame, name) for name in (_MADE[reader], "should_abstain", "correct")}
    order = list(tables["should_abstain"].columns)
    clusters = questions["_cluster"].reindex(order).tolist()
    options = fixed(Resampling.of(bootstrap, level, rng))
    data = [tables[_MADE[reader]], tables["should_abstain"], tables["correct"]]
    given: dict[str, Any] = {**options.arguments}
    if len(set(clusters)) < len(clusters):
        given["clusters"] = clusters

    def by(column: str) -> AbstentionByGroup | None:
        groups = questions[column].reindex(order).tolist()
        return abstention_by(groups, *data, **given) if len(set(groups)) > 1 else None

    overall = abstention(*data, **given)
    return AbstentionSkill(
        overall=overall,
        by_scenario=by("scenario"),
        by_dataset=by("dataset"),
        mismatch=_mismatches(frame, level),
        seen=_seen(frame, level),
        reader=reader,
        labels=overall.labels,
        people=None
        if people is None
        else beside(_told(frame), people, _measures(reader), level=level),
    )


def _told(frame: pd.DataFrame) -> pd.DataFrame:
    """Return answers with a column for the kind of question."""
    has = frame["should_abstain"].astype(float).eq(0.0)
    return frame.assign(questions=np.where(has, "with an answer", "without an answer"))


def _measures(reader: AbstentionReader) -> tuple[Measure, ...]:
    """Return the measures compared with people; the questions of a pair form a cluster."""
    return (
        Measure(name="abstains", value=_MADE[reader], by="questions", cluster="_cluster"),
        Measure(name="accuracy", value="correct", cluster="_cluster"),
    )


def _checked(answers: pd.DataFrame, made: str) -> pd.DataFrame:
    frame = long_table(answers, (*_NEEDED, made), argument="answers", row="reply").copy()
    usual: dict[str, Any] = {"run": 1, "scenario": "", "dataset": "", "pair": "", "correct": None}
    for name, value in usual.items():
        if name not in frame.columns:
            frame[name] = value
    frame["_question"] = frame["item"].astype(str) + "/" + frame["run"].astype(str)
    paired = frame["pair"].astype(object).where(frame["pair"].notna(), "").astype(str)
    frame["_cluster"] = paired.where(paired != "", frame["item"].astype(str))
    twice = frame.duplicated(["model", "_question"])
    if twice.any():
        row = frame[twice].iloc[0]
        msg = (
            f"model {row['model']} answers {row['item']} twice: number repeated answers in a "
            "column 'run'"
        )
        raise LabelError(msg)
    return frame


def _wide(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    wide = frame.astype({value: float}).pivot_table(
        index="model", columns="_question", values=value, dropna=False, sort=False
    )
    models, questions = frame["model"].unique(), frame["_question"].unique()
    return wide.reindex(index=models, columns=questions)


def _mismatches(frame: pd.DataFrame, level: float) -> dict[str, Estimate]:
    """Return the proportion of confident answers after traces with doubt, by source of codes."""
    shares = {}
    for reader, column in _MISMATCH.items():
        doubting = "doubting" if reader == "rule" else "doubting_judged"
        if column not in frame.columns or doubting not in frame.columns:
            continue
        if not frame[column].notna().any():
            continue
        counts: dict[Any, Any] = {}
        for label, part in frame.groupby("model", sort=False):
            here = part[(part[doubting] == 1) & part[column].notna()]
            codes = here["_cluster"].astype("category").cat.codes.to_numpy()
            size = int(codes.max(initial=-1)) + 1
            hits = np.bincount(codes, weights=here[column].to_numpy(float), minlength=size)
            counts[label] = (hits, np.bincount(codes, minlength=size).astype(np.float64))
        name = f"confident answers among traces in doubt ({reader})"
        shares[reader] = repeated_share(name, counts, level=level)
    return shares


def _seen(frame: pd.DataFrame, level: float) -> Estimate | None:
    columns = [_MISMATCH["judge_whole"], _MISMATCH["judge"]]
    if not set(columns) <= set(frame.columns) or not frame[columns].notna().all(axis=1).any():
        return None
    pairs: dict[Hashable, Any] = {}
    for label in frame["model"].unique():
        own = (frame["model"] == label).to_numpy()
        pairs[label] = tuple(
            np.where(own, frame[name].to_numpy(float), np.nan) for name in columns
        )
    return repeated_difference(
        "mismatch with the thinking in view minus without",
        pairs,
        units=frame["_cluster"].to_numpy(),
        level=level,
    )
