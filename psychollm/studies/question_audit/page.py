"""The page of an audit of questions: what a benchmark's maintainer goes through, worst first."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, percent
from psychollm.estimates.findings import Finding, Findings
from psychollm.estimates.layout import Fact, Layout, by_question
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.question_audit.exhibits import worst

if TYPE_CHECKING:
    from psychollm.studies.question_audit.study import QuestionAudit


def _with_worst(
    result: "QuestionAudit", smallest: SmallestEffects, *, texts: Any = None, fdr: float = 0.5
) -> "tuple[QuestionAudit, Findings]":
    found = result.findings(smallest=smallest)
    listed = Finding(
        key="worst",
        question="What to look at, worst first",
        statement="Chances are those of a fault given what the models chose. Where several "
        "options look right, no option, or the question unclear, choices can hardly tell which: "
        "the chances of the three are added up.",
        exhibits=worst(result, texts, fdr),
    )
    return result, replace(found, items=(*found.items, listed))


def _methods(result: "QuestionAudit") -> tuple[str, ...]:
    return (
        "A question is as easy as it is, for all models together; who does not know falls for "
        "another option, and one of these is usually the popular one. The faults are this model "
        f"with another idea of what is right {cite('dawid')}. Shares of wrong keys are fitted "
        "to groups of questions and drawn to the table, and this to what experts found in "
        f"MMLU-Redux {cite('gema')}.",
        "What is flagged is the largest set of the most suspicious questions whose expected share "
        f"of sound ones is within bounds {cite('newton')}.",
    )


def _facts(result: "QuestionAudit", smallest: SmallestEffects) -> tuple[Fact, ...]:
    keys, faults = np.nansum(result.p_wrong_key), np.nansum(result.p_flawed)
    right = int((result.score == 1.0).sum())
    return (
        Fact(
            name="Questions",
            value=count(len(result.labels)),
            detail=f"{count(right)} on which all {count(result.n_models)} models choose the key",
        ),
        Fact(name="Wrong keys", value=count(round(keys)), detail="expected"),
        Fact(name="Other faults", value=count(round(faults - keys)), detail="expected"),
        Fact(
            name="To look at",
            value=count(len(result.flagged(fault="any"))),
            detail=f"with {percent(0.2)} expected to be sound",
        ),
    )


LAYOUT = Layout(
    title="Which questions are at fault?",
    of=_with_worst,
    facts=_facts,
    sections=by_question("worst stretches trial hidden"),
    alone=True,
    methods=_methods,
    call=lambda result, source, options: (
        source or "result = psy.question_audit(choices, key, rng=1)"
    ),
    models=lambda result: (),
)

PAGES = {"QuestionAudit": LAYOUT}
