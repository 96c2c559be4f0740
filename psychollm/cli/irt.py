"""``psychollm irt``: fit an item response model to binary answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from psychollm._base.call import Call, Made
from psychollm._base.numbers import count, number
from psychollm._base.shown import on_screen
from psychollm.cli.carry_out import Analysis, Found
from psychollm.cli.one_table import OneTable
from psychollm.cli.options import option
from psychollm.cli.streamed import STREAMS_ARE, Choosing, is_large, refuse, scan_of
from psychollm.cli.two_tables import ANALYSIS, CHOOSE, OUTPUT, READING

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.irt.result import IRTFit

_SHOWN = 7  # number of printed rows of each table

DESCRIPTION = (
    """\
Fit an item response model to right and wrong answers (1, 0). Estimate the difficulty and
discrimination of each question and the ability of each model, with standard errors.

ANSWERS is a table, wide (one row per model, one column per question) or long (one row per answer).
"""
    + STREAMS_ARE
)
EPILOG = """\
examples:
  psychollm irt right.csv --out fitted
  psychollm irt answers.duckdb --table runs --value-column correct --out fitted
  psychollm irt answers/ --value-column correct --model rasch
"""


@dataclass(frozen=True, kw_only=True)
class Irt(Analysis, Choosing, OneTable):
    """Command `psychollm irt`."""

    NAME = "irt"
    HELP = "fit an item response model to right and wrong answers"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    answers: Path = option("right and wrong answers", "ANSWERS", positional=True)
    model: Literal["2pl", "1pl", "rasch"] = option(
        "the item response model", default="2pl", group=ANALYSIS
    )
    threshold: float | None = option(
        "count answers above this score as right", "CUT", default=None, group=READING
    )
    at_least: bool = option(
        "count a score equal to the threshold as right", default=False, group=READING
    )
    jobs: int = option("number of workers; -1 for all processors", "J", default=1, group=ANALYSIS)
    out: Path | None = option("folder of the tables", "DIR", default=None, group=OUTPUT)
    json: bool = option("print only the results as JSON", default=False, group=OUTPUT)
    quiet: bool = option("print nothing", default=False, group=OUTPUT)

    @property
    def reads(self) -> str:
        """Name of the command's input."""
        return "the answers"

    def read(self) -> Callable[[], Found]:
        """Read the answers."""
        answers = self._reading()
        return partial(self._fitted, answers, {id(answers): answers.run()})

    def _reading(self) -> Call:
        """Return the Python call that reads the answers."""
        if is_large(self.answers, long=True):
            refuse(self, ("layout", "labels", "missing", "codes", "duplicates"), CHOOSE)
            return scan_of(self, self.answers, value=self.value_column, threshold=self.threshold)
        options = self.chosen({}) | self.reading
        if self.threshold is not None:
            options |= {"threshold": self.threshold, "strict": not self.at_least}
        return Call("psy.read_responses", (self.answers,), options, name="answers")

    def _fitted(self, answers: Call, made: Made) -> Found:
        from psychollm.cli.notes import watched

        fitting = Call(
            "psy.fit_irt",
            (answers,),
            {"model": self.model, "respondents": "models"},
            name="fit",
            aside={"n_jobs": self.jobs, "progress": watched(quiet=self.quiet)},
        )
        call = Call("psy.ability", (fitting, answers), name="able", aside={"n_jobs": self.jobs})
        able, fit = call.run(made).to_frame(), fitting.run(made)
        items = fit.to_frame()
        return Found(
            summary=_told(fit, items, able, written=self.out is not None),
            tables=lambda: {"items": items, "abilities": able},
            script=call.script(),
            numbers={
                "model": fit.model,
                "converged": fit.convergence.converged,
                "iterations": fit.convergence.iterations,
                "log_likelihood": fit.log_likelihood,
                "aic": fit.aic,
                "bic": fit.bic,
                "n_models": fit.n_respondents,
                "n_questions": len(fit.labels),
            },
            in_files=() if answers.function == "psy.read_responses" else ("items",),
        )


def _told(fit: "IRTFit", items: "pd.DataFrame", able: "pd.DataFrame", *, written: bool) -> str:
    """Describe the fit in words, with the first rows of its two tables."""
    ending = fit.convergence
    how = "converged" if ending.converged else f"did not converge ({ending.reason})"
    name = {"rasch": "Rasch"}.get(fit.model, fit.model.upper())
    # Equal abilities differ in the last bit, by the processor: they keep the order of the table.
    able = able.sort_values("ability", ascending=False, kind="stable", key=lambda a: a.round(9))
    lines = [
        f"{name} fit to {fit.n_respondents:,} models and {len(fit.labels):,} questions: {how} "
        f"after {ending.iterations} iterations, log-likelihood {fit.log_likelihood:,.1f}.",
        "Models, the most able first:",
        *_rows(able, {"respondent": "model", "ability": "ability", "se": "SE"}),
        "Questions:",
        *_rows(
            items,
            {
                "item": "question",
                "slope": "slope",
                "se_slope": "SE of slope",
                "difficulty": "difficulty",
                "se_difficulty": "SE of difficulty",
            },
        ),
    ]
    if not written:
        lines.append("--out DIR writes both tables and a script in Python.")
    return on_screen("\n".join(lines))


def _rows(frame: "pd.DataFrame", columns: Mapping[str, str]) -> list[str]:
    """Return the first rows of a table as lines, and the number of further rows."""
    import pandas as pd

    first = frame.head(_SHOWN)
    texts = pd.DataFrame(
        {
            name: [str(one) if column in {"item", "respondent"} else number(one) for one in cells]
            for column, name in columns.items()
            for cells in [first[column].tolist()]
        }
    )
    more = len(frame) - len(first)
    rest = [f"  and {count(more)} more"] if more > 0 else []
    return [f"  {line}" for line in texts.to_string(index=False).split("\n")] + rest
