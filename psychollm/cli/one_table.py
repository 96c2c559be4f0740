"""Options of `irt` and `audit` for reading one table of answers."""

from dataclasses import dataclass
from typing import Any, Literal

from psychollm.cli.import_logs import missing_values
from psychollm.cli.options import Command, option, pairs
from psychollm.cli.two_tables import READING


@dataclass(frozen=True, kw_only=True)
class OneTable(Command):
    """Options for reading a table of answers."""

    model_column: str | None = option(
        'labels of the models (long: "model")', "NAME", default=None, group=READING
    )
    question_column: tuple[str, ...] = option(
        'labels of the questions in a long table ("question")', "NAME", default=(), group=READING
    )
    value_column: str | None = option(
        'answers in a long table ("value")', "NAME", default=None, group=READING
    )
    layout: Literal["auto", "wide", "long", "transposed"] = option(
        "a row per model, per answer, or per question", default="auto", group=READING
    )
    labels: bool = option(
        "whether a column of a wide table labels its rows", default=True, group=READING
    )
    missing: tuple[str, ...] | None = option(
        "codes of missing answers, such as -99,.; 'none' if every value is an answer",
        "VALUE,...",
        default=None,
        parse=missing_values,
        group=READING,
    )
    codes: dict[str, int] | None = option(
        "codes of words, such as correct=1,incorrect=0",
        "WORD=N,...",
        default=None,
        parse=pairs(int, "correct=1,incorrect=0"),
        group=READING,
    )
    duplicates: Literal["error", "first", "last"] = option(
        "treatment of a second answer of a model to a question in a long table",
        default="error",
        group=READING,
    )

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of `read_responses` given on the command line."""
        typed = {
            "model": self.model_column,
            "question": self.question_column or None,
            "value": self.value_column,
            "layout": None if self.layout == "auto" else self.layout,
            "labels": None if self.labels else False,
            "missing_values": self.missing,
            "codes": self.codes,
            "duplicates": None if self.duplicates == "error" else self.duplicates,
        }
        return {name: value for name, value in typed.items() if value is not None}
