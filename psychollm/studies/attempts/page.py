"""The page of several attempts."""

from typing import TYPE_CHECKING

from psychollm._base.numbers import count, extent
from psychollm.estimates.layout import Fact, Layout
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.attempts.result import Attempts


def _methods(result: "Attempts") -> tuple[str, ...]:
    return (
        "Of n attempts at a question of which s succeeded, pass@k is "
        "1 − C(n − s, k) / C(n, k) and "
        f"pass^k is C(s, k) / C(n, k), both without bias {cite('chen', 'yao')}. Values are means "
        "over questions; questions, or their clusters, are the units.",
        "Intervals are Wilson's, for as many questions as would vary like the mean, with "
        "Student's t. The intervals of all differences of one quantity hold at once.",
        "The variance of one attempt is split by comparing cells that share the question, the "
        "model, or neither; standard errors are the jackknife's, over questions and over models.",
    )


def _facts(result: "Attempts", smallest: SmallestEffects) -> tuple[Fact, ...]:
    made = result.trials[result.trials > 0]
    top = max(result.k)
    return (
        Fact(name="Models", value=count(len(result.labels))),
        Fact(name="Questions", value=count(len(result.questions))),
        Fact(name="Attempts at each", value=extent(made, 0)),
        Fact(name=f"pass^{top}", value=extent(result.pass_hat_k[top].value, 3)),
    )


LAYOUT = Layout(
    title="Does it work every time?",
    facts=_facts,
    methods=_methods,
    call=lambda result, source, options: source or "result = psy.attempts(results, rng=1)",
)

PAGES = {"Attempts": LAYOUT}
