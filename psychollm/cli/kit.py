"""``psychollm kit``: copy plans of published studies."""

from dataclasses import dataclass
from pathlib import Path

from psychollm.cli.options import Command, Steps, option
from psychollm.cli.run import StudyName
from psychollm.cli.two_tables import OUTPUT

DESCRIPTION = """\
Plans that replicate published studies, one for each study of 'psychollm run'. A copied plan runs
with one command: on simulated models with known parameters, on a small model on this machine, or
with a provider's API key.
"""
EPILOG = """\
examples:
  psychollm kit list
  psychollm kit copy shared_confidence DIR
  psychollm run shared_confidence DIR/plan.toml --simulated
"""


@dataclass(frozen=True, kw_only=True)
class ListKits(Command):
    """Command `psychollm kit list`."""

    NAME = "list"
    HELP = "list the kits"

    json: bool = option("print only JSON", default=False, group=OUTPUT)
    quiet: bool = option("print nothing", default=False, group=OUTPUT)

    def run(self) -> int:
        """Print the kits."""
        from psychollm.kits import KITS

        wide = max(map(len, KITS))
        lines = [f"{name:{wide}}  {one.source}: {one.asks}" for name, one in KITS.items()]
        self.say({"kits": [{"name": name, **one._asdict()} for name, one in KITS.items()]}, *lines)
        return 0


@dataclass(frozen=True, kw_only=True)
class CopyKit(Command):
    """Command `psychollm kit copy`."""

    NAME = "copy"
    HELP = "copy the files of a kit to a folder"

    kit: StudyName = option("which", "NAME", positional=True)
    folder: Path = option("folder of the files", "DIR", positional=True)
    json: bool = option("print only the list of files as JSON", default=False, group=OUTPUT)
    quiet: bool = option("print nothing", default=False, group=OUTPUT)

    def run(self) -> int:
        """Write the files, and print how to run them."""
        from psychollm.kits import PLANS, copy_kit

        paths = copy_kit(self.kit, self.folder)
        plan, local = (self.folder / name for name in PLANS)
        run = f"  psychollm run {self.kit}"
        self.say(
            {"kit": self.kit, "files": [str(path) for path in paths]},
            f"Written: {', '.join(map(str, paths))}",
            "Run it on simulated models, on a small model on this machine, or with an API key:",
            f"{run} {plan} --simulated",
            f"{run} {local} --local",
            f"{run} {plan}",
        )
        return 0


@dataclass(frozen=True, kw_only=True)
class Kits(Steps):
    """Command `psychollm kit` and its subcommands."""

    NAME = "kit"
    HELP = "list and copy replication kits of five published studies"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG
    STEPS = (ListKits, CopyKit)
