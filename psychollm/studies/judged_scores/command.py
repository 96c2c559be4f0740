"""``psychollm judge``: correct a judge's scores with human labels."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from psychollm._base.call import Call, Made
from psychollm._base.errors import InputError, OptionError
from psychollm._base.numbers import count
from psychollm.cli.carry_out import Found, records
from psychollm.cli.import_logs import is_store, split_name
from psychollm.cli.of_scores import MAY_BE_LOGS, Clustered, Judged, WithLabels
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS

DESCRIPTION = """\
Estimate the score that people would give each model, from a judge's verdicts on all answers and
human labels of some: scores with intervals, the judge's bias, significant differences between
models, and the number of labels needed for narrower intervals. Models and questions are matched by
label.

VERDICTS and LABELS are each a log of an evaluation tool, a folder of such logs, a table of scores
or a store of psychollm collect; see LOG in 'psychollm compare --help'. LABELS may have many empty
cells, or missing rows in a long table.

In logs of Inspect AI, promptfoo or deepeval, all model-based scorers are used, or the one named by
--judge. Other scorers are used if --scorer names them.
"""
EPILOG = """\
examples:
  psychollm judge gpt.csv labels.csv
  psychollm judge gpt.csv labels.csv --half-width 0.03 --out judged
  psychollm judge gpt.csv labels.csv --also llama.csv --also exact.csv
  psychollm judge logs/ labels.csv --judge model_graded_qa
  psychollm judge gpt.csv labels.csv --columns score=passed --label-columns score=approved
"""


@dataclass(frozen=True, kw_only=True)
class Judge(Judged, Clustered, WithLabels):
    """Command `psychollm judge`."""

    NAME = "judge"
    HELP = "correct a judge's scores with some labels by people"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    verdicts: Path = option("verdicts of a judge on all answers", positional=True)
    people: Path = option("human labels of some answers", "LABELS", positional=True)
    also: tuple[Path, ...] = option(
        "verdicts of a further judge; may be repeated", "VERDICTS", default=(), group=ANALYSIS
    )
    judge: str | None = option(
        "name of the judge, or which of several to use: a file without its suffix, or a scorer "
        "of a log",
        "NAME",
        default=None,
        group=ANALYSIS,
    )
    families: Path | None = option(
        "family of each model: a file with one model and its family per line",
        default=None,
        group=ANALYSIS,
    )
    probability: Path | None = option(
        "inclusion probabilities of labels: a file with one question and its probability per line",
        default=None,
        group=ANALYSIS,
    )
    target: Literal["these", "like-these"] = option(
        "infer to these questions, or to their population", default="these", group=ANALYSIS
    )
    half_width: float | None = option(
        "report how many labels reach this margin of error in every interval",
        "X",
        default=None,
        group=ANALYSIS,
    )

    def read(self) -> Callable[[], Found]:
        """Read verdicts and labels."""
        made: Made = {}
        given = [(path, name) for path in (self.verdicts, *self.also) for name in self._in(path)]
        names = _names(given)
        judges = {
            name: replace(
                replace(self, scorer=scorer or self.scorer).reading_of((path,)),
                name=f"verdicts{place or ''}",
            )
            for place, (name, (path, scorer)) in enumerate(zip(names, given, strict=True))
        }
        for reading in judges.values():
            reading.run(made)
        people = self.labels_of(self.people, made, name="people")
        if people.script() in {replace(one, name="people").script() for one in judges.values()}:
            msg = (
                f"VERDICTS and LABELS are the same scores of {self.people}: name the column of "
                "the labels with --label-columns score=COLUMN"
            )
            raise OptionError(msg)
        judge = given[0][1] if len(given) == 1 and self.judge is None else self.judge
        options = {
            "judge": judge,
            "clusters": self.clusters_read,
            "families": self._of_file("families", self.families),
            "probability": self._chances(),
            "target": "these questions" if self.target == "these" else "questions like these",
            "level": self.level,
            "rng": self.seed,
        }
        verdicts: Any = judges if len(judges) > 1 else next(iter(judges.values()))
        call = Call("psy.judged_scores", (verdicts, people), options)
        paths = [*(path for path, _ in given), self.people]
        readings = dict(zip((*judges.values(), people), paths, strict=True))
        return partial(self._judged, call, readings, made)

    def _in(self, path: Path) -> tuple[str | None, ...]:
        """Return the scorers in a log that are judges; None for other files."""
        if self.scorer is not None or is_store(path) or path.suffix not in MAY_BE_LOGS:
            return (None,)
        from psychollm.data.logs_judges import judges_in

        unreadable: Any = self.selection["unreadable"]
        kind: Any = self.format
        try:
            found = judges_in(
                split_name(path)[1], format=kind, task=self.task, unreadable=unreadable
            )
        except InputError:  # reading the file again with all options raises the error
            found = ()
        if found and self.judge is not None and not self.also:
            return (self.judge,)
        return found or (None,)

    def _judged(self, call: Call, readings: dict[Call, Path], made: Made) -> Found:
        result = call.run(made)
        logs = [reading.run(made) for reading in readings]
        numbers: dict[str, Any] = {
            "tiers": result.tier,
            "worth": result.worth,
            "helps": result.helps,
            "remarks": result.remarks,
            "level": result.level,
            "logs": {
                reading.name: log.counts() for reading, log in zip(readings, logs, strict=True)
            },
            "seed": self.seed,
        }
        given = [
            f"{count(one.counts()['scored'])} scores from {path}{_by(one)}"
            for one, path in zip(logs, readings.values(), strict=True)
        ]
        remark = f"Read {' and '.join(given)}."
        remark = "\n".join([remark, *(log.summary() for log in logs if log.left_out)])
        found = self.of_study(result, call.script(), numbers, remark=remark)
        if self.half_width is None:
            return found
        plan = result.plan(half_width=self.half_width)
        numbers["plan"] = records(plan.to_frame())
        chances = plan.to_label().rename_axis("question").reset_index()
        return replace(
            found,
            summary=f"{found.summary}\n{plan.summary()}",
            numbers=numbers,
            tables=lambda: {**found.tables(), "to_label": chances},
            in_files=("to_label",),
        )

    def _of_file(self, name: str, path: Path | None) -> Call | None:
        if path is None:
            return None
        return Call("psy.data.read_clusters", (path,), name=name)

    def _chances(self) -> Call | None:
        read = self._of_file("chances", self.probability)
        return None if read is None else Call(".astype", (read, "float"), name="probability")


def _names(given: list[tuple[Path, str | None]]) -> list[str]:
    """Return each judge's name: its scorer, with the file if several files contain the scorer."""
    scorers = [scorer for _, scorer in given]
    names = [
        split_name(path)[1].stem if scorer is None
        else f"{split_name(path)[1].stem}/{scorer}" if scorers.count(scorer) > 1
        else scorer
        for path, scorer in given
    ]  # fmt: skip
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"--also has two judges named {twice!r}: rename a file"
        raise OptionError(msg)
    return names


def _by(log: Any) -> str:
    """Return the name of the scorer that is used, if the logs name a scorer."""
    scorers = list(dict.fromkeys(name for name in log.scorers.values() if name))
    return f" by {', '.join(scorers)}" if scorers else ""


COMMAND = Judge
