"""``psychollm audit``: which options models chose in, which keys look wrong out."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.one_table import OneTable
from psychollm.cli.options import option
from psychollm.cli.streamed import call_text
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.cli.outputs import Output
    from psychollm.studies.question_audit.study import QuestionAudit

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
class Audit(OneTable):
    """The command."""

    NAME = "audit"
    HELP = "from the options that models chose to the keys that look wrong"
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
    seed: int = option("seed of all randomness", "S", default=1, group=ANALYSIS)
    out: Path | None = option(
        "where the page, the table and the rest go", "DIR", default=None, group=OUTPUT
    )
    report: bool = option("a page beside the table", default=True, group=OUTPUT)
    json: bool = option("print the results as JSON and nothing else", default=False, group=OUTPUT)
    quiet: bool = option("say nothing on the screen", default=False, group=OUTPUT)

    def run(self) -> int:
        """Read, audit, write, and say what was found."""
        from psychollm._base.checks import check_fraction
        from psychollm.cli.notes import as_notes, busy, computing
        from psychollm.cli.outputs import prepared
        from psychollm.data.readers import read_responses
        from psychollm.studies.question_audit.study import question_audit

        check_fraction("--fdr", self.fdr)
        folder = prepared(self.out, report=self.report)
        with as_notes(quiet=self.quiet):
            with busy("reading the choices", quiet=self.quiet):
                choices: Any = (
                    read_responses(self.choices, **self.reading)
                    if self.key is None
                    else words_in(self.choices, self.missing or ())
                )
                given = {
                    name: None if path is None else words_in(path).iloc[:, 0].to_dict()
                    for name, path in (
                        ("key", self.key),
                        ("groups", self.groups),
                        ("families", self.families),
                        ("texts", self.texts),
                    )
                }
            with computing(quiet=self.quiet):
                result = question_audit(
                    choices,
                    given["key"],
                    families=given["families"],
                    groups=given["groups"],
                    n_options=self.options,
                    rng=self.seed,
                )
            output = self._output(result, given["texts"])
            output.write(folder, report=self.report)
        output.tell(folder, report=self.report, json=self.json, quiet=self.quiet)
        return 0

    def _output(self, result: "QuestionAudit", texts: dict[Any, Any] | None) -> "Output":
        from psychollm.cli.outputs import Output, records
        from psychollm.studies.provenance import versions

        found, frame = result.findings(), result.to_frame().iloc[result.worst()]
        if texts is not None:
            frame["text"] = [texts.get(str(label), "") for label in frame["question"]]
        return Output(
            summary=found.text(),
            results={
                "verdict": found.verdict,
                "findings": found.to_dict()["items"],
                "fdr": self.fdr,
                "wrong_keys": list(result.flagged(self.fdr)),
                "any_fault": list(result.flagged(self.fdr, fault="any")),
                "questions": records(frame),
                "n_models": result.n_models,
                "call": self._code(),
                "seed": self.seed,
                "versions": dict(versions()),
            },
            tables={"questions": frame},
            write_report=lambda path: result.report(path, texts=texts, source=self._code()),
        )

    def _code(self) -> str:
        """Return the lines of Python that do the same."""
        from psychollm.studies.provenance import with_imports

        lines = []
        named = []
        for name, path in (("groups", self.groups), ("families", self.families)):
            if path is not None:
                lines.append(
                    f"{name} = pd.read_csv({str(path)!r}, index_col=0, dtype=str).iloc[:, 0]"
                )
                named.append(f"{name}={name}.to_dict()")
        if self.options is not None:
            named.append(f"n_options={self.options}")
        arguments = ", ".join([*named, f"rng={self.seed}"])
        if self.key is None:
            lines.append(f"right = {call_text('psy.read_responses', self.choices, self.reading)}")
            lines.append(f"result = psy.question_audit(right, {arguments})")
            return with_imports("\n".join(lines))
        lines += [
            f"choices = pd.read_csv({str(self.choices)!r}, index_col=0, dtype=str)",
            f"key = pd.read_csv({str(self.key)!r}, index_col=0, dtype=str).iloc[:, 0]",
            f"result = psy.question_audit(choices, key, {arguments})",
        ]
        return with_imports("\n".join(lines))


def words_in(path: Path, missing: tuple[str, ...] = ()) -> "pd.DataFrame":
    """Read a CSV file whose cells are words, by the labels in its first column."""
    import pandas as pd

    from psychollm._base.csv_text import encoding_of
    from psychollm._base.errors import InputError, LabelError

    try:
        with path.open("rb") as file:
            coded = encoding_of(file.read(2))
        frame = pd.read_csv(path, index_col=0, dtype=str, keep_default_na=False, encoding=coded)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        why = getattr(error, "strerror", None) or error
        msg = f"{path} cannot be read as a CSV file: {why}"
        raise InputError(msg) from error
    frame.index = frame.index.astype(str)
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        msg = f"{path}: {twice[0]!r} stands in the first column twice: keep one line of it"
        raise LabelError(msg)
    if frame.empty:
        msg = f"{path} holds no second column: a label and what belongs to it per line"
        raise InputError(msg)
    return frame.replace(["", *missing], pd.NA)
