"""``psychollm score``: a store in, what each model scored out; nothing is asked."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import write_csv

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.collect.readings import Readings
    from psychollm.collect.store import Store

    Commands = argparse._SubParsersAction[Any]
    Scores = dict[str, dict[int, Any]]  # by model and sample

DESCRIPTION = """\
Read the replies of a store and score them, model by model. Nothing is asked: the raw replies are
read again each time. Calls that failed are missing, and never "no".
"""
EPILOG = """\
examples:
  psychollm score run.sqlite
  psychollm score run.sqlite --out scores.csv
  psychollm score run.sqlite --instrument rule-world --json
"""


def add_options(commands: "Commands") -> None:
    """Add the subcommand and its options to the parser."""
    parser = commands.add_parser(
        "score",
        help="read and score the replies of a store",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("store", type=Path, metavar="RUN.sqlite", help="the store of a run")
    add("--instrument", metavar="NAME", help="whose prompts (default: all that are there)")
    add("--out", type=Path, metavar="FILE.csv", help="write the scores as a table, too")
    add("--json", action="store_true", help="print the scores as JSON and nothing else")
    add("--quiet", action="store_true", help="nothing on the screen")


def run(options: argparse.Namespace) -> int:
    """Read, score, write, and say what was found."""
    from psychollm.cli.notes import as_notes, busy
    from psychollm.cli.outputs import as_json
    from psychollm.collect.store import Store

    with (
        as_notes(quiet=options.quiet),
        busy("reading and scoring the replies", quiet=options.quiet),
        Store(options.store, create=False) as store,
    ):
        found = [(one, one.scores()) for one in _read(store, options.instrument)]
    if options.out is not None:
        _write(found, options.out)
    if options.json:
        print(as_json({said.instrument: _plain(said, scores) for said, scores in found}))
    elif not options.quiet:
        print("\n\n".join(_told(said, scores) for said, scores in found))
        if options.out is not None:
            print(f"\nTable: {options.out}")
    return 0


def _read(store: "Store", chosen: str | None) -> "list[Readings]":
    """Return the readings of the instrument that was chosen, or of all."""
    from psychollm.collect.errors import StoreError
    from psychollm.collect.readings import instruments_in, readings

    names = [chosen.replace("-", "_")] if chosen else list(instruments_in(store))
    if not names:
        msg = f"{store.path} holds no requests: ask a plan first (psychollm collect PLAN.toml)"
        raise StoreError(msg)
    return [readings(store, instrument=name) for name in names]


def _told(said: "Readings", scores: "Scores") -> str:
    """Return the scores in words: a paragraph for each model and sample."""
    paragraphs = [said.summary()]
    for model, samples in scores.items():
        for sample, one in samples.items():
            name = model if len(samples) == 1 else f"{model}, sample {sample + 1}"
            text = one.summary() if hasattr(one, "summary") else repr(one)
            paragraphs.append("\n  ".join([name, *text.splitlines()]))
    return "\n\n".join(paragraphs)


def _plain(said: "Readings", scores: "Scores") -> dict[str, Any]:
    return {
        "outcomes": said.outcomes,
        "scores": {
            model: {str(sample): one.to_dict() for sample, one in samples.items()}
            for model, samples in scores.items()
        },
    }


def _write(found: "list[tuple[Readings, Scores]]", path: Path) -> None:
    from psychollm._base.errors import InputError, OptionError

    if len(found) > 1:
        names = ", ".join(said.instrument for said, _ in found)
        msg = f"--out {path}: one table holds one of {names}; choose it with --instrument"
        raise OptionError(msg)
    try:
        write_csv(scores_frame(found[0][1]), path)
    except OSError as error:
        msg = f"--out {path}: cannot be written ({error.strerror})"
        raise InputError(msg) from error


def scores_frame(scores: "Scores") -> "pd.DataFrame":
    """Return the tables of all models as one, with columns "model" and "sample" in front.

    Parameters
    ----------
    scores : mapping
        Results by model and sample.

    Examples
    --------
    >>> from psychollm.instruments.rule_world import RuleWorld
    >>> world = RuleWorld(n=4, seed=1)
    >>> scores_frame({"m": {0: world.score({})}})[["model", "type"]].iloc[0].tolist()
    ['m', 'A']
    """
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
