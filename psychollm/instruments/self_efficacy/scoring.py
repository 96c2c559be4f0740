"""From readings to the scores of one model: a row for every time that it rated all statements."""

from collections.abc import Sequence

import numpy as np

from psychollm._base.errors import InputError
from psychollm.data.labels import listed
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, aligned
from psychollm.instruments.self_efficacy.replies import disowning, ratings_of
from psychollm.instruments.self_efficacy.result import (
    Administration,
    SelfEfficacyScores,
    TaskScore,
)


def score_readings(
    prompts: Sequence[Prompt],
    readings: ReadingsLike,
) -> SelfEfficacyScores:
    """Score the readings of one model."""
    pairs = list(zip(prompts, aligned(prompts, readings), strict=True))
    scales = {str(one.about["scale"]): one for one in prompts if "scale" in one.about}
    if len(scales) > 1:
        msg = f"the prompts are of several scales, {listed(sorted(scales))}: score one at a time"
        raise InputError(msg)
    n = max((len(one.about["order"]) for one in scales.values()), default=0)
    rows: dict[tuple[str, str], _Row] = {}
    for prompt, reading in pairs:
        if prompt.about["stage"] != "task":
            about = prompt.about
            key = str(about["administration"]), str(about.get("phrasing", ""))
            rows.setdefault(key, _Row(prompt, n)).take(prompt, reading)
    about = next(iter(scales.values())).about if scales else {}
    low = int(about.get("low", 1))
    return SelfEfficacyScores(
        administrations=tuple(row.administration for row in rows.values()),
        ratings=np.array([row.ratings for row in rows.values()]).reshape(len(rows), n),
        outcomes=tuple(tuple(row.outcomes) for row in rows.values()),
        disowning=np.array([row.disowning for row in rows.values()], dtype=np.float64),
        tasks=tuple(_task(*pair) for pair in pairs if pair[0].about["stage"] == "task"),
        scale=str(about.get("scale", "")),
        low=low,
        high=low + len(about.get("anchors", ())) - 1 if scales else low,
        reversed=tuple(about.get("reversed", ())),
    )


class _Row:
    """One rating of all statements, gathered from one reply or from several."""

    def __init__(self, prompt: Prompt, n: int) -> None:
        about = prompt.about
        self.administration = Administration(
            key=str(about["administration"]),
            condition=str(about["condition"]),
            level=about.get("level"),
            persona=str(about["persona"]),
            placement=str(about["placement"]),
            mode=str(about["mode"]),
            feedback=str(about.get("feedback", "")),
            phrasing=str(about.get("phrasing", "")),
            repeat=prompt.repeat + 1,
            correct=about.get("correct"),
            told=about.get("told"),
            n_tasks=int(about.get("n_tasks", 0)),
        )
        self.ratings = [float("nan")] * n
        self.outcomes = [Outcome.FAILED] * n
        self._disowns: list[bool] = []

    def take(self, prompt: Prompt, reading: Reading) -> None:
        if reading.outcome is not Outcome.FAILED:
            self._disowns.append(bool(disowning(reading.said)))
        about = prompt.about
        asked = [about["item"]] if about["stage"] == "item" else about["order"]
        ratings = ratings_of(reading, len(asked))
        for i, (value, outcome) in zip(asked, ratings, strict=True):
            self.ratings[i], self.outcomes[i] = value, outcome

    @property
    def disowning(self) -> float:
        """Share of replies that disown what the statements suppose, NaN without a reply."""
        return float(np.mean(self._disowns)) if self._disowns else float("nan")


def _task(prompt: Prompt, reading: Reading) -> TaskScore:
    correct = float("nan")
    if reading.answered:
        correct = float(reading.value or 0)
    elif reading.outcome is Outcome.REFUSED:
        correct = 0.0
    return TaskScore(
        key=prompt.item,
        condition=str(prompt.about["condition"]),
        level=int(prompt.about["level"]),
        persona=str(prompt.about["persona"]),
        correct=correct,
        outcome=reading.outcome,
        said=reading.said,
    )
