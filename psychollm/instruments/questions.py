"""Questions with their right answers, and readers of question files.

CSV and JSONL files contain one question per line. JSON files in the SQuAD format (Rajpurkar et
al., 2016) contain passages with questions. The passages are discarded, so the questions test the
knowledge of a model.

The module also generates wrong answers for a simulated user to suggest. The generated answers are
as plausible as possible without knowledge of the subject.

References
----------
P. Rajpurkar, J. Zhang, K. Lopyrev, P. Liang (2016). SQuAD: 100,000+ questions for machine
comprehension of text. EMNLP.
"""

import csv
import errno
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice, check_count, check_unique
from psychollm._base.convert import conversion
from psychollm._base.csv_text import delimiter_of
from psychollm._base.errors import InputError
from psychollm.instruments.grading import Rule, grade_by
from psychollm.instruments.readers import read_number

# Accepted names of columns and fields, in order of precedence.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "key": ("key", "id", "question_id", "qid"),
    "text": ("text", "question", "prompt", "problem"),
    "answers": ("answers", "answer", "reference", "target", "gold"),
    "domain": ("domain", "topic", "category", "subject"),
    "rule": ("rule", "grading"),
}
_APART = "|"  # separator of right answers in a CSV cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question with its right answers and the rule for comparing a reply with them.

    Parameters
    ----------
    key : str
        Unique label of the question within a set.
    text : str
        Text of the question.
    answers : tuple of str
        Right answers; empty if the question is unanswerable.
    domain : str
        Subject of the question; blank if unknown.
    rule : {"exact", "contains", "f1", "numeric"}
        "exact" requires equality after normalisation. "contains" requires that the words of a
        right answer occur in sequence in the reply. "f1" is the F1 score of shared words, and
        "numeric" compares numbers within the tolerances.
    threshold : float
        Smallest score that counts as correct; values below 1 are relevant only for "f1".
    absolute, relative : float
        Absolute tolerance for "numeric", and tolerance as a proportion of the right answer; the
        larger tolerance applies.

    Raises
    ------
    InputError
        If the key, the text or an answer is blank.

    Examples
    --------
    >>> Question(key="q1", text="What is 2 + 2?", answers=("4",), rule="numeric").answerable
    True
    """

    key: str
    text: str
    answers: tuple[str, ...] = ()
    domain: str = ""
    rule: Rule = "exact"
    threshold: float = 1.0
    absolute: float = 0.0
    relative: float = 0.0

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, Rule)
        for name in ("key", "text"):
            if not getattr(self, name).strip():
                msg = f"question {self.key!r}: its {name} is blank"
                raise InputError(msg)
        if any(not one.strip() for one in self.answers):
            msg = f"question {self.key!r}: a right answer is blank; leave it out"
            raise InputError(msg)

    @property
    def answerable(self) -> bool:
        """Whether the question has a right answer."""
        return bool(self.answers)

    def grading(self) -> dict[str, Any]:
        """Return the grading options that differ from the defaults, as a JSON-compatible dict.

        Examples
        --------
        >>> Question(key="q1", text="Who?", answers=("she",), rule="f1").grading()
        {'reference': ['she'], 'rule': 'f1'}
        """
        given = {name: getattr(self, name) for name in ("rule", *_NUMBERS)}
        usual = self.__dataclass_fields__
        kept = {name: value for name, value in given.items() if value != usual[name].default}
        return {"reference": list(self.answers), **kept}


QUESTION_FILES = ".csv or .jsonl with question and answer, or .json in the SQuAD format"
_NUMBERS = ("threshold", "absolute", "relative")


def read_questions(
    path: str | PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    rule: Rule | None = None,
    n_questions: int | None = None,
) -> tuple[Question, ...]:
    r"""Read questions and their right answers from a file.

    Parameters
    ----------
    path : path
        Path of a ``.csv`` file with a header, a ``.jsonl`` file with one object per line, or a
        ``.json`` file in the SQuAD format, whose passages are dropped.
    columns : mapping of str to str, optional
        Names of the columns or fields that contain the "key", "text", "answers", "domain" and
        "rule" of a question. By default, columns are recognised by these names or by common
        alternatives (question, answer, id, topic, ...). If there are no keys, questions are
        numbered. Several right answers are separated by "|" in a CSV cell and are a list in JSON.
    rule : {"exact", "contains", "f1", "numeric"}, optional
        Comparison rule for questions without their own rule; "exact" by default.
    n_questions : int, optional
        Number of questions to read, evenly spaced over the file; by default all questions.

    Raises
    ------
    InputError
        If the file cannot be read, contains no questions or fewer than requested, or if a line
        lacks a required value.
    OptionError
        If the number of questions is not positive.
    LabelError
        If two questions have the same key.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "questions.csv"
    >>> _ = path.write_text("question,answer\nWhat is 2 + 2?,4|four\n")
    >>> read_questions(path)[0].answers
    ('4', 'four')
    """
    path = Path(path)
    if unknown := set(columns or {}) - set(_NAMES):
        msg = f"columns: {', '.join(sorted(unknown))} unknown; choose from {', '.join(_NAMES)}"
        raise InputError(msg)
    questions = tuple(_question(row, columns or {}, rule) for row in rows_of(path))
    if not questions:
        msg = f"{path} holds no questions"
        raise InputError(msg)
    check_unique("question", [one.key for one in questions])
    if n_questions is None:
        return questions
    n_questions = check_count("n_questions", n_questions)
    if n_questions > len(questions):
        msg = f"n_questions={n_questions}: {path} holds {len(questions)}"
        raise InputError(msg)
    places = np.linspace(0, len(questions) - 1, n_questions).astype(int)
    return tuple(questions[place] for place in places)


def as_questions(questions: Iterable[Question | Mapping[str, Any]]) -> tuple[Question, ...]:
    """Return a tuple of questions, converting mappings to `Question`."""
    made = tuple(
        one
        if isinstance(one, Question)
        else _question(_Row(f"question {number}", number, one), {}, None)
        for number, one in enumerate(questions, start=1)
    )
    if not made:
        msg = "questions is empty: pass at least one question"
        raise InputError(msg)
    check_unique("question", [one.key for one in made])
    return made


@dataclass(frozen=True, slots=True)
class _Row:
    """Values of one line of a file, with the location of the line."""

    where: str
    number: int
    table: Mapping[str, Any]


def rows_of(path: Path) -> Iterator[_Row]:
    """Yield the rows of a question file in any supported format."""
    readers = {".csv": _from_csv, ".tsv": _from_csv, ".jsonl": json_lines, ".json": _from_squad}
    if path.suffix not in readers:
        remedy = conversion(path)
        msg = f"{path}: questions are read from .csv, .tsv, .jsonl or .json (SQuAD)" + (
            f"; {remedy}" if remedy else ""
        )
        raise InputError(msg)
    return readers[path.suffix](path)


def _question(row: _Row, columns: Mapping[str, str], rule: Rule | None) -> Question:
    def of(name: str) -> Any:
        names = (columns[name],) if name in columns else _NAMES[name]
        return next((row.table[one] for one in names if row.table.get(one) is not None), None)

    text, answers = of("text"), of("answers")
    for name, value in (("text", text), ("answers", answers)):
        if value is None:
            asked = columns.get(name) or " or ".join(_NAMES[name])
            msg = f"{row.where}: {asked} is missing; name its column: columns={{{name!r}: ...}}"
            raise InputError(msg)
    key = of("key")
    numbers = {name: float(row.table[name]) for name in _NUMBERS if row.table.get(name)}
    return Question(
        key=str(row.number if key is None else key),
        text=str(text).strip(),
        answers=answers_in(answers),
        domain=str(of("domain") or ""),
        rule=of("rule") or rule or "exact",
        **numbers,
    )


def answers_in(value: Any) -> tuple[str, ...]:
    """Return the right answers that a cell or a field contains."""
    if isinstance(value, Mapping):  # {"text": [...], "answer_start": [...]}
        value = value.get("text", ())
    parts = value.split(_APART) if isinstance(value, str) else value
    parts = parts if isinstance(parts, list | tuple) else [parts]
    return tuple(dict.fromkeys(str(one).strip() for one in parts if str(one).strip()))


def _from_csv(path: Path) -> Iterator[_Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            mark = delimiter_of(lines.readline())
            lines.seek(0)
            for number, row in enumerate(csv.DictReader(lines, delimiter=mark), start=1):
                yield _Row(f"{path}, line {number + 1}", number, row)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(_unreadable(path, error)) from error


def json_lines(path: Path) -> Iterator[_Row]:
    """Yield the objects of a file with one object per line."""
    number = 0
    for line, text in enumerate(text_of(path).split("\n"), start=1):
        if text.strip():
            number += 1
            where = f"{path}, line {line}"
            table = _json(text, where)
            if not isinstance(table, Mapping):
                msg = f"{where}: the line is not a JSON object"
                raise InputError(msg)
            yield _Row(where, number, table)


def _from_squad(path: Path) -> Iterator[_Row]:
    table = _json(text_of(path), str(path))
    try:
        for article in table["data"]:
            for passage in article["paragraphs"]:
                for asked in passage["qas"]:
                    answers = [] if asked.get("is_impossible") else asked["answers"]
                    texts = [one["text"] for one in answers]
                    row = {
                        "key": asked["id"],
                        "text": asked["question"],
                        "answers": texts,
                        "domain": article.get("title", "").replace("_", " "),
                    }
                    yield _Row(f"{path}, question {asked['id']!r}", 0, row)
    except (KeyError, TypeError, AttributeError) as error:
        msg = f"{path} is not in the SQuAD format (data, paragraphs, qas): {error!r}"
        raise InputError(msg) from error


def text_of(path: Path) -> str:
    """Return the text of a file."""
    try:
        # Only regular files are read, because a pipe or a device may never end.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(errno.EINVAL, "it is a pipe or a device; name a file")  # noqa: TRY301
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(_unreadable(path, error)) from error


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        msg = f"{where}: not valid JSON ({error})"
        raise InputError(msg) from error


def _unreadable(path: Path, error: Exception) -> str:
    coded = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
    return f"{path} cannot be read: {getattr(error, 'strerror', None) or coded}"


def wrong_suggestions(
    questions: Sequence[Question], *, given: Mapping[str, str], seed: int
) -> dict[str, str]:
    """Return one wrong answer per question."""
    # A numeric answer is changed by at most 20 %, but at least by one unit of its last decimal.
    # Any other wrong answer is the right answer to another question, preferably of the same
    # domain.
    wrong = {}
    for i, question in enumerate(questions):
        rng = np.random.default_rng([seed, i])
        suggested = given.get(question.key) or _made(question, questions, rng)
        if suggested is None or _is_right(suggested, question):
            fault = (
                "no wrong answer can be made" if suggested is None else f"{suggested!r} is right"
            )
            msg = f"question {question.key!r}: {fault}; pass one in suggestions={{key: answer}}"
            raise InputError(msg)
        wrong[question.key] = suggested
    return wrong


def _made(
    question: Question, questions: Sequence[Question], rng: np.random.Generator
) -> str | None:
    right = read_number(question.answers[0])
    if right.answered and question.answers[0].strip().lstrip("+-").replace(".", "").isdigit():
        return _moved(question.answers[0].strip(), rng)
    others = [one for one in questions if one.answers and not _is_right(one.answers[0], question)]
    near = [one for one in others if one.domain == question.domain] or others
    return near[int(rng.integers(len(near)))].answers[0] if near else None


def _moved(number: str, rng: np.random.Generator) -> str:
    """Return another number with the same number of decimal places."""
    decimals = len(number.partition(".")[2])
    unit = 10.0**-decimals
    steps = max(int(abs(float(number)) / unit / 5.0), 1)
    step = int(rng.integers(1, steps + 1)) * (1 if rng.random() < 0.5 else -1)
    return f"{float(number) + step * unit:.{decimals}f}"


def _is_right(answer: str, question: Question) -> bool:
    return bool(grade_by(question.grading(), answer).correct)
