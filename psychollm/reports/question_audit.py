"""The report of an audit of questions: what a benchmark's maintainer goes through, worst first."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import count, number, percent
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.plots.question_audit import plot_question_audit
from psychollm.reports.figure import draw_figure
from psychollm.reports.page import (
    Fact,
    Page,
    Section,
    cite,
    finding_section,
    named_versions,
    render,
    write_text,
)
from psychollm.reports.table import Table, name_column, number_column, text_column
from psychollm.studies.provenance import versions

if TYPE_CHECKING:
    from psychollm.estimates.findings import Findings
    from psychollm.studies.question_audit.study import QuestionAudit

_MOST = 300  # questions in the table
_TEXT = 400  # letters of a question that are shown


def write_question_audit(
    result: "QuestionAudit",
    path: str | PathLike[str],
    *,
    source: str = "",
    smallest: SmallestEffects = SMALLEST,
    texts: Any = None,
    fdr: float = 0.5,
) -> Path:
    """Write an audit of questions as one HTML page that needs no network and no other file.

    Parameters
    ----------
    result : QuestionAudit
        What `psychollm.question_audit` returns.
    path, source
        As in `write_report`.
    smallest : SmallestEffects
        As every report takes; none decides here.
    texts : Series or mapping, optional
        The text of questions, by label.
    fdr : float
        The table lists what is flagged for any fault with this share of false discoveries, at
        least the twenty most suspicious questions, and 300 at most.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    InputError, MissingPackageError
        As in `write_report`.

    Examples
    --------
    >>> from psychollm.studies.question_audit.study import question_audit
    >>> chosen = np.array([list("AAAA"), list("BBBB"), list("CCCC"), list("AABA")])
    >>> page = write_question_audit(question_audit(chosen, list("ABDA"), rng=1),
    ...                             getfixture("tmp_path") / "report.html")
    >>> "What to look at" in page.read_text(encoding="utf-8")
    True
    """
    return write_text(
        path,
        lambda: render(_page(result, result.findings(smallest=smallest), (texts, fdr), source)),
    )


def _page(
    result: "QuestionAudit", found: "Findings", shown: tuple[Any, float], source: str
) -> Page:
    texts, fdr = shown
    figure = draw_figure(
        lambda figure: plot_question_audit(result, ax=figure.subplots()),
        size=(7.6, 3.6),
        caption="Each question with a chance of any fault of at least one in twenty, in the order "
        "of the table. Stretches of wrong keys are coloured.",
        title="Where the suspicious questions stand",
        key="places",
    )
    return Page(
        title="Which questions are at fault?",
        subtitle=found.head.removesuffix("."),
        verdict=found.verdict,
        facts=_facts(result),
        sections=(
            Section(
                title="What to look at, worst first",
                key="worst",
                paragraphs=(
                    "Chances are those of a fault given what the models chose. Where several "
                    "options look right, no option, or the question unclear, choices can hardly "
                    "tell which: the chances of the three are added up.",
                ),
                tables=(_worst(result, texts, fdr),),
                figures=(figure,),
            ),
            *_answers(found),
        ),
        methods=_methods(),
        call=source or "result = psy.question_audit(choices, key, rng=1)",
        versions=named_versions(versions()),
    )


def _answers(found: "Findings") -> tuple[Section, ...]:
    return tuple(finding_section(found[key]) for key in ("stretches", "trial", "hidden"))


def _methods() -> tuple[str, ...]:
    return (
        "A question is as easy as it is, for all models together; who does not know falls for "
        "another option, and one of these is usually the popular one. The faults are this model "
        f"with another idea of what is right {cite('dawid')}. Shares of wrong keys are fitted "
        "to groups of questions and drawn to the table, and this to what experts found in "
        f"MMLU-Redux {cite('gema')}.",
        "What is flagged is the largest set of the most suspicious questions whose expected share "
        f"of sound ones is within bounds {cite('newton')}.",
    )


def _facts(result: "QuestionAudit") -> tuple[Fact, ...]:
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
        caption=f"The {count(len(places))} most suspicious questions, with a chance of any fault "
        f"of {number(float(np.nanmin(result.p_flawed[places])))} or more",
    )


def _text(texts: Any, label: Any) -> str:
    text = str(texts[label]) if label in texts else ""
    return text if len(text) <= _TEXT else f"{text[:_TEXT]} ..."
