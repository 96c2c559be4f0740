"""Profiles of models on questions that a given set of rules can and cannot answer.

The rules answer some questions; others contain a word that no rule defines, or an event that no
rule covers. A single score would hide the kinds of failure, so pass rates are reported by type and
contrasted. A higher pass rate on unanswerable than on answerable questions is called certainty
inversion.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_fraction
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.frames import long_table
from psychollm._base.numbers import number, percent, with_interval
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import RandomState
from psychollm.data.labels import Labels, listed
from psychollm.estimates.estimate import Difference, Estimate
from psychollm.estimates.findings import Finding, Findings, Study, estimate_rows, exhibit, sentence
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.sample_size import about
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    counted,
    every,
    outcome,
    verdicts,
)
from psychollm.reliability.means.difference_variance import pilot_variance
from psychollm.reliability.means.power import (
    ComparisonPower,
    minimum_detectable_difference,
    questions_needed,
)
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings
from psychollm.studies.inference_boundary.keyword_scoring import keyword_scoring
from psychollm.studies.inference_boundary.profile import BoundaryProfile, boundary_profile
from psychollm.studies.inference_boundary.skin_contrast import skin_contrasts
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.people.table import Measure, beside

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn


_MEASURES = (Measure(name="passed", value="score", by="type"),)
_COLUMNS = ("model", "type", "item", "run", "response", "score")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThinkingContrast(Result):
    """Effect of reasoning before the answer on the pass rate for events that no rule covers.

    Examples
    --------
    >>> import pandas as pd
    >>> fast = pd.DataFrame({"model": "fast", "type": ["A", "C"] * 10, "item": range(20),
    ...                      "run": 1, "response": "", "score": [1, 1, 0, 1] * 5})
    >>> slow = fast.assign(model="slow", score=[1, 1, 0, 0] * 5)
    >>> both = pd.concat([fast, slow])
    >>> found = inference_boundary(both, thinking=[("slow", "fast")], bootstrap=200, rng=0)
    >>> found.thinking[0].difference.value, found.thinking[0].inverted
    (-0.5, True)
    """

    thinking: Hashable
    base: Hashable
    difference: Difference  # `thinking` minus `base`, paired by questions
    # Both are None if too few questions are shared to estimate a variance. `needed` is also None
    # if the models are equal.
    detectable: ComparisonPower | None
    needed: ComparisonPower | None

    def to_exclude(self, smallest: float) -> int | None:
        """Return the number of questions needed to exclude `smallest` if the models are equal."""
        known = self.detectable
        if known is None or known.variance.between + known.variance.within == 0.0:
            return None
        runs = known.n_answers
        return questions_needed(smallest, known.variance, n_answers=runs, absence=True).n_questions

    @property
    def smallest_shown(self) -> float:
        """Smallest detectable difference with the study's number of questions; can be NaN."""
        least = np.nan if self.detectable is None else self.detectable.difference
        return least if least < 1.0 else np.nan  # the formula ignores that rates are bounded

    @property
    def inverted(self) -> bool:
        """Whether reasoning lowers the pass rate significantly."""
        judged = outcome(self.difference.interval, smallest=SMALLEST.share)
        return judged is Outcome.BELOW


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InferenceBoundary(Study, Result):
    """Pass rates of models on answerable and unanswerable questions, and their contrasts.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "type": ["A", "C"] * 10, "item": range(20),
    ...                       "run": 1, "response": "", "score": [1, 1, 0, 1] * 5})
    >>> study = inference_boundary(table, bootstrap=200, rng=0)
    >>> study.certainty_inversion.value, study.inverted
    (array([0.5]), ('m',))
    """

    profiles: Mapping[Hashable, BoundaryProfile]  # profiles by type of question
    certainty_inversion: Estimate  # pass rate: uncovered events minus answerable questions
    confabulation: Estimate | None  # pass rate: answerable questions minus undefined words
    stage_one: Estimate | None  # mean of pass rates on answerable questions and undefined words
    refusal_rate: Estimate  # proportion of answerable questions that are refused
    refusal_minus_commitment: Estimate | None  # refusal rate minus commitment rate
    thinking: tuple[ThinkingContrast, ...]
    skins: Mapping[str, Estimate]  # by type and surface form: pass rate minus that of the first
    answerable: Hashable
    lexical: Hashable
    interaction: Hashable
    control: Hashable
    labels: Labels  # (models,)
    level: float
    # Pass rate on undefined words by keyword scoring; None if it equals the strict score.
    keyword: Estimate | None = None
    keyword_minus_strict: Estimate | None = None  # difference of the two scores, paired by answer
    people: BesidePeople | None = None

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study, by name."""
        import pandas as pd

        held = {one.name: getattr(self, one.name) for one in fields(self)}
        tables = {name: one.to_frame() for name, one in held.items() if isinstance(one, Estimate)}
        failed = {kind: one.failures for kind, one in self.profiles.items() if one.failures}
        if failed:
            frames = [one.to_frame() for one in failed.values()]
            for kind, frame in zip(failed, frames, strict=True):
                frame.insert(1, "type", str(kind))
            tables["failures"] = pd.concat(frames, ignore_index=True)
        return {"profiles": self.to_frame(), **tables}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, the rates, and the contrasts of each model."""
        rates = Finding(
            key="rates",
            question="Pass rates by type of question:",
            rows=tuple(f"type {kind}: {_rates(self, kind)}" for kind in self.profiles),
            numbers={str(kind): one.retest.rate for kind, one in self.profiles.items()},
        )
        items = [_verdict(self, smallest), rates]
        items += [
            Finding(
                key=key,
                question=f"{what} ({self.answerable if key == 'refusal' else estimate.name}):",
                rows=estimate_rows(estimate, signed=key != "refusal"),
                numbers={key: estimate},
            )
            for key, what, estimate in (
                ("certainty", "Certainty", self.certainty_inversion),
                ("confabulation", "Invented meanings of words", self.confabulation),
                ("refusal", "Refusals of answerable questions", self.refusal_rate),
            )
            if estimate is not None
        ]
        if self.keyword is not None and self.keyword_minus_strict is not None:
            items.insert(-1, _keyword_finding(self, self.keyword, self.keyword_minus_strict))
        open_ones = [self.profiles.get(kind) for kind in (self.lexical, self.interaction)]
        if rows := tuple(_failed(one) for one in open_ones if one and one.failures is not None):
            question = "Failed answers to unanswerable questions:"
            items.append(Finding(key="failures", question=question, rows=rows))
        if self.thinking:
            contrasts = {f"{one.thinking} - {one.base}": one.difference for one in self.thinking}
            items.append(
                Finding(
                    key="thinking",
                    question="Effect of reasoning before the answer:",
                    rows=tuple(_thinking_row(one, smallest.share) for one in self.thinking),
                    numbers=contrasts,
                )
            )
        if self.skins:
            items.append(
                Finding(
                    key="skins",
                    question="Differences between surface forms of the same worlds:",
                    rows=tuple(
                        f"{name}, {row}"
                        for name, contrast in self.skins.items()
                        for row in estimate_rows(contrast)
                    ),
                    numbers=dict(self.skins),
                )
            )
        return exhibit(Findings(items=tuple(items)), self, smallest)

    @property
    def inverted(self) -> tuple[Any, ...]:
        """Models with significant certainty inversion."""
        judged = verdicts(self.certainty_inversion, smallest=SMALLEST.share)
        both = zip(judged.labels, judged.outcomes, strict=True)
        return tuple(label for label, one in both if one is Outcome.ABOVE)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and type."""
        import pandas as pd

        frames = [profile.to_frame() for profile in self.profiles.values()]
        return pd.concat(frames, ignore_index=True)

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw pass rates by type: `psychollm.plots.plot_boundary_rates`."""
        return drawn_by("plot_boundary_rates")(self, ax=ax)


def _verdict(study: InferenceBoundary, smallest: SmallestEffects) -> Finding:
    """Return the models with inverted, normal, equivalent and inconclusive rates."""
    least = f"(±{smallest.share:g})"
    judged = verdicts(study.certainty_inversion, smallest=smallest.share)
    lower = "lower pass rate on questions that no rule covers than on answerable questions"
    if judged.count(Outcome.ABOVE):
        lower = "lower one"
    words = {
        Outcome.ABOVE: (
            "has a higher pass rate on questions that no rule covers than on answerable questions",
            (
                "have a higher pass rate on questions that no rule covers than on answerable "
                "questions"
            ),
        ),
        Outcome.BELOW: (f"has a {lower}", f"have a {lower}"),
        Outcome.SMALL: (
            f"has equivalent pass rates on both kinds of questions {least}",
            f"have equivalent pass rates on both kinds of questions {least}",
        ),
    }
    whether = (
        "whether the pass rate is higher on questions that no rule covers or on answerable "
        "questions"
    )
    text = counted(judged, words, named=Outcome.ABOVE, whether=whether)
    numbers = {"certainty_inversion": study.certainty_inversion}
    return Finding(statement=sentence(text), numbers=numbers, outcome=judged)


def _keyword_finding(study: InferenceBoundary, loose: Estimate, difference: Estimate) -> Finding:
    """Compare the keyword and the strict pass rates on undefined words."""
    strict = study.profiles[study.lexical].retest.rate
    return Finding(
        key="keyword",
        question=f"Undefined words, keyword and strict scoring ({study.lexical}):",
        rows=tuple(
            f"{label}: {percent(loose.value[k], 1)} by keyword, {percent(strict.value[k], 1)} "
            f"strict; difference "
            f"{with_interval(difference.value[k], difference.interval[k], signed=True)}"
            for k, label in enumerate(loose.labels)
        ),
        numbers={"keyword": loose, "keyword_minus_strict": difference},
    )


def _failed(profile: BoundaryProfile) -> str:
    """Return the number of failed answers to one type of question, and the kinds of failure."""
    failures = profile.failures
    if failures is None:
        return f"type {profile.kind}: none"
    n, labels = failures.n, failures.labels
    low, high, total = int(np.argmin(n)), int(np.argmax(n)), n.sum()
    failed = "1 failed answer" if n[high] == 1 else f"{n[high]:.0f} failed answers"
    span = failed if n.size == 1 else f"{failed} by each model"
    if n[low] != n[high]:
        span = f"{n[low]:.0f} ({labels[low]}) to {n[high]:.0f} ({labels[high]}) failed answers"
    pooled = failures.count.sum(axis=0) / total
    ways = ", ".join(
        f"{percent(pooled[k])} {failures.categories[k]}"
        for k in np.argsort(-pooled, kind="stable")
    )
    of_all = f" of all {total:.0f} failures" if n.size > 1 else ""
    return f"type {profile.kind}: {span}; classification{of_all}: {ways}"


def _rates(study: InferenceBoundary, kind: Hashable) -> str:
    """Return the range of the pass rates on one type of question."""
    profile = study.profiles[kind]
    rate = profile.retest.rate
    if not rate.defined.any():
        return "no answers"
    n, low, high = rate.defined.sum(), np.nanargmin(rate.value), np.nanargmax(rate.value)
    least, most = percent(rate.value[low], 1), percent(rate.value[high], 1)
    text = f"{least} ({rate.labels[low]}) to {most} ({rate.labels[high]}) of answers pass"
    if least == most:
        text = f"{least} of answers pass" + (f" ({every(n, 'model')})" if n > 1 else "")
    runs = len(profile.retest.runs)
    return f"{text}; {runs} run{'s' * (runs != 1)}"


def _thinking_row(one: ThinkingContrast, smallest: float) -> str:
    difference = with_interval(one.difference.value, one.difference.interval, signed=True)
    text = f"{one.thinking} minus {one.base}: difference {difference}"
    if one.detectable is None or not np.isfinite(one.smallest_shown):
        return f"{text}; there are too few questions to detect any difference."
    n, most, fewer = one.detectable.n_questions, one.needed, one.to_exclude(smallest)
    required = []
    if most is not None:
        required.append(f"{about(most.n_questions)} to detect this difference")
    if fewer is not None:
        required.append(f"{about(fewer)} to show equivalence (±{smallest:g})")
    more = f"; questions needed: {', '.join(required)}" if required else ""
    least = number(one.smallest_shown)
    return f"{text}; smallest difference that {n} questions detect: {least}{more}."


def inference_boundary(
    answers: pd.DataFrame,
    *,
    answerable: Hashable = "A",
    lexical: Hashable = "B",
    interaction: Hashable = "C",
    control: Hashable = "M",
    refusal: Hashable = "refusal",
    commits: Iterable[Hashable] = ("confabulated", "unmonitored"),
    thinking: Iterable[tuple[Hashable, Hashable]] = (),
    people: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> InferenceBoundary:
    """Profile models on questions that a given set of rules can and cannot answer.

    Parameters
    ----------
    answers : DataFrame
        One row per answer: model, type, item, run, response and score (1 passed, 0 failed, NaN
        missing); optionally keyword, a second score of undefined words. `RuleWorldScores.to_frame`
        returns such a table.
    answerable, lexical, interaction, control : hashable
        Labels of the types: answerable, undefined word, uncovered event, words exchanged. The
        types undefined word and words exchanged may be absent.
    refusal : hashable
        Label of the response that is a refusal.
    commits : iterable of hashable
        Responses that commit to an answer about an event that no rule covers.
    thinking : iterable of (label, label)
        Pairs of models; the first model reasons before the answer, and the second does not.
    people : DataFrame or path, optional
        Scores of people on the same items, as returned by `read_people`.
    bootstrap : int or Bootstrap
        Number of resamples of questions; resamples are the same for all models, so that
        differences are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    InferenceBoundary

    Raises
    ------
    LabelError
        If a column, a type or a model does not exist, or an answer occurs twice.
    CodeError
        If a score is not a number in [0, 1].

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "type": ["A", "C"] * 10, "item": range(20),
    ...                       "run": 1, "response": "", "score": [1, 1, 0, 1] * 5})
    >>> study = inference_boundary(table, bootstrap=200, rng=0)
    >>> study.profiles["A"].retest.rate.value, study.profiles["C"].retest.rate.value
    (array([0.5]), array([1.]))
    """
    check_fraction("level", level)
    answers = long_table(answers, _COLUMNS, argument="answers", row="answer")
    _check(answers, (answerable, interaction))
    resampling = Resampling.of(bootstrap, level, rng)
    profiles: dict[Hashable, BoundaryProfile] = {
        kind: boundary_profile(part, kind, resampling)
        for kind, part in answers.groupby("type", sort=False)
    }
    contrasts = _Contrasts(answers, resampling)
    both = lexical in profiles
    loose, looser = keyword_scoring(answers, lexical, resampling)
    return InferenceBoundary(
        profiles=profiles,
        certainty_inversion=contrasts.scores({interaction: 1.0, answerable: -1.0}),
        confabulation=contrasts.scores({answerable: 1.0, lexical: -1.0}) if both else None,
        stage_one=contrasts.scores({answerable: 0.5, lexical: 0.5}) if both else None,
        keyword=loose,
        keyword_minus_strict=looser,
        refusal_rate=contrasts.shares({answerable: [refusal]}, {answerable: 1.0}),
        refusal_minus_commitment=_hedging(
            contrasts, answerable, interaction, refusal=[refusal], commits=list(commits)
        ),
        thinking=tuple(_thinking(answers, profiles[interaction], pair) for pair in thinking),
        skins=skin_contrasts(answers, resampling),
        answerable=answerable,
        lexical=lexical,
        interaction=interaction,
        control=control,
        labels=tuple(dict.fromkeys(answers["model"].tolist())),
        level=level,
        people=None if people is None else beside(answers, people, _MEASURES, level=level),
    )


@dataclass(frozen=True, slots=True)
class _Contrasts:
    """Contrasts of types, computed from the same answers."""

    answers: pd.DataFrame
    resampling: Resampling

    def scores(self, weights: Mapping[Hashable, float]) -> Estimate:
        """Return a contrast of pass rates."""
        return self._estimate(self.answers, weights)

    def shares(
        self,
        responses: Mapping[Hashable, list[Hashable]],
        weights: Mapping[Hashable, float],
    ) -> Estimate:
        """Return a contrast of the proportions of the `responses` listed for each type."""
        known = self.answers[self.answers["type"].isin(list(weights))]
        pairs = zip(known["type"], known["response"], strict=True)
        chosen = [float(said in responses[kind]) for kind, said in pairs]
        scored = known.assign(score=np.where(known["score"].notna(), chosen, np.nan))
        return self._estimate(scored, weights)

    def _estimate(self, answers: pd.DataFrame, weights: Mapping[Hashable, float]) -> Estimate:
        kinds = answers.drop_duplicates("item").set_index("item")["type"]
        return rate_contrast(
            Ratings.from_long(answers, question="item", value="score"),
            kinds,
            weights,
            **self.resampling.arguments,
        )


def _hedging(
    contrasts: _Contrasts,
    answerable: Hashable,
    interaction: Hashable,
    *,
    refusal: list[Hashable],
    commits: list[Hashable],
) -> Estimate | None:
    """Contrast refusals of answerable questions with committed answers on events without rules."""
    answers = contrasts.answers
    said = set(answers.loc[answers["type"] == interaction, "response"].dropna())
    if not said & set(commits):
        return None
    return contrasts.shares(
        {answerable: refusal, interaction: commits}, {answerable: 1.0, interaction: -1.0}
    )


def _thinking(
    answers: pd.DataFrame, profile: BoundaryProfile, pair: tuple[Hashable, Hashable]
) -> ThinkingContrast:
    difference = profile.retest.rate.difference(*pair)
    own = answers[answers["type"] == profile.kind]
    scores = Ratings.from_long(own, question="item", value="score")
    n, runs = len(scores.questions), len(scores.runs)
    value, detectable, needed = difference.value, None, None
    with suppress(ShapeError):  # too few questions with parsed replies
        variance = pilot_variance(scores, *pair)
        detectable = minimum_detectable_difference(n, variance, n_answers=runs)
        needed = questions_needed(value, variance, n_answers=runs) if value else None
    return ThinkingContrast(
        thinking=pair[0], base=pair[1], difference=difference, detectable=detectable, needed=needed
    )


def _check(answers: pd.DataFrame, kinds: tuple[Hashable, ...]) -> None:
    known = list(dict.fromkeys(answers["type"].tolist()))
    absent = [kind for kind in kinds if kind not in known]
    if absent:
        msg = f"answers has no row of type {absent[0]!r}: the types are {listed(known)}"
        raise LabelError(msg)
    types = answers.groupby("item")["type"].nunique()
    if (types > 1).any():
        msg = f"item {types.index[types > 1][0]!r} has several types: keep one"
        raise LabelError(msg)
