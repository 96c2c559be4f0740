"""Report page of judged scores."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, extent, number
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.judged_scores.result import TARGETS

if TYPE_CHECKING:
    from psychollm.studies.judged_scores.result import JudgedScores


def _methods(result: "JudgedScores") -> tuple[str, ...]:
    combined = (
        (
            "The judges' verdicts are combined by ridge regression on the labels; the weights "
            f"are cross-fitted over questions {cite('crossppi')}.",
        )
        if len(result.judges) > 1
        else ()
    )
    return (
        *combined,
        "A score is the mean predicted label of all answers, corrected with the human labels of "
        "some answers by prediction-powered inference, with a weight tuned for each model "
        f"{cite('ppi', 'sarndal')}. Scores refer to {TARGETS[result.target]}.",
        "Intervals of binary scores combine Jeffreys' intervals within each verdict "
        f"{cite('brown', 'zou')}; those of graded scores are Wilson's, with the effective sample "
        "size. If few labels disagree with the judge, half a disagreement is added, so that no "
        "interval has zero width.",
        "Differences are paired by question: their intervals combine the intervals of the two "
        f"scores, given the correlation of their errors {cite('zou')}. Intervals of differences "
        "are simultaneous: their critical value is the quantile of the largest standardised "
        f"error over all pairs {cite('chernozhukov')}. A tier ends before the first model that "
        f"is significantly worse than the best model of the tier {cite('mogstad')}.",
    )


def _facts(result: "JudgedScores", smallest: SmallestEffects) -> tuple[Fact, ...]:
    worth, n = result.worth, result.score.n
    bias = result.bias.value[result.bias.defined]
    return (
        Fact(name="Models", value=count(len(result.labels))),
        Fact(
            name="Labels per model",
            value=extent(n[n > 0], 0) if (n > 0).any() else "0",
            detail=f"of {count(len(result.questions))} questions",
        ),
        Fact(name="Bias of the judge", value=extent(bias, 3, signed=True) if bias.size else "–"),
        Fact(
            name="One label with the judge is worth",
            value=f"{number(worth, 1)}" if np.isfinite(worth) else "–",
            detail="labels without the judge",
        ),
    )


LAYOUT = Layout(
    title="Which scores would people give?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: (
        source or "result = psy.judged_scores(verdicts, people, rng=1)"
    ),
)

PAGES = {"JudgedScores": LAYOUT}
