"""Recorded answers of a real model: the files of ``load_example("smollm2")``, read.

``smollm2_replies.csv.xz`` holds every reply whole, with what it was read as, a column of the table
to a line, which packs to less than two thirds of what rows do;
``smollm2_questions.csv`` the questions, ``smollm2_models.csv`` the respondents.
``examples/smollm2`` holds what made them.
"""

import csv
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.data.responses import Responses

Rows = tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the files hold."""

    replies: Rows  # one per reply
    questions: Rows
    models: Rows

    def table(self, part: str) -> Responses:
        """Return what replies were read as, models x questions; missing where nothing could be.

        Examples
        --------
        >>> recorded = read_recorded("smollm2")
        >>> recorded.table("predict").models[0]
        'plain'
        """
        return Responses.from_array(
            self._values(part, "value"),
            models=[row["model"] for row in self.models],
            questions=[row["key"] for row in self.questions],
        )

    def yes_shares(self) -> FloatArray:
        """Return the mass of yes among that of yes and no, NaN where there is neither.

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


def read_recorded(name: str) -> Recorded:
    """Read the files of a recorded example."""
    folder = files("psychollm.data").joinpath("files")
    packed = folder.joinpath(f"{name}_replies.csv.xz").read_bytes()
    columns = csv.reader(StringIO(lzma.decompress(packed).decode("utf-8"), newline=""))
    names, *replies = zip(*columns, strict=True)
    return Recorded(
        replies=tuple(dict(zip(names, reply, strict=True)) for reply in replies),
        questions=_rows(folder.joinpath(f"{name}_questions.csv").read_bytes()),
        models=_rows(folder.joinpath(f"{name}_models.csv").read_bytes()),
    )


def _rows(content: bytes) -> Rows:
    return tuple(csv.DictReader(StringIO(content.decode("utf-8"), newline="")))
