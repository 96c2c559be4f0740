"""Report pages of the difficulty study and of the gate."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, number, percent, with_interval
from psychollm.estimates.layout import Criterion, Fact, Layout
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.difficulty.study import Difficulty


def _facts(study: "Difficulty", smallest: SmallestEffects) -> tuple[Fact, ...]:
    lead = study.lead
    text, length = (study.r_squared.text(row, 3).partition(" ") for row in (0, 1))
    facts = [
        Fact(name="Out-of-fold R² of the text", value=text[0], detail=text[2]),
        Fact(name="R² of length alone", value=length[0], detail=length[2]),
        Fact(
            name="Gain over length",
            value=number(lead.value, 3, signed=True),
            detail=with_interval(lead.value, lead.interval, 3, signed=True).partition(" ")[2],
        ),
    ]
    if np.isfinite(study.ceiling):
        name = "Upper bound of R²: reliability of the scores"
        facts.append(Fact(name=name, value=number(study.ceiling, 3)))
    return tuple(facts)


def _methods(study: "Difficulty") -> tuple[str, ...]:
    groups = "questions" if study.n_groups == len(study.labels) else "groups of questions"
    return (
        "<b>Prediction.</b> A ridge regression on words and surface features, or on the features "
        f"passed, predicts the scores of held-out {groups} in {study.n_folds} folds; its penalty "
        "is chosen on the remaining questions. The baselines are the length of the text and the "
        "mean score; R² is relative to the mean.",
        f"<b>Uncertainty.</b> {percent(study.level)} intervals come from resampling questions, or "
        "whole groups.",
    )


def _wanted(study: "Difficulty", smallest: SmallestEffects) -> Iterator[Criterion]:
    lead = study.lead
    estimate = replace(
        study.r_squared,
        value=np.array([lead.value]),
        se=np.array([lead.se]),
        interval=lead.interval[None],
        n=np.array([float(len(study.labels))]),
        flags=(lead.flag,),
        labels=("text",),
        df=np.array([study.n_groups - 1.0]),
        _draws=None,
    )
    what = "gain in R² over length"
    yield Criterion(what=what, estimate=estimate, smallest=smallest.r_squared)


def _call(study: "Difficulty", source: str, options: str) -> str:
    made = source or "# texts and scores of the questions"
    return f"{made}\nstudy = psy.studies.difficulty(texts, scores, {options})"


LAYOUT = Layout(
    title="Difficulty: does the text predict which questions models think they can answer?",
    subtitle=lambda study: (
        f"{count(len(study.labels))} questions, {study.n_folds} folds, "
        f"{percent(study.level)} intervals"
    ),
    models=lambda study: (),
    facts=_facts,
    sections={"verdict": "Does the text predict the score?"},
    methods=_methods,
    call=_call,
    wanted=_wanted,
)

GATE = Layout(
    title="Should the model answer? A gate based on the text of the question",
    subtitle=lambda fit: f"{count(fit.correct.size)} questions, {percent(fit.level)} intervals",
    models=lambda fit: (),
    methods=lambda fit: (
        "<b>Gate.</b> The text predicts a score, a logistic curve maps it to a probability, and a "
        "threshold decides. Inner folds fit all three; outer folds evaluate them together. At the "
        "model's own coverage the gate answers as many questions as the model says yes to, those "
        "with the highest probability.",
        f"<b>Uncertainty.</b> {percent(fit.level)} intervals come from resampling questions, or "
        "whole groups.",
    ),
    call=lambda fit, source, options: (
        f"{source or '# texts and correctness of the questions'}\n"
        f"fit = psy.studies.fit_gate(texts, correctness, {options})"
    ),
)

PAGES = {"Difficulty": LAYOUT, "GateFit": GATE}
