"""Read, score and compare tables of people's answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_fraction
from psychollm._base.errors import CodeError, InputError, LabelError
from psychollm._base.frames import MODELS, QUESTIONS, SCORES, in_pandas, is_called
from psychollm._base.types import FloatArray
from psychollm._base.wording import parameter
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels, listed
from psychollm.data.readers.csv_file import MISSING_WORDS, header_of, rows_of
from psychollm.data.table import as_table, numbers
from psychollm.instruments.instrument import instrument_of, reader_of, scorer_of
from psychollm.instruments.prompt import Prompt
from psychollm.reliability.means.repeated_scores import answers_of, means_of
from psychollm.studies.people.norm import HumanNorm
from psychollm.studies.people.score import score_of, totals_of
from psychollm.studies.people.study import BesidePeople

if TYPE_CHECKING:
    import pandas as pd

# Columns of a file of replies, as saved by the form.
PERSON, PROMPT, REPLY = "person", "prompt", "reply"
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Columns of a study's long table that define a score of people and models."""

    name: str
    value: str
    question: str = "item"  # blank for the total of a scale
    by: str = ""  # column of separate comparisons, such as conditions
    cluster: str = ""  # column with the cluster of each question


def read_people(
    path: str | PathLike[str], *, prompts: Iterable[Prompt] | None = None
) -> pd.DataFrame:
    r"""Read answers of people: a file saved by the form, or a table of scores.

    Parameters
    ----------
    path : path
        A CSV file, or a folder of CSV files. The form saves a line per reply with the columns
        person, prompt and reply. A table of scores has a line per answer with the columns person,
        question (or item), score and, if needed, a condition; or a line per person with a column
        for each question.
    prompts : iterable of Prompt, optional
        Prompts to which the replies in a file belong. Replies are parsed and scored like models'
        replies.

    Returns
    -------
    DataFrame
        Table with the column person and the other columns of the file. For replies, the table is
        the long table of the instrument, with a column person in place of model.

    Raises
    ------
    InputError
        If the file cannot be read, or has replies and no prompts were passed.
    LabelError
        If there is no column of people, a person has no name, or a prompt is unknown.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "people.csv"
    >>> _ = path.write_text("person,q1,q2\nAda,1,0\nBea,1,1\n")
    >>> read_people(path).columns.tolist()
    ['person', 'q1', 'q2']
    """
    import pandas as pd

    path, prompts = Path(path), None if prompts is None else tuple(prompts)
    if path.is_dir():
        files = sorted(path.glob("*.csv"))
        if not files:
            msg = f"{path} has no .csv file: put the files that people saved there"
            raise InputError(msg)
        both: pd.DataFrame = pd.concat([read_people(one, prompts=prompts) for one in files])
        return both
    header = header_of(path)
    rows = list(rows_of(path)) if header else []
    if not rows:
        msg = f"{path} has no answers: it needs a header and a line for each person or answer"
        raise InputError(msg)
    lines = pd.Index([line for line, _ in rows], name="line")
    frame = _named(pd.DataFrame([row for _, row in rows], columns=header, index=lines), str(path))
    blank = frame[PERSON].astype(str).str.strip().eq("")
    if blank.any():
        msg = f"{path}, line {frame.index[blank][0]}: person is blank: write a name or a number"
        raise LabelError(msg)
    if REPLY not in header:
        return frame
    if prompts is None:
        msg = f"{path} has replies: pass their prompts, " + parameter(
            "prompts", python="prompts=instrument.prompts()", command="a store"
        )
        raise InputError(msg)
    return _scored(frame, prompts, path)


def _named(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return the table with its column of people renamed to `PERSON`."""
    names = [name for name in frame.columns if is_called(name, MODELS)]
    exact = [name for name in names if str(name).lower() == PERSON]
    if not names:
        shown = listed([str(name) for name in frame.columns])
        msg = f"{where} has no column of people ({shown}): name it {PERSON!r}"
        raise LabelError(msg)
    found = frame.rename(columns={(exact or names)[0]: PERSON})
    found.attrs["where"] = where
    return found


def _scored(frame: pd.DataFrame, prompts: tuple[Prompt, ...], path: Path) -> pd.DataFrame:
    """Parse replies by their instrument, and score each person like a model."""
    import pandas as pd

    if PROMPT not in frame.columns:
        msg = f"{path} has replies without a column {PROMPT!r}: pass the file saved by the form"
        raise LabelError(msg)
    known = {prompt.key: prompt for prompt in prompts}
    names = {instrument_of(prompt) for prompt in known.values()}
    if len(names) != 1:
        msg = f"prompts are from {listed(sorted(names))}: pass those of one instrument"
        raise LabelError(msg)
    read, score = reader_of(name := names.pop()), scorer_of(name)
    if "instrument" in frame.columns:
        frame = frame[frame["instrument"].isin((name, ""))]
    tables: list[pd.DataFrame] = []
    for person, own in frame.groupby(PERSON, sort=False):
        said: dict[str, str] = {}
        for line, key, reply in zip(own.index, own[PROMPT], own[REPLY], strict=True):
            if key not in known:
                msg = f"{path}, line {line}: prompt {key!r} was not asked of models: {_LIKE}"
                raise LabelError(msg)
            if said.get(key, reply) != reply:
                msg = f"{path}, line {line}: {person!r} replies to {key!r} twice: keep one line"
                raise LabelError(msg)
            said[key] = reply
        asked = [known[key] for key in known if key in said]
        made = score(asked, {one.key: read(one, said[one.key]) for one in asked}).to_frame()
        tables.append(made.drop(columns="model", errors="ignore").assign(**{PERSON: person}))
    if not tables:
        msg = f"{path} has no replies to the prompts of {name}: write a form of these prompts"
        raise LabelError(msg)
    scored: pd.DataFrame = pd.concat(tables, ignore_index=True)
    return scored


_LIKE = "write the form from the prompts of the models"


def as_frame(people: Any) -> pd.DataFrame:
    """Return answers of people as a table with a column person."""
    if isinstance(people, str | PathLike):
        return read_people(people)
    frame = in_pandas(people)
    if not hasattr(frame, "columns"):
        msg = (
            f"people is a {type(people).__name__}: pass a DataFrame with a row per answer or "
            "person, or the path of a CSV file"
        )
        raise InputError(msg)
    return frame if "where" in frame.attrs else _named(frame, "people")


def people_on(people: Any, questions: Labels, *, value: str | None = None) -> FloatArray:
    """Return scores of people (people, questions) in the order of the given questions."""
    if not _is_table(people):
        table = as_table(people, argument="people")
        values = numbers(table, argument="people")
        if not table.named[1] and len(table.questions) == len(questions):
            return values
        held = {str(one): place for place, one in enumerate(table.questions)}
    else:
        cells = _cells(as_frame(people), Measure(name="score", value=value or "score"), questions)
        wide = cells.pivot_table(index=PERSON, columns="question", values="value", sort=False)
        values = wide.to_numpy(dtype=np.float64)
        held = {str(one): place for place, one in enumerate(wide.columns)}
    found: FloatArray = np.full((len(values), len(questions)), np.nan)
    for place, label in enumerate(map(str, questions)):
        if label in held:
            found[:, place] = values[:, held[label]]
    if not np.isfinite(found).any():
        raise LabelError(_unlike(held, questions))
    return np.asarray(found[np.isfinite(found).any(axis=1)])


def beside_people(
    scores: Any,
    people: Any,
    *,
    clusters: Any = None,
    level: float = 0.95,
) -> BesidePeople:
    """Compare models with people who answered the same questions.

    Parameters
    ----------
    scores : ScoreLog, Responses, RepeatedScores, DataFrame, DataArray or array_like
        Scores of models, models x questions; NaN marks missing scores.
    people : DataFrame, array_like or path
        Scores of people on the same questions: a table with a row per person (named in a column or
        in the index) and a column per question, or a table with a row per answer and the columns
        person, question and score. A path is read by `read_people`.
    clusters : array_like (questions,), optional
        Cluster of each question of `scores`, such as its passage or template.
    level : float
        Coverage of the intervals.

    Returns
    -------
    BesidePeople
        The result has one part, "score". Intervals need at least five people.

    Raises
    ------
    LabelError
        If people answered none of the questions.
    CodeError
        If a score is infinite or not a number.
    OptionError
        If the level is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, models = rng.random((15, 60)) < 0.6, rng.random((2, 60)) < [[0.9], [0.6]]
    >>> found = beside_people(models.astype(int), people.astype(int))
    >>> found.parts["score"].place.value.round(2)
    array([1.  , 0.47])
    """
    check_fraction("level", level)
    answers = answers_of(scores)
    tables = {"score": (means_of(answers), "score")}
    return beside_tables(
        tables, answers.models, answers.questions, people, clusters=clusters, level=level
    )


def beside_tables(
    models: Mapping[str, tuple[FloatArray, str]],
    labels: Labels,
    questions: Labels,
    people: Any,
    *,
    clusters: Any = None,
    level: float,
) -> BesidePeople:
    """Compare people with tables of models; each table names the column of people's scores."""
    codes = None if clusters is None else cluster_codes(clusters, questions)
    given = as_frame(people) if _is_table(people) else people
    held = [name for name, (_, value) in models.items() if value in getattr(given, "columns", ())]
    return BesidePeople(
        parts={
            name: score_of(
                models[name][0],
                labels,
                people_on(given, questions, value=models[name][1]),
                clusters=codes,
                level=level,
            )
            for name in held or list(models)[-1:]
        },
        level=level,
    )


def _is_table(people: Any) -> bool:
    """Return whether people are named in a column or a file, not in the index."""
    if isinstance(people, str | PathLike):
        return True
    return any(is_called(name, MODELS) for name in getattr(in_pandas(people), "columns", ()))


def _unlike(held: Iterable[Any], questions: Sequence[Any]) -> str:
    return (
        f"people answered none of the models' questions: people have {listed(list(held))}, "
        f"models have {listed([str(one) for one in questions])}: use the same labels"
    )


def _cells(frame: pd.DataFrame, measure: Measure, questions: Sequence[Any]) -> pd.DataFrame:
    """Return one row per answer: person, question, value, and the condition if there is one."""
    where = frame.attrs.get("where", "people")
    wanted = {str(one) for one in questions}
    columns = [name for name in frame.columns if name != PERSON]
    of = [name for name in columns if name == measure.question]
    of += [name for name in columns if is_called(name, QUESTIONS) and str(name) not in wanted]
    if of:
        values = [name for name in (measure.value, *SCORES, "answer") if name in columns]
        if not values:
            msg = (
                f"{where} has no column of scores ({listed([str(one) for one in columns])}): name "
                f"it {measure.value!r} or 'score'"
            )
            raise LabelError(msg)
        found = frame[[PERSON, of[0], values[0]]].set_axis([PERSON, "question", "value"], axis=1)
    else:
        own = [name for name in columns if str(name) in wanted]
        if not own:
            raise LabelError(_unlike([str(one) for one in columns], questions))
        found = frame.melt([PERSON], own, "question", "value", ignore_index=False)
    if measure.by and measure.by in frame.columns:
        found = found.assign(by=frame[measure.by].reindex(found.index).astype(str))
    found = found.assign(question=found["question"].astype(str), value=_numbers(found, where))
    return found.dropna(subset="value")


def _numbers(found: pd.DataFrame, where: str) -> FloatArray:
    """Return values as numbers; raise an error that locates a value that is not a number."""
    values = np.full(len(found), np.nan)
    rows = zip(found.index, found[PERSON], found["question"], found["value"], strict=True)
    for place, (row, person, question, value) in enumerate(rows):
        text = str(value).strip().lower()
        if value is None or text in MISSING_WORDS:
            continue
        try:
            values[place] = _TRUTH[text] if text in _TRUTH else float(value)
        except (TypeError, ValueError):
            values[place] = np.inf
        if np.isinf(values[place]):
            line = f"line {row}" if found.index.name == "line" else f"row {row}"
            msg = (
                f"{where}, {line} (person {person!r}, question {question!r}) has {value!r}, which "
                "is not a number: write scores such as 1 and 0, and leave missing ones empty"
            )
            raise CodeError(msg)
    return values


def beside(
    models: pd.DataFrame, people: Any, measures: Sequence[Measure], *, level: float
) -> BesidePeople:
    """Compare people with models on measures from a study's long table."""
    frame = as_frame(people)
    named = [one for one in measures if one.value in frame.columns and one.value in models.columns]
    parts: dict[str, Any] = {}
    for measure in named or measures[:1]:
        parts |= _of_measure(models, frame, measure, level)
    if not parts:
        labels = models[measures[0].question].unique().tolist()
        raise LabelError(_unlike(frame.columns, labels))
    return BesidePeople(parts=parts, level=level)


def _of_measure(
    models: pd.DataFrame, frame: pd.DataFrame, measure: Measure, level: float
) -> dict[str, Any]:
    labels = models["model"].drop_duplicates().tolist()
    kinds = [""] if not measure.by else models[measure.by].astype(str).drop_duplicates().tolist()
    own = models.assign(
        question=models[measure.question].astype(str),
        by=models[measure.by].astype(str) if measure.by else "",
        value=models[measure.value].astype(np.float64),
    )
    cells = _conditions(_cells(frame, measure, own["question"].unique().tolist()), own, measure)
    parts = {}
    for kind in kinds:
        mine, theirs = own[own["by"] == kind], cells[cells["by"] == kind]
        both = [one for one in mine["question"].unique() if one in set(theirs["question"])]
        if not both:
            continue
        wide = [
            part.pivot_table(index=of, columns="question", values="value", sort=False)
            for part, of in ((mine, "model"), (theirs, PERSON))
        ]
        clusters = None
        if measure.cluster and measure.cluster in models:
            of = mine.drop_duplicates("question").set_index("question")[measure.cluster]
            named = [str(of[one]) or one for one in both]
            clusters = np.unique(named, return_inverse=True)[1]
        name = f"{measure.name}, {measure.by.replace('_', ' ')} {kind}" if kind else measure.name
        parts[name] = score_of(
            wide[0].reindex(index=labels, columns=both).to_numpy(dtype=np.float64),
            tuple(labels),
            wide[1].reindex(columns=both).to_numpy(dtype=np.float64),
            clusters=clusters,
            level=level,
        )
    return parts


def _conditions(cells: pd.DataFrame, own: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return the answers of people with their condition, by default the models' condition."""
    if "by" in cells.columns:
        return cells
    if not measure.by:
        return cells.assign(by="")
    of = own[["question", "by"]].drop_duplicates().set_index("question")["by"]
    several = of.index[of.index.duplicated()]
    if len(several):
        msg = (
            f"people has no column {measure.by!r}, but models answered {several[0]!r} under "
            f"{listed(of[several[0]].tolist())}: add the column"
        )
        raise LabelError(msg)
    return cells.assign(by=cells["question"].map(of))


def of_totals(
    models: pd.DataFrame, people: Mapping[str, FloatArray | HumanNorm], *, level: float
) -> BesidePeople:
    """Compare totals of a scale by condition.

    `models` has a row per administration: model, condition, total; `people` has the totals of
    people under each condition, or a norm.
    """
    labels = models["model"].drop_duplicates().tolist()
    parts = {}
    for condition, rows in models.groupby("condition", sort=False):
        if str(condition) in people:
            own = rows.groupby("model")["total"]
            means, spread = own.mean().reindex(labels), (own.var() / own.count()).reindex(labels)
            parts[f"total, {condition}"] = totals_of(
                np.asarray(means, dtype=np.float64),
                np.asarray(spread.fillna(0.0), dtype=np.float64),
                tuple(labels),
                people[str(condition)],
                level=level,
            )
    return BesidePeople(parts=parts, level=level)
