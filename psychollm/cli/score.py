"""``psychollm score``: score stored replies by model, without sending requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import OptionError
from psychollm.cli.options import Command, option

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.collect.readings import Readings
    from psychollm.collect.store import Store

    Scores = dict[str, dict[int, Any]]  # scores by model and sample

DESCRIPTION = """\
Score the replies in a store, by model. Nothing is sent: raw replies are parsed again each time.
Failed requests count as missing, never as "no".
"""
EPILOG = """\
examples:
  psychollm score run.sqlite
  psychollm score run.sqlite --out scores.csv
  psychollm score run.sqlite --instrument rule-world --json
"""


@dataclass(frozen=True, kw_only=True)
class Score(Command):
    """Command `psychollm score`."""

    NAME = "score"
    HELP = "score stored replies"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    store: Path = option("the store of a run", "RUN.sqlite", positional=True)
    instrument: str | None = option(
        "the instrument (default: every instrument in the store)", "NAME", default=None
    )
    out: Path | None = option("also write the scores as a table", "FILE.csv", default=None)
    json: bool = option("print only the scores as JSON", default=False)
    quiet: bool = option("print nothing", default=False)

    def run(self) -> int:
        """Read and score the replies, then write and print the scores."""
        from psychollm.cli.notes import busy
        from psychollm.collect.drawing import bank_scores, told
        from psychollm.collect.store import Store

        with (
            self.noting(),
            busy("reading and scoring the replies", quiet=self.quiet),
            Store(self.store, create=False) as store,
        ):
            scored = {
                name: (one, one.scores()) for name, one in _read(store, self.instrument).items()
            }
            banked = bank_scores(store)
        if self.out is not None:
            _write(scored, self.out)
        found = {name: _plain(read, scores) for name, (read, scores) in scored.items()}
        paragraphs = [
            f"{'' if name == read.instrument else f'{name}: '}{_told(read, scores)}"
            for name, (read, scores) in scored.items()
        ]
        if banked:
            paragraphs.append("\n".join(told(model, one) for model, one in banked.items()))
        paragraphs += [f"Table: {self.out}"] if self.out is not None else []
        self.say(found | ({"bank": banked} if banked else {}), "\n\n".join(paragraphs))
        return 0


def _read(store: "Store", chosen: str | None) -> "dict[str, Readings]":
    """Return the parsed replies of the chosen instrument or of all instruments, by arm."""
    from psychollm.collect.errors import StoreError
    from psychollm.collect.readings import arms_in, instruments_in, readings

    names = [chosen.replace("-", "_")] if chosen else list(instruments_in(store))
    if not names:
        msg = f"{store.path} has no requests: run a plan first (psychollm collect PLAN.toml)"
        raise StoreError(msg)
    return {
        name if arm is None else f"{name}, {arm}": readings(store, instrument=name, arm=arm)
        for name in names
        for arm in arms_in(store, instrument=name) or (None,)
    }


def _told(readings: "Readings", scores: "Scores") -> str:
    """Describe the scores in words, with a paragraph per model and sample."""
    paragraphs = [readings.summary()]
    for model, samples in scores.items():
        for sample, one in samples.items():
            name = model if len(samples) == 1 else f"{model}, sample {sample + 1}"
            text = one.summary() if hasattr(one, "summary") else repr(one)
            paragraphs.append("\n  ".join([name, *text.splitlines()]))
    return "\n\n".join(paragraphs)


def _plain(readings: "Readings", scores: "Scores") -> dict[str, Any]:
    return {
        "outcomes": readings.outcomes,
        "scores": {
            model: {str(sample): one.to_dict() for sample, one in samples.items()}
            for model, samples in scores.items()
        },
    }


def _write(scored: "Mapping[str, tuple[Readings, Scores]]", path: Path) -> None:
    from psychollm.cli.carry_out import writing

    kinds = {read.instrument for read, _ in scored.values()}
    if len(kinds) > 1:
        names = ", ".join(scored)
        msg = f"--out {path}: a table can have only one of {names}: choose it with --instrument"
        raise OptionError(msg)
    frames = []
    for name, (read, scores) in scored.items():
        frame = scores_frame(scores)
        if name != read.instrument:
            frame.insert(0, "arm", name.removeprefix(f"{read.instrument}, "))
        frames.append(frame)
    import pandas as pd

    with writing(f"--out {path}"):
        write_csv(pd.concat(frames, ignore_index=True), path)


def scores_frame(scores: "Scores") -> "pd.DataFrame":
    """Return one table for all models; its first columns are "model" and "sample"."""
    import pandas as pd

    frames = []
    for model, samples in scores.items():
        for sample, one in samples.items():
            frame = one.to_frame().drop(columns=["model", "sample"], errors="ignore")
            frame.insert(0, "model", model)
            frame.insert(1, "sample", sample)
            frames.append(frame)
    table: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return table
