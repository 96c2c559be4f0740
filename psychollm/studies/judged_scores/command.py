"""``psychollm judge``: a judge's verdicts and people's labels in, what people would say out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from psychollm._base.call import Call, Made
from psychollm._base.errors import OptionError
from psychollm._base.numbers import count
from psychollm.cli.carry_out import Found, records
from psychollm.cli.import_logs import Choices
from psychollm.cli.of_scores import Clustered, Judged
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS

DESCRIPTION = """\
Say what score people would give each model, from a judge's verdicts on all answers and people's
labels of some: scores with intervals, how far the judge is off, which models differ, and how many
labels narrower intervals take. Models and questions are matched by their labels.

VERDICTS and LABELS are each a log of an evaluation tool, a folder of such logs, a table of scores
or a store of psychollm collect, as LOG is in 'psychollm compare --help'. In LABELS most cells of a
table are empty, or most rows of a long one missing.
"""
EPILOG = """\
examples:
  psychollm judge gpt.csv labels.csv
  psychollm judge gpt.csv labels.csv --half-width 0.03 --out judged
  psychollm judge gpt.csv labels.csv --also llama.csv --also exact.csv
"""


@dataclass(frozen=True, kw_only=True)
class Judge(Judged, Clustered, Choices):
    """The command."""

    NAME = "judge"
    HELP = "from a judge's verdicts and some labels by people to what people would say"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    verdicts: Path = option("what a judge said of every answer", positional=True)
    people: Path = option("labels of some answers by people", "LABELS", positional=True)
    also: tuple[Path, ...] = option(
        "what a further judge said; may be repeated", "VERDICTS", default=(), group=ANALYSIS
    )
    judge: str | None = option(
        "what the judge is called, or which of several counts: a file without its ending",
        "NAME",
        default=None,
        group=ANALYSIS,
    )
    families: Path | None = option(
        "what models are made from: a file with a model and its family per line",
        default=None,
        group=ANALYSIS,
    )
    probability: Path | None = option(
        "with which chances labels were drawn: a file with a question and its chance per line",
        default=None,
        group=ANALYSIS,
    )
    target: Literal["these", "like-these"] = option(
        "scores on these questions, or on questions like these", default="these", group=ANALYSIS
    )
    half_width: float | None = option(
        "say how many labels make every interval this narrow on either side",
        "X",
        default=None,
        group=ANALYSIS,
    )

    def read(self) -> Callable[[], Found]:
        """Read verdicts and labels."""
        made: Made = {}
        names = [path.stem for path in (self.verdicts, *self.also)]
        if len(set(names)) < len(names):
            msg = f"--also names the judge {names[-1]!r} twice: give the files names of their own"
            raise OptionError(msg)
        judges = {
            name: replace(self.reading_of((path,)), name=f"verdicts{place or ''}")
            for place, (name, path) in enumerate(
                zip(names, (self.verdicts, *self.also), strict=True)
            )
        }
        people = replace(self.reading_of((self.people,)), name="people")
        for reading in (*judges.values(), people):
            reading.run(made)
        options = {
            "judge": self.judge,
            "clusters": self.clusters_read,
            "families": self._of_file("families", self.families),
            "probability": self._chances(),
            "target": "these questions" if self.target == "these" else "questions like these",
            "level": self.level,
            "rng": self.seed,
        }
        verdicts: Any = judges if self.also else next(iter(judges.values()))
        call = Call("psy.judged_scores", (verdicts, people), options)
        return partial(self._judged, call, (*judges.values(), people), made)

    def _judged(self, call: Call, readings: tuple[Call, ...], made: Made) -> Found:
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
            f"{count(one.counts()['scored'])} of {path}"
            for one, path in zip(logs, (self.verdicts, *self.also, self.people), strict=True)
        ]
        remark = f"Read: {', '.join(given)}."
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
            tables={**found.tables, "to_label": chances},
            in_files=("to_label",),
        )

    def _of_file(self, name: str, path: Path | None) -> Call | None:
        if path is None:
            return None
        return Call("psy.data.readers.read_clusters", (path,), name=name)

    def _chances(self) -> Call | None:
        read = self._of_file("chances", self.probability)
        return None if read is None else Call(".astype", (read, "float"), name="probability")


COMMAND = Judge
