"""Report page of the study of several attempts."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, extent
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.attempts.result import Attempts


def _methods(result: "Attempts") -> tuple[str, ...]:
    return (
        "For a question with s successes in n attempts, pass@k is 1 − C(n − s, k) / C(n, k) and "
        f"pass^k is C(s, k) / C(n, k), both unbiased {cite('chen', 'yao')}. Values are means "
        "over questions; the sampling units are questions or clusters of questions.",
        "Intervals are Wilson intervals, computed with an effective number of questions and "
        "quantiles of Student's t distribution. Intervals of differences in one quantity are "
        "simultaneous over all pairs of models.",
        "The variance of one attempt is decomposed by comparing pairs of cells that share the "
        "question, the model, or neither; standard errors come from the jackknife over questions "
        "and models.",
    )


def _facts(result: "Attempts", smallest: SmallestEffects) -> tuple[Fact, ...]:
    made = result.trials[result.trials > 0]
    top = max(result.k)
    return (
        Fact(name="Models", value=count(len(result.labels))),
        Fact(name="Questions", value=count(len(result.questions))),
        Fact(name="Attempts per question", value=extent(made, 0)),
        Fact(name=f"pass^{top}", value=extent(result.pass_hat_k[top].value, 3)),
    )


LAYOUT = Layout(
    title="Repeated attempts: how often does each model succeed?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.attempts(results, rng=1)",
)

PAGES = {"Attempts": LAYOUT}
