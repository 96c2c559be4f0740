"""``psychollm audit``: detect wrong keys from the options that models chose."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.call import Call, Made
from psychollm._base.entry import warn
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError
from psychollm.cli.carry_out import Analysis, Found
from psychollm.cli.one_table import OneTable
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, READING

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.studies.question_audit.study import QuestionAudit

DESCRIPTION = """\
Detect wrong keys and other faulty questions from the options that models chose. The input is a
CSV file with a row per question and a column per model, question labels first, or with a row per
answer (columns such as model, question and choice); and a file with a question and its key per
line, or --key-column. Empty cells are missing answers. Without a key, pass a table of scores
(1 right, 0 wrong) with a row per model; it is less informative.
"""
EPILOG = """\
examples:
  psychollm audit choices.csv key.csv --texts questions.csv --out audit
  psychollm audit choices.csv key.csv --groups subjects.csv --families families.csv --fdr 0.3
  psychollm audit answers.csv --key-column key
  psychollm audit right.csv --options 4
"""

_REMEDY = "pass KEY, a file with a question and its key per line, or --key-column NAME"
_OF_WORDS = ("layout", "model", "question", "value", "duplicates", "missing_values")


@dataclass(frozen=True, kw_only=True)
class Audit(Analysis, OneTable):
    """Command `psychollm audit`."""

    NAME = "audit"
    HELP = "find wrong answer keys from the options that models chose"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    choices: Path = option("the options that models chose, or their scores", positional=True)
    key: Path | None = option(
        "a file with one question and its key per line", default=None, positional=True
    )
    key_column: str | None = option(
        "the column of CHOICES with the key of each question, in place of KEY",
        "NAME",
        default=None,
        group=READING,
    )
    texts: Path | None = option(
        "a file with a question and its text per line, for the page",
        default=None,
        group=OUTPUT,
    )
    groups: Path | None = option(
        "a file with a question and its group per line, such as its subject; by default the part "
        "of the label before the last slash",
        default=None,
        group=ANALYSIS,
    )
    families: Path | None = option(
        "a file with a model and its family per line", default=None, group=ANALYSIS
    )
    options: int | None = option(
        "number of options, if more than occur in the table",
        "N",
        default=None,
        group=ANALYSIS,
    )
    fdr: float = option(
        "false discovery rate of the flagged questions",
        "SHARE",
        default=0.2,
        group=ANALYSIS,
    )
    seed: int = option("random seed", "S", default=1, group=ANALYSIS)
    out: Path | None = option(
        "folder for the page, the table and all other files", "DIR", default=None, group=OUTPUT
    )
    report: bool = option("also write a page", default=True, group=OUTPUT)
    json: bool = option("print only the results as JSON", default=False, group=OUTPUT)
    quiet: bool = option("print nothing", default=False, group=OUTPUT)

    @property
    def reads(self) -> str:
        """Name of the input of the command."""
        return "the choices"

    def read(self) -> Callable[[], Found]:
        """Read the choices, the key, and the groups of questions and models."""
        from psychollm._base.checks import check_fraction
        from psychollm.data.readers import read_labels

        check_fraction("fdr", self.fdr)
        if self.key is not None and self.key_column is not None:
            msg = "KEY and --key-column exclude each other: omit one"
            raise OptionError(msg)
        call, made = replace(self, key_column=self._key_column())._call(), Made()
        try:
            for one in (*call.inputs, *call.options.values()):
                if isinstance(one, Call):
                    one.run(made)
        except CodeError as error:
            if len(call.inputs) > 1:
                raise
            msg = f"{error.text.marked}; for options that models chose, {_REMEDY}"
            raise CodeError(msg) from error
        texts = None if self.texts is None else read_labels(self.texts)
        return partial(self._audited, call, made, texts)

    def _key_column(self) -> str | None:
        """Return the named or detected key column of CHOICES; None if there is no such column."""
        from psychollm._base.frames import CHOICES, KEYS, is_called
        from psychollm.data.long import known_columns
        from psychollm.data.readers.votes_file import header_of_rows

        header = header_of_rows(self.choices) if self.choices.is_file() else []
        if self.key_column is not None and header and self.key_column not in header:
            msg = f"--key-column: {self.choices} has the columns {', '.join(header[:12])}"
            raise LabelError(msg)
        known = known_columns(header)
        chosen = [name for name in header if is_called(name, CHOICES)]
        keys = [name for name in header if is_called(name, KEYS)]
        if self.key or self.key_column or self.value_column or not known["question"]:
            return self.key_column
        if len(keys) == 1 and (chosen or not known["model"]) and len(header) > 2:
            warn(f"{self.choices}: column {keys[0]!r} is read as the key of each question")
            return keys[0]
        if not chosen or not known["model"]:
            return None
        if not known["score"]:
            msg = f"{self.choices} holds options ({chosen[0]!r}), but no key: {_REMEDY}"
            raise InputError(msg)
        warn(
            f"{self.choices}: only the scores in column {known['score'][0]!r} are audited; to "
            f"audit keys by the options in column {chosen[0]!r}, {_REMEDY}"
        )
        return None

    def _call(self) -> Call:
        """Return the call of the study, with the calls that read its files."""
        of_words = {name: value for name, value in self.reading.items() if name in _OF_WORDS}
        choices = (
            Call("psy.read_responses", (self.choices,), self.reading, name="right")
            if self.key is None and self.key_column is None
            else Call("psy.data.read_words", (self.choices,), of_words, name="choices")
        )
        labels = {
            name: path and Call("psy.data.read_labels", (path,), name=name)
            for name, path in (
                ("key", self.key), ("families", self.families), ("groups", self.groups)
            )
        }  # fmt: skip
        key = labels.pop("key")
        if self.key_column is not None:
            columns = {name: of_words.get(name) for name in ("model", "question")}
            options = {"column": self.key_column, **columns}
            key = Call("psy.data.read_labels", (self.choices,), options, name="key")
            if self._is_wide():
                choices = Call(".drop", (choices,), {"columns": self.key_column}, name="options")
        options = {**labels, "n_options": self.options, "rng": self.seed}
        inputs = (choices,) if key is None else (choices, key)
        return Call("psy.question_audit", inputs, options)

    def _is_wide(self) -> bool:
        """Return whether CHOICES has one column per model, and the key in one of its columns."""
        from psychollm.data.long import known_columns
        from psychollm.data.readers.votes_file import header_of_rows

        return not (self.model_column or known_columns(header_of_rows(self.choices))["model"])

    def _audited(self, call: Call, made: Made, texts: dict[str, str] | None) -> Found:
        result, script = call.run(made), call.script()
        numbers = {
            "fdr": self.fdr,
            "wrong_keys": list(result.flagged(self.fdr)),
            "any_fault": list(result.flagged(self.fdr, fault="any")),
            "n_models": result.n_models,
            "seed": self.seed,
        }
        found = replace(self.of_study(result, script, numbers), remark=self._flagged(result))
        page = partial(result.report, texts=texts, source=script)
        return replace(found, tables=partial(_tables, result, texts), page=page)

    def _flagged(self, result: "QuestionAudit") -> str:
        """List the keys flagged at the rate `--fdr`, unless the findings list them."""
        from psychollm.estimates.findings import sentence_list
        from psychollm.studies.question_audit.study import LOOSE

        keys = result.flagged(self.fdr)
        if keys == (result.flagged() or result.flagged(LOOSE)):
            return ""

        named = f": {sentence_list(keys)}" if keys else ""
        are = f"{len(keys)} key{' is' if len(keys) == 1 else 's are'}" if keys else "no key is"
        return f"At a false discovery rate of {100.0 * self.fdr:g} %, {are} flagged{named}."


COMMAND = Audit


def _tables(result: "QuestionAudit", texts: dict[str, str] | None) -> "dict[str, pd.DataFrame]":
    """Return the tables of an audit, with the texts of the questions if they are known."""
    tables = result.tables()
    if texts is not None:
        table = tables["questions"]
        table["text"] = [texts.get(str(label), "") for label in table["question"]]
    return tables
