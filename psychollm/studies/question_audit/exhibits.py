"""Figure and table of suspicious questions, the most suspicious first."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number
from psychollm.estimates.exhibits import Drawing, Exhibit, Listing
from psychollm.estimates.listing import Table, name_column, number_column, text_column
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.question_audit.study import QuestionAudit

_MOST = 300  # number of questions in the table
_TEXT = 400  # number of characters of a question in the table


def exhibits(
    result: "QuestionAudit", smallest: SmallestEffects
) -> Mapping[str, Sequence[Exhibit | None]]:
    """Return the figures and tables that support each finding."""
    return {"any": worst(result)}


def worst(result: "QuestionAudit", texts: Any = None, fdr: float = 0.5) -> tuple[Exhibit, ...]:
    """Return the most suspicious questions, with their texts if passed."""
    where = Drawing(
        plot="plot_question_audit",
        of=result,
        key="places",
        title="Positions of suspicious questions",
        caption="Questions with a fault probability of at least 5 %, in the order of the table. "
        "Runs of wrong keys are coloured.",
    )
    return (where, Listing(table=partial(_worst, result, texts, fdr)))


def _worst(result: "QuestionAudit", texts: Any, fdr: float) -> Table:
    named = len(result.flagged(fdr, fault="any"))
    places = result.worst()[: min(max(named, 20), _MOST)]
    columns = [
        name_column("question", [result.labels[q] for q in places]),
        number_column("wrong key", result.p_wrong_key[places]),
        number_column("other fault", (result.p_flawed - result.p_wrong_key)[places]),
        text_column("evidence", [result.reason[q] for q in places]),
    ]
    if any(result.key):
        columns.insert(1, text_column("key", [result.key[q] for q in places]))
        columns.insert(2, text_column("rival", [result.rival[q] or "-" for q in places]))
    if texts is not None:
        columns.append(text_column("text", [_text(texts, result.labels[q]) for q in places]))
    return Table.of(
        columns,
        caption=f"The {count(len(places))} most suspicious questions; fault probability "
        f"{number(float(np.nanmin(result.p_flawed[places])))} or more",
    )


def _text(texts: Any, label: Any) -> str:
    text = str(texts[label]) if label in texts else ""
    return text if len(text) <= _TEXT else f"{text[:_TEXT]} ..."
