"""``psychollm bank``: calibrate questions, and estimate a full score from a sample of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.groups import UNITS, group_of_each
from psychollm.cli.import_logs import LOG_IS, Choices, Logs
from psychollm.cli.options import Command, Steps, option, whole_numbers
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.bank import ItemBank, Session, Watch
    from psychollm.bank.questions import CalibratedQuestions

DESCRIPTION = """\
Estimate what a model would score on a whole benchmark from some of its questions. A bank is
calibrated on the answers of other models. It samples questions with known inclusion
probabilities, predicts the rest, and corrects the prediction with the sampled answers, so that
the interval is valid for any model.
"""
EPILOG = """\
examples:
  psychollm bank build logs/ --domains subject --out mmlu.bank
  psychollm bank plan mmlu.bank --half-width 0.03
  psychollm bank next mmlu.bank new.session --questions 20 --half-width 0.03
  psychollm bank next mmlu.bank new.session --answers answers.csv
  psychollm bank score mmlu.bank newlogs/
  psychollm bank watch mmlu.bank gpt.watch --baseline first.csv --answers today.csv
"""


BANK = "bank written by `psychollm bank build`"


@dataclass(frozen=True, kw_only=True)
class Build(Logs):
    """Command `psychollm bank build`."""

    NAME = "build"
    HELP = "calibrate a bank on logs or tables of scores"
    DESCRIPTION = "Calibrate a bank of questions on the scores of models.\n" + LOG_IS

    out: Path = option("the file of the bank", "FILE")
    families: str | None = option(
        "family of each model, held out together: a column of the logs, or a file with one "
        "model and its family per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    domains: str | None = option(
        "domain of each question: a column of the logs, or a file with one question and its "
        "domain per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    seed: int = option("seed of the folds", "S", default=1, group=ANALYSIS)
    json: bool = option("print only the bank as JSON", default=False, group=OUTPUT)

    def run(self) -> int:
        """Read the logs, calibrate the bank, write it, and describe it."""
        from psychollm.bank import item_bank
        from psychollm.cli.carry_out import writing
        from psychollm.cli.notes import busy, computing

        given = {name: getattr(self, name) for name in UNITS if getattr(self, name) is not None}
        keep = tuple(column for column in given.values() if not Path(column).is_file())
        with self.noting():
            with busy("reading the logs", quiet=self.quiet):
                log = self.scores_in(self.logs, keep)
                labels = {
                    name: group_of_each(f"--{name}", by, UNITS[name], log).to_dict()
                    for name, by in given.items()
                }
            with computing(quiet=self.quiet):
                bank = item_bank(log, **labels, rng=self.seed)
            with writing(f"--out {self.out}"):
                bank.save(self.out)
        self.say({**described(bank), "out": str(self.out)}, bank.summary())
        return 0


@dataclass(frozen=True, kw_only=True)
class OfBank(Command):
    """Options shared by commands that use an existing bank."""

    bank: Path = option(BANK, "BANK", positional=True)
    json: bool = option("print only JSON", default=False, group=OUTPUT)
    quiet: bool = option("print nothing", default=False, group=OUTPUT)


def bank_in(path: Path) -> "ItemBank":
    """Read a bank from its file."""
    from psychollm._base.errors import InputError
    from psychollm._base.result import load
    from psychollm.bank import ItemBank

    bank = load(path)
    if not isinstance(bank, ItemBank):
        msg = f"{path} is a {type(bank).__name__}, not an item bank"
        raise InputError(msg)
    return bank


@dataclass(frozen=True, kw_only=True)
class Describe(OfBank):
    """Command `psychollm bank describe`."""

    NAME = "describe"
    HELP = "describe a bank and how well it predicts"

    def run(self) -> int:
        """Read and describe the bank."""
        bank = bank_in(self.bank)
        self.say(described(bank), bank.summary())
        return 0


@dataclass(frozen=True, kw_only=True)
class MakePlan(OfBank):
    """Command `psychollm bank plan`."""

    NAME = "plan"
    HELP = "compute how many questions a margin of error needs"

    half_width: float | None = option(
        "the margin of error: half the width of the interval", "W", default=None, group=ANALYSIS
    )
    sizes: tuple[int, ...] = option(
        "numbers of questions",
        "N,N",
        default=(100, 300, 1000),
        parse=whole_numbers,
        group=ANALYSIS,
    )
    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)

    def run(self) -> int:
        """Compute and print the plan."""
        plan = bank_in(self.bank).plan(self.half_width, self.sizes, level=self.level)
        self.say(plan.to_dict(), plan.summary())
        return 0


@dataclass(frozen=True, kw_only=True)
class FullScores(Choices):
    """Command `psychollm bank score`."""

    NAME = "score"
    HELP = "estimate scores on the whole bank from logs of some of its questions"
    DESCRIPTION = (
        "Estimate what models would score on the whole bank from logs of some of its questions.\n"
        + LOG_IS
    )
    USAGE = "%(prog)s [options] BANK LOG [LOG ...]"

    bank: Path = option(BANK, "BANK", positional=True)
    logs: tuple[Path, ...] = option("logs, or folders of logs", "LOG", positional=True)
    drawn: bool = option(
        "the questions are a simple random sample of the bank: the prediction is corrected",
        default=False,
        group=ANALYSIS,
    )
    by_domain: bool = option(
        "also estimate a score for each domain", default=False, group=ANALYSIS
    )
    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)
    json: bool = option("print only JSON", default=False, group=OUTPUT)

    def run(self) -> int:
        """Read the logs, estimate and print the scores."""
        from psychollm.cli.carry_out import records
        from psychollm.cli.notes import busy

        bank = bank_in(self.bank)
        with (
            self.noting(),
            busy("reading the logs", quiet=self.quiet),
        ):
            log = self.scores_in(self.logs)
        domains = (None, *(bank.domain_names if self.by_domain else ()))
        scores = [
            bank.full_score(
                log, drawn="random" if self.drawn else None, domain=domain, level=self.level
            )
            for domain in domains
        ]
        self.say(
            {
                "bank": bank.digest,
                "scores": [
                    {
                        "domain": score.domain,
                        "used": score.used,
                        "models": records(score.to_frame()),
                    }
                    for score in scores
                ],
            },
            *(score.summary() for score in scores),
        )
        return 0


@dataclass(frozen=True, kw_only=True)
class Next(OfBank):
    """Command `psychollm bank next`."""

    NAME = "next"
    HELP = "add answers to a session and draw the next questions"
    DESCRIPTION = """\
Add answers to a session, print the current score, and draw the next questions, one per line. The
session is a file; if it does not exist, it is created with the options of this call.
"""

    session: Path = option("the file of the session", "SESSION", positional=True)
    answers: Path | None = option(
        "answers to questions drawn before: a table with columns question and score",
        "FILE.csv",
        default=None,
    )
    questions: int = option("number of questions to draw", "N", default=10)
    size: int | None = option(
        "maximum number of questions in the session",
        "N",
        default=None,
        group="a session that begins",
    )
    half_width: float | None = option(
        "stop at this margin of error", "W", default=None, group="a session that begins"
    )
    better_than: float | None = option(
        "stop when the score is significantly above or below this value",
        "S",
        default=None,
        group="a session that begins",
    )
    seed: int = option("seed of the session", "S", default=1, group="a session that begins")

    def run(self) -> int:
        """Record the answers, save the session, and print the next questions."""
        bank = bank_in(self.bank)
        if self.session.exists():
            session = bank.resume(self.session)
        else:
            session = bank.session(
                self.size, self.half_width, better_than=self.better_than, rng=self.seed
            )
        if self.answers is not None:
            for question, answer in answers_in(self.answers, "--answers", bank).items():
                session.record(question, answer)
        drawn = session.next(self.questions)
        session.save(self.session)
        score = session.estimate() if session.n_used else None
        self.say(
            {
                "next": drawn,
                "done": session.done,
                "why": session.why,
                "asked": len(session.asked),
                "estimate": None if score is None else score.to_dict(),
            },
            *self._lines(session, drawn),
        )
        return 0

    def _lines(self, session: "Session", drawn: tuple[Any, ...]) -> list[str]:
        lines = [session.estimate().summary()] if session.n_used else []
        lines += [f"Done: {session.why}."] if session.done else []
        return [*lines, *map(str, drawn)]


def answers_in(file: Path, option: str, bank: "CalibratedQuestions") -> "pd.Series[Any]":
    """Return scores, with the bank's labels, from a table with columns question and score."""
    import pandas as pd

    from psychollm._base.errors import InputError

    try:
        table = pd.read_csv(file, dtype={"question": str})
    except (OSError, ValueError) as error:
        msg = f"{option} {file} cannot be read: {error}"
        raise InputError(msg) from error
    if not {"question", "score"} <= set(table.columns):
        msg = f"{option} {file}: columns question and score are required"
        raise InputError(msg)
    labels = {str(question): question for question in bank.questions}
    index = pd.Index([labels.get(one, one) for one in table["question"]], tupleize_cols=False)
    return table["score"].set_axis(index)


@dataclass(frozen=True, kw_only=True)
class WatchModel(OfBank):
    """Command `psychollm bank watch`."""

    NAME = "watch"
    HELP = "raise an alarm if a model's answers have changed"
    DESCRIPTION = """\
Add a model's answers of today to a watch and test whether they have changed since the baseline.
The test is valid however often it is repeated. The watch is a file, created with --baseline. Each
look counts once, so a job may run again.
"""

    watch: Path = option("the file of the watch", "WATCH", positional=True)
    answers: Path | None = option(
        "answers of this check: a table with columns question and score, one row per answer",
        "FILE.csv",
        default=None,
    )
    look: str | None = option("the name of the look (default: today's date)", "NAME", default=None)
    fail: bool = option("exit with code 1 on an alarm", default=False)
    baseline: str | None = option(
        "answers of the baseline: a table with columns question and score, or the label of a "
        "model of the bank",
        "FILE.csv|MODEL",
        default=None,
        group="a watch that begins",
    )
    alpha: float = option(
        "the probability of ever raising an alarm without a change",
        "A",
        default=0.05,
        group="a watch that begins",
    )

    def run(self) -> int:
        """Add the answers, save the watch, and report any change."""
        from datetime import datetime

        watch = self._begun(bank_in(self.bank))
        look, remark = self.look or datetime.now().astimezone().date().isoformat(), []
        if self.answers is not None:
            if watch.taken(look):
                remark = [f"The look {look} is already recorded; the watch is unchanged."]
            watch.update(answers_in(self.answers, "--answers", watch.bank), look=look)
        watch.save(self.watch)
        self.say(
            {
                "alarm": watch.alarm,
                "direction": watch.direction,
                "evidence": watch.evidence,
                "needed": 1.0 / watch.alpha,
                "looks": watch.to_frame().to_dict(orient="records"),
            },
            *remark,
            watch.summary(),
        )
        return int(self.fail and watch.alarm)

    def _begun(self, bank: "ItemBank") -> "Watch":
        from psychollm._base.errors import OptionError

        if self.watch.exists():
            if self.baseline is not None:
                msg = f"{self.watch} already has a baseline: omit --baseline, or pass another file"
                raise OptionError(msg)
            return bank.resume_watch(self.watch)
        if self.baseline is None:
            msg = f"{self.watch} does not exist: create it with --baseline"
            raise OptionError(msg)
        file = Path(self.baseline)
        if file.is_file():
            return bank.watch(answers_in(file, "--baseline", bank), alpha=self.alpha)
        return bank.watch(
            {str(one): one for one in bank.models}.get(self.baseline, self.baseline),
            alpha=self.alpha,
        )


def described(bank: "ItemBank") -> dict[str, Any]:
    """Return a bank as plain data for JSON."""
    held = bank.calibration
    return {
        "bank": bank.digest,
        "n_questions": len(bank.questions),
        "n_models": len(bank.models),
        "domains": list(bank.domain_names),
        "predictor": bank.predictor,
        "abilities_tried": held.candidates,
        "squared_error": held.squared_error,
        "variance_ratio": held.phi,
        "variance_scale": held.scale,
    }


@dataclass(frozen=True, kw_only=True)
class Bank(Steps):
    """Command `psychollm bank` and its subcommands."""

    NAME = "bank"
    HELP = "estimate a benchmark score from some of its questions"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG
    STEPS = (Build, Describe, MakePlan, Next, FullScores, WatchModel)
