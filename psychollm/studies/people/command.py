"""``psychollm form``: write a page on which people answer prompts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.errors import InputError, OptionError
from psychollm.cli.import_logs import is_store
from psychollm.cli.options import Command, option
from psychollm.cli.prompts import counted

if TYPE_CHECKING:
    from psychollm.instruments.prompt import Prompt

DESCRIPTION = """\
Write a page on which people answer the prompts of models. It is a single file that works offline,
resumes after an interruption, and saves the table that 'psychollm study --people' reads.

ASKED is a plan, a store of replies, a file of prompts ('psychollm instrument'), or the name of an
instrument that needs no questions. Repeated prompts are shown once.
"""
EPILOG = """\
examples:
  psychollm form plan.toml --out form.html
  psychollm form items.jsonl --out form.html --title "Numbers and rules"
  psychollm form rule-world --out form.html
  psychollm study run.sqlite --people people.csv
"""


@dataclass(frozen=True, kw_only=True)
class Form(Command):
    """Command `psychollm form`."""

    NAME = "form"
    HELP = "write a page on which people answer the prompts"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    asked: str = option("a plan, a store, a file of prompts, or an instrument", "ASKED",
                        positional=True)  # fmt: skip
    instrument: str | None = option("use this instrument's prompts only", "NAME", default=None)
    title: str = option("title of the page", "TEXT", default="Questions")
    out: Path = option("file of the page", "FILE.html")
    json: bool = option("print only the result as JSON", default=False)
    quiet: bool = option("print nothing", default=False)

    def run(self) -> int:
        """Write the page."""
        from psychollm.reports.form import for_people, write_form

        with self.noting():
            prompts = self._prompts()
            if self.instrument is not None:
                name = self.instrument.replace("-", "_")
                prompts = tuple(one for one in prompts if one.about.get("instrument") == name)
                if not prompts:
                    msg = f"--instrument {self.instrument}: {self.asked} has none of its prompts"
                    raise OptionError(msg)
            shown = {one.key for one in filter(for_people, prompts)}
            write_form(prompts, self.out, title=self.title)
        self.say(
            {"n_prompts": len(shown), "out": str(self.out)},
            f"{counted(len(shown), 'prompt')}: {self.out}",
            "Each person saves a file. Put all files into one folder for 'psychollm study "
            "--people'.",
        )
        return 0

    def _prompts(self) -> "tuple[Prompt, ...]":
        from psychollm.cli.run import prompts_of
        from psychollm.collect.plan import read_prompts
        from psychollm.instruments.instrument import INSTRUMENTS, instrument_class

        path, name = Path(self.asked), self.asked.replace("-", "_")
        if not path.exists() and name in INSTRUMENTS:
            try:
                own: tuple[Prompt, ...] = instrument_class(name)().prompts()
            except TypeError as error:  # a field of the instrument has no default
                msg = (
                    f"{self.asked} needs questions: write its prompts with 'psychollm instrument "
                    f"{self.asked}', and pass that file"
                )
                raise OptionError(msg) from error
            return own
        if not path.is_file():
            msg = f"{self.asked} is neither a file nor one of {', '.join(INSTRUMENTS)}"
            raise InputError(msg)
        if path.suffix == ".toml":
            return prompts_of(path)
        if is_store(path):
            from psychollm.collect.export import said
            from psychollm.collect.store import Store

            with Store(path, create=False) as store:
                return tuple({one.key: one for one, _ in said(store)}.values())
        return read_prompts(path)


COMMAND = Form
