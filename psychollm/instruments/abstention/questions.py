"""Answerable questions, and questions that call for abstention.

In a file of questions, a column such as answerable, should_abstain or is_impossible may mark
unanswerable questions. Without a column of this kind, a question is unanswerable if it has no
right answers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.checks import check_unique
from psychollm._base.errors import InputError
from psychollm.instruments.grading import Rule
from psychollm.instruments.questions import Question, answers_in, read_questions, rows_of

_DUE = {"should_abstain": True, "is_impossible": True, "unanswerable": True, "answerable": False}
_YES = {"1", "1.0", "true", "yes", "y"}
_NO = {"0", "0.0", "false", "no", "n"}
_TEXT = ("text", "question", "prompt", "problem")
_ANSWERS = ("answers", "answer", "reference", "target", "gold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Askable:
    """Question, with an indicator of whether a model should abstain from it.

    Examples
    --------
    >>> asked = Askable(question=Question(key="q1", text="Who?"), should_abstain=True)
    >>> asked.key, asked.scenario
    ('q1', '')
    """

    question: Question  # contains no correct answers if none exist or none are known
    should_abstain: bool
    scenario: str = ""  # reason why the question or its counterpart is unanswerable
    pair: str = ""  # shared by a question and its counterpart
    dataset: str = ""

    def __post_init__(self) -> None:
        if self.should_abstain and self.question.answers:
            msg = f"question {self.key!r} is to be abstained from but has answers: leave them out"
            raise InputError(msg)

    @property
    def key(self) -> str:
        """Label of the question."""
        return self.question.key


def read_askable(
    path: str | PathLike[str], *, dataset: str | None = None, rule: Rule = "contains"
) -> tuple[Askable, ...]:
    r"""Read questions from a file.

    Parameters
    ----------
    path : path
        Path of a ``.csv`` file with a header, a ``.jsonl`` file with one object per line, or a
        ``.json`` file in the SQuAD 2.0 format. Required columns or fields are question, answers,
        and one of should_abstain, answerable, is_impossible, unanswerable; id, scenario, pair and
        dataset are optional.
    dataset : str, optional
        Name of the data set for questions without the field dataset; the file name by default.
    rule : {"contains", "exact", "f1", "numeric"}
        Rule for comparing replies with right answers.

    Raises
    ------
    InputError
        If the file cannot be read, contains no questions, or has contradictory entries for a
        question.
    LabelError
        If two questions have the same key.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "asked.csv"
    >>> _ = path.write_text("question,answer,answerable\nWhat is 2 + 2?,4,1\nWho am I?,,0\n")
    >>> [one.should_abstain for one in read_askable(path)]
    [False, True]
    """
    path = Path(path)
    name = path.stem if dataset is None else dataset
    if path.suffix == ".json":
        return as_askable(read_questions(path, rule=rule), dataset=name)
    return as_askable((row.table for row in rows_of(path)), dataset=name, rule=rule)


def as_askable(
    rows: Iterable[Askable | Question | Mapping[str, Any]],
    *,
    dataset: str = "",
    rule: Rule = "contains",
) -> tuple[Askable, ...]:
    """Return askable questions, converting mappings and plain questions."""
    askables = tuple(_made(row, number, dataset, rule) for number, row in enumerate(rows, start=1))
    if not askables:
        msg = "questions is empty: pass at least one question"
        raise InputError(msg)
    check_unique("question", [one.key for one in askables])
    return askables


def _made(row: Any, number: int, dataset: str, rule: Rule) -> Askable:
    if isinstance(row, Askable):
        return row
    if isinstance(row, Question):
        abstain = not row.answers
        return Askable(question=row, should_abstain=abstain, scenario=row.domain, dataset=dataset)
    if not isinstance(row, Mapping):
        msg = f"question {number} is {row!r:.60}: pass a mapping of columns to values"
        raise InputError(msg)
    text = next((row[name] for name in _TEXT if row.get(name)), "")
    key = str(row.get("key") or row.get("id") or number)
    answers = answers_in(next((row[one] for one in _ANSWERS if row.get(one) is not None), ()))
    due = _due(row, key)
    abstain = not answers if due is None else due
    # Some data sets store "no answer" as the answer to an unanswerable question. Such an entry is
    # removed, because replies cannot be graded against it.
    question = Question(
        key=key,
        text=str(text),
        answers=() if abstain else answers,
        domain=str(row.get("domain") or ""),
        rule=row.get("rule") or rule,
    )
    return Askable(
        question=question,
        should_abstain=abstain,
        scenario=str(row.get("scenario") or row.get("category") or ""),
        pair=str(row.get("pair") or ""),
        dataset=str(row.get("dataset") or dataset),
    )


def _due(row: Mapping[str, Any], key: str) -> bool | None:
    for name, when_true in _DUE.items():
        value = row.get(name)
        if value is None or value == "":
            continue
        word = str(value).strip().lower()
        if word not in _YES | _NO:
            msg = f"question {key!r}: {name}={value!r} is neither yes nor no: pass 1 or 0"
            raise InputError(msg)
        return (word in _YES) == when_true
    return None
