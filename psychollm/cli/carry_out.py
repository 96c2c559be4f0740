"""Steps of every analysis command: read, compute, write and print."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError, OptionError
from psychollm._base.optional import require
from psychollm._base.record import as_json
from psychollm.cli.options import Command

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.estimates.findings import Findings, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Result of a command, to be printed and written as JSON and tables."""

    summary: str
    tables: "Callable[[], Mapping[str, pd.DataFrame]]"  # returns the tables by file name
    findings: "Findings | None" = None
    script: str = ""  # Python code that reproduces the result
    # contents of results.json in addition to findings and tables, or instead of them
    numbers: Mapping[str, Any] = field(default_factory=dict)
    in_files: Collection[str] = ()  # tables that results.json omits
    remark: str = ""  # note on excluded models and questions
    markdown: str = ""  # Markdown text, if it differs from the findings
    page: Callable[[Path], object] | None = None  # function that writes the report
    failure: str = ""  # reason for exit code 1 although the results are written
    parts: "Mapping[str, Found]" = field(default_factory=dict)  # results of arms, by name

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", cache(self.tables))

    @property
    def results(self) -> dict[str, Any]:
        """Contents of results.json."""
        from psychollm.estimates.provenance import versions, with_imports

        found: dict[str, Any] = {}
        if self.findings is not None:
            items = self.findings.to_dict()["items"]
            found = {"verdict": self.findings.verdict, "findings": items}
        for name, table in self.tables().items():
            if name not in self.in_files:
                found[name] = records(table)
        call = {"call": with_imports(self.script)} if self.script else {}
        return {**found, **self.numbers, **call, "versions": dict(versions())}


class Analysis(Command):
    """Command that reads data, analyses them and writes the results."""

    EFFECTS: ClassVar[tuple[str, ...]] = ("share",)  # quantities that --smallest may name
    out: Path | None

    @property
    def folder(self) -> Path | None:
        """Folder of the results."""
        return self.out

    @property
    def reads(self) -> str:
        """Name of the command's input."""
        return "the logs"

    @property
    def with_page(self) -> bool:
        """Whether to write a page, if the result has one."""
        return bool(getattr(self, "report", False))

    @property
    def in_markdown(self) -> bool:
        """Whether to print only Markdown."""
        return bool(getattr(self, "markdown", False))

    @abstractmethod
    def read(self) -> Callable[[], Found]:
        """Read the input, and return a function that computes the result."""

    def of_study(
        self, study: "Study", script: str, numbers: Mapping[str, Any], *, remark: str = ""
    ) -> Found:
        """Return a study's result as `Found`, with additional contents of results.json."""
        from psychollm.estimates.verdict import SMALLEST

        smallest = getattr(self, "smallest", SMALLEST)
        findings = study.findings(smallest=smallest)
        people = getattr(study, "people", None)

        return Found(
            summary=study.summary(smallest=smallest),
            tables=lambda: study.tables() | ({} if people is None else people.tables()),
            findings=findings,
            script=script,
            numbers=numbers,
            remark=remark,
            page=partial(study.report, source=script, smallest=smallest),
        )

    def check_effects(self) -> None:
        """Raise `OptionError` if ``--smallest`` names a quantity that is not judged."""
        smallest = getattr(self, "smallest", None)
        for name in () if smallest is None else smallest.changed:
            if name not in self.EFFECTS:
                known = ", ".join(f"{one}=X" for one in self.EFFECTS)
                msg = (
                    f"--smallest {name}: psychollm {self.NAME} does not judge {name}, only {known}"
                )
                raise OptionError(msg)

    def run(self) -> int:
        """Read the input, compute the result, write and print it."""
        found = carry_out(self)
        tell(self, found)
        if found.failure:
            from psychollm.cli.notes import complain

            complain(found.failure)
        return int(bool(found.failure))


def carry_out(command: Analysis) -> Found:
    """Read the input, compute, write and return the result."""
    from psychollm.cli.notes import busy, computing

    command.check_effects()
    folder = prepared(command.folder, report=command.with_page)
    quiet = command.quiet or command.in_markdown
    with command.noting(quiet=quiet):
        with busy(f"reading {command.reads}", quiet=quiet):
            compute = command.read()
        # Commands with parallel workers show progress bars instead of a message.
        with computing(quiet=quiet, bars=hasattr(command, "jobs")):
            found = compute()
        if folder is not None:
            with busy("writing the report", quiet=quiet), writing(f"--out {folder}"):
                _write(command, found, folder)
    return found


def _write(command: Analysis, found: Found, folder: Path) -> None:
    for name, table in found.tables().items():
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
    """Print the result, and the location of the files."""
    from psychollm.estimates.findings import MORE

    folder = command.folder
    summary = found.summary
    if folder is None and found.page is not None:
        summary = summary.replace(MORE, f"{MORE}, which --out DIR writes", 1)
    words = [*filter(None, (found.remark, summary))]
    if folder is not None:
        page = command.with_page and found.page is not None
        words += [f"\nReport: {folder / 'report.html'}" if page else "", f"Tables: {folder}"]
    if command.in_markdown:
        print(_markdown(found))
    else:
        command.say(found.results if command.json else {}, *words)


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Within the context, report errors in writing files in one line."""
    try:
        yield
    except OSError as error:
        msg = f"{what} cannot be written: {error.strerror}"
        raise InputError(msg) from error


def prepared(folder: Path | None, *, report: bool) -> Path | None:
    """Create the folder of results, and check that packages for the report are installed."""
    if folder is None:
        return None
    if report:
        for module in ("matplotlib", "jinja2"):
            require(module, extra="plot", purpose="the report (or pass --no-report)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"--out {folder}: the folder cannot be created ({error.strerror})"
        raise InputError(msg) from error
    return folder


def records(frame: "pd.DataFrame") -> list[Mapping[Any, Any]]:
    """Return a table as one mapping per row."""
    return frame.to_dict(orient="records")  # type: ignore[return-value]
