"""Comparison of the arms of an instrument.

An arm is a variant of the prompts. Arms may differ in prompt form (continuation by a base model,
instruction, reasoning first), surface form, persona or phrasing. This study compares each arm with
a baseline arm in the main measures of the instrument. Differences are paired by shared questions
and models, and pooled over models; see `psychollm.estimates.contrasts`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_generator, shown
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm._base.numbers import count, p_equals, percent, with_interval
from psychollm._base.result import Result
from psychollm._base.shown import one_line
from psychollm._base.types import RandomState
from psychollm.data.labels import Labels, listed
from psychollm.estimates.contrasts import Contrast, contrast_arms
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    VERDICT,
    Finding,
    Findings,
    Study,
    exhibit,
    sentence_list,
)
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import (
    FEWEST,
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    outcome,
)
from psychollm.instruments.self_prediction.scoring import Repeats
from psychollm.studies.arms.measures import MEASURES, traces_of

if TYPE_CHECKING:
    import pandas as pd

_MOST = 6  # with more models, only the table lists each model's difference


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmStudy(Study, Result):
    """Measures of the arms of one instrument, and differences between arms.

    Examples
    --------
    >>> from psychollm.instruments import RuleWorld
    >>> world = RuleWorld(n=(8, 8), types=("A", "C"), seed=1)
    >>> def said(text):
    ...     return {"m": world.score([world.read(one, text) for one in world.prompts()])}
    >>> study = compare_arms({"plain": said("Answer: A"), "terse": said("Answer: 3")},
    ...                      "rule_world", bootstrap=50, rng=0)
    >>> study.arms, study.measures[0]
    (('plain', 'terse'), 'pass rate of settled questions')
    """

    estimates: Mapping[str, Estimate]  # by measure, with one row per model and arm
    contrasts: Mapping[str, tuple[Contrast, ...]]  # by measure, each arm minus the baseline
    matters: Mapping[str, str]  # by measure, field of `SmallestEffects`
    arms: Labels
    baseline: Hashable
    arm_of: Labels  # (rows,) arm of each row of an estimate
    model_of: Labels  # (rows,) model of each row
    instrument: str
    questions: Mapping[Hashable, int]  # number of questions by arm
    shared: int  # number of questions in all arms
    level: float
    # verdict of each arm's own study, by arm
    verdicts: Mapping[Hashable, str] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, starting with the main measure."""
        return tuple(self.estimates)

    @property
    def models(self) -> Labels:
        """Models in order of appearance."""
        return tuple(dict.fromkeys(self.model_of))

    def of_arm(self, arm: Hashable) -> dict[Any, int]:
        """Return the row index of each model in one arm."""
        rows = zip(self.arm_of, self.model_of, strict=True)
        return {model: row for row, (own, model) in enumerate(rows) if own == arm}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure, contrast and model, and rows for means over models."""
        import pandas as pd

        frames = [one.to_frame() for found in self.contrasts.values() for one in found]
        return pd.concat(frames, ignore_index=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study, by name."""
        import pandas as pd

        values = []
        for name, one in self.estimates.items():
            frame = one.to_frame().drop(columns=one.axis)
            frame.insert(0, "measure", name)
            frame.insert(1, "arm", self.arm_of)
            frame.insert(2, "model", self.model_of)
            values.append(frame)
        return {"contrasts": self.to_frame(), "arms": pd.concat(values, ignore_index=True)}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the contrasts in each measure; the verdict concerns the main measure."""
        main = self.measures[0]
        verdict = Finding(
            key=VERDICT,
            statement=" ".join(self._sentence(one, smallest) for one in self.contrasts[main]),
            numbers={main: self.contrasts[main]},
            outcome=self._judged(main, smallest),
        )
        design = Finding(key="design", question="Design:", statement=self._design())
        each = (
            Finding(
                key=key_of(name),
                question=f"{name.capitalize()}:",
                rows=tuple(row for one in self.contrasts[name] for row in self._rows(one)),
                numbers={"contrasts": self.contrasts[name]},
                outcome=self._judged(name, smallest),
            )
            for name in self.measures
        )
        alone = Finding(
            key="arms",
            question="Verdicts on single arms:",
            rows=tuple(f"{arm}: {text}" for arm, text in self.verdicts.items()),
        )
        items = (verdict, design, *each, *((alone,) if self.verdicts else ()))
        found = Findings(items=items, head=self._head())
        return exhibit(found, self, smallest)

    def _head(self) -> str:
        arms = sentence_list([one_line(str(arm)) for arm in self.arms])
        return (
            f"{len(self.arms)} arms ({arms}), "
            f"{len(self.models)} model{'s' * (len(self.models) > 1)}."
        )

    def _judged(self, measure: str, smallest: SmallestEffects) -> Verdicts:
        """Return the outcome of each contrast in a measure."""
        found = self.contrasts[measure]
        return Verdicts(
            tuple(f"{one.first} - {one.second}" for one in found),
            tuple(self._outcome(one, smallest) for one in found),
        )

    def _outcome(self, one: Contrast, smallest: SmallestEffects) -> Outcome:
        return outcome(
            one.pooled.interval[0],
            smallest=getattr(smallest, self.matters[one.measure]),
            rejected=bool(one.p_adjusted <= 1.0 - self.level),
            enough=bool(one.pooled.n[0] >= FEWEST),
        )

    def _sentence(self, one: Contrast, smallest: SmallestEffects) -> str:
        """Return the effect of one arm on the main measure as a sentence."""
        shown = self._outcome(one, smallest)
        least = getattr(smallest, self.matters[one.measure])
        said = {
            Outcome.ABOVE: f"is higher under {one.first} than under {one.second}",
            Outcome.BELOW: f"is lower under {one.first} than under {one.second}",
            Outcome.SMALL: f"is equivalent (±{least:g}) under {one.first} and {one.second}",
            Outcome.OPEN: f"does not differ significantly between {one.first} and {one.second}",
        }[shown]
        text = f"{one.measure.capitalize()} {said}: {self._over(one)}"
        wide = one.pooled.interval[1]
        if shown.shown and np.isfinite(wide).all() and wide[0] <= 0.0 <= wide[1]:
            text += "; for the population of such models the difference is inconclusive"
        return f"{text}."

    def _over(self, one: Contrast) -> str:
        """Return the contrast pooled over models, with its intervals, as text."""
        n = len(one.each.labels)
        whom = f"mean of {n} models" if n > 1 else f"{one.each.labels[0]}" if n else ""
        whom = whom or "difference of the means of different models"
        value = with_interval(one.pooled.value[0], one.pooled.interval[0], 3, signed=True)
        text = f"{whom} {value}, {p_equals(one.p_adjusted)}"
        if np.isfinite(one.pooled.interval[1]).all():
            low, high = one.pooled.interval[1]
            text += f"; models like these [{low:.3f}, {high:.3f}]"
        return text

    def _rows(self, one: Contrast) -> list[str]:
        head = f"{one.first} - {one.second}"
        if not np.isfinite(one.pooled.value[0]):
            return [f"{head}: too few values in both arms"]
        rows = [f"{head}, {self._over(one)}"]
        if 1 < len(one.each.labels) <= _MOST:
            rows += [
                f"{head}, {model}: {one.each.text(row, 3, signed=True)}"
                for row, model in enumerate(one.each.labels)
            ]
        return rows

    def _design(self) -> str:
        """Return text about the questions, their pairing and missing models."""
        asked = ", ".join(f"{arm} {count(n)}" for arm, n in self.questions.items())
        text = f"Questions by arm: {asked}; {count(self.shared)} are in all arms. The baseline is "
        text += f"{self.baseline}."
        asked_of = {arm: self.of_arm(arm) for arm in self.arms}
        for arm in self.arms:
            if arm == self.baseline:
                continue
            both = [model for model in asked_of[arm] if model in asked_of[self.baseline]]
            if not both:
                text += (
                    f" {arm} and {self.baseline} have no model in common, so their means over "
                    "models are compared."
                )
                continue
            for own, other in ((arm, self.baseline), (self.baseline, arm)):
                lost = [model for model in asked_of[own] if model not in both]
                if lost:
                    verb = "is" if len(lost) < 2 else "are"
                    text += (
                        f" {sentence_list(lost)} {verb} missing in {other} and excluded from "
                        f"{arm} - {self.baseline}."
                    )
        pairs = "paired by question" if self.shared else "of different questions"
        return (
            f"{text} Differences are {pairs}. Intervals for these models reflect the sampling of "
            "questions only; those for models like these also reflect that of models. All "
            f"intervals have {percent(self.level)} coverage."
        )


def compare_arms(
    scores: Mapping[Hashable, Mapping[Hashable, Any]],
    instrument: str,
    *,
    baseline: Hashable = None,
    n_null: int = 499,
    repeats: Repeats = "error",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> ArmStudy:
    """Compare the arms of one instrument, for each model and over all models.

    Parameters
    ----------
    scores : mapping of mappings
        Scores of the instrument by arm, then by model, such as the results of
        `Readings.pooled_scores`. Scores with the same model label are paired across arms. For
        "coding", scores by arm, then by coder. The first coder who coded all arms is used, and
        models are taken from the coded traces.
    instrument : str
        Name of the instrument, such as "semantic_sampling".
    baseline : hashable, optional
        Arm with which the other arms are compared; the first by default.
    n_null : int
        Number of simulated calibrated data sets, for "semantic_sampling".
    repeats : {"error", "first", "majority"}
        Treatment of repeated replies, for "self_prediction".
    bootstrap : int or Bootstrap
        Number of resamples of questions; all arms share the resamples.
    level : float
        Coverage of the intervals.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    ArmStudy

    Raises
    ------
    InputError
        If there are fewer than two arms, or an arm is empty.
    OptionError
        If the instrument has no measures for arms.
    LabelError
        If the arm `baseline` does not exist.

    Examples
    --------
    >>> from psychollm.instruments import RuleWorld
    >>> world = RuleWorld(n=(20, 20), types=("A", "C"), seed=1)
    >>> def said(letter):
    ...     texts = [letter if one.reply == "option" else "3" for one in world.prompts()]
    ...     read = map(world.read, world.prompts(), (f"Answer: {one}" for one in texts))
    ...     return {"m": world.score(list(read))}
    >>> study = compare_arms({"plain": said("A"), "terse": said("B")}, "rule_world",
    ...                      bootstrap=50, rng=0)
    >>> print(study.contrasts["pass rate of open events"][0].each.text(0, signed=True))
    0.00 [-0.32, +0.32]
    """
    if not isinstance(instrument, str) or instrument not in MEASURES:
        known = listed(list(MEASURES))
        msg = (
            f"instrument={shown(instrument)} has no measures for comparing arms; {known} have some"
        )
        raise OptionError(msg)
    if len(scores) < 2:
        msg = f"scores has {len(scores)} arm: a comparison needs at least two"
        raise InputError(msg)
    for arm, own in scores.items():
        if not own:
            msg = f"arm {arm!r} has no replies: collect them, or leave it out"
            raise InputError(msg)
    if baseline is not None and baseline not in scores:
        msg = f"baseline={baseline!r} is not an arm: choose from {listed(list(scores))}"
        raise LabelError(msg)
    if instrument == "coding":
        scores = traces_of(scores)
    rows = [(arm, model) for arm, own in scores.items() for model in own]
    cells: dict[Hashable, Any] = {f"{arm}: {model}": scores[arm][model] for arm, model in rows}
    seeded = Resampling.of(bootstrap, level, _seed(rng)).required()
    own = {"semantic_sampling": {"n_null": n_null}, "self_prediction": {"repeats": repeats}}
    found = MEASURES[instrument](cells, seeded, **own.get(instrument, {}))
    if not found:
        msg = f"scores of {instrument} have no measure for comparing arms"
        raise InputError(msg)
    arm_of, model_of = zip(*rows, strict=True)
    held = {
        name: {arm for arm, ok in zip(arm_of, np.isfinite(one.estimate.value), strict=True) if ok}
        for name, one in found.items()
    }
    # Measures that are defined in only one arm cannot be compared.
    found = {name: one for name, one in found.items() if len(held[name]) > 1} or found
    asked = {arm: set().union(*map(_questions, own.values())) for arm, own in scores.items()}
    return ArmStudy(
        estimates={name: one.estimate for name, one in found.items()},
        contrasts={
            name: contrast_arms(
                one.estimate, arm_of, model_of, baseline=baseline, rates=one.rate, name=name
            )
            for name, one in found.items()
        },
        matters={name: one.matters for name, one in found.items()},
        arms=tuple(scores),
        baseline=next(iter(scores)) if baseline is None else baseline,
        arm_of=arm_of,
        model_of=model_of,
        instrument=instrument,
        questions={arm: len(own) for arm, own in asked.items()},
        shared=len(set.intersection(*asked.values())),
        level=level,
    )


def key_of(measure: str) -> str:
    """Return the short name of a measure."""
    return re.sub(r"\W+", "_", measure)


def _seed(rng: RandomState) -> RandomState:
    """Return a seed that makes all measures use the same resamples."""
    return rng if isinstance(rng, int) else int(check_generator(rng).integers(2**62))


def _questions(scores: Any) -> set[Any]:
    """Return the questions of one model in one arm."""
    if (ratings := getattr(scores, "ratings", None)) is not None:  # one column per statement
        return set(range(ratings.shape[1]))
    for name in ("structures", "questions", "items"):
        if (own := getattr(scores, name, None)) is not None:
            return set(own)
    return set()
