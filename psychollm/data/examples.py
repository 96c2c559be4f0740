"""Example data sets of the library. Simulated data sets are marked SIMULATED.

The file of the simulated example contains the arrays from ``pack_example(make_example())``, stored
by ``np.savez_compressed(path, **arrays)``; a test compares the file with the arrays.

``smollm2.csv.xz`` contains recorded answers of a real model: the questions and, after a zero byte,
every full reply with its parsed values. Each line contains a column of the table with the values
of all questions, because storing rows would take twice the space. Probabilities of yes are in
thousandths; the probability of no is replaced by the remainder 1 - yes - no.
``smollm2_models.csv`` lists the respondents. The scripts that made the recorded files are in
``examples/smollm2``.
"""

import csv
import lzma
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray
from psychollm.data.responses import Responses
from psychollm.data.simulate_study import (
    SimulatedStudy,
    StudyTruth,
    simulate_study,
    simulated_responses,
)

if TYPE_CHECKING:
    import pandas as pd

ExampleName: TypeAlias = Literal["shared_confidence", "smollm2"]

SEED = 20_240_229
_FILE = "shared_confidence.npz"
_OF_QUESTIONS = ("scores", "easiness")

Rows = tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Recorded replies of an example."""

    replies: Rows  # one row per reply
    questions: Rows
    models: Rows

    def table(self, part: str) -> Responses:
        """Return parsed replies (models x questions); replies that cannot be parsed are missing.

        Parameters
        ----------
        part : str
            Part of the recording, such as ``"confidence"``.

        Examples
        --------
        >>> recorded = read_recorded("smollm2")
        >>> recorded.table("predict").models[0]
        'plain'
        """
        return Responses(
            self._values(part, "value"),
            models=[row["model"] for row in self.models],
            questions=[row["key"] for row in self.questions],
        )

    def yes_shares(self) -> FloatArray:
        """Return P(yes) / (P(yes) + P(no)), NaN if both probabilities are zero.

        Examples
        --------
        >>> shares = read_recorded("smollm2").yes_shares()
        >>> bool(np.nanmin(shares) > 0), bool(np.nanmax(shares) < 1)
        (True, True)
        """
        yes, no = self._values("predict", "yes"), self._values("predict", "no")
        total = yes + no
        return np.divide(yes, total, out=np.full_like(yes, np.nan), where=total > 0)

    def _values(self, part: str, column: str) -> FloatArray:
        models = {row["model"]: k for k, row in enumerate(self.models)}
        questions = {row["key"]: k for k, row in enumerate(self.questions)}
        values = np.full((len(models), len(questions)), np.nan)
        for row in self.replies:
            if row["part"] == part and row[column]:
                values[models[row["model"]], questions[row["question"]]] = float(row[column])
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Example(Result):
    """Example data: confidence and correctness, with a description."""

    name: str
    description: str
    simulated: bool
    confidence: Responses
    correctness: Responses
    truth: StudyTruth | None = None  # true parameters of simulated answers
    stated: FloatArray | None = None  # (models, questions) probability of yes, if recorded
    recorded: Recorded | None = None  # questions, respondents and raw replies

    def __repr__(self) -> str:
        return f"Example {self.name!r}\n  {self.description}"

    def replies(self) -> "pd.DataFrame":
        """Return every raw reply with its parsed answer; simulated examples have none.

        Examples
        --------
        >>> load_example("smollm2").replies().columns[:4].tolist()
        ['model', 'question', 'part', 'reply']
        """
        import pandas as pd

        rows = () if self.recorded is None else self.recorded.replies
        frame = pd.DataFrame([dict(row) for row in rows])
        numbers = [name for name in ("value", "yes", "no") if name in frame]
        return frame.assign(**{name: pd.to_numeric(frame[name]) for name in numbers})


def load_example(name: ExampleName) -> Example:
    """Load an example data set.

    ``"shared_confidence"`` has 19 SIMULATED models and 2,000 SIMULATED questions. The data set
    records whether each model reports that it can answer a question, and whether it answers
    correctly. Confidence has one common factor. The confidence of two models also predicts their
    own correctness beyond the common factor. The data were simulated by
    ``simulate_study(rng=SEED)`` and stored.

    ``"smollm2"`` has real replies of SmolLM2-135M-Instruct under 22 combinations of system prompt
    and temperature, each a respondent. Each respondent first predicted for each of 480 short
    questions whether it would answer correctly, and then answered them. ``.replies()`` returns the
    replies; ``.stated`` has the probability of yes at the first token. The respondents share one
    set of weights, so results do not generalise to other language models.

    Parameters
    ----------
    name : {"shared_confidence", "smollm2"}
        Name of the example.

    Raises
    ------
    OptionError
        If the example does not exist.

    References
    ----------
    L. B. Allal et al. (2025). SmolLM2: When Smol goes big. arXiv:2502.02737. (Model: Apache-2.0.)

    Examples
    --------
    >>> example = load_example("shared_confidence")
    >>> example.simulated, example.confidence.n_models, example.confidence.n_questions
    (True, 19, 2000)
    >>> example.confidence.coding
    'binary (SIMULATED)'
    >>> load_example("smollm2").correctness.n_models
    22
    """
    check_choice("name", name, ExampleName)
    return _smollm2() if name == "smollm2" else _shared_confidence()


def _smollm2() -> Example:
    recorded = read_recorded("smollm2")
    confidence, correctness = recorded.table("predict"), recorded.table("answer")
    return Example(
        name="smollm2",
        description=(
            f"one real model, SmolLM2-135M-Instruct, under {confidence.n_models} system prompts "
            f"and temperatures; {confidence.n_questions:,} questions asked before and answered "
            "after"
        ),
        simulated=False,
        confidence=confidence,
        correctness=correctness,
        stated=recorded.yes_shares(),
        recorded=recorded,
    )


def _shared_confidence() -> Example:
    content = files("psychollm.data").joinpath("files", _FILE).read_bytes()
    with np.load(BytesIO(content)) as stored:
        arrays = {key: stored[key] for key in stored.files}
    truth = _truth(arrays)
    n = len(truth.scores)
    return Example(
        name="shared_confidence",
        description=(
            f"SIMULATED data, not real models: {len(truth.models)} simulated models, {n:,} "
            "simulated questions, one shared confidence factor"
        ),
        simulated=True,
        confidence=simulated_responses(_unpacked(arrays["confidence"], n), truth.models),
        correctness=simulated_responses(_unpacked(arrays["correctness"], n), truth.models),
        truth=truth,
    )


def make_example() -> SimulatedStudy:
    """Simulate the data of ``load_example("shared_confidence")`` again."""
    return simulate_study(rng=SEED)


def pack_example(study: SimulatedStudy) -> dict[str, AnyArray]:
    """Return the arrays to store: answers as bits, values of questions in units of 1/1000."""
    tables = {"confidence": study.confidence, "correctness": study.correctness}
    bits = {name: np.packbits(one.codes.astype(np.bool_), axis=1) for name, one in tables.items()}
    truth = {one.name: np.array(getattr(study.truth, one.name)) for one in fields(StudyTruth)}
    return (
        bits | truth | {one: np.rint(1e3 * truth[one]).astype(np.int16) for one in _OF_QUESTIONS}
    )


def _truth(arrays: dict[str, AnyArray]) -> StudyTruth:
    values: dict[str, Any] = {one.name: arrays[one.name] for one in fields(StudyTruth)}
    values |= {name: values[name] / 1e3 for name in _OF_QUESTIONS}
    values |= {name: float(one) for name, one in values.items() if not one.ndim}
    return StudyTruth(**values | {"models": tuple(values["models"].tolist())})


def _unpacked(bits: AnyArray, n: int) -> AnyArray:
    return np.unpackbits(bits, axis=1, count=n).astype(np.bool_)


def read_recorded(name: str) -> Recorded:
    """Read the files of a recorded example."""
    folder = files("psychollm.data").joinpath("files")
    packed = folder.joinpath(f"{name}.csv.xz").read_bytes()
    questions, replies = lzma.decompress(packed).split(b"\0")
    columns = csv.reader(StringIO(replies.decode("utf-8"), newline=""))
    names, *rows = zip(*columns, strict=True)
    models = _rows(folder.joinpath(f"{name}_models.csv").read_bytes())
    order = {model["model"]: k for k, model in enumerate(models)}
    found = sorted(
        (dict(zip(names, row, strict=True)) for row in rows), key=lambda row: order[row["model"]]
    )
    for row in found:
        if row["yes"]:
            yes, rest = int(row["yes"]), int(row["no"])
            row["yes"], row["no"] = str(yes / 1e3), str((1000 - yes - rest) / 1e3)
    return Recorded(replies=tuple(found), questions=_rows(questions), models=models)


def _rows(content: bytes) -> Rows:
    return tuple(csv.DictReader(StringIO(content.decode("utf-8"), newline="")))
