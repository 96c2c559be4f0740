"""``psychollm agree``: compare the rankings of models by two benchmarks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from psychollm._base.call import Call, Made
from psychollm.cli.carry_out import Found
from psychollm.cli.import_logs import Choices
from psychollm.cli.of_scores import Clustered, Judged
from psychollm.cli.options import option

DESCRIPTION = """\
Estimate the agreement of two benchmarks on the ranking of models, corrected for sampling noise:
the correlation of true scores, the proportion of pairs of models in opposite order, and the
significantly reversed pairs. Models are matched by their labels.

FIRST and SECOND are each a log of an evaluation tool, a folder of such logs, a table of scores or
a store of psychollm collect, as LOG is in 'psychollm compare --help'.
"""
EPILOG = """\
examples:
  psychollm agree gpqa.csv mmlu.csv
  psychollm agree logs-of-one/ logs-of-other/ --out agreement
  psychollm agree gpqa.csv mmlu.csv --clusters passages.csv --smallest share=0.1 --markdown
"""


@dataclass(frozen=True, kw_only=True)
class Agree(Judged, Clustered, Choices):
    """Command `psychollm agree`."""

    NAME = "agree"
    HELP = "measure the agreement of two rankings of models"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    first: Path = option("scores in one benchmark", positional=True)
    second: Path = option("scores of the same models in another", positional=True)

    def read(self) -> Callable[[], Found]:
        """Read the scores in both benchmarks."""
        made: Made = {}
        readings = [
            replace(self.reading_of((path,)), name=name)
            for name, path in (("first", self.first), ("second", self.second))
        ]
        for reading in readings:
            reading.run(made)
        names = (self.first.stem, self.second.stem)
        options = {
            "clusters": self.clusters_read,
            "names": names if len(set(names)) == 2 else ("first", "second"),
            "level": self.level,
            "rng": self.seed,
        }
        call = Call("psy.benchmark_agreement", tuple(readings), options)
        return partial(self._agreement, call, made)

    def _agreement(self, call: Call, made: Made) -> Found:
        result = call.run(made)
        first, second = (reading.run(made) for reading in call.inputs)
        numbers = {
            "n_models": len(result.labels),
            "n_questions": result.n_questions,
            "n_shared": result.n_shared,
            "left_out": result.left_out,
            "level": result.level,
            "logs": {"first": first.counts(), "second": second.counts()},
            "seed": self.seed,
        }
        remark = f"{first.summary()}\n{second.summary()}"
        return self.of_study(result, call.script(), numbers, remark=remark)


COMMAND = Agree
