"""Report page of a question audit, with the worst questions first."""

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
        question="Questions to check, worst first",
        statement=(
            "Probabilities of a fault are conditional on the models' choices. Other faults are "
            "several right options, no right option, and an unclear question. The models' "
            "choices hardly distinguish between these three kinds of fault, so the table gives "
            "their total probability."
        ),
        exhibits=worst(result, texts, fdr),
    )
    return result, replace(found, items=(*found.items, listed))


def _methods(result: "QuestionAudit") -> tuple[str, ...]:
    return (
        "The audit assumes that a question is equally difficult for all models. A model that "
        "does not know the answer chooses a wrong option, usually the most popular one. Each "
        f"kind of fault changes the probabilities of the options {cite('dawid')}. The proportion "
        "of wrong keys is estimated for each group of questions and shrunk towards the "
        "proportion in the table, which is in turn shrunk towards the proportion that experts "
        f"found in MMLU-Redux {cite('gema')}.",
        "The audit flags as many of the most suspicious questions as possible while the expected "
        "proportion of faultless questions among them does not exceed the bound "
        f"{cite('newton')}.",
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
            name="Flagged",
            value=count(len(result.flagged(fault="any"))),
            detail=f"at most {percent(0.2)} expected to be faultless",
        ),
    )


LAYOUT = Layout(
    title="Which questions are faulty?",
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
