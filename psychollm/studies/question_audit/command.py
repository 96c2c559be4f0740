"""``psychollm audit``: detect wrong keys from the options that models chose."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.call import Call, Made
from psychollm.cli.carry_out import Analysis, Found
from psychollm.cli.one_table import OneTable
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.studies.question_audit.study import QuestionAudit

DESCRIPTION = """\
Detect wrong keys and other faulty questions from the options that models chose. The input is a
CSV file with a row per question and a column per model, question labels first, or with a row per
answer (columns such as model, question and answer); and a file with a question and its key per
line. Empty cells are missing answers. Without a key, pass a table of scores (1 right, 0 wrong)
with a row per model; it is less informative.
"""
EPILOG = """\
examples:
  psychollm audit choices.csv key.csv --texts questions.csv --out audit
  psychollm audit choices.csv key.csv --groups subjects.csv --families families.csv --fdr 0.3
  psychollm audit right.csv --options 4
"""

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
        call, made = self._call(), Made()
        for one in (*call.inputs, *call.options.values()):
            if isinstance(one, Call):
                one.run(made)
        texts = None if self.texts is None else read_labels(self.texts)
        return partial(self._audited, call, made, texts)

    def _call(self) -> Call:
        """Return the call of the study, with the calls that read its files."""
        choices = (
            Call("psy.read_responses", (self.choices,), self.reading, name="right")
            if self.key is None
            else Call(
                "psy.data.read_words",
                (self.choices,),
                {name: value for name, value in self.reading.items() if name in _OF_WORDS},
                name="choices",
            )
        )
        labels = {
            name: path and Call("psy.data.read_labels", (path,), name=name)
            for name, path in (
                ("key", self.key), ("families", self.families), ("groups", self.groups)
            )
        }  # fmt: skip
        key = labels.pop("key")
        options = {**labels, "n_options": self.options, "rng": self.seed}
        inputs = (choices,) if key is None else (choices, key)
        return Call("psy.question_audit", inputs, options)

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
