"""``psychollm audit``: which options models chose in, which keys look wrong out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from psychollm._base.call import Call, Made
from psychollm.cli.carry_out import Analysis, Found
from psychollm.cli.one_table import OneTable
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

DESCRIPTION = """\
Say which keys look wrong, and which questions are at fault otherwise, from the options that models
chose: a CSV file with a row per question and a column per model, the labels of questions first,
and one with a question and its key per line. Empty cells were not read. Without a key, a table of
right and wrong answers (1 and 0), a row per model, which shows less.
"""
EPILOG = """\
examples:
  psychollm audit choices.csv key.csv --texts questions.csv --out audit
  psychollm audit choices.csv key.csv --groups subjects.csv --families families.csv --fdr 0.3
  psychollm audit right.csv --options 4
"""


@dataclass(frozen=True, kw_only=True)
class Audit(Analysis, OneTable):
    """The command."""

    NAME = "audit"
    HELP = "find wrong answer keys from the options that models chose"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    choices: Path = option("the options that models chose, or right and wrong", positional=True)
    key: Path | None = option(
        "a file with a question and its key per line", default=None, positional=True
    )
    texts: Path | None = option(
        "a file with a question and its text per line, for the page",
        default=None,
        group=OUTPUT,
    )
    groups: Path | None = option(
        "a file with a question and its group per line, such as its subject; without it what "
        "stands before the last slash of the labels",
        default=None,
        group=ANALYSIS,
    )
    families: Path | None = option(
        "a file with a model and its family per line", default=None, group=ANALYSIS
    )
    options: int | None = option(
        "how many options there are, where that is not what occurs",
        "N",
        default=None,
        group=ANALYSIS,
    )
    fdr: float = option(
        "the share of sound questions to be expected among those named",
        "SHARE",
        default=0.2,
        group=ANALYSIS,
    )
    seed: int = option("random seed", "S", default=1, group=ANALYSIS)
    out: Path | None = option(
        "where the page, the table and the rest go", "DIR", default=None, group=OUTPUT
    )
    report: bool = option("a page beside the table", default=True, group=OUTPUT)
    json: bool = option("print only the results as JSON", default=False, group=OUTPUT)
    quiet: bool = option("print nothing", default=False, group=OUTPUT)

    @property
    def reads(self) -> str:
        """What is read."""
        return "the choices"

    def read(self) -> Callable[[], Found]:
        """Read the choices, and what belongs to questions and models."""
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
        """Return the call of the study, with those that read its files."""
        choices = (
            Call("psy.read_responses", (self.choices,), self.reading, name="right")
            if self.key is None
            else Call(
                "psy.data.readers.read_words",
                (self.choices,),
                {} if self.missing is None else {"missing_values": self.missing},
                name="choices",
            )
        )
        labels = {
            name: path and Call("psy.data.readers.read_labels", (path,), name=name)
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
        found = self.of_study(result, script, numbers)
        if texts is not None:
            table = found.tables["questions"]
            table["text"] = [texts.get(str(label), "") for label in table["question"]]
        return replace(found, page=partial(result.report, texts=texts, source=script))


COMMAND = Audit
