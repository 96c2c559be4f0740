"""What every command that analyses does: read, compute, write, and say what was found."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm._base.record import as_json
from psychollm.cli.options import Command

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.estimates.findings import Findings, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a command found, for people, for machines, and as tables."""

    summary: str
    tables: "Mapping[str, pd.DataFrame]"  # by the names of their files
    findings: "Findings | None" = None
    script: str = ""  # lines of Python that find the same
    # What results.json holds beside findings and tables, or in their place.
    numbers: Mapping[str, Any] = field(default_factory=dict)
    in_files: Collection[str] = ()  # tables that it leaves to their files
    remark: str = ""  # on what takes no part
    markdown: str = ""  # where it is not that of the findings
    page: Callable[[Path], object] | None = None  # writes the report
    parts: "Mapping[str, Found]" = field(default_factory=dict)  # arms, each in a folder of its own

    @property
    def results(self) -> dict[str, Any]:
        """What results.json holds."""
        from psychollm.estimates.provenance import versions, with_imports

        found: dict[str, Any] = {}
        if self.findings is not None:
            items = self.findings.to_dict()["items"]
            found = {"verdict": self.findings.verdict, "findings": items}
        for name, table in self.tables.items():
            if name not in self.in_files:
                found[name] = records(table)
        call = {"call": with_imports(self.script)} if self.script else {}
        return {**found, **self.numbers, **call, "versions": dict(versions())}


class Analysis(Command):
    """A command that reads, analyses and writes."""

    out: Path | None

    @property
    def folder(self) -> Path | None:
        """Where the results go."""
        return self.out

    @property
    def reads(self) -> str:
        """What is read."""
        return "the logs"

    @property
    def with_page(self) -> bool:
        """Whether a page is written, where there is one."""
        return bool(getattr(self, "report", False))

    @property
    def in_markdown(self) -> bool:
        """Whether Markdown is printed and nothing else."""
        return bool(getattr(self, "markdown", False))

    @abstractmethod
    def read(self) -> Callable[[], Found]:
        """Read, and return what computes."""

    def of_study(
        self, study: "Study", script: str, numbers: Mapping[str, Any], *, remark: str = ""
    ) -> Found:
        """Return what a study found, with what else results.json is to hold."""
        from psychollm.estimates.verdict import SMALLEST

        smallest = getattr(self, "smallest", SMALLEST)
        findings = study.findings(smallest=smallest)
        people = getattr(study, "people", None)
        return Found(
            summary=study.summary(smallest=smallest),
            tables=study.tables() | ({} if people is None else people.tables()),
            findings=findings,
            script=script,
            numbers=numbers,
            remark=remark,
            page=partial(study.report, source=script, smallest=smallest),
        )

    def run(self) -> int:
        """Read, compute, write, and say what was found."""
        tell(self, carry_out(self))
        return 0


def carry_out(command: Analysis) -> Found:
    """Read, compute, write, and return what was found."""
    from psychollm.cli.notes import busy, computing

    folder = prepared(command.folder, report=command.with_page)
    quiet = command.quiet or command.in_markdown
    with command.noting(quiet=quiet):
        with busy(f"reading {command.reads}", quiet=quiet):
            compute = command.read()
        # Commands that share their work out show bars.
        with computing(quiet=quiet, bars=hasattr(command, "jobs")):
            found = compute()
        if folder is not None:
            with busy("writing the report", quiet=quiet), writing(f"--out {folder}"):
                _write(command, found, folder)
    return found


def _write(command: Analysis, found: Found, folder: Path) -> None:
    for name, table in found.tables.items():
        write_csv(table, folder / f"{name}.csv")
    (folder / "results.json").write_text(as_json(found.results) + "\n", encoding="utf-8")
    if hasattr(command, "markdown"):
        (folder / "comment.md").write_text(_markdown(found), encoding="utf-8")
    if command.with_page and found.page is not None:
        found.page(folder / "report.html")
    for name, part in found.parts.items():
        (folder / name).mkdir(exist_ok=True)
        _write(command, part, folder / name)


def _markdown(found: Found) -> str:
    return found.markdown or ("" if found.findings is None else found.findings.to_markdown())


def tell(command: Analysis, found: Found) -> None:
    """Print what was found, and where its files are."""
    folder = command.folder
    words = [*filter(None, (found.remark, found.summary))]
    if folder is not None:
        page = command.with_page and found.page is not None
        words += [f"\nReport: {folder / 'report.html'}" if page else "", f"Tables: {folder}"]
    if command.in_markdown:
        print(_markdown(found))
    else:
        command.say(found.results if command.json else {}, *words)


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Say in one line what cannot be written."""
    try:
        yield
    except OSError as error:
        msg = f"{what} cannot be written: {error.strerror}"
        raise InputError(msg) from error


def prepared(folder: Path | None, *, report: bool) -> Path | None:
    """Make the folder, and see that what the report needs is installed."""
    if folder is None:
        return None
    if report:
        for module in ("matplotlib", "jinja2"):
            require(module, extra="plot", purpose="the report (or pass --no-report)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"--out {folder}: the folder cannot be made ({error.strerror})"
        raise InputError(msg) from error
    return folder


def records(frame: "pd.DataFrame") -> list[Mapping[Any, Any]]:
    """Return a table as one mapping per row."""
    return frame.to_dict(orient="records")  # type: ignore[return-value]
