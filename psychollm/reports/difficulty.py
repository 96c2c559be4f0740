"""The report of difficulty: scores over predictions from the text, beside trivial predictors."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, number, percent, with_interval
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.verdict import Outcome, SmallestEffects, outcome
from psychollm.plots.difficulty import plot_difficulty
from psychollm.reports.layout import Beside, Layout, Picture, estimates_table, forest_picture
from psychollm.reports.page import Fact
from psychollm.reports.table import Table, number_column, text_column

if TYPE_CHECKING:
    from psychollm.studies.difficulty.study import Difficulty

_WORDS = 15


def _explained(study: "Difficulty") -> dict[str, Estimate]:
    return {"R²": study.r_squared}


def _both(study: "Difficulty") -> dict[str, Estimate]:
    return {"R²": study.r_squared, "correlation": study.correlation}


def _weights(study: "Difficulty", smallest: SmallestEffects) -> Table | None:
    frame = study.weights_frame()
    first, last = frame.head(_WORDS), frame.tail(_WORDS).iloc[::-1]
    rows = min(len(first), len(last))
    return Table.of(
        [
            text_column("goes with yes", first["feature"][:rows]),
            number_column("weight", first["weight"][:rows], digits=3),
            text_column("goes with no", last["feature"][:rows]),
            number_column("weight", last["weight"][:rows], digits=3),
        ],
        caption="The features with the largest weights, fitted to all questions",
    )


def _needed(study: "Difficulty", smallest: SmallestEffects) -> Table | None:
    """Return how many questions would show the least gain that matters, where it is open."""
    lead, least = study.lead, smallest.r_squared
    half = 0.5 * float(np.diff(lead.interval)[0])
    if outcome(lead.interval, smallest=least) is not Outcome.OPEN or not half > 0:
        return None
    n = len(study.labels) * ((1.959964 + 0.841621) * half / 1.959964 / least) ** 2
    return Table.of(
        [
            text_column("effect", ["text beyond its length, R²"]),
            text_column("found", [with_interval(lead.value, lead.interval, signed=True)]),
            number_column("smallest that matters", [least]),
            number_column("questions now", [len(study.labels)], digits=0),
            number_column("questions needed", [np.ceil(n)], digits=0),
        ],
        caption="What would be needed to decide, with a chance of 80 %",
    )


def _facts(study: "Difficulty", smallest: SmallestEffects) -> tuple[Fact, ...]:
    lead = study.lead
    text, length = (study.r_squared.text(row, 3).partition(" ") for row in (0, 1))
    facts = [
        Fact(name="R² of the text, questions left out", value=text[0], detail=text[2]),
        Fact(name="R² of length alone", value=length[0], detail=length[2]),
        Fact(
            name="Text beyond its length",
            value=number(lead.value, 3, signed=True),
            detail=with_interval(lead.value, lead.interval, 3, signed=True).partition(" ")[2],
        ),
    ]
    if np.isfinite(study.ceiling):
        name = "Ceiling of R²: reliability of the scores"
        facts.append(Fact(name=name, value=number(study.ceiling, 3)))
    return tuple(facts)


def _methods(study: "Difficulty") -> tuple[str, ...]:
    groups = "questions" if study.n_groups == len(study.labels) else "groups of questions"
    return (
        "<b>Prediction.</b> A ridge regression on words and surface features, or on the features "
        f"given, predicts the score of {groups} that were left out, in {study.n_folds} folds; its "
        "strength is chosen within the others. Beside it stand the length of the text alone and "
        "the mean of the scores, which knows nothing: R² is measured against the latter.",
        f"<b>Uncertainty.</b> Questions, or their groups whole, were resampled; intervals cover "
        f"{percent(study.level)}.",
    )


def _call(study: "Difficulty", source: str, options: str) -> str:
    made = source or "# texts and scores: of each question"
    return f"{made}\nstudy = psy.studies.difficulty(texts, scores, {options})"


LAYOUT = Layout(
    title="Difficulty: does the text tell which questions models think they can answer?",
    subtitle=lambda study: (
        f"{count(len(study.labels))} questions, {study.n_folds} folds, "
        f"{percent(study.level)} intervals"
    ),
    models=lambda study: (),
    facts=_facts,
    beside={
        "verdict": Beside(
            title="Does the text predict the score?",
            pictures=(
                Picture(
                    key="difficulty",
                    title="Scores of questions over their predictions",
                    caption="Score of each question on the shared factor, over its prediction by "
                    "a model that had not seen it. On the dashed line both are equal.",
                    draw=lambda study, canvas: plot_difficulty(study, ax=canvas.subplots()),
                    size=lambda study: (5.0, 4.8),
                ),
                forest_picture(
                    "explained",
                    "R squared of each predictor",
                    "R² on questions that were left out: of the text, of its length alone, and "
                    "of the mean.",
                    _explained,
                    x="R² on questions left out",
                    reference=0.0,
                ),
            ),
            tables=(estimates_table("Predictors", _both, of="predictor", digits=3), _needed),
            folded=(_weights,),
        ),
    },
    methods=_methods,
    call=_call,
)
