"""``psychollm stage``: write the prompts of the next stage from the replies in a store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.options import option, typed_values
from psychollm.cli.prompts import WritePrompts

if TYPE_CHECKING:
    from psychollm.instruments.prompt import Prompt

DESCRIPTION = """\
Write the prompts of a later stage, which depend on the replies of the first: one JSON object per
line, for use in a plan. The same replies give the same file.

Add them to a plan with the same store, so that study and score find both. If the stage is
judged, the models of that plan are the judges; otherwise they are those of the first plan.
'psychollm run' runs all stages in order.
"""
EPILOG = """\
examples:
  psychollm stage grading run.sqlite --out verdicts.jsonl
  psychollm stage revision run.sqlite --arms doubt,insist_wrong,insist_right --out pressed.jsonl
  psychollm stage coding --help
"""


@dataclass(frozen=True, kw_only=True)
class WriteStage(WritePrompts):
    """Command `psychollm stage`, with one subcommand per stage."""

    NAME = "stage"
    HELP = "write the prompts of a later stage from stored replies"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    store: Path = option("the store of the stages before", "RUN.sqlite", positional=True)

    @classmethod
    def sources(cls) -> Iterator[tuple[str, str, list[Callable[..., Any]]]]:
        """Yield the stages."""
        from psychollm.instruments.stages import STAGES

        for name, stage in STAGES.items():
            does = (stage.make.__doc__ or "").partition("\n\n")[0].partition(": see")[0]
            does = does.rstrip(".").replace("`", "").replace("Return", "Write", 1)
            yield name, f"{does}.", [stage.make]

    def prompts(self) -> "tuple[Prompt, ...]":
        """Return the prompts of the stage."""
        from psychollm.collect.export import replied
        from psychollm.collect.staged import by_arm
        from psychollm.collect.store import Store
        from psychollm.instruments.stages import STAGES

        make = STAGES[self.source].make
        with Store(self.store, create=False) as store:
            return by_arm(replied(store), partial(make, **typed_values(make, self.typed)))

    def told(self, prompts: "Sequence[Prompt]") -> tuple[dict[str, Any], str, str]:
        """Return a description of the models that receive the prompts."""
        from psychollm.instruments.stages import STAGES

        asked = "judges" if STAGES[self.source].judged else "the same models"
        plan = f'and store = "{self.store.name}" in a plan of {asked}'
        return {"asked": asked}, f"for {asked}", plan
