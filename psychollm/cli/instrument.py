"""``psychollm instrument``: write the prompts of an instrument to a file for use in a plan."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.import_logs import is_store
from psychollm.cli.options import declared_by, typed_values
from psychollm.cli.prompts import WritePrompts, counted

if TYPE_CHECKING:
    from psychollm.instruments.coding import Transcript
    from psychollm.instruments.prompt import Prompt

DESCRIPTION = """\
Write the prompts of an instrument, one JSON object per line, for use in a plan. The same options
and seed give the same file.
"""
EPILOG = """\
examples:
  psychollm instrument rule-world --n 300 --seed 1 --out items.jsonl
  psychollm instrument self-prediction questions.csv --form direct --out items.jsonl
  psychollm instrument rule-world --help
"""


@dataclass(frozen=True, kw_only=True)
class WriteInstrument(WritePrompts):
    """Command `psychollm instrument`, with one subcommand per instrument."""

    NAME = "instrument"
    HELP = "write the prompts of an instrument"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    @classmethod
    def sources(cls) -> Iterator[tuple[str, str, list[Callable[..., Any]]]]:
        """Yield each instrument with the functions that read its files."""
        from psychollm.instruments.instrument import INSTRUMENTS, instrument_class, purpose

        for name in INSTRUMENTS:
            kind = instrument_class(name)
            reads = [one.about["read"] for one in declared_by(kind) if "read" in one.about]
            yield name.replace("_", "-"), purpose(name), [kind, *reads]

    def prompts(self) -> "tuple[Prompt, ...]":
        """Return the prompts of the instrument."""
        from psychollm.instruments.instrument import instrument_class

        kind = instrument_class(self.source.replace("-", "_"))
        given = typed_values(kind, self.typed)
        for one in declared_by(kind):
            if "read" in one.about and one.name in given:
                given[one.name] = _read(one.about, given[one.name], self.typed)
        prompts: tuple[Prompt, ...] = kind(**given).prompts()
        return prompts

    def told(self, prompts: "Sequence[Prompt]") -> tuple[dict[str, Any], str, str]:
        """Describe the number of items in words."""
        n_items = len({prompt.item for prompt in prompts})
        return {"n_items": n_items}, f"about {counted(n_items, 'item')}", "in a plan beside it"


def _read(about: Mapping[str, Any], path: Path, typed: argparse.Namespace) -> Any:
    """Read the value of a field from a file, or from a store if the value consists of replies."""
    if about.get("replies") and is_store(path):
        return traces_in(path)
    return about["read"](path, **typed_values(about["read"], typed))


def traces_in(
    path: Path, *, of: tuple[str, ...] = (), arm: str | None = None
) -> "tuple[Transcript, ...]":
    """Return the replies of a store as traces; `of` selects instruments, as in `transcripts`."""
    from psychollm.collect.export import replied
    from psychollm.collect.store import Store
    from psychollm.instruments.stages.judged import transcripts

    with Store(path, create=False) as store:
        return transcripts(replied(store, arm=arm), of=of)
